"""A snapshot as Prometheus metrics.

Names follow Prometheus' conventions (base units, the unit last) with Ceph's prefix, and OSDs have
the label ``ceph_daemon`` like in Ceph's own metrics, so that both can be joined. All are gauges:
rates and means are computed from two reports of an OSD. Unknown values have no sample.

No label has free text except decisions and names of device classes and of custom profiles. Series:
at most `osd_series.SERIES_PER_OSD` for each OSD, `osd_series.SERIES_PER_DEVICE_CLASS` and one
decision for each class, one for each severity of each condition that is met, four for each arm of
an experiment, and fewer than 60 more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Callable, Optional

from ..advise.records import Kind, Severity
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.phases import Phase
from ..operations.rollout.records import RolloutState
from ..present.decisions import decisions_of
from ..present.experiment import arm_verdict
from ..present.phrases import osds_finished
from ..snapshot import Mode, Snapshot
from ..version import VERSION
from .exposition import Metric, exposition, labeled, metric, single, states
from .osd_series import device_classes, osds

#: Effect of an arm and both ends of its interval, in the order of `percent_of`.
_ARM_FIGURES = (
    (
        'experiment_arm_effect_ratio',
        'Change of the signal in an arm relative to unchanged OSDs; negative is better.',
    ),
    ('experiment_arm_effect_low_ratio', 'Lower end of its 95% interval.'),
    ('experiment_arm_effect_high_ratio', 'Upper end of its 95% interval.'),
)


def metrics(snapshot: Snapshot, osd_limit: int) -> tuple[Metric, ...]:
    """All metrics of ``snapshot``; per-OSD metrics for up to ``osd_limit`` OSDs."""
    omitted_osds = len(snapshot.osds) if len(snapshot.osds) > osd_limit else 0
    return (
        *_module(snapshot, omitted_osds),
        *_advice(snapshot),
        *_rollout(snapshot.rollout),
        *_experiment(snapshot.experiment),
        *device_classes(snapshot.groups),
        *(() if omitted_osds else osds(snapshot.osds)),
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
    affected: dict[tuple[str, str], set[int]] = {}
    for finding in snapshot.findings:
        key = (finding.finding_id, finding.severity.value)
        affected.setdefault(key, set()).update(finding.osds)
    yield metric(
        'finding_osds',
        'OSDs affected by a finding; 0 if it affects no single OSD.',
        [
            labeled(len(osds), finding=finding_id, severity=severity)
            for (finding_id, severity), osds in sorted(affected.items())
        ],
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
    phases, finished = [phase.value for phase in Phase], osds_finished(state)
    yield states('rollout_phase', '1 for the phase of the last rollout.', phases, state.phase.value)
    yield single('rollout_osds', 'OSDs of the last rollout.', len(state.osds))
    yield single('rollout_finished_osds', 'Finished OSDs of the last rollout.', finished)
    yield from _times('rollout', state.started_s, state.updated_s)


def _times(kind: str, started_s: float, updated_s: float) -> Iterable[Metric]:
    progress = f'Time of the last progress of the last {kind}.'
    yield single(f'{kind}_start_timestamp_seconds', f'Start time of the last {kind}.', started_s)
    yield single(f'{kind}_update_timestamp_seconds', progress, updated_s)


def _experiment(state: Optional[ExperimentState]) -> Iterable[Metric]:
    """The current or last experiment; nothing before the first."""
    if state is None:
        return
    phases = [phase.value for phase in Stage]
    yield states(
        'experiment_phase', '1 for the phase of the last experiment.', phases, state.phase.value
    )
    changed = len(state.changed)
    yield single('experiment_changed_osds', 'OSDs that run the options of an arm.', changed)
    yield from _times('experiment', state.started_s, state.updated_s)
    gains = {arm.name: arm.percents for arm in state.arms}
    verdicts = {arm.name: arm_verdict(arm, state.request.objective) for arm in state.arms}
    yield metric(
        'experiment_arm_info',
        'Verdict on each arm of the last experiment; empty before the first.',
        [
            labeled(1, arm=name, verdict='' if verdict is None else verdict.value)
            for name, verdict in verdicts.items()
        ],
    )
    for number, (name, text) in enumerate(_ARM_FIGURES):
        yield metric(
            name,
            text,
            [
                labeled(value / 100, arm=arm, signal=state.request.objective)
                for arm, percents in gains.items()
                for value in [percents[number]]
                if value is not None
            ],
        )


class MetricsText:
    """The text of the newest snapshot, rendered once per snapshot.

    Called in the endpoint's threads, one at a time; queries neither the cluster nor the serve
    thread.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], osd_limit: Callable[[], int]) -> None:
        self._snapshot = snapshot
        self._osd_limit = osd_limit
        self._written_of: Optional[tuple[Snapshot, int]] = None
        self._text = ''

    def __call__(self) -> str:
        snapshot, osd_limit = self._snapshot(), self._osd_limit()
        written_of = self._written_of
        if written_of is None or written_of[0] is not snapshot or written_of[1] != osd_limit:
            self._text = exposition(metrics(snapshot, osd_limit))
            self._written_of = snapshot, osd_limit
        return self._text
