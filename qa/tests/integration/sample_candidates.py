"""What the module would answer of its decisions: chosen, nothing to choose, and a crowd.

Numbers are made up; names, origins and sentences are as the module has them.
"""

from __future__ import annotations

import random
import zlib
from typing import Optional, TypedDict

#: The running set, and a set for comparisons.
LZ4 = 'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6'
MIN_GAIN_PERCENT = 10.0
MAX_LOSS_PERCENT = 5.0


class Effect(TypedDict):
    resource: str
    estimate_percent: float
    low_percent: float
    high_percent: float


class Candidate(TypedDict):
    name: str
    origin: str
    profile: Optional[str]
    options: str
    chosen: bool
    infeasible: list[str]
    effects: list[Effect]
    short: Optional[str]
    measured_in: Optional[str]


class Considered(TypedDict):
    who: str
    resource: Optional[str]
    decision: dict[str, Optional[str]]
    min_gain_percent: float
    max_loss_percent: float
    unconstrained: list[str]
    candidates: list[Candidate]


def effect(resource: str, estimate: float, low: float, high: float) -> Effect:
    return {
        'resource': resource,
        'estimate_percent': estimate,
        'low_percent': low,
        'high_percent': high,
    }


def candidate(
    name: str,
    origin: str,
    *effects: Effect,
    chosen: bool = False,
    infeasible: tuple[str, ...] = (),
    short: Optional[str] = None,
) -> Candidate:
    known = origin in {'running', 'default', 'profile'}
    return {
        'name': name,
        'origin': origin,
        'profile': name if known else None,
        # No two have the same.
        'options': f'{LZ4},ttl={len(name) << 32 | zlib.crc32(name.encode())}',
        'chosen': chosen,
        'infeasible': list(infeasible),
        'effects': list(effects),
        'short': short,
        'measured_in': None,
    }


def decision(
    who: str, resource: Optional[str], conclusion: str, *candidates: Candidate
) -> Considered:
    return {
        'who': who,
        'resource': resource,
        'decision': {
            **dict.fromkeys(('gain', 'loss', 'risk', 'next_command')),
            'who': who,
            'do': conclusion,
            'because': 'It was chosen.',
        },
        'min_gain_percent': MIN_GAIN_PERCENT,
        'max_loss_percent': MAX_LOSS_PERCENT,
        'unconstrained': [],
        'candidates': list(candidates),
    }


NOT_ENOUGH = (
    'The kv_sync thread time per write changes by {:+.0f}% ({:+.0f}% to {:+.0f}%); '
    'a gain of 10% is required.'
)
NOT_BETTER = 'It qualifies, but is not clearly better than variant-2022-d, which is better tested.'
NO_SPACE = 'Its WAL of up to 64 GiB exceeds the 4.8 GiB available on these OSDs.'


def chosen() -> Considered:
    """A group that the kv_sync thread limits, and one set that relieves it."""
    return decision(
        'osd/class:ssd',
        'kv-sync',
        'A change to variant-2022-d is recommended: it relieves the kv_sync thread.',
        candidate('alternate-2019', 'running'),
        candidate(
            'lz4-2025',
            'default',
            effect('kv-sync', -9.0, -14.0, -4.0),
            effect('db-device', 3.0, -2.0, 8.0),
            effect('db-space', -29.0, -35.0, -21.0),
            effect('memory', -50.0, -50.0, -50.0),
            short=NOT_ENOUGH.format(-9, -14, -4),
        ),
        candidate(
            'variant-2022-d',
            'profile',
            effect('kv-sync', -18.0, -24.0, -12.0),
            effect('db-device', -4.0, -9.0, 2.0),
            effect('db-space', 0.0, -3.0, 4.0),
            effect('memory', 0.0, 0.0, 0.0),
            chosen=True,
        ),
        candidate(
            'variant-2022-d-lz4',
            'profile',
            effect('kv-sync', -16.0, -23.0, -9.0),
            effect('db-device', -2.0, -8.0, 5.0),
            effect('db-space', -29.0, -35.0, -21.0),
            short=NOT_BETTER,
        ),
        candidate(
            'variant-2022-c',
            'profile',
            effect('kv-sync', -22.0, -29.0, -14.0),
            effect('db-device', 14.0, 6.0, 22.0),
            short='The RocksDB write volume per write changes by +14% (+6 to +22%); '
            'a loss of 5% is allowed.',
        ),
        candidate(
            'variant-2022-b',
            'profile',
            effect('kv-sync', -20.0, -27.0, -13.0),
            effect('wal-space', 300.0, 300.0, 300.0),
            short='The space taken by the WAL changes by +300% (+300%); a loss of 5% is allowed.',
        ),
        candidate(
            'rocksdb-default',
            'profile',
            effect('kv-sync', 31.0, 18.0, 46.0),
            effect('db-device', 42.0, 25.0, 61.0),
            short=NOT_ENOUGH.format(31, 18, 46),
        ),
        candidate(
            'derived',
            'derived',
            effect('kv-sync', -17.0, -24.0, -10.0),
            effect('db-device', -3.0, -9.0, 3.0),
            short=NOT_BETTER,
        ),
        candidate('bluestore-default-pacific', 'profile', infeasible=(NO_SPACE,)),
        candidate(
            'variant-2022-a',
            'profile',
            infeasible=(NO_SPACE, 'A level that is on the DB device now would no longer fit.'),
        ),
    )


def nothing_chosen() -> Considered:
    """The running set is good enough."""
    return decision(
        'osd/class:nvme',
        'db-space',
        'Nothing to change: no option set takes less space by at least 10%.',
        candidate('lz4-2025', 'running', chosen=True),
        candidate(
            'variant-2022-d-lz4',
            'profile',
            effect('db-space', -1.0, -4.0, 3.0),
            effect('kv-sync', -8.0, -15.0, -1.0),
            short='The space taken by RocksDB changes by -1% (-4 to +3%); '
            'a gain of 10% is required.',
        ),
        candidate('rocksdb-default', 'profile', infeasible=('It has no limit of the WAL.',)),
    )


def not_weighed() -> Considered:
    """Nothing that an option set could relieve."""
    return decision('osd/class:hdd', None, 'Nothing limits these OSDs: nothing to change.')


def not_modeled() -> Considered:
    """Limited by what the model knows nothing of."""
    return decision(
        'osd/class:qlc',
        'cores',
        'Nothing to change: the effect of other option strings on CPU time is unknown.',
        candidate('lz4-2025', 'running', chosen=True),
        candidate(
            'variant-2022-d',
            'profile',
            effect('kv-sync', -8.0, -15.0, -1.0),
            short='Its effect on the RocksDB CPU time per write is unknown.',
        ),
    )


def none_feasible() -> Considered:
    """DB devices that are too small for all but what runs."""
    return decision(
        'osd/class:small',
        'kv-sync',
        'Nothing to change: no option set that was weighed is feasible.',
        candidate('lz4-2025', 'running'),
        candidate('variant-2022-d', 'profile', infeasible=(NO_SPACE,)),
        candidate('variant-2022-b', 'profile', infeasible=(NO_SPACE,)),
    )


def cores_unknown() -> Considered:
    """A change that costs CPU, on OSDs with an unknown number of cores."""
    found = decision(
        'osd/class:lz4',
        'db-space',
        'A change is recommended.',
        candidate('bluestore-default-pacific', 'running'),
        candidate(
            'lz4-2025',
            'profile',
            effect('db-space', -52.0, -57.0, -48.0),
            effect('cores', 25.0, 9.0, 43.0),
            effect('memory', 0.0, 0.0, 0.0),
            chosen=True,
        ),
    )
    return {**found, 'unconstrained': ['cores']}


def crowd(count: int = 24) -> Considered:
    """Custom profiles with long names, most of them at the same place."""
    rng = random.Random(11)
    made = [
        candidate(
            f'team-{number}-archive-tier-tuning-of-{2003 + number}',
            'profile',
            effect('kv-sync', -12 + rng.random(), -17, -8),
            effect('db-device', 2 + rng.random(), -1, 5),
            short='It qualifies, but another gains more.',
        )
        for number in range(count)
    ]
    return decision(
        'osd/class:crowd',
        'kv-sync',
        'A change is recommended.',
        candidate('running options', 'running'),
        candidate(
            'the-one',
            'profile',
            effect('kv-sync', -14, -20, -10.5),
            effect('memory', 1, 0, 2),
            chosen=True,
        ),
        *made,
    )


def all_decisions() -> list[Considered]:
    return [chosen(), nothing_chosen(), not_weighed(), not_modeled()]
