"""Health checks of the module, in the format of `set_health_checks`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional, Union

from ..advise.conditions.declaration import conditions
from ..advise.records import Finding, Severity
from ..observe.report_interval import USABLE_S, ReportInterval, Reports
from ..operations.experiment.announce import why_failed as why_experiment_failed
from ..operations.phases import Phase
from ..operations.rollout.admission import describe_left_behind
from ..operations.rollout.announce import why_failed
from ..snapshot import Sampling, Snapshot
from ..steps import StepFailure
from ..units import format_duration
from .advice import decisions_of
from .layout import clean, joined

#: Severity, summary, count and detail of each check, by code.
Check = dict[str, Union[int, str, list[str]]]
HealthChecks = dict[str, Check]

STATE_BROKEN = 'ROCKSDB_TUNER_STATE_BROKEN'
OPTIONS_CONFLICT = 'ROCKSDB_TUNER_OPTIONS_CONFLICT'
ROLLOUT_FAILED = 'ROCKSDB_TUNER_ROLLOUT_FAILED'
ROLLOUT_WAITING = 'ROCKSDB_TUNER_ROLLOUT_WAITING'
COMPACTION_WAITING = 'ROCKSDB_TUNER_COMPACTION_WAITING'
EXPERIMENT_FAILED = 'ROCKSDB_TUNER_EXPERIMENT_FAILED'
EXPERIMENT_WAITING = 'ROCKSDB_TUNER_EXPERIMENT_WAITING'
_ACKNOWLEDGE = '"ceph rocksdb-tuner operation resume" acknowledges it'
REPORTS_SLOW = 'ROCKSDB_TUNER_REPORTS_SLOW'
REPORTS_MISSING = 'ROCKSDB_TUNER_REPORTS_MISSING'
METRICS_UNAVAILABLE = 'ROCKSDB_TUNER_METRICS_UNAVAILABLE'
STEP_FAILED = 'ROCKSDB_TUNER_STEP_FAILED'
_DOCTOR = '"ceph rocksdb-tuner doctor" has the command that mends it'
#: Monitors may refuse commands for a moment.
_REFUSED_S = 60.0

#: The maximum number of OSD names in the detail, which the monitor stores.
_OSDS_NAMED = 50


def health_checks(snapshot: Snapshot, metrics_problem: Optional[str] = None) -> HealthChecks:
    """The checks to raise; all others are cleared.

    ``metrics_problem``: why metrics cannot be served although they are enabled.
    """
    of_the_module = (
        (METRICS_UNAVAILABLE, 'serve its metrics', (metrics_problem,)),
        (STATE_BROKEN, 'read or store its state', snapshot.notices),
        (OPTIONS_CONFLICT, 'apply changes with its current options', (snapshot.impossible,)),
    )
    checks: HealthChecks = {}
    for code, what, problems in of_the_module:
        if detail := [problem for problem in problems if problem is not None]:
            checks[code] = _check(f'rocksdb_tuner cannot {what}', detail)
    checks |= _report_checks(snapshot.sampling)
    checks |= failing_checks(
        snapshot.failing, snapshot.taken_s if snapshot.published_s is None else snapshot.published_s
    )
    checks |= _operation_checks(snapshot)
    by_condition: dict[str, list[Finding]] = {}
    for finding in snapshot.alarms:
        by_condition.setdefault(finding.finding_id, []).append(finding)
    decided = list(zip(snapshot.groups, decisions_of(snapshot))) if by_condition else []
    for condition_id, findings in by_condition.items():
        known = conditions()[condition_id]
        if known.health is None:
            continue
        osds = {osd_id for finding in findings for osd_id in finding.osds}
        worst = Severity.ERROR in {finding.severity for finding in findings}
        detail = [line for finding in findings for line in _detail(finding)]
        detail += [
            joined(f'{d.who}: {d.do}', d.next_command, by=': ')
            for group, d in decided
            if osds.intersection(group.osd_ids)
        ]
        checks[known.health_code] = _check(
            f'{len(osds)} OSD(s) {known.health.summary}',
            detail,
            count=len(osds),
            severity='error' if worst else 'warning',
        )
    return checks


def failing_checks(failing: Iterable[StepFailure], now_s: Optional[float]) -> HealthChecks:
    """Raised while steps of the module fail; independent of all other state."""
    lasting = [
        failure
        for failure in failing
        if not failure.refused or now_s is None or now_s - failure.since_s >= _REFUSED_S
    ]
    if not lasting:
        return {}
    detail = [failure.sentence for failure in lasting]
    count = len(lasting)
    return {STEP_FAILED: _check(f'{count} rocksdb_tuner step(s) failing', detail, count)}


def _report_checks(sampling: Sampling) -> HealthChecks:
    """Without them an answer would look as if OSDs were measured."""
    if sampling.reports is Reports.NONE:
        detail = ['Workloads and limits are unknown, and no OSD is changed.', _DOCTOR]
        return {REPORTS_MISSING: _check('no OSD reports to rocksdb_tuner', detail)}
    if sampling.reports is Reports.SLOW:
        known = ReportInterval(sampling.report_interval_s)
        every = (
            f'OSDs report every {format_duration(known.interval_s)} (mgr_stats_period); at most '
            f'{format_duration(USABLE_S)} can be judged: no further OSD is changed.'
        )
        check = _check('OSDs report too rarely for rocksdb_tuner', [every, _DOCTOR])
        return {REPORTS_SLOW: check}
    return {}


def _operation_checks(snapshot: Snapshot) -> HealthChecks:
    """Operations that failed, until that is acknowledged, or require operator action."""
    rollout, campaign, tried = snapshot.rollout, snapshot.campaign, snapshot.experiment
    checks: HealthChecks = {}
    if rollout is not None:
        name = f'rocksdb_tuner rollout {rollout.rollout_id} of {rollout.request.who}'
        failed, left = why_failed(rollout), describe_left_behind(rollout)
        if failed is not None and not snapshot.rollout_acknowledged:
            ended = 'was rolled back' if rollout.stage is Phase.ROLLED_BACK else 'failed'
            checks[ROLLOUT_FAILED] = _check(f'{name} {ended}', [failed, _ACKNOWLEDGE])
        else:
            unrestored = [] if left is None else [f'not restored: {left}']
            checks |= _waits(ROLLOUT_WAITING, name, snapshot.rollout_waits, *unrestored)
    if campaign is not None:
        name = f'rocksdb_tuner compaction campaign {campaign.campaign_id} of {campaign.request.who}'
        checks |= _waits(COMPACTION_WAITING, name, snapshot.campaign_waits)
    if tried is not None:
        name = f'rocksdb_tuner experiment {tried.experiment_id} on {tried.request.who}'
        failed = why_experiment_failed(tried)
        if failed is not None and not tried.acknowledged:
            checks[EXPERIMENT_FAILED] = _check(f'{name} failed', [failed, _ACKNOWLEDGE])
        else:
            checks |= _waits(EXPERIMENT_WAITING, name, snapshot.experiment_waits)
    return checks


def _waits(code: str, name: str, reason: Optional[str], *more: str) -> HealthChecks:
    if reason is None:
        return {}
    return {code: _check(f'{name} requires operator action', [reason, *more])}


def _detail(finding: Finding) -> Iterable[str]:
    yield finding.summary
    if finding.osds:
        yield f'    on {_names(finding.osds)}'
    yield f'    remedy: {finding.remedy}'
    if finding.do_not:
        yield f'    {finding.do_not}'


def _names(osd_ids: Sequence[int]) -> str:
    names = ', '.join(f'osd.{i}' for i in sorted(osd_ids)[:_OSDS_NAMED])
    more = len(osd_ids) - _OSDS_NAMED
    return names if more <= 0 else f'{names} and {more} more'


def _check(summary: str, detail: Iterable[str], count: int = 1, severity: str = 'warning') -> Check:
    # The monitor prints them verbatim.
    lines = [clean(line) for line in detail]
    return {'severity': severity, 'summary': clean(summary), 'count': count, 'detail': lines}
