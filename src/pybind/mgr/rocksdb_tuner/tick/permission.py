"""Whether an operation may change OSDs, start another OSD, and has current OSD reports."""

from __future__ import annotations

import time
from typing import Optional, Protocol

from ..mgr.protocols import ClusterReader, ReportReader
from ..observe.report_interval import USABLE_S, ReportInterval, Reports, ReportWatch
from ..operations.rollout.maintenance import outside
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps
from .current_settings import CurrentSettings


class ReportSource(ReportReader, ClusterReader, Protocol):
    """Cluster interfaces to detect OSD reports."""


class Permission:
    """Checked at every tick, independent of verdicts and recommendations."""

    def __init__(
        self,
        cluster: ReportSource,
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

    def may_change(self, settings: Settings) -> bool:
        """Whether changes are allowed: never through an untested mgr API."""
        return settings.mode is not Mode.OFF and self._known_release

    def start_blocked(self, settings: Settings, now_s: float) -> Optional[str]:
        """Why no further OSD may start now; OSDs in flight are finished anyway."""
        if self._current.unreadable is not None:
            return self._current.unreadable
        if self._steps.fails('sampling'):
            return 'the OSDs cannot be sampled at the moment'
        if self.reports is Reports.SLOW:
            return f'OSDs report less often than every {USABLE_S:.0f}s: too rarely to be judged'
        local = time.localtime(now_s)
        minute = local.tm_hour * 60 + local.tm_min
        return outside(settings.maintenance, local.tm_wday, minute)

    def no_reports(self, settings: Settings) -> tuple[Optional[str], Optional[str]]:
        """Why this mgr has no OSD reports, and why that is unknown; each may be None."""
        if settings.mode is Mode.OFF:
            return 'OSDs are not sampled in mode off', None
        if self._steps.fails('OSD reports'):
            return None, 'it is unknown whether OSDs report to this manager'
        if self.reports is Reports.NONE:
            return 'no OSD reports to this manager', None
        if not self._reports.has_reports:
            return None, 'it is not known yet whether OSDs report to this manager'
        return None, None

    def may_auto_apply(self) -> bool:
        """Whether recommendations of this tick, the only ones to act on, are current."""
        sampled = bool(self._sampler.signals())
        return sampled and not self._steps.fails('advice') and self._current.unreadable is None
