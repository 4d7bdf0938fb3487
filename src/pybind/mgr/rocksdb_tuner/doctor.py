"""Checks whether the module can work in this cluster. Pure.

Findings are about RocksDB; these checks are about the module itself and its environment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from .mgr.records import ManagerHost, ManagerInfo
from .notes import Named
from .observe.report_interval import ReportInterval, Reports
from .snapshot import Mode, Snapshot
from .units import format_duration, format_ids, format_plural
from .version import MINIMUM_PYTHON

#: Samples older than this many intervals are late.
LATE_INTERVALS = 3
#: Options that provide compaction bytes and RocksDB's own times; each costs CPU in the OSD.
STATISTICS = ('rocksdb_perf', 'rocksdb_collect_extended_stats')

_WAIT_FOR_REPORTS = (
    'wait a minute; if that does not help, "ceph config get osd mgr_stats_threshold" must be 5 or '
    'less'
)
_NO_REPORTS = '"ceph mgr fail" fails over to a standby; the logs of OSDs show why they are cut off'
_SHORTEN = '"ceph config set mgr mgr_stats_period 5"'
_NO_AUTOTUNE = '"ceph config set mgr mgr_stats_period_autotune false"'
_RESTART_MANAGERS = (
    'restart every manager: "systemctl restart ceph-mgr.target" on its host, or with cephadm '
    '"ceph orch restart mgr"'
)


@dataclass(frozen=True)
class Environment:
    """Data of the active manager besides the snapshot."""

    #: None: unknown so far.
    host: Optional[ManagerHost]
    #: Whether an orchestrator can restart OSDs; None: unknown so far.
    orchestrated: Optional[bool]
    #: Why it cannot.
    orchestrator_reason: Optional[str]
    #: A browser reported that the page of this release has no place for the tab.
    tab_unplaced: bool
    #: None if metrics are not served.
    metrics_url: Optional[str]
    metrics_enabled: bool


@dataclass(frozen=True)
class DoctorCheck:
    """One check of the module and its surroundings."""

    check_id: Annotated[str, 'Stable id of the check.', Named('id')]
    ok: Annotated[Optional[bool], 'Whether it passed; null: unknown so far.']
    summary: Annotated[str, 'What was found.']
    remedy: Annotated[Optional[str], 'What to do, with commands; null: nothing.'] = None
    optional: Annotated[bool, 'Whether the module works without it.'] = False


def examine(snapshot: Snapshot, environment: Environment) -> tuple[DoctorCheck, ...]:
    """All checks, starting with those that all others depend on."""
    basic = (_mode, _managers, _release)
    about_module = (_parts, _stored_data, _options, _statistics)
    about_environment = (_python, _orchestrator, _dashboard, _metrics)
    return (
        *(check(snapshot) for check in basic),
        _sampling(snapshot, environment),
        *(check(snapshot) for check in about_module),
        *(check(environment) for check in about_environment),
    )


def _mode(snapshot: Snapshot) -> DoctorCheck:
    summary = f'the mode is {snapshot.mode.value}'
    if snapshot.mode is Mode.OFF:
        return DoctorCheck(
            'mode', False, f'{summary}: nothing is sampled', '"ceph rocksdb-tuner mode recommend"'
        )
    return DoctorCheck('mode', True, summary)


def _managers(snapshot: Snapshot) -> DoctorCheck:
    managers = snapshot.managers
    if not managers:
        return DoctorCheck('manager-files', None, 'the managers are not known yet')
    lacking = [manager for manager in managers if not manager.has_module]
    if not lacking:
        return DoctorCheck(
            'manager-files', True, f'the module is available in {_managers_named(managers)}'
        )
    return DoctorCheck(
        'manager-files',
        False,
        f'the module is not available in {_managers_named(lacking)}: nothing is measured while '
        'such a manager is active',
        f'install the package on that host, then {_RESTART_MANAGERS}',
    )


def _managers_named(managers: Iterable[ManagerInfo]) -> str:
    return ', '.join(
        f'mgr.{manager.name}' + (f' on {manager.host}' if manager.host else '')
        for manager in managers
    )


def _release(snapshot: Snapshot) -> DoctorCheck:
    unknown = [osd for osd in snapshot.osds if osd.options is None and osd.info.up]
    if snapshot.release is None:
        return DoctorCheck(
            'release',
            False,
            'the release of the active manager is unknown to this version of the module: it '
            'measures, but recommends and changes nothing',
            'install a version of the module that knows this release',
        )
    releases = sorted({osd.info.release or 'an unknown release' for osd in snapshot.osds})
    if len(releases) > 1:
        return DoctorCheck(
            'release',
            False,
            f'OSDs run {", ".join(releases)}: a group of several releases gets no recommendation',
            'finish the upgrade: "ceph versions" and "ceph orch upgrade status"',
        )
    if unknown:
        names = format_ids([osd.info.osd_id for osd in unknown])
        return DoctorCheck('release', None, f'no options reported yet by osd.{names}')
    return DoctorCheck('release', True, f'{snapshot.release} is a known release')


def _sampling(snapshot: Snapshot, environment: Environment) -> DoctorCheck:
    up = [osd for osd in snapshot.osds if osd.info.up]
    sampling = snapshot.sampling
    if snapshot.mode is Mode.OFF or not up:
        return DoctorCheck('sampling', None, 'no OSD is sampled')
    silent = [osd.info.osd_id for osd in up if osd.signals is None]
    known, age_s = ReportInterval(sampling.report_interval_s), sampling.last_sample_age_s
    late_s = max(LATE_INTERVALS * (sampling.interval_s or 0.0), known.stale_s)
    every = f'OSDs report every {format_duration(known.interval_s)} (mgr_stats_period)'
    if sampling.reports is Reports.SLOW:
        return DoctorCheck(
            'sampling', False, f'{every}: too rarely to be judged', _shorten(environment)
        )
    if sampling.reports is Reports.NONE:
        return DoctorCheck('sampling', False, 'no OSD reports to this manager', _NO_REPORTS)
    if age_s is None:
        return DoctorCheck(
            'sampling',
            None,
            'no OSD has reported counters to this manager yet',
            _WAIT_FOR_REPORTS,
        )
    if age_s > late_s:
        return DoctorCheck(
            'sampling',
            False,
            f'the newest sample is {format_duration(age_s)} old',
            'see the log of the active manager; "ceph mgr fail" fails over to a standby',
        )
    if silent:
        return DoctorCheck(
            'sampling',
            False,
            f'no usable sample of osd.{format_ids(silent)}, which is up',
            f'{every}: wait for the second report' if known.late_s else _WAIT_FOR_REPORTS,
        )
    sampled = f'{format_plural(len(up), "OSD")} sampled, newest sample {format_duration(age_s)} old'
    return DoctorCheck('sampling', True, f'{sampled}; {every}' if known.unusual else sampled)


def _shorten(environment: Environment) -> str:
    """How to make OSDs report more often."""
    host = environment.host
    if host is None or not host.report_period_autotuned:
        return _SHORTEN
    return (
        'a busy manager raises it: disable manager modules that are not needed ("ceph mgr module '
        f'ls"), or {_NO_AUTOTUNE} and {_SHORTEN}'
    )


def _parts(snapshot: Snapshot) -> DoctorCheck:
    if snapshot.failing:
        return DoctorCheck(
            'module',
            False,
            ' '.join(failure.sentence for failure in snapshot.failing),
            'see the log of the active manager',
        )
    return DoctorCheck('module', True, 'all steps of the module work')


def _stored_data(snapshot: Snapshot) -> DoctorCheck:
    if snapshot.notices:
        return DoctorCheck(
            'stored-data',
            False,
            ' '.join(snapshot.notices),
            '"ceph rocksdb-tuner history" and "ceph config dump" show past changes',
        )
    return DoctorCheck('stored-data', True, 'stored data is readable')


def _options(snapshot: Snapshot) -> DoctorCheck:
    if snapshot.impossible is not None:
        return DoctorCheck(
            'options',
            False,
            snapshot.impossible,
            '"ceph config set mgr mgr/rocksdb_tuner/OPTION VALUE"',
        )
    return DoctorCheck('options', True, 'the options of the module are consistent')


def _statistics(snapshot: Snapshot) -> DoctorCheck:
    known = [osd for osd in snapshot.osds if osd.settings is not None]
    if not known:
        return DoctorCheck(
            'statistics', None, 'the options of OSDs are not known yet', optional=True
        )
    without = [
        osd.info.osd_id
        for osd in known
        for settings in [osd.settings or {}]
        if not all(name in settings and settings[name].value == 'true' for name in STATISTICS)
    ]
    if not without:
        return DoctorCheck(
            'statistics', True, 'RocksDB statistics are enabled on every OSD', optional=True
        )
    one = '"ceph rocksdb-tuner osd deep ID" for a single OSD'
    enable = ', '.join(f'"ceph config set osd {name} true"' for name in STATISTICS)
    unstartable = any(o.options is not None and o.options.starts is False for o in snapshot.osds)
    return DoctorCheck(
        'statistics',
        False,
        f'RocksDB statistics are disabled on {format_plural(len(without), "OSD")}: compaction '
        'bytes are estimates',
        one if unstartable else f'{enable}, then restart the OSDs; or {one}',
        optional=True,
    )


def _python(environment: Environment) -> DoctorCheck:
    if environment.host is None:
        return DoctorCheck('python', None, 'the active manager is not known yet')
    version = '.'.join(map(str, environment.host.python))
    least = '.'.join(map(str, MINIMUM_PYTHON))
    if environment.host.python < MINIMUM_PYTHON:
        return DoctorCheck(
            'python',
            False,
            f'the active manager runs Python {version}; the module requires {least}',
            'upgrade to a package or image of Ceph with a newer Python',
        )
    return DoctorCheck('python', True, f'the active manager runs Python {version}')


def _orchestrator(environment: Environment) -> DoctorCheck:
    if environment.orchestrated is None:
        return DoctorCheck('orchestrator', None, 'the orchestrator is not known yet', optional=True)
    if environment.orchestrated:
        return DoctorCheck('orchestrator', True, 'an orchestrator can restart OSDs', optional=True)
    return DoctorCheck(
        'orchestrator',
        False,
        f'no orchestrator can restart OSDs: {environment.orchestrator_reason}',
        'restart each OSD of a rollout when asked; auto-apply requires an orchestrator: '
        '"ceph orch set backend NAME"',
        optional=True,
    )


def _dashboard(environment: Environment) -> DoctorCheck:
    if environment.host is None:
        return DoctorCheck('dashboard', None, 'the active manager is not known yet', optional=True)
    if not environment.host.dashboard_enabled:
        return DoctorCheck(
            'dashboard',
            False,
            'the dashboard module is disabled',
            '"ceph mgr module enable dashboard"',
            optional=True,
        )
    if not environment.host.tab_installed:
        return DoctorCheck(
            'dashboard',
            False,
            'the files of the dashboard tab are missing on the host of the active manager',
            f'install the package of the tab on every manager host, then {_RESTART_MANAGERS}',
            optional=True,
        )
    if environment.tab_unplaced:
        return DoctorCheck(
            'dashboard',
            False,
            'a browser could not add the tab: the page Cluster » OSDs of this release is not '
            'supported',
            'use the REST API or the command line',
            optional=True,
        )
    return DoctorCheck(
        'dashboard', True, 'the tab is installed on the host of the active manager', optional=True
    )


def _metrics(environment: Environment) -> DoctorCheck:
    if environment.metrics_url is not None:
        return DoctorCheck(
            'metrics', True, f'metrics are served on {environment.metrics_url}', optional=True
        )
    if environment.metrics_enabled:
        return DoctorCheck(
            'metrics',
            False,
            'metrics are enabled, but not served',
            '"ceph health detail" shows the reason',
            optional=True,
        )
    return DoctorCheck(
        'metrics',
        False,
        'metrics for Prometheus are disabled',
        '"ceph config set mgr mgr/rocksdb_tuner/metrics true"',
        optional=True,
    )
