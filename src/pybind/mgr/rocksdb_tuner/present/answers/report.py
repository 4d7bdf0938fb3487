"""The support report: the files of a folder for `offline`, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, Optional

from ...kinds import Only
from ...observe.report_interval import Reports
from ...snapshot import Mode
from ...store.codec import ADDED_LATER
from ...workload.records import WorkloadClass
from .history import Change
from .notes import Bounds, Exact, InPlace, Matching, Named, OsdId
from .operations import Operation

FORMAT: Final = 'ceph-rocksdb-tuner-report'
VERSION: Final = 1

#: Ceph's numbers have at most 64 bits.
_OF_CEPH = Only(lambda figure: abs(figure) <= 1 << 64, 'a number that Ceph prints')
_Figure = Annotated[float, Exact(), _OF_CEPH]
_Amount = Annotated[_Figure, Bounds(0)]
_TimeS = Annotated[_Figure, 'Seconds since the epoch.']
#: Output of a Ceph command, in Ceph's own format.
_Printed = Annotated[object, Exact()]
_PrintedObject = Mapping[str, _Printed]
_PrintedList = tuple[_Printed, ...]


@dataclass(frozen=True)
class KeptEvidence:
    """A measurement behind a workload class."""

    signal: str
    value: _Figure
    unit: str
    window_s: _Figure
    statement: str


@dataclass(frozen=True)
class KeptWorkload:
    """A workload class with its evidence."""

    class_: WorkloadClass
    confidence: Annotated[_Figure, Bounds(0, 1)]
    evidence: tuple[KeptEvidence, ...]


@dataclass(frozen=True)
class KeptMemory:
    """State of the workload classifier."""

    believed: KeptWorkload
    candidate: WorkloadClass
    since_s: Annotated[_TimeS, 'First observation of the candidate.']
    doubted_s: Annotated[_TimeS, 'First observation of a class other than the current one.']


@dataclass(frozen=True)
class KeptManager:
    """One ceph-mgr of the cluster."""

    name: str
    host: Annotated[Optional[str], 'Host name; null: not reported.']
    active: bool
    has_module: Annotated[bool, 'Whether this module was installed at its start and can run there.']


@dataclass(frozen=True)
class KeptPoolRates:
    """Client I/O of a pool."""

    reads_per_s: _Amount
    read_bytes_per_s: _Amount
    writes_per_s: _Amount
    write_bytes_per_s: _Amount


@dataclass(frozen=True)
class KeptGrowth:
    """Space used on a DB device, oldest first, with the latest size of the device."""

    times_s: tuple[_TimeS, ...]
    used_bytes: tuple[int, ...]
    total_bytes: int
    slow_used_bytes: int


@dataclass(frozen=True)
class KeptStart:
    """The last observed restart of an OSD."""

    away_s: Annotated[_Amount, 'Minimum downtime, in seconds.']
    away_most_s: Annotated[_Amount, 'Maximum downtime, in seconds.']
    host_away: Annotated[
        Optional[bool],
        'Whether most OSDs of its host were down with it; null: the host has no other OSDs.',
    ]


@dataclass(frozen=True)
class KeptAlert:
    """An OSD with Ceph's alert for slow operations."""

    watched_s: Annotated[
        Optional[_Amount],
        'For how long its counters of slow operations were watched; null: it has none.',
    ]
    quiet_s: Annotated[Optional[_Amount], 'Since they grew; null: not while they were watched.']


@dataclass(frozen=True)
class KeptState:
    """State of the module that no Ceph command reports."""

    taken_s: _TimeS
    sampled_s: Annotated[_TimeS, 'Time of the last sample.']
    mode: Mode
    manager_version: str
    manager_release: str
    managers: tuple[KeptManager, ...]
    interval_s: _Figure
    last_sample_age_s: Annotated[
        Optional[_Figure], 'Age of the newest report of an OSD, in seconds.'
    ]
    tick_ms: Optional[_Figure]
    report_interval_s: Annotated[
        Optional[_Figure], 'Measured interval between two reports of an OSD, in seconds.'
    ]
    reports: Annotated[Optional[Reports], 'Whether OSDs report often enough.']
    orchestrated: Annotated[bool, 'Whether an orchestrator can restart daemons.']
    rollout_under_way: bool
    limits: Annotated[Mapping[str, _Figure], 'Thresholds of conditions, by module option.']
    notices: Annotated[tuple[str, ...], 'Problems with stored data.']
    pending_since_s: Annotated[
        Mapping[OsdId, _TimeS], 'Since when OSDs have had a restart pending.'
    ]
    advised_on: Annotated[
        Mapping[str, KeptWorkload], 'Workload behind the advice, by device class.'
    ]
    workloads_of_osds: Mapping[OsdId, KeptMemory]
    workloads_of_groups: Mapping[str, KeptMemory]
    pool_rates: Annotated[
        Mapping[int, KeptPoolRates],
        'Client I/O of each pool at the last sample, by pool id.',
    ]
    growth: Annotated[
        Mapping[OsdId, KeptGrowth], 'History of used bytes of DB devices, for forecasts.'
    ]
    starts: Annotated[
        Mapping[OsdId, KeptStart],
        'The last observed restart of each OSD.',
    ] = field(default_factory=dict, metadata=ADDED_LATER)
    alerting: Annotated[
        Mapping[OsdId, KeptAlert], "OSDs with Ceph's alert for slow operations."
    ] = field(default_factory=dict, metadata=ADDED_LATER)
    module_version: Annotated[Optional[str], 'Version of the module; null: older than 1.0.0.'] = (
        field(default=None, metadata=ADDED_LATER)
    )


@dataclass(frozen=True)
class ReportFiles:
    """Contents of the files, by name."""

    # Field names match `collection.names.Kind`.
    module: Annotated[KeptState, Named('module.json')]
    osd_dump: Annotated[
        _PrintedObject, Named('osd_dump.json'), '`ceph osd dump`, without addresses.'
    ]
    osd_crush_dump: Annotated[
        _PrintedObject,
        Named('osd_crush_dump.json'),
        '`ceph osd crush dump`: device classes, buckets and rules.',
    ]
    osd_metadata: Annotated[_PrintedList, Named('osd_metadata.json'), '`ceph osd metadata`.']
    config_dump: Annotated[
        _PrintedList,
        Named('config_dump.json'),
        '`ceph config dump`, watched options only.',
    ]
    health: Annotated[
        _PrintedObject,
        Named('health.json'),
        '`ceph health`: codes of the raised health checks.',
    ]
    history: Annotated[tuple[Change, ...], Named('history.json'), '`ceph rocksdb-tuner history`.']
    operation: Annotated[
        Optional[Operation], Named('operation.json'), '`ceph rocksdb-tuner operation status`.'
    ]
    perf_dump: Annotated[
        Mapping[str, _PrintedObject],
        Matching(r'^osd\.\d+\.perf_dump\.\d+\.\d+\.json$'),
        '`ceph tell osd.N perf dump`, used counters only, with the time in seconds since the '
        'epoch.',
    ]
    kv_stats: Annotated[
        Mapping[str, str],
        Matching(r'^osd\.\d+\.kv_stats\.\d+\.\d+\.txt$'),
        '`ceph tell osd.N dump_objectstore_kv_stats`: several JSON texts, totals only.',
    ]
    config_show: Annotated[
        Mapping[str, _PrintedList],
        Matching(r'^osd\.\d+\.config_show\.json$'),
        '`ceph config show osd.N`, watched options only.',
    ]
    bluefs_files: Annotated[
        Mapping[str, _PrintedList],
        Matching(r'^osd\.\d+\.bluefs_files\.json$'),
        '`ceph tell osd.N bluefs files list`: shows whether RocksDB is sharded.',
    ]


@dataclass(frozen=True)
class ReportHead:
    """Header of a report."""

    format: Annotated[Literal['ceph-rocksdb-tuner-report'], 'Document format.']
    version: Annotated[Literal[1], 'Version of the format.']
    anonymous: Annotated[bool, 'Whether host names and addresses were replaced.']


@dataclass(frozen=True)
class Report:
    """All collected data in one document."""

    head: Annotated[ReportHead, InPlace()]
    files: Annotated[
        ReportFiles,
        'Files of a folder for `python3 -m rocksdb_tuner.offline`: contents by file name, limited '
        'to the data that the module uses.',
    ]
