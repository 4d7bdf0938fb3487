"""What the machine sees of a cluster at one time, and what it asks to see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from ...judge.records import Judgement
from ...mgr.records import (
    OrchestratedDaemon,
    RunningOption,
)
from ..cluster_view import ClusterView

#: What restarts within this time was restarted together, as when a host reboots.
RESTARTED_TOGETHER_S = 120.0


@dataclass(frozen=True)
class Needs:
    """What the next observation must contain beyond the maps and the entries of the option."""

    running: tuple[int, ...] = ()
    ok_to_stop: tuple[int, ...] = ()
    resolved: tuple[int, ...] = ()
    orchestrator: bool = False
    #: What the orchestrator reports of these.
    described: tuple[int, ...] = ()
    #: Whether Ceph is being upgraded; asked for with ``ok_to_stop`` anyhow.
    upgrade: bool = False


@dataclass(frozen=True)
class Observation(ClusterView):
    """One look at the cluster. What was not asked for, or did not answer, is missing."""

    #: All entries of the option by `who`.
    entries: Mapping[str, str] = field(default_factory=dict)
    #: The same of the option that the rollout does not change; None: not looked at.
    other_entries: Optional[Mapping[str, str]] = None
    #: What OSDs report as running. Only true of a process that started after the last change of
    #: its entries: Ceph shows the default once an entry is removed, whatever RocksDB was opened
    #: with (measured on 16.2.15).
    running: Mapping[int, RunningOption] = field(default_factory=dict)
    #: What the monitor gives an OSD at its next start.
    resolved: Mapping[int, str] = field(default_factory=dict)
    #: Why no orchestrator can restart an OSD; None: it can (or nobody asked).
    orchestrator_reason: Optional[str] = None
    #: What the orchestrator reports of OSDs.
    described: Mapping[int, OrchestratedDaemon] = field(default_factory=dict)
    #: The restart that was asked for last was carried out, or never will be.
    asked_over: bool = False
    #: OSDs that came, went or got another process within `RESTARTED_TOGETHER_S`, while a batch was
    #: watched. What happened to them before says nothing of why an OSD of that batch was lost.
    moved: frozenset[int] = frozenset()
    #: How long this manager has been looking at the cluster.
    watched_s: float = 0.0
    #: How long this manager has seen the rollout wait in `machine.wait_key`.
    waited_s: float = 0.0
    #: How long this manager has seen the same OSDs of the rollout absent: see `leaving`.
    absent_s: float = 0.0
    #: How long this manager has seen the OSD in flight down without a break.
    down_s: float = 0.0
    #: How long this manager has seen it down without a sign of life.
    lifeless_s: float = math.inf
    #: How long it was down before it came up, as far as this manager saw; 0.0 while it is down.
    was_down_s: float = 0.0
    #: Whether its process lives though it is down; None: not known.
    alive: Optional[bool] = None
    #: How long canary and controls were measured before the change, and after it.
    before_s: float = 0.0
    after_s: float = 0.0
    #: What follows from that; None: nothing yet.
    judgement: Optional[Judgement] = None
    #: Whether this manager asked for the restart that is awaited. What another one asked for may
    #: have ended with it: an orchestrator keeps its work in the manager.
    asked_by_us: bool = True
