"""Which recordings there are to be: on which clusters, with which clients, for which part.

A run is for the part `set` (thresholds may be chosen by it) or `held-out` (it only ever judges).
The part was written here before the run was made, and does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .layout import ClusterSpec
from .record import Client, Step

SET: Final = 'set'
HELD_OUT: Final = 'held-out'

#: How long a client is at work: a class has to be right within 60 s.
CLIENT_S = 66.0


@dataclass(frozen=True)
class Run:
    """One recording."""

    name: str
    part: str
    cluster: str
    """A key of CLUSTERS."""
    steps: tuple[Step, ...]


#: With the recovery sleep of a hard disk (Ceph's default; the harness sets 0), so that recovery of
#: little data lasts.
_SLOW_RECOVERY = (('osd_recovery_sleep_hdd', '0.1'), ('osd_recovery_sleep_ssd', '0.1'))

CLUSTERS: dict[str, ClusterSpec] = {
    'pacific-3': ClusterSpec(release='pacific', osds=3, rgw=True),
    'pacific-4': ClusterSpec(
        release='pacific', osds=4, pool_size=2, rgw=True, osd_conf=_SLOW_RECOVERY
    ),
    'reef-3': ClusterSpec(release='reef', osds=3, pool_size=2, rgw=True),
    'tentacle-3': ClusterSpec(release='tentacle', osds=3, pool_size=2, rgw=True),
}

_BEFORE = Step('nobody', 12, ('idle',))
_AFTER = Step('nobody', 8, ('idle',))
_LONG_AFTER = Step('nobody', 42, ('idle',))


def _client(label: str, name: str, seconds: float = CLIENT_S, **parameters: int) -> Step:
    return Step(name, seconds, (label,), (Client(name, parameters),))


def _run(name: str, part: str, cluster: str, *steps: Step, prepare: tuple[Step, ...] = ()) -> Run:
    """`prepare` is what the cluster has to hold, whichever runs it has seen before."""
    return Run(name, part, cluster, (*prepare, _BEFORE, *steps, _AFTER))


def _data(seconds: float, client: str, **parameters: int) -> Step:
    return Step('data', seconds, (), (Client(client, parameters),))


_OMAP = Step(
    'rados-omap', CLIENT_S, ('unknown',), (Client('rados-omap', {'threads': 2, 'keys': 40}),)
)

RUNS: tuple[Run, ...] = (
    _run(
        'p-rbd-8k', HELD_OUT, 'pacific-3',
        _client(
            'rbd-small-write', 'rbd-randwrite', iodepth=4, block_size_bytes=8192, rate_iops=500
        ),
        _LONG_AFTER,
    ),
    _run(
        'p-s3-put-1k', HELD_OUT, 'pacific-3',
        _client('rgw-metadata', 's3-put', threads=12, object_size_bytes=1024),
    ),
    _run(
        'p-cephfs', HELD_OUT, 'pacific-3',
        _client('cephfs-metadata', 'cephfs-metadata', threads=4),
    ),
    _run(
        'p-pair', SET, 'pacific-3',
        Step(
            'RBD and S3 at once', CLIENT_S, ('mixed',),
            (
                Client('rbd-randwrite', {'iodepth': 4, 'rate_iops': 200}),
                Client('s3-put', {'threads': 8}),
            ),
        ),
    ),
    _run(
        'p-rbd-4k-with-cephfs', HELD_OUT, 'pacific-3',
        _client('rbd-small-write', 'rbd-randwrite', iodepth=16, rate_iops=800),
        # The metadata server still writes after its client is gone
        prepare=(_data(5, 'cephfs-metadata', threads=2), Step('nobody', 30)),
    ),
    _run(
        'p-large-then-list', HELD_OUT, 'pacific-3',
        _client('large-write', 's3-large-put', object_size_bytes=2 << 20),
        _client('read-mostly', 's3-list', objects=500),
        _LONG_AFTER,
    ),
    _run(
        'p-randrw', HELD_OUT, 'pacific-3',
        _client(
            'mixed', 'rbd-randrw', size_bytes=128 << 20, iodepth=4, read_percent=55
        ),
    ),
    _run(
        'p-restart', HELD_OUT, 'pacific-3',
        Step(
            'RBD writes, an OSD restarts', CLIENT_S, ('rbd-small-write',),
            (Client('rbd-randwrite', {'iodepth': 8, 'rate_iops': 400}),),
            middle=('restart 1',),
        ),
    ),
    _run(
        'p-pair-2', HELD_OUT, 'pacific-3',
        Step(
            'RBD and S3 at once', CLIENT_S, ('mixed',),
            (
                Client('rbd-randwrite', {'iodepth': 2, 'rate_iops': 150}),
                Client('s3-put', {'threads': 4, 'object_size_bytes': 2048}),
            ),
        ),
    ),
    _run(
        'p-busy-mgr', HELD_OUT, 'pacific-3',
        Step('nobody, a busy manager', 55, ('idle',), loaded_manager=True),
    ),
    _run('p-omap', HELD_OUT, 'pacific-3', _OMAP),
    _run(
        'p-scrub', HELD_OUT, 'pacific-3',
        Step('data to scrub', 30, (), (Client('s3-large-put', {'objects': 100}),)),
        Step('nobody, deep scrub', 50, ('idle',), begin=('deep-scrub',)),
    ),
    _run(
        'r-rbd-then-s3', HELD_OUT, 'reef-3',
        _client('rbd-small-write', 'rbd-randwrite', iodepth=8, rate_iops=600),
        _client('rgw-metadata', 's3-put', threads=6),
    ),
    _run(
        'r-large', SET, 'reef-3',
        _client('large-write', 'rbd-seqwrite', block_size_bytes=512 << 10, rate_iops=60),
        _client('read-mostly', 's3-get', objects=600),
        _LONG_AFTER,
    ),
    _run(
        'r-backfill', HELD_OUT, 'reef-3',
        Step('backfill, nobody', 60, ('recovery',), begin=('out 2',), until_clean=True),
        Step(
            'backfill back with S3 puts', CLIENT_S, ('rgw-metadata', 'recovery'),
            (Client('s3-put', {'threads': 4}),), begin=('in 2',),
        ),
    ),
    _run('r-cephfs', SET, 'reef-3', _client('cephfs-metadata', 'cephfs-metadata', threads=2)),
    _run(
        't-rbd-then-s3', HELD_OUT, 'tentacle-3',
        _client('rbd-small-write', 'rbd-randwrite', iodepth=8, rate_iops=600),
        _client('rgw-metadata', 's3-put', threads=6),
    ),
    _run(
        't-large', HELD_OUT, 'tentacle-3',
        _client('large-write', 's3-large-put', threads=2),
        _client('read-mostly', 'rbd-randread', size_bytes=128 << 20, rate_iops=800),
        _LONG_AFTER,
    ),
    _run(
        't-backfill', HELD_OUT, 'tentacle-3',
        Step('backfill, nobody', 60, ('recovery',), begin=('out 2',), until_clean=True),
        Step(
            'backfill back with RBD writes', CLIENT_S, ('rbd-small-write', 'recovery'),
            (Client('rbd-randwrite', {'iodepth': 4, 'rate_iops': 400}),), begin=('in 2',),
        ),
    ),
    _run(
        't-cephfs', HELD_OUT, 'tentacle-3',
        _client('cephfs-metadata', 'cephfs-metadata', threads=2),
    ),
    _run(
        'p-backfill', SET, 'pacific-4',
        _client('rgw-metadata', 's3-put', threads=10),
        Step('backfill, nobody', 120, ('recovery',), begin=('out 3',), until_clean=True),
        _LONG_AFTER,
    ),
    _run(
        'p-backfill-rbd', SET, 'pacific-4',
        Step(
            'backfill back with RBD writes', CLIENT_S, ('rbd-small-write', 'recovery'),
            (Client('rbd-randwrite', {'iodepth': 8, 'rate_iops': 500}),), begin=('in 3',),
        ),
        Step('what is left of the backfill', 10, until_clean=True),
        prepare=(
            _data(40, 's3-put', threads=10),
            Step('osd.3 is emptied', 150, begin=('out 3',), until_clean=True),
        ),
    ),
    _run(
        'p-snaptrim', HELD_OUT, 'pacific-4',
        Step(
            'nobody, a snapshot is trimmed', 60, ('idle',),
            (Client('rbd-snaptrim', {'size_bytes': 512 << 20}),),
        ),
        _LONG_AFTER,
    ),
    _run(
        'p-delete', HELD_OUT, 'pacific-4',
        # As many as a gateway deletes in that time
        _client('rgw-metadata', 's3-delete', seconds=70, objects=16000),
    ),
    _run(
        'p-recovery', HELD_OUT, 'pacific-4',
        Step(
            'RBD writes, an OSD is down', 35, (),
            (Client('rbd-randwrite', {'iodepth': 8, 'rate_iops': 300}),), begin=('stop 0',),
        ),
        Step('recovery, nobody', 60, ('recovery',), begin=('start 0',), until_clean=True),
        _LONG_AFTER,
    ),
    _run(
        'p-randrw-2', SET, 'pacific-4',
        _client(
            'mixed', 'rbd-randrw', size_bytes=128 << 20, iodepth=8, rate_iops=500, read_percent=40
        ),
    ),
    _run(
        'p-scrub-put', HELD_OUT, 'pacific-4',
        Step(
            'S3 puts and a deep scrub', CLIENT_S, ('rgw-metadata',),
            (Client('s3-put', {'threads': 4}),), begin=('deep-scrub',),
        ),
        prepare=(_data(20, 's3-large-put', objects=100),),
    ),
)  # fmt: skip
