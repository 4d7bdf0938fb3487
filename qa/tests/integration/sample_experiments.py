"""What the module would answer of experiments: planned, refused, in progress, and ended.

Numbers are made up; names and sentences are as the module has them. Times are not of today.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Optional

from sample_candidates import LZ4

WHO = 'osd/class:ssd'
SIGNAL = 'kv_sync_ms_per_txn'
OLD = 'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1'
BEST, OTHER, SLOW = 'variant-2022-d', 'lz4-64x16m-2025', 'rocksdb-default'
OPTIONS = {BEST: f'{LZ4},ttl=1', OTHER: f'{LZ4},ttl=2', SLOW: f'{LZ4},ttl=3'}
BLOCK_S = 600.0
BLOCKS = 9
SETTLE_BLOCKS = 3
OSDS: dict[str, list[int]] = {BEST: [1, 9], OTHER: [4, 14], SLOW: [6, 17]}
CONTROLS = [0, 3, 5, 8, 10, 11, 12, 13]
START = datetime(2026, 2, 2, 7, 40, tzinfo=timezone.utc)
Json = dict[str, Any]


def moment(blocks: float) -> str:
    return f'{START + timedelta(seconds=blocks * BLOCK_S):%Y-%m-%dT%H:%M:%SZ}'


def effect(signal: str, found: str, *percent: float) -> Json:
    """With the estimate, its low and its high end; or with none of them."""
    estimate, low, high = percent or (None, None, None)
    return {
        'signal': signal,
        'effect': found,
        'estimate_percent': estimate,
        'low_percent': low,
        'high_percent': high,
    }


def arm(name: str, verdict: Optional[str] = None, *effects: Json, **more: Any) -> Json:
    of_it = {'name': name, 'options': OPTIONS[name], 'osds': OSDS[name], 'predicted': None}
    return {**of_it, 'verdict': verdict, 'effect': list(effects), 'dropped': None, **more}


def plan() -> Json:
    predicted = {'metric': 'kv_sync time per write', 'low_percent': -24.0, 'high_percent': -12.0}
    arms = ','.join(OSDS)
    return {
        'id': None,
        'phase': 'planned',
        'arms': [arm(BEST, predicted=predicted), arm(OTHER), arm(SLOW)],
        'who': WHO,
        'signal': SIGNAL,
        'min_effect_percent': 10.0,
        'max_duration_s': 43200.0,
        'options_from': OLD,
        'controls': CONTROLS,
        'detectable_percent': 8.2,
        'unsafe_percent': 17.4,
        'duration_s': 12960.0,
        'block_s': BLOCK_S,
        'restarts': 12,
        'planned_blocks': BLOCKS,
        'winner': None,
        'conclusion': None,
        'summary': '3 option strings on 6 OSDs, compared with 8 unchanged OSDs for 3h36m.',
        'started': None,
        'ended': None,
        'refusal': None,
        'risk': [
            '12 restarts of OSDs, one at a time.',
            (
                'Up to 6 OSDs run options that are not proven here. An arm that is '
                'worse by 17% is dropped within 3 blocks (30m) in 95% of cases.'
            ),
            'If an OSD crashes or does not start, it is restored at once and the experiment ends.',
        ],
        'unknown': [
            (
                'Effects that take longer than the experiment, such as the rewriting of existing '
                'data by compactions, are not measured.'
            )
        ],
        'gates': ['All PGs are active+clean.', 'No OSD is down.'],
        'command': f'ceph rocksdb-tuner experiment start --who {WHO} --arms {arms} '
        f'--signal {SIGNAL} --min-effect 10 --max-duration 43200',
    }


def refused(osds: Optional[int] = 24, duration_s: Optional[float] = 64800.0) -> Json:
    """Too few OSDs and too little time for any result."""
    reason = 'an effect of 10% is not detectable with the noise of these OSDs, only 31% is'
    return {
        **plan(),
        'controls': [],
        'detectable_percent': 31.0,
        'unsafe_percent': None,
        'duration_s': None,
        'restarts': None,
        'planned_blocks': None,
        'summary': f'Not possible here: {reason}.',
        'refusal': {'reason': reason, 'osds': osds, 'duration_s': duration_s},
        'risk': [],
        'unknown': [],
    }


#: What an experiment has of its plan.
OF_PLAN = (
    *('who', 'signal', 'min_effect_percent', 'max_duration_s', 'options_from', 'controls'),
    *('detectable_percent', 'unsafe_percent', 'duration_s', 'block_s', 'restarts'),
    'planned_blocks',
)
#: What is unknown or absent in the middle of one.
NOT_YET = ('winner', 'conclusion', 'paused_reason', 'paused_by', 'outcome', 'failure', 'ended')


def measuring(until: int = 4, **more: Any) -> Json:
    """The slow arm was dropped."""
    best = arm(
        BEST,
        'better',
        effect(SIGNAL, 'better', -16.9, -25.8, -6.1),
        effect('op_w_latency_ms', 'same', -3.0, -8.1, 2.3),
        effect('slow_ops', 'unclear'),
    )
    other = arm(
        OTHER,
        'unclear',
        effect(SIGNAL, 'unclear', -4.1, -13.4, 7.2),
        effect('op_w_latency_ms', 'same', 1.0, -6.0, 6.5),
    )
    dropped = 'kv_sync time per write is worse'
    slow = arm(SLOW, 'worse', effect(SIGNAL, 'worse', 26.4, 7.5, 48.2), dropped=dropped)
    of_plan = plan()
    return {
        'kind': 'experiment',
        'id': 'E3',
        'phase': 'measuring',
        'actor': 'dashboard:the-administrator',
        'arms': [best, other, slow],
        **{name: of_plan[name] for name in OF_PLAN},
        **dict.fromkeys(NOT_YET),
        'adopt': False,
        'blocks': BLOCKS + until,
        'summary': f'Measuring the arms, block {until} of {BLOCKS}.',
        'started': moment(0),
        'updated': moment(BLOCKS + SETTLE_BLOCKS + until),
        **more,
    }


def baseline() -> Json:
    """Nothing is changed yet."""
    return measuring(
        0,
        phase='baseline',
        arms=[arm(BEST), arm(OTHER), arm(SLOW)],
        blocks=4,
        summary=f'Measuring the baseline, block 4 of {BLOCKS}.',
    )


def waiting() -> Json:
    reason = 'OSDs are down: osd.8'
    return measuring(phase='waiting', paused_reason=reason, summary=f'Waiting: {reason}.')


def won(number: int = 3) -> Json:
    gain = effect(SIGNAL, 'better', -16.9, -21.4, -12.2)
    arms = measuring()['arms']
    return measuring(
        BLOCKS,
        id=f'E{number}',
        phase='done',
        arms=[
            {**arms[0], 'effect': [gain, *arms[0]['effect'][1:]]},
            {**arms[1], 'verdict': 'same'},
            arms[2],
        ],
        winner=BEST,
        conclusion='winner',
        summary=f'{BEST} is better than the old options: kv_sync time per write -17% (-21 to '
        f'-12%). It is ahead of {OTHER}. Not shown to be no worse: spans with slow requests.',
        outcome='done',
        ended=moment(2 * BLOCKS + 2 * SETTLE_BLOCKS),
    )


def no_difference(number: int = 2) -> Json:
    return measuring(
        BLOCKS,
        id=f'E{number}',
        phase='done',
        conclusion='no-difference',
        summary='No arm differs from the old options by more than 6%.',
        outcome='done',
        ended=moment(2 * BLOCKS + 2 * SETTLE_BLOCKS),
    )


def aborted(number: int = 1) -> Json:
    return measuring(
        3,
        id=f'E{number}',
        phase='aborted',
        summary='Aborted: by client.admin.',
        outcome='aborted',
        failure='aborted by client.admin',
        ended=moment(16),
    )
