"""The current module options, or the last known ones if they cannot be read.

Whether an operation may change OSDs, start another OSD, and has current OSD reports.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Mapping, Optional

from ..advise.facts import WATCHED_IF_SET
from ..judge.records import contradiction
from ..mgr.protocols import Cluster
from ..mgr.records import ManagerHost, ManagerInfo
from ..observe.details import SLOW_OP_ALERT, SlowOps, count_slow_ops, watch_slow_ops
from ..observe.option_watch import OptionWatch
from ..observe.report_interval import USABLE_S, ReportInterval, Reports, ReportWatch
from ..operations.phases import OperationRefused, Permission
from ..operations.rollout.automatic import outside
from ..plan.records import ANNEX, OPTION
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps

#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0


class ClusterState:
    """Options of OSDs, orchestrator, managers and health of the cluster."""

    def __init__(self, cluster: Cluster, steps: Steps) -> None:
        self._cluster, self._steps = cluster, steps
        self.options = OptionWatch(cluster, (OPTION, ANNEX), WATCHED_IF_SET)
        #: Why no orchestrator can restart OSDs; None: one can, or unknown so far.
        self.orchestrator_reason: Optional[str] = None
        self.managers: tuple[ManagerInfo, ...] = ()
        self.host: Optional[ManagerHost] = None
        self.health_codes: frozenset[str] = frozenset()
        #: Of OSDs with Ceph's alert for slow operations.
        self.slow_ops: Mapping[int, SlowOps] = {}
        self._health_read_s: Optional[float] = None

    def refresh(self, now_s: float) -> None:
        """Refresh each part separately; a part that fails keeps its old state."""
        cluster, run, value = self._cluster, self._steps.run, self._steps.value
        run('running options', lambda: self.options.refresh(cluster.cluster_map(), now_s))
        self.orchestrator_reason = value(
            'orchestrator', cluster.unavailable_reason, self.orchestrator_reason
        )
        self.managers, self.host = value(
            'managers',
            lambda: (cluster.managers(), cluster.manager_host()),
            (self.managers, self.host),
        )
        run('cluster health', lambda: self._refresh_health(now_s))

    def _refresh_health(self, now_s: float) -> None:
        read_s = self._health_read_s
        if read_s is None or abs(now_s - read_s) >= HEALTH_PERIOD_S:
            self._health_read_s = now_s
            self.health_codes = frozenset(self._cluster.health_codes())
            named = SLOW_OP_ALERT in self.health_codes
            osds = self._cluster.alerting_osds(SLOW_OP_ALERT) if named else ()
            counts = {n: count_slow_ops(self._cluster, n) for n in osds}
            self.slow_ops = watch_slow_ops(self.slow_ops, counts, now_s)


class CurrentSettings:
    """Read once per tick, and again before an operation starts or changes an OSD."""

    def __init__(
        self,
        read_settings: Callable[[], Settings],
        read_mode: Callable[[], Mode],
        steps: Steps,
    ) -> None:
        """``read_mode`` reads only the option "mode"."""
        self.read_settings, self.read_mode = read_settings, read_mode
        self._steps = steps
        #: The last valid settings.
        self._last: Optional[Settings] = None
        #: Why the options cannot be read now; None if they can.
        self.unreadable: Optional[str] = None

    def now(self) -> Settings:
        """Settings for a tick; nothing starts while they are unreadable."""
        try:
            settings = self.read_settings()
        except Exception as error:  # noqa: BLE001 - reported
            self._steps.failed('settings', error)
            self.unreadable = 'the options of the module cannot be read'
            return replace(self._last or Settings(), mode=self.mode())
        self._steps.works('settings')
        # They hold the mode, too
        self._steps.works('mode')
        self.unreadable = None
        self._last = settings
        return settings

    def for_start(self) -> Settings:
        """Settings for an operation that starts now; raises OperationRefused."""
        try:
            return self.read_settings()
        except Exception as error:
            raise OperationRefused(
                errno.EINVAL, f'the options of the module cannot be read: {error}'
            ) from error

    def mode(self) -> Mode:
        """The mode right now; off if it cannot be read."""
        return self._steps.value('mode', self.read_mode, Mode.OFF)

    def changes_enabled(self) -> bool:
        return self.mode() is not Mode.OFF

    @property
    def impossible(self) -> Optional[str]:
        """Why the module options prevent any change; None if they do not."""
        return None if self._last is None else contradiction(self._last.soak)


class Permissions:
    """Decided at every tick, independent of verdicts and recommendations."""

    def __init__(
        self,
        cluster: Cluster,
        steps: Steps,
        current: CurrentSettings,
        sampler: Sampler,
        *,
        known_release: bool,
    ) -> None:
        """``known_release``: the module was tested with the mgr API of this release."""
        self._cluster, self._steps, self._current = cluster, steps, current
        self._sampler, self._known_release = sampler, known_release
        self._reports = ReportWatch()

    def check_reports(self, now_s: float) -> None:
        """Check for new reports."""
        self._reports.update(self._cluster, self._cluster.cluster_map(), now_s)

    @property
    def report_interval(self) -> ReportInterval:
        """How often OSDs report."""
        return self._reports.interval

    @property
    def reports(self) -> Optional[Reports]:
        """Whether they report often enough; None: unknown."""
        if self._steps.fails('OSD reports'):
            return None
        return self._reports.state(least_silence_s=3 * self._sampler.interval_s)

    def decide(self, settings: Settings, now_s: float) -> Permission:
        """Whether an operation may act and start OSDs now; OSDs in flight are finished anyway."""
        off, steps, local = settings.mode is Mode.OFF, self._steps, time.localtime(now_s)
        silent, unknown, blocked = None, None, self._current.unreadable
        if off:
            silent = 'OSDs are not sampled in mode off'
        elif steps.fails('OSD reports'):
            unknown = 'it is unknown whether OSDs report to this manager'
        elif self.reports is Reports.NONE:
            silent = 'no OSD reports to this manager'
        elif not self._reports.has_reports:
            unknown = 'it is not known yet whether OSDs report to this manager'
        if blocked is None and steps.fails('sampling'):
            blocked = 'the OSDs cannot be sampled at the moment'
        elif blocked is None and self.reports is Reports.SLOW:
            blocked = f'OSDs report less often than every {USABLE_S:.0f}s: too rarely to be judged'
        window = settings.maintenance
        return Permission(
            # Never through an untested mgr API.
            may_act=not off and self._known_release,
            outside_window=blocked
            or outside(window, local.tm_wday, local.tm_hour * 60 + local.tm_min),
            restarts_per_day=settings.restarts_per_day,
            no_reports_reason=silent,
            reports_unknown=unknown,
            has_sample=self._sampler.has_sample,
        )

    def may_auto_apply(self) -> bool:
        """Whether recommendations of this tick, the only ones to act on, are current."""
        sampled = bool(self._sampler.signals())
        return sampled and not self._steps.fails('advice') and self._current.unreadable is None
