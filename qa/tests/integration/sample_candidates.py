"""What the module would answer of its decisions: chosen, nothing to choose, and a crowd.

Numbers are made up; names, origins and sentences are as the module has them.
"""

from __future__ import annotations

import random
import zlib
from typing import Any, Optional

#: The running set, and a set for comparisons.
LZ4 = 'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6'
Json = dict[str, Any]
#: Estimate, low and high, in percent.
Effect = tuple[float, float, float]

SAME: Effect = (0.0, 0.0, 0.0)
LESS_SPACE: Effect = (-29.0, -35.0, -21.0)
NOT_ENOUGH = (
    'The kv_sync thread time per write changes by {:+.0f}% ({:+.0f}% to {:+.0f}%); '
    'a gain of 10% is required.'
)
NOT_BETTER = 'It qualifies, but is not clearly better than variant-2022-d, which is better tested.'
NO_SPACE = 'Its WAL of up to 64 GiB exceeds the 4.8 GiB available on these OSDs.'


def candidate(
    name: str,
    origin: str = 'profile',
    *,
    chosen: bool = False,
    infeasible: tuple[str, ...] = (),
    short: Optional[str] = None,
    **effects: Effect,
) -> Json:
    """With its effects by resource."""
    return {
        'name': name,
        'origin': origin,
        'profile': name if origin in {'running', 'default', 'profile'} else None,
        # No two have the same.
        'options': f'{LZ4},ttl={len(name) << 32 | zlib.crc32(name.encode())}',
        'chosen': chosen,
        'infeasible': list(infeasible),
        'effects': [
            {
                'resource': resource.replace('_', '-'),
                'estimate_percent': estimate,
                'low_percent': low,
                'high_percent': high,
            }
            for resource, (estimate, low, high) in effects.items()
        ],
        'short': short,
        'measured_in': None,
    }


def decision(who: str, resource: Optional[str], conclusion: str, *candidates: Json) -> Json:
    return {
        'who': f'osd/class:{who}',
        'resource': resource,
        'decision': {
            **dict.fromkeys(('gain', 'loss', 'risk', 'next_command')),
            'who': f'osd/class:{who}',
            'do': conclusion,
            'because': 'It was chosen.',
        },
        'min_gain': 0.1,
        'max_loss': 0.05,
        'unconstrained': [],
        'candidates': list(candidates),
    }


def all_decisions() -> list[Json]:
    """Of a group that the kv_sync thread limits, with one set that relieves it; of one whose
    running set is good enough; without anything that an option set could relieve; and limited by
    what the model knows nothing of.
    """
    relieved = decision(
        'ssd',
        'kv-sync',
        'A change to variant-2022-d is recommended: it relieves the kv_sync thread.',
        candidate('alternate-2019', 'running'),
        candidate(
            'lz4-2025',
            'default',
            kv_sync=(-9.0, -14.0, -4.0),
            db_device=(3.0, -2.0, 8.0),
            db_space=LESS_SPACE,
            memory=(-50.0, -50.0, -50.0),
            short=NOT_ENOUGH.format(-9, -14, -4),
        ),
        candidate(
            'variant-2022-d',
            kv_sync=(-18.0, -24.0, -12.0),
            db_device=(-4.0, -9.0, 2.0),
            db_space=(0.0, -3.0, 4.0),
            memory=SAME,
            chosen=True,
        ),
        candidate(
            'variant-2022-d-lz4',
            kv_sync=(-16.0, -23.0, -9.0),
            db_device=(-2.0, -8.0, 5.0),
            db_space=LESS_SPACE,
            short=NOT_BETTER,
        ),
        candidate(
            'variant-2022-c',
            kv_sync=(-22.0, -29.0, -14.0),
            db_device=(14.0, 6.0, 22.0),
            short='The RocksDB write volume per write changes by +14% (+6 to +22%); '
            'a loss of 5% is allowed.',
        ),
        candidate(
            'variant-2022-b',
            kv_sync=(-20.0, -27.0, -13.0),
            wal_space=(300.0, 300.0, 300.0),
            short='The space taken by the WAL changes by +300% (+300%); a loss of 5% is allowed.',
        ),
        candidate(
            'rocksdb-default',
            kv_sync=(31.0, 18.0, 46.0),
            db_device=(42.0, 25.0, 61.0),
            short=NOT_ENOUGH.format(31, 18, 46),
        ),
        candidate(
            'derived',
            'derived',
            kv_sync=(-17.0, -24.0, -10.0),
            db_device=(-3.0, -9.0, 3.0),
            short=NOT_BETTER,
        ),
        candidate('bluestore-default-pacific', infeasible=(NO_SPACE,)),
        candidate(
            'variant-2022-a',
            infeasible=(NO_SPACE, 'A level that is on the DB device now would no longer fit.'),
        ),
    )
    good_enough = decision(
        'nvme',
        'db-space',
        'Nothing to change: no option set takes less space by at least 10%.',
        candidate('lz4-2025', 'running', chosen=True),
        candidate(
            'variant-2022-d-lz4',
            db_space=(-1.0, -4.0, 3.0),
            kv_sync=(-8.0, -15.0, -1.0),
            short='The space taken by RocksDB changes by -1% (-4 to +3%); '
            'a gain of 10% is required.',
        ),
        candidate('rocksdb-default', infeasible=('It has no limit of the WAL.',)),
    )
    not_modeled = decision(
        'qlc',
        'cores',
        'Nothing to change: the effect of other option strings on CPU time is unknown.',
        candidate('lz4-2025', 'running', chosen=True),
        candidate(
            'variant-2022-d',
            kv_sync=(-8.0, -15.0, -1.0),
            short='Its effect on the RocksDB CPU time per write is unknown.',
        ),
    )
    not_limited = decision('hdd', None, 'Nothing limits these OSDs: nothing to change.')
    return [relieved, good_enough, not_limited, not_modeled]


def none_feasible() -> Json:
    """DB devices that are too small for all but what runs."""
    return decision(
        'small',
        'kv-sync',
        'Nothing to change: no option set that was weighed is feasible.',
        candidate('lz4-2025', 'running'),
        candidate('variant-2022-d', infeasible=(NO_SPACE,)),
        candidate('variant-2022-b', infeasible=(NO_SPACE,)),
    )


def cores_unknown() -> Json:
    """A change that costs CPU, on OSDs with an unknown number of cores."""
    lz4 = candidate(
        'lz4-2025',
        db_space=(-52.0, -57.0, -48.0),
        cores=(25.0, 9.0, 43.0),
        memory=SAME,
        chosen=True,
    )
    running = candidate('bluestore-default-pacific', 'running')
    found = decision('lz4', 'db-space', 'A change is recommended.', running, lz4)
    return {**found, 'unconstrained': ['cores']}


def crowd(count: int = 24) -> Json:
    """Custom profiles with long names, most of them at the same place."""
    rng = random.Random(11)
    made = [
        candidate(
            f'team-{number}-archive-tier-tuning-of-{2003 + number}',
            kv_sync=(-12 + rng.random(), -17, -8),
            db_device=(2 + rng.random(), -1, 5),
            short='It qualifies, but another gains more.',
        )
        for number in range(count)
    ]
    running = candidate('running options', 'running')
    best = candidate('the-one', kv_sync=(-14, -20, -10.5), memory=(1, 0, 2), chosen=True)
    return decision('crowd', 'kv-sync', 'A change is recommended.', running, best, *made)
