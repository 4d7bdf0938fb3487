"""Whether an operation may start anything now, apart from the state of the cluster."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional


class Permissions(NamedTuple):
    #: False: changes are disabled by the mode.
    may_act: bool = True
    #: Why the maintenance window forbids it; None inside the window.
    outside_window: Optional[str] = None
    #: Why this manager has no current OSD reports; None if it has.
    no_reports_reason: Optional[str] = None
    #: Whether this manager has a current sample of an OSD.
    has_sample: Callable[[int], bool] = lambda _: False
