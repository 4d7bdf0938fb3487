"""Whether an operation may begin anything now, beside what the cluster itself says."""

from __future__ import annotations

from typing import NamedTuple, Optional


class Allowed(NamedTuple):
    #: False: the operator switched changes off.
    may_act: bool = True
    #: Why not by the maintenance window, and why the manager does not know how the OSDs are.
    outside_window: Optional[str] = None
    deaf: Optional[str] = None
