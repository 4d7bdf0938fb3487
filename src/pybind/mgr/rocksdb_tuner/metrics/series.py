"""A snapshot as Prometheus metrics.

Names follow Prometheus' conventions (base units, the unit last) with Ceph's prefix, and OSDs have
the label ``ceph_daemon`` like in Ceph's own metrics, so that both can be joined. All are gauges:
rates and means are computed from two reports of an OSD. Unknown values have no sample.

No label has free text except decisions and names of device classes and of custom profiles. Series:
at most 21 for each OSD, 9 for each class, one for each severity of each condition that is met, four
for each arm of an experiment, and fewer than 60 more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Callable, Optional

from ..advise.records import GroupFacts, Kind, OsdFacts, Severity
from ..observe.signals import Signals
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.phases import Phase
from ..operations.rollout.records import RolloutState
from ..present.advice import decisions_of
from ..present.osd import used_ratio
from ..present.phrases import options_in_use, osds_finished
from ..snapshot import Mode, Snapshot
from ..version import VERSION
from ..workload.records import Workload, WorkloadClass
from .exposition import Metric, exposition, labeled, metric, single, states

# fmt: off
#: Metric of an OSD, its signal, help. Milliseconds are shown as seconds.
_OSD_SIGNALS = (
    ('osd_kv_sync_seconds', 'kv_sync_ms', 'Mean duration of a kv_sync round.'),
    ('osd_kv_sync_busy_ratio', 'kv_sync_busy',
     'Share of time that the kv_sync thread is busy; at 1 it limits the writes of the OSD.'),
    ('osd_kv_flush_seconds', 'kv_flush_ms', 'Mean duration of the device flush inside kv_sync.'),
    ('osd_commit_seconds', 'commit_ms',
     'Mean time from submission of a transaction to BlueStore until it is durable.'),
    ('osd_client_write_seconds', 'op_w_latency_ms', 'Mean latency of client writes.'),
    ('osd_client_writes_per_second', 'write_iops', 'Client writes to this OSD as a primary.'),
    ('osd_client_reads_per_second', 'read_iops', 'Client reads from this OSD as a primary.'),
    ('osd_client_write_bytes_per_second', 'write_bytes_per_s',
     'Bytes that clients write to this OSD as a primary.'),
    ('osd_wal_bytes_per_second', 'wal_bytes_per_s',
     'Bytes that BlueFS writes to the write-ahead log of RocksDB.'),
    ('osd_sst_bytes_per_second', 'sst_bytes_per_s', 'Bytes that BlueFS writes to SST files.'),
    ('osd_slow_bytes_per_second', 'slow_bytes_per_s',
     'Bytes that RocksDB writes to the slow device; included in WAL and SST bytes.'),
    ('osd_compaction_bytes_per_second', 'compaction_bytes_per_s',
     'Bytes written by compaction, as reported by RocksDB or else estimated.'),
    ('osd_db_write_amplification_ratio', 'db_write_amp', 'WAL and SST bytes divided by WAL bytes.'),
    ('osd_db_used_bytes', 'db_used_bytes', 'Bytes used by RocksDB.'),
    ('osd_db_total_bytes', 'db_total_bytes',
     'Size of the dedicated DB device; absent if the DB is on the data device.'),
    ('osd_slow_used_bytes', 'slow_used_bytes',
     'Bytes of RocksDB on the slow device (spillover).'),
)
#: The same for a device class, with the aggregate over its OSDs that have a value.
_CLASS_SIGNALS: tuple[tuple[str, str, str, Callable[[Iterable[float]], float]], ...] = (
    ('device_class_kv_sync_max_seconds', 'kv_sync_ms',
     'Maximum mean duration of a kv_sync round of any OSD.', max),
    ('device_class_kv_sync_busy_max_ratio', 'kv_sync_busy',
     'Maximum share of time that the kv_sync thread of any OSD is busy.', max),
    ('device_class_db_used_max_ratio', 'db_used_ratio',
     'Maximum usage of the DB device of any OSD.', max),
    ('device_class_wal_bytes_per_second', 'wal_bytes_per_s',
     'Bytes that BlueFS writes to write-ahead logs, summed over reporting OSDs.', sum),
    ('device_class_sst_bytes_per_second', 'sst_bytes_per_s',
     'Bytes that BlueFS writes to SST files, summed over reporting OSDs.', sum),
    ('device_class_compaction_bytes_per_second', 'compaction_bytes_per_s',
     'Bytes written by compaction, summed over reporting OSDs.', sum),
)
#: Metric of an OSD, help, and its value.
_OTHERS: tuple[tuple[str, str, Callable[[OsdFacts], Optional[float]]], ...] = (
    ('osd_report_timestamp_seconds', 'Time of the newest report of the OSD that was used.',
     lambda osd: osd.signals.sampled_s if osd.signals else None),
    ('osd_restart_pending',
     '1 if the OSD runs a different option string than the configured one, else 0.',
     lambda osd: osd.options.pending_restart if osd.options else None),
    ('osd_db_full_timestamp_seconds', 'Forecast time at which the DB device is full.',
     lambda osd: _after(osd, osd.forecast.full_in_s) if osd.forecast else None),
    ('osd_db_full_earliest_timestamp_seconds',
     'Earliest forecast time at which the DB device is full (90% interval).',
     lambda osd: _after(osd, osd.forecast.full_earliest_s) if osd.forecast else None),
)
#: Effect of an arm and both ends of its interval, in the order of `percent_of`.
_ARM_FIGURES = (
    ('experiment_arm_effect_ratio',
     'Change of the signal in an arm relative to unchanged OSDs; negative is better.'),
    ('experiment_arm_effect_low_ratio', 'Lower end of its 95% interval.'),
    ('experiment_arm_effect_high_ratio', 'Upper end of its 95% interval.'),
)
# fmt: on


def metrics(snapshot: Snapshot, osd_limit: int) -> tuple[Metric, ...]:
    """All metrics of ``snapshot``; per-OSD metrics for up to ``osd_limit`` OSDs."""
    omitted_osds = len(snapshot.osds) if len(snapshot.osds) > osd_limit else 0
    return (
        *_module(snapshot, omitted_osds),
        *_advice(snapshot),
        *_rollout(snapshot.rollout),
        *_experiment(snapshot.experiment),
        *_device_classes(snapshot.groups),
        *(() if omitted_osds else _osds(snapshot.osds)),
    )


def _module(snapshot: Snapshot, omitted_osds: int) -> Iterable[Metric]:
    sampling, tick_ms = snapshot.sampling, snapshot.sampling.tick_ms
    yield metric('build_info', 'Version of the module.', [labeled(1, version=VERSION)])
    yield states('mode', '1 for the current mode.', [m.value for m in Mode], snapshot.mode.value)
    for name, text, value in (
        ('snapshot_timestamp_seconds', 'Time of the last update.', snapshot.taken_s),
        ('sample_interval_seconds', 'Time between two samples of an OSD.', sampling.interval_s),
        (
            'tick_cpu_seconds',
            'CPU time of a sampling with its share of the evaluations.',
            None if tick_ms is None else tick_ms / 1000,
        ),
        ('osds', 'OSDs known to the module.', len(snapshot.osds)),
        ('sampled_osds', 'OSDs with a usable sample.', sampling.osds),
        (
            'omitted_osds',
            'OSDs without per-OSD metrics, because there are more than metrics_osd_limit.',
            omitted_osds,
        ),
        (
            'managers_without_module',
            'Managers on which the module is not installed.',
            sum(not manager.has_module for manager in snapshot.managers),
        ),
    ):
        yield single(name, text, value)


def _advice(snapshot: Snapshot) -> Iterable[Metric]:
    severities = Counter(finding.severity for finding in snapshot.findings)
    counts = [labeled(severities[s], severity=s.value) for s in Severity]
    yield metric('findings', 'Current findings.', counts)
    affected: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for finding in snapshot.findings:
        affected[finding.finding_id, finding.severity.value].update(finding.osds)
    yield metric(
        'finding_osds',
        'OSDs affected by a finding; 0 if it affects no single OSD.',
        [labeled(len(ids), finding=n, severity=s) for (n, s), ids in sorted(affected.items())],
    )
    kinds = Counter(r.kind for r in snapshot.recommendations)
    advised = [labeled(kinds[kind], kind=kind.value) for kind in Kind]
    yield metric('recommendations', 'Current recommendations.', advised)
    yield metric(
        'decision_info',
        'What to do about a group of OSDs, in the words of `status`.',
        [
            labeled(1, who=d.who, do=d.do, next_command=d.next_command or '')
            for d in decisions_of(snapshot)
        ],
    )


def _rollout(state: Optional[RolloutState]) -> Iterable[Metric]:
    """The current or last rollout; nothing before the first."""
    if state is None:
        return
    finished = osds_finished(state)
    yield _phase('rollout_phase', Phase, state.phase)
    yield single('rollout_osds', 'OSDs of the last rollout.', len(state.osds))
    yield single('rollout_finished_osds', 'Finished OSDs of the last rollout.', finished)
    yield from _times('rollout', state.started_s, state.updated_s)


def _phase(name: str, phases: type[Enum], phase: Enum) -> Metric:
    text = f'1 for the phase of the last {name.removesuffix("_phase")}.'
    return states(name, text, [one.value for one in phases], phase.value)


def _times(kind: str, started_s: float, updated_s: float) -> Iterable[Metric]:
    progress = f'Time of the last progress of the last {kind}.'
    yield single(f'{kind}_start_timestamp_seconds', f'Start time of the last {kind}.', started_s)
    yield single(f'{kind}_update_timestamp_seconds', progress, updated_s)


def _experiment(state: Optional[ExperimentState]) -> Iterable[Metric]:
    """The current or last experiment; nothing before the first."""
    if state is None:
        return
    changed = len(state.changed)
    yield _phase('experiment_phase', Stage, state.phase)
    yield single('experiment_changed_osds', 'OSDs that run the options of an arm.', changed)
    yield from _times('experiment', state.started_s, state.updated_s)
    objective = state.request.objective
    yield metric(
        'experiment_arm_info',
        'Verdict on each arm of the last experiment; empty before the first.',
        [labeled(1, arm=arm.name, verdict=arm.verdict or '') for arm in state.arms],
    )
    for number, (name, text) in enumerate(_ARM_FIGURES):
        effects = [(arm.name, arm.percents[number]) for arm in state.arms]
        yield metric(
            name,
            text,
            [labeled(v / 100, arm=arm, signal=objective) for arm, v in effects if v is not None],
        )


def _device_classes(groups: Sequence[GroupFacts]) -> Iterable[Metric]:
    yield metric(
        'device_class_info',
        'Workload and options of a device class.',
        [
            labeled(
                1,
                device_class=group.device_class,
                workload=_workload(group.workload),
                profile=options_in_use(group.osds).profile or '',
            )
            for group in groups
        ],
    )
    yield metric(
        'device_class_osds',
        'OSDs in a device class.',
        [labeled(len(group.osds), device_class=group.device_class) for group in groups],
    )
    for name, signal, text, combine in _CLASS_SIGNALS:
        samples = []
        for group in groups:
            read = [_read(osd.signals, signal) for osd in group.osds]
            if any(value is not None for value in read):
                value = combine(value for value in read if value is not None)
                samples.append(labeled(value, device_class=group.device_class))
        yield metric(name, text, samples)


def _osds(osds: Sequence[OsdFacts]) -> Iterable[Metric]:
    daemons = [f'osd.{osd.info.osd_id}' for osd in osds]
    yield metric(
        'osd_info',
        'Workload and options of an OSD.',
        [
            labeled(
                1,
                ceph_daemon=daemon,
                device_class=osd.info.device_class or '',
                workload=_workload(osd.workload),
                profile=(osd.options.profile if osd.options else None) or '',
            )
            for daemon, osd in zip(daemons, osds)
        ],
    )
    values = {
        (n, text): [_read(o.signals, signal) for o in osds] for n, signal, text in _OSD_SIGNALS
    }
    values |= {(name, text): list(map(read, osds)) for name, text, read in _OTHERS}
    for (name, text), read in values.items():
        samples = [labeled(v, ceph_daemon=d) for d, v in zip(daemons, read) if v is not None]
        yield metric(name, text, samples)


def _read(signals: Optional[Signals], name: str) -> Optional[float]:
    if signals is None or name == 'db_used_ratio':
        return used_ratio(signals)
    value: Optional[float] = getattr(signals, name)
    return value / 1000 if value is not None and name.endswith('_ms') else value


def _after(osd: OsdFacts, in_s: Optional[float]) -> Optional[float]:
    return None if in_s is None or osd.forecast is None else osd.forecast.time_s + in_s


def _workload(found: Optional[Workload]) -> str:
    return (found.workload_class if found else WorkloadClass.UNKNOWN).value


class MetricsText:
    """The text of the newest snapshot, rendered once per snapshot.

    Called in the endpoint's threads, one at a time; queries neither the cluster nor the serve
    thread.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], osd_limit: Callable[[], int]) -> None:
        self._snapshot = snapshot
        self._osd_limit = osd_limit
        self._written: tuple[Optional[Snapshot], int, bytes] = (None, 0, b'')

    def __call__(self) -> bytes:
        snapshot, osd_limit = self._snapshot(), self._osd_limit()
        if self._written[0] is not snapshot or self._written[1] != osd_limit:
            text = exposition(metrics(snapshot, osd_limit))
            self._written = snapshot, osd_limit, text.encode('utf-8', 'replace')
        return self._written[2]
