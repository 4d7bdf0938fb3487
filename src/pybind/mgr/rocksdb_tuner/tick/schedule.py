"""When OSDs are evaluated: at once if anything but a measured value changed, else less often."""

from __future__ import annotations

from collections.abc import KeysView
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import ConfigEntry, ManagerInfo, OsdInfo
from ..observe.report_interval import Reports
from ..operations.history import HistoryRecord
from ..settings import Settings
from ..workload.records import WorkloadClass

#: Signals are means over 30 s, so a newer evaluation would say little else. With the default
#: interval this is every third tick.
PERIOD_S = 25.0
#: While all OSDs work as they did, and only after a sample of all of them: every sixth tick, both
#: under clients (every second such sample) and without (each).
STEADY_PERIOD_S = 40.0


class Basis(NamedTuple):
    """What an evaluation rests on, other than measured values."""

    settings: Settings
    #: Between samples, in seconds; a sample may come long after a change of the settings.
    interval_s: float
    osds: tuple[OsdInfo, ...]
    #: Of the config store.
    entries: tuple[ConfigEntry, ...]
    #: Number of changes of options that OSDs run with.
    option_changes: int
    #: OSDs with signals.
    measured: KeysView[int]
    #: By device class.
    workloads: Mapping[str, WorkloadClass]
    #: Ceph's own health checks.
    health_codes: frozenset[str]
    orchestrator_reason: Optional[str]
    managers: tuple[ManagerInfo, ...]
    #: Whether OSDs report often enough.
    reports: Optional[Reports]
    #: Whether a rollout or an experiment changes OSDs.
    changing: bool
    history: tuple[HistoryRecord, ...]


class Schedule:
    """Remembers the last evaluation. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._basis: Optional[Basis] = None
        self._evaluated_s = 0.0
        self._paces_changed = 0

    def due(
        self,
        basis: Basis,
        now_s: float,
        *,
        fresh: bool,
        partial: bool,
        settling: bool,
        paces_changed: int = 0,
    ) -> bool:
        """``fresh``: there are new samples; ``partial``: only of OSDs whose work changed;
        ``settling``: they are likely to say something new.

        ``paces_changed`` counts how often an OSD was found to work at another pace than before.
        """
        if self._basis != basis:
            return True
        # If the clock went backwards, do not wait until it has caught up.
        steady = paces_changed == self._paces_changed
        period_s = STEADY_PERIOD_S if steady else PERIOD_S
        recent = 0 <= now_s - self._evaluated_s < period_s
        return fresh and (settling or (not recent and not (partial and steady)))

    def done(self, basis: Basis, now_s: float, *, paces_changed: int = 0) -> None:
        """The evaluation succeeded."""
        self._basis, self._evaluated_s = basis, now_s
        self._paces_changed = paces_changed

    def invalidate(self) -> None:
        """Evaluate at the next tick."""
        self._basis = None
