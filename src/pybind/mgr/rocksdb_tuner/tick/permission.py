"""Whether a change may act, begin with a further OSD, and knows how the OSDs are."""

from __future__ import annotations

import time
from typing import Optional, Protocol

from ..mgr.protocols import ClusterReader, CounterReader
from ..operations.rollout.hearing import Hearing
from ..operations.rollout.maintenance import outside
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps
from .current_settings import CurrentSettings

#: No report of any OSD for so long, and for three samples, means that the manager is cut off.
DEAF_S = 60.0


class Heard(CounterReader, ClusterReader, Protocol):
    """What reports of OSDs are looked for in."""


class Permission:
    """Asked anew at each tick; nothing of it goes by what is judged or advised."""

    def __init__(
        self,
        cluster: Heard,
        steps: Steps,
        current: CurrentSettings,
        sampler: Sampler,
        *,
        known_release: bool,
    ) -> None:
        """``known_release``: of the manager, whose interface somebody has tried."""
        self._cluster, self._steps, self._current = cluster, steps, current
        self._sampler, self._known_release = sampler, known_release
        self._hearing = Hearing()

    def hear(self, now_s: float) -> None:
        """Look for a new report of any OSD."""
        self._hearing.look(self._cluster, self._cluster.cluster_map(), now_s)

    def may_act(self, settings: Settings) -> bool:
        """Whether anything may be changed: never through an interface that nobody has tried."""
        return settings.mode is not Mode.OFF and self._known_release

    def not_now(self, settings: Settings, now_s: float) -> Optional[str]:
        """Why no further OSD may be begun now; what was begun is finished all the same."""
        if self._current.unreadable is not None:
            return self._current.unreadable
        if not self._sampler.has_sampled:
            return 'this manager has not sampled the OSDs yet'
        if self._steps.fails('sampling'):
            return 'the OSDs cannot be sampled now'
        local = time.localtime(now_s)
        minute = local.tm_hour * 60 + local.tm_min
        return outside(settings.maintenance, local.tm_wday, minute)

    def deaf(self, settings: Settings) -> tuple[Optional[str], Optional[str]]:
        """Why this manager does not know how the OSDs are, and why that is unknown."""
        if settings.mode is Mode.OFF:
            return 'nothing is read in mode off', None
        if self._steps.fails('hearing'):
            return None, 'whether OSDs report to this manager is unknown'
        if self._hearing.silent_s >= max(DEAF_S, 3 * self._sampler.interval_s):
            return 'no OSD reports to this manager', None
        if not self._hearing.heard:
            return None, 'whether OSDs report to this manager is not known yet'
        return None, None

    def may_begin_by_itself(self, *, evaluated: bool) -> bool:
        """Only upon advice of this very tick."""
        advised = evaluated and not self._steps.fails('advice')
        sampled = self._sampler.has_sampled and not self._steps.fails('sampling')
        return advised and sampled and self._current.unreadable is None
