"""The support document: what a folder for `offline` holds, by the name of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, Optional

from ...kinds import Only
from ...snapshot import Mode
from ...store.codec import ADDED_LATER
from ...workload.records import WorkloadClass
from .history import Change
from .notes import Bounds, Exact, InPlace, Matching, Named, OsdId
from .rollout import Rollout

FORMAT: Final = 'ceph-rocksdb-tuner-report'
VERSION: Final = 1

#: Ceph counts in 64 bits: no figure of it is larger.
_OF_CEPH = Only(lambda figure: abs(figure) <= 1 << 64, 'a number that Ceph prints')
_Figure = Annotated[float, Exact(), _OF_CEPH]
_Amount = Annotated[_Figure, Bounds(0)]
_TimeS = Annotated[_Figure, 'Seconds since the epoch.']
#: As a command of Ceph prints it: its form is Ceph's.
_Printed = Annotated[object, Exact()]
_PrintedObject = Mapping[str, _Printed]
_PrintedList = tuple[_Printed, ...]


@dataclass(frozen=True)
class KeptEvidence:
    """A measured value that a class rests on."""

    signal: str
    value: _Figure
    unit: str
    window_s: _Figure
    statement: str


@dataclass(frozen=True)
class KeptWorkload:
    """What clients do, and how that is known."""

    class_: WorkloadClass
    confidence: Annotated[_Figure, Bounds(0, 1)]
    evidence: tuple[KeptEvidence, ...]


@dataclass(frozen=True)
class KeptMemory:
    """What is believed, and what may replace it."""

    believed: KeptWorkload
    candidate: WorkloadClass
    since_s: Annotated[_TimeS, 'Since when the candidate is seen.']
    doubted_s: Annotated[_TimeS, 'Since when another class than the believed one is seen.']


@dataclass(frozen=True)
class KeptManager:
    """One ceph-mgr of the cluster."""

    name: str
    host: Annotated[Optional[str], 'null: it has not told.']
    active: bool
    has_module: Annotated[bool, "Whether it found this module's files when it started."]


@dataclass(frozen=True)
class KeptPoolRates:
    """What clients did to a pool."""

    reads_per_s: _Amount
    read_bytes_per_s: _Amount
    writes_per_s: _Amount
    write_bytes_per_s: _Amount


@dataclass(frozen=True)
class KeptGrowth:
    """How much of a DB device was used, oldest first, and the device at the last of the times."""

    times_s: tuple[_TimeS, ...]
    used_bytes: tuple[int, ...]
    total_bytes: int
    slow_used_bytes: int


@dataclass(frozen=True)
class KeptStart:
    """The last absence of an OSD that was watched from one process to the next."""

    away_s: Annotated[_Amount, 'It was away for at least so long, in seconds.']
    away_most_s: Annotated[_Amount, 'And for at most so long.']
    host_away: Annotated[
        Optional[bool],
        'Whether most OSDs of its host were away with it; null: no other one was there to tell.',
    ]


@dataclass(frozen=True)
class KeptState:
    """What the module knows that no command of Ceph tells."""

    taken_s: _TimeS
    sampled_s: Annotated[_TimeS, 'When the OSDs were last sampled.']
    mode: Mode
    manager_version: str
    manager_release: str
    managers: tuple[KeptManager, ...]
    interval_s: _Figure
    tick_ms: Optional[_Figure]
    orchestrated: Annotated[bool, 'Whether an orchestrator can restart daemons.']
    rollout_under_way: bool
    limits: Annotated[Mapping[str, _Figure], 'Thresholds of conditions, by module option.']
    notices: Annotated[tuple[str, ...], 'What is wrong with what the module keeps.']
    pending_since_s: Annotated[
        Mapping[OsdId, _TimeS], 'Since when OSDs have been waiting for a restart.'
    ]
    advised_on: Annotated[
        Mapping[str, KeptWorkload], 'The workload that is advised on, by device class.'
    ]
    workloads_of_osds: Mapping[OsdId, KeptMemory]
    workloads_of_groups: Mapping[str, KeptMemory]
    pool_rates: Annotated[
        Mapping[int, KeptPoolRates],
        'What clients did to each pool, by its id, when the OSDs were last sampled.',
    ]
    growth: Annotated[
        Mapping[OsdId, KeptGrowth], 'Used bytes of DB devices, of which forecasts are made.'
    ]
    starts: Annotated[
        Mapping[OsdId, KeptStart],
        'The last absence of each OSD that was watched from one process to the next.',
    ] = field(default_factory=dict, metadata=ADDED_LATER)


@dataclass(frozen=True)
class ReportFiles:
    """The content of each file, by its name."""

    # Fields are called as `collection.names.Kind` calls them.
    module: Annotated[KeptState, Named('module.json')]
    osd_dump: Annotated[
        _PrintedObject, Named('osd_dump.json'), '`ceph osd dump`, without addresses.'
    ]
    osd_crush_dump: Annotated[
        _PrintedObject,
        Named('osd_crush_dump.json'),
        '`ceph osd crush dump`: device classes, buckets, and how rules choose among them.',
    ]
    osd_metadata: Annotated[_PrintedList, Named('osd_metadata.json'), '`ceph osd metadata`.']
    config_dump: Annotated[
        _PrintedList,
        Named('config_dump.json'),
        '`ceph config dump`, of the options that are watched.',
    ]
    health: Annotated[
        _PrintedObject,
        Named('health.json'),
        '`ceph health`: the codes of the checks that are raised.',
    ]
    history: Annotated[tuple[Change, ...], Named('history.json'), '`ceph rocksdb-tuner history`.']
    rollout: Annotated[
        Optional[Rollout], Named('rollout.json'), '`ceph rocksdb-tuner rollout status`.'
    ]
    perf_dump: Annotated[
        Mapping[str, _PrintedObject],
        Matching(r'^osd\.\d+\.perf_dump\.\d+\.\d+\.json$'),
        '`ceph tell osd.N perf dump`, of the counters that are kept, with the time in seconds '
        'since the epoch.',
    ]
    kv_stats: Annotated[
        Mapping[str, str],
        Matching(r'^osd\.\d+\.kv_stats\.\d+\.\d+\.txt$'),
        '`ceph tell osd.N dump_objectstore_kv_stats`: several JSON texts, of which the totals are '
        'kept.',
    ]
    config_show: Annotated[
        Mapping[str, _PrintedList],
        Matching(r'^osd\.\d+\.config_show\.json$'),
        '`ceph config show osd.N`, of the options that are watched.',
    ]
    bluefs_files: Annotated[
        Mapping[str, _PrintedList],
        Matching(r'^osd\.\d+\.bluefs_files\.json$'),
        '`ceph tell osd.N bluefs files list`: whether the RocksDB is sharded.',
    ]


@dataclass(frozen=True)
class ReportHead:
    """What a report is."""

    format: Annotated[Literal['ceph-rocksdb-tuner-report'], 'What this document is.']
    version: Annotated[Literal[1], 'Of this form.']
    anonymous: Annotated[bool, 'Whether the names of hosts and addresses were replaced.']


@dataclass(frozen=True)
class Report:
    """All that is known, as one document."""

    head: Annotated[ReportHead, InPlace()]
    files: Annotated[
        ReportFiles,
        'What a folder for `python3 -m rocksdb_tuner.offline` holds: content by name of the file. '
        'Only what is looked at is in it.',
    ]
