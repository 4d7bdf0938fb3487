"""A snapshot as Prometheus metrics.

Names are Prometheus' (base units, the unit last) below Ceph's prefix, and OSDs are labeled
``ceph_daemon`` as Ceph's own metrics label them, so that both can be joined. All are gauges: rates
and means were worked out between two reports of an OSD. What is not known has no sample.

No label holds a text that somebody else chooses freely but the name of a device class and that of
an operator's profile. Series: at most `SERIES_PER_OSD` for each OSD, `SERIES_PER_DEVICE_CLASS` for
each class, one for each severity of each condition that is met, four for each arm of an experiment,
and fewer than 60 more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Optional

from ..advise.records import GroupFacts, Kind, OsdFacts, Severity
from ..observe.signals import Signals
from ..operations.experiment.records import ExperimentState
from ..operations.phases import Phase
from ..operations.rollout.records import RolloutState
from ..present.experiments import ExperimentPhase, arm_verdict, percent_of
from ..present.experiments import phase_of as experiment_phase
from ..present.summaries import options_in_use, osds_finished
from ..snapshot import Mode, Snapshot
from ..version import VERSION
from ..workload.records import Workload, WorkloadClass
from .exposition import Metric, Sample

PREFIX = 'ceph_rocksdb_tuner_'


class _OsdSignal(NamedTuple):
    """The metric of an OSD signal."""

    name: str
    help: str
    read: Callable[[Signals], Optional[float]]


class _ClassFigure(NamedTuple):
    """An aggregate over the OSDs of a device class that have a value."""

    name: str
    help: str
    combine: Callable[[Iterable[float]], float]
    read: Callable[[Signals], Optional[float]]


def _seconds(milliseconds: Optional[float]) -> Optional[float]:
    return None if milliseconds is None else milliseconds / 1000


def _db_used_ratio(signals: Signals) -> Optional[float]:
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


_OSD_SIGNALS = (
    _OsdSignal(
        'osd_kv_sync_seconds',
        'Mean duration of a kv_sync round.',
        lambda s: _seconds(s.kv_sync_ms),
    ),
    _OsdSignal(
        'osd_kv_sync_busy_ratio',
        'Share of time that the kv_sync thread is busy; at 1 it limits the writes of the OSD.',
        lambda s: s.kv_sync_busy,
    ),
    _OsdSignal(
        'osd_kv_flush_seconds',
        'Mean duration of the device flush inside kv_sync.',
        lambda s: _seconds(s.kv_flush_ms),
    ),
    _OsdSignal(
        'osd_commit_seconds',
        'Mean time from submission of a transaction to BlueStore until it is durable.',
        lambda s: _seconds(s.commit_ms),
    ),
    _OsdSignal(
        'osd_client_write_seconds',
        'Mean latency of client writes.',
        lambda s: _seconds(s.op_w_latency_ms),
    ),
    _OsdSignal(
        'osd_client_writes_per_second',
        'Client writes to this OSD as a primary.',
        lambda s: s.write_iops,
    ),
    _OsdSignal(
        'osd_client_reads_per_second',
        'Client reads from this OSD as a primary.',
        lambda s: s.read_iops,
    ),
    _OsdSignal(
        'osd_client_write_bytes_per_second',
        'Bytes that clients write to this OSD as a primary.',
        lambda s: s.write_bytes_per_s,
    ),
    _OsdSignal(
        'osd_wal_bytes_per_second',
        'Bytes that BlueFS writes to the write-ahead log of RocksDB.',
        lambda s: s.wal_bytes_per_s,
    ),
    _OsdSignal(
        'osd_sst_bytes_per_second',
        'Bytes that BlueFS writes to SST files.',
        lambda s: s.sst_bytes_per_s,
    ),
    _OsdSignal(
        'osd_slow_bytes_per_second',
        'Bytes that RocksDB writes to the slow device; included in WAL and SST bytes.',
        lambda s: s.slow_bytes_per_s,
    ),
    _OsdSignal(
        'osd_compaction_bytes_per_second',
        'Bytes written by compaction, as reported by RocksDB or else estimated.',
        lambda s: s.compaction_bytes_per_s,
    ),
    _OsdSignal(
        'osd_db_write_amplification_ratio',
        'WAL and SST bytes divided by WAL bytes.',
        lambda s: s.db_write_amp,
    ),
    _OsdSignal('osd_db_used_bytes', 'Bytes used by RocksDB.', lambda s: s.db_used_bytes),
    _OsdSignal(
        'osd_db_total_bytes',
        'Size of the dedicated DB device; absent if the DB is on the data device.',
        lambda s: s.db_total_bytes,
    ),
    _OsdSignal(
        'osd_slow_used_bytes',
        'Bytes of RocksDB on the slow device (spillover).',
        lambda s: s.slow_used_bytes,
    ),
)

_CLASS_FIGURES = (
    _ClassFigure(
        'device_class_kv_sync_max_seconds',
        'Maximum mean duration of a kv_sync round of any OSD.',
        max,
        lambda s: _seconds(s.kv_sync_ms),
    ),
    _ClassFigure(
        'device_class_kv_sync_busy_max_ratio',
        'Maximum share of time that the kv_sync thread of any OSD is busy.',
        max,
        lambda s: s.kv_sync_busy,
    ),
    _ClassFigure(
        'device_class_db_used_max_ratio',
        'Maximum usage of the DB device of any OSD.',
        max,
        _db_used_ratio,
    ),
    _ClassFigure(
        'device_class_wal_bytes_per_second',
        'Bytes that BlueFS writes to write-ahead logs, summed over reporting OSDs.',
        sum,
        lambda s: s.wal_bytes_per_s,
    ),
    _ClassFigure(
        'device_class_sst_bytes_per_second',
        'Bytes that BlueFS writes to SST files, summed over reporting OSDs.',
        sum,
        lambda s: s.sst_bytes_per_s,
    ),
    _ClassFigure(
        'device_class_compaction_bytes_per_second',
        'Bytes written by compaction, summed over reporting OSDs.',
        sum,
        lambda s: s.compaction_bytes_per_s,
    ),
)

#: Effect of an arm and both ends of its interval, in the order of `percent_of`.
_ARM_FIGURES = (
    (
        'experiment_arm_effect_ratio',
        'Change of the signal in an arm relative to unchanged OSDs; negative is better.',
    ),
    ('experiment_arm_effect_low_ratio', 'Lower end of its 95% interval.'),
    ('experiment_arm_effect_high_ratio', 'Upper end of its 95% interval.'),
)

#: The signals, osd_info, newest report, pending restart, and two of the forecast.
SERIES_PER_OSD = len(_OSD_SIGNALS) + 5
#: The aggregates, device_class_info, and the number of OSDs.
SERIES_PER_DEVICE_CLASS = len(_CLASS_FIGURES) + 2


def metrics(snapshot: Snapshot, osd_limit: int) -> tuple[Metric, ...]:
    """All metrics of ``snapshot``; per-OSD metrics for up to ``osd_limit`` OSDs."""
    single = len(snapshot.osds) <= osd_limit
    return (
        *_module(snapshot, omitted_osds=0 if single else len(snapshot.osds)),
        *_advice(snapshot),
        *_rollout(snapshot.rollout),
        *_experiment(snapshot.experiment),
        *_device_classes(snapshot.groups),
        *(_osds(snapshot.osds, snapshot.taken_s) if single else ()),
    )


def _module(snapshot: Snapshot, omitted_osds: int) -> Iterable[Metric]:
    sampling = snapshot.sampling
    yield _metric('build_info', 'Version of the module.', [_labeled(1, version=VERSION)])
    yield _states('mode', '1 for the current mode.', [m.value for m in Mode], snapshot.mode.value)
    yield _one('snapshot_timestamp_seconds', 'Time of the last update.', snapshot.taken_s)
    yield _one(
        'sample_interval_seconds', 'Time between two samples of an OSD.', sampling.interval_s
    )
    yield _one(
        'tick_cpu_seconds',
        'CPU time of the last sampling and evaluation.',
        _seconds(sampling.tick_ms),
    )
    yield _one('osds', 'OSDs known to the module.', len(snapshot.osds))
    yield _one('sampled_osds', 'OSDs with a usable sample.', sampling.osds)
    yield _one(
        'omitted_osds',
        'OSDs without per-OSD metrics, because there are more than metrics_osd_limit.',
        omitted_osds,
    )
    yield _one(
        'managers_without_module',
        'Managers on which the module is not installed.',
        sum(not manager.has_module for manager in snapshot.managers),
    )


def _advice(snapshot: Snapshot) -> Iterable[Metric]:
    severities = Counter(finding.severity for finding in snapshot.findings)
    yield _metric(
        'findings',
        'Current findings.',
        [_labeled(severities[s], severity=s.value) for s in Severity],
    )
    affected: dict[tuple[str, str], set[int]] = {}
    for finding in snapshot.findings:
        key = (finding.finding_id, finding.severity.value)
        affected.setdefault(key, set()).update(finding.osds)
    yield _metric(
        'finding_osds',
        'OSDs affected by a finding; 0 if it affects no single OSD.',
        [
            _labeled(len(osds), finding=finding_id, severity=severity)
            for (finding_id, severity), osds in sorted(affected.items())
        ],
    )
    kinds = Counter(r.kind for r in snapshot.recommendations)
    yield _metric(
        'recommendations',
        'Current recommendations.',
        [_labeled(kinds[kind], kind=kind.value) for kind in Kind],
    )


def _rollout(state: Optional[RolloutState]) -> Iterable[Metric]:
    """The current or last rollout; nothing before the first."""
    if state is None:
        return
    phases = [phase.value for phase in Phase]
    yield _states(
        'rollout_phase', '1 for the phase of the last rollout.', phases, state.phase.value
    )
    yield _one('rollout_osds', 'OSDs of the last rollout.', len(state.osds))
    yield _one('rollout_finished_osds', 'Finished OSDs of the last rollout.', osds_finished(state))
    yield _one(
        'rollout_start_timestamp_seconds', 'Start time of the last rollout.', state.started_s
    )
    yield _one(
        'rollout_update_timestamp_seconds',
        'Time of the last progress of the last rollout.',
        state.updated_s,
    )


def _experiment(state: Optional[ExperimentState]) -> Iterable[Metric]:
    """The current or last experiment; nothing before the first."""
    if state is None:
        return
    phases = [phase.value for phase in ExperimentPhase]
    yield _states(
        'experiment_phase',
        '1 for the phase of the last experiment.',
        phases,
        experiment_phase(state).value,
    )
    changed = sum(osd.arm is not None for osd in state.osds)
    yield _one('experiment_changed_osds', 'OSDs that run the options of an arm.', changed)
    yield _one(
        'experiment_start_timestamp_seconds', 'Start time of the last experiment.', state.started_s
    )
    yield _one(
        'experiment_update_timestamp_seconds',
        'Time of the last progress of the last experiment.',
        state.updated_s,
    )
    gains = {result.name: percent_of(result.gain) for result in state.results}
    verdicts = {arm.name: arm_verdict(state, arm.name) for arm in state.request.arms}
    yield _metric(
        'experiment_arm_info',
        'Verdict on each arm of the last experiment; empty before the first.',
        [
            _labeled(1, arm=name, verdict='' if verdict is None else verdict.value)
            for name, verdict in verdicts.items()
        ],
    )
    for number, (name, text) in enumerate(_ARM_FIGURES):
        yield _metric(
            name,
            text,
            [
                _labeled(value / 100, arm=arm, signal=state.request.objective)
                for arm, percents in gains.items()
                for value in [percents[number]]
                if value is not None
            ],
        )


def _device_classes(groups: Sequence[GroupFacts]) -> Iterable[Metric]:
    yield _metric(
        'device_class_info',
        'Workload and options of a device class.',
        [
            _labeled(
                1,
                device_class=group.device_class,
                workload=_workload(group.workload),
                profile=options_in_use(group.osds).profile or '',
            )
            for group in groups
        ],
    )
    yield _metric(
        'device_class_osds',
        'OSDs in a device class.',
        [_labeled(len(group.osds), device_class=group.device_class) for group in groups],
    )
    for figure in _CLASS_FIGURES:
        samples = []
        for group in groups:
            read = [figure.read(osd.signals) for osd in group.osds if osd.signals]
            known = [value for value in read if value is not None]
            if known:
                samples.append(_labeled(figure.combine(known), device_class=group.device_class))
        yield _metric(figure.name, figure.help, samples)


def _osds(osds: Sequence[OsdFacts], taken_s: Optional[float]) -> Iterable[Metric]:
    yield _metric(
        'osd_info',
        'Workload and options of an OSD.',
        [
            _labeled(
                1,
                ceph_daemon=_daemon(osd),
                device_class=osd.info.device_class or '',
                workload=_workload(osd.workload),
                profile=(osd.options.profile if osd.options else None) or '',
            )
            for osd in osds
        ],
    )
    for signal in _OSD_SIGNALS:
        yield _of_osds(signal.name, signal.help, osds, partial(_read, signal))
    yield _of_osds(
        'osd_report_timestamp_seconds',
        'Time of the newest report of the OSD that was used.',
        osds,
        lambda o: _sent_s(o, taken_s),
    )
    yield _of_osds(
        'osd_restart_pending',
        '1 if the OSD runs a different option string than the configured one, else 0.',
        osds,
        lambda o: o.options.pending_restart if o.options else None,
    )
    yield _of_osds(
        'osd_db_full_timestamp_seconds',
        'Forecast time at which the DB device is full.',
        osds,
        lambda o: _full_s(o, earliest=False),
    )
    yield _of_osds(
        'osd_db_full_earliest_timestamp_seconds',
        'Earliest forecast time at which the DB device is full (90% interval).',
        osds,
        lambda o: _full_s(o, earliest=True),
    )


def _read(signal: _OsdSignal, osd: OsdFacts) -> Optional[float]:
    return None if osd.signals is None else signal.read(osd.signals)


def _sent_s(osd: OsdFacts, taken_s: Optional[float]) -> Optional[float]:
    if taken_s is None or osd.signals is None or osd.signals.sample_age_s is None:
        return None
    return taken_s - osd.signals.sample_age_s


def _full_s(osd: OsdFacts, *, earliest: bool) -> Optional[float]:
    if osd.forecast is None:
        return None
    in_s = osd.forecast.full_earliest_s if earliest else osd.forecast.full_in_s
    return None if in_s is None else osd.forecast.time_s + in_s


def _workload(found: Optional[Workload]) -> str:
    return (found.workload_class if found else WorkloadClass.UNKNOWN).value


def _daemon(osd: OsdFacts) -> str:
    return f'osd.{osd.info.osd_id}'


def _of_osds(
    name: str, text: str, osds: Sequence[OsdFacts], read: Callable[[OsdFacts], Optional[float]]
) -> Metric:
    values = [(osd, read(osd)) for osd in osds]
    return _metric(
        name,
        text,
        [_labeled(value, ceph_daemon=_daemon(osd)) for osd, value in values if value is not None],
    )


def _states(name: str, text: str, states: Sequence[str], current: str) -> Metric:
    """A sample per state, since Prometheus has no enumerations."""
    label = name.rsplit('_', 1)[-1]
    return _metric(name, text, [_labeled(s == current, **{label: s}) for s in states])


def _one(name: str, text: str, value: Optional[float]) -> Metric:
    return _metric(name, text, [] if value is None else [_labeled(value)])


def _labeled(value: float, **labels: str) -> Sample:
    # A bool is an int to Python; its text would not be a number to Prometheus.
    return Sample(tuple(labels.items()), float(value))


def _metric(name: str, text: str, samples: Sequence[Sample]) -> Metric:
    # A ratio with a zero denominator is unknown.
    return Metric(PREFIX + name, text, tuple(s for s in samples if math.isfinite(s.value)))
