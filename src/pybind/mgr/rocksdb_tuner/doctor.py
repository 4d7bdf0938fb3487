"""Checks whether the module can work in this cluster. Pure.

Findings are about RocksDB; these checks are about the module itself and its environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from .mgr.records import ManagerHost, ManagerInfo
from .notes import Named
from .observe.report_interval import ReportInterval, Reports
from .snapshot import Mode, Snapshot
from .units import format_duration, format_ids, format_plural

#: Samples older than this many intervals are late.
LATE_INTERVALS = 3
#: Options that provide compaction bytes and RocksDB's own times; each costs CPU in the OSD.
STATISTICS = ('rocksdb_perf', 'rocksdb_collect_extended_stats')

_WAIT_FOR_REPORTS = (
    'wait a minute; if that does not help, "ceph config get osd mgr_stats_threshold" must be 5 or '
    'less'
)
_NO_REPORTS = '"ceph mgr fail" fails over to a standby; the logs of OSDs show why they are cut off'
_SHORTEN = (
    '"ceph config set mgr mgr_stats_period 5"; a busy manager of a newer release raises it again, '
    'unless "ceph config set mgr mgr_stats_period_autotune false"'
)
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


#: Holds, whether the check passed, what was found, what to do.
_Case = tuple[object, Optional[bool], str, Optional[str]]


#: The module works without them.
_OPTIONAL = frozenset({'statistics', 'orchestrator', 'dashboard', 'metrics'})


def examine(snapshot: Snapshot, environment: Environment) -> tuple[DoctorCheck, ...]:
    """All checks, starting with those that all others depend on; each by its first case."""
    impossible = () if snapshot.impossible is None else (snapshot.impossible,)
    checks: dict[str, Iterable[_Case]] = {
        'mode': _mode(snapshot),
        'manager-files': _managers(snapshot),
        'release': _release(snapshot),
        'sampling': _sampling(snapshot),
        'module': _unless(
            [failure.sentence for failure in snapshot.failing],
            'see the log of the active manager',
            'all steps of the module work',
        ),
        'stored-data': _unless(
            snapshot.notices,
            '"ceph rocksdb-tuner history" and "ceph config dump" show past changes',
            'stored data is readable',
        ),
        'options': _unless(
            impossible,
            '"ceph config set mgr mgr/rocksdb_tuner/OPTION VALUE"',
            'the options of the module are consistent',
        ),
        'statistics': _statistics(snapshot),
        'orchestrator': _orchestrator(environment),
        'dashboard': _dashboard(environment),
        'metrics': _metrics(environment),
    }
    return tuple(
        DoctorCheck(name, *next(c[1:] for c in cases if c[0]), optional=name in _OPTIONAL)
        for name, cases in checks.items()
    )


def _unless(problems: Sequence[str], remedy: str, fine: str) -> Iterable[_Case]:
    yield problems, False, ' '.join(problems), remedy
    yield True, True, fine, None


def _mode(snapshot: Snapshot) -> Iterable[_Case]:
    summary, off = f'the mode is {snapshot.mode.value}', snapshot.mode is Mode.OFF
    yield off, False, f'{summary}: nothing is sampled', '"ceph rocksdb-tuner mode recommend"'
    yield True, True, summary, None


def _managers(snapshot: Snapshot) -> Iterable[_Case]:
    managers = snapshot.managers
    lacking = [manager for manager in managers if not manager.has_module]
    yield not managers, None, 'the managers are not known yet', None
    yield (
        lacking,
        False,
        (
            f'the module is not available in {_managers_named(lacking)}: nothing is measured while '
            'such a manager is active'
        ),
        f'install the package on that host, then {_RESTART_MANAGERS}',
    )
    yield True, True, f'the module is available in {_managers_named(managers)}', None


def _managers_named(managers: Iterable[ManagerInfo]) -> str:
    return ', '.join(
        f'mgr.{manager.name}' + (f' on {manager.host}' if manager.host else '')
        for manager in managers
    )


def _release(snapshot: Snapshot) -> Iterable[_Case]:
    releases = sorted({osd.info.release or 'an unknown release' for osd in snapshot.osds})
    unknown = [o.info.osd_id for o in snapshot.osds if o.options is None and o.info.up]
    yield (
        snapshot.release is None,
        False,
        (
            'the release of the active manager is unknown to this version of the module: it '
            'measures, but recommends and changes nothing'
        ),
        'install a version of the module that knows this release',
    )
    yield (
        len(releases) > 1,
        False,
        f'OSDs run {", ".join(releases)}: a group of several releases gets no recommendation',
        'finish the upgrade: "ceph versions" and "ceph orch upgrade status"',
    )
    yield unknown, None, f'no options reported yet by osd.{format_ids(unknown)}', None
    yield True, True, f'{snapshot.release} is a known release', None


def _sampling(snapshot: Snapshot) -> Iterable[_Case]:
    up = [osd for osd in snapshot.osds if osd.info.up]
    silent = [osd.info.osd_id for osd in up if osd.signals is None]
    sampling = snapshot.sampling
    known, age_s = ReportInterval(sampling.report_interval_s), sampling.last_sample_age_s
    late_s = max(LATE_INTERVALS * (sampling.interval_s or 0.0), known.stale_s)
    every = f'OSDs report every {format_duration(known.interval_s)} (mgr_stats_period)'
    wait = f'{every}: wait for the second report' if known.late_s else _WAIT_FOR_REPORTS
    sampled = f'{format_plural(len(up), "OSD")} sampled, newest sample {format_duration(age_s)} old'
    reports = sampling.reports
    yield snapshot.mode is Mode.OFF or not up, None, 'no OSD is sampled', None
    yield reports is Reports.SLOW, False, f'{every}: too rarely to be judged', _SHORTEN
    yield reports is Reports.NONE, False, 'no OSD reports to this manager', _NO_REPORTS
    yield (
        age_s is None,
        None,
        'no OSD has reported counters to this manager yet',
        _WAIT_FOR_REPORTS,
    )
    yield (
        age_s is not None and age_s > late_s,
        False,
        f'the newest sample is {format_duration(age_s)} old',
        'see the log of the active manager; "ceph mgr fail" fails over to a standby',
    )
    yield silent, False, f'no usable sample of osd.{format_ids(silent)}, which is up', wait
    yield True, True, f'{sampled}; {every}' if known.unusual else sampled, None


def _statistics(snapshot: Snapshot) -> Iterable[_Case]:
    known = [osd.settings for osd in snapshot.osds if osd.settings is not None]
    without = sum(
        not all(name in settings and settings[name].value == 'true' for name in STATISTICS)
        for settings in known
    )
    one = '"ceph rocksdb-tuner osd deep ID" for a single OSD'
    enable = ', '.join(f'"ceph config set osd {name} true"' for name in STATISTICS)
    unstartable = any(o.options is not None and o.options.starts is False for o in snapshot.osds)
    yield not known, None, 'the options of OSDs are not known yet', None
    yield not without, True, 'RocksDB statistics are enabled on every OSD', None
    yield (
        True,
        False,
        (
            f'RocksDB statistics are disabled on {format_plural(without, "OSD")}: compaction '
            'bytes are estimates'
        ),
        one if unstartable else f'{enable}, then restart the OSDs; or {one}',
    )


def _orchestrator(environment: Environment) -> Iterable[_Case]:
    yield environment.orchestrated is None, None, 'the orchestrator is not known yet', None
    yield environment.orchestrated, True, 'an orchestrator can restart OSDs', None
    yield (
        True,
        False,
        f'no orchestrator can restart all OSDs: {environment.orchestrator_reason}',
        (
            'restart an OSD of a rollout when asked; auto-apply requires an orchestrator '
            '("ceph orch set backend NAME") and services that it manages'
        ),
    )


def _dashboard(environment: Environment) -> Iterable[_Case]:
    host = environment.host
    yield host is None, None, 'the active manager is not known yet', None
    yield (
        host is not None and not host.dashboard_enabled,
        False,
        'the dashboard module is disabled',
        '"ceph mgr module enable dashboard"',
    )
    yield (
        host is not None and not host.tab_installed,
        False,
        'the files of the dashboard tab are missing on the host of the active manager',
        f'install the package of the tab on every manager host, then {_RESTART_MANAGERS}',
    )
    yield (
        environment.tab_unplaced,
        False,
        'a browser could not add the tab: the page Cluster » OSDs of this release is not supported',
        'use the REST API or the command line',
    )
    yield True, True, 'the tab is installed on the host of the active manager', None


def _metrics(environment: Environment) -> Iterable[_Case]:
    url = environment.metrics_url
    yield url is not None, True, f'metrics are served on {url}', None
    yield (
        environment.metrics_enabled,
        False,
        'metrics are enabled, but not served',
        '"ceph health detail" shows the reason',
    )
    yield (
        True,
        False,
        'metrics for Prometheus are disabled',
        '"ceph config set mgr mgr/rocksdb_tuner/metrics true"',
    )
