"""Observation of a cluster for the state machine, and what it must contain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Callable, Optional

from ...judge.records import Judgement
from ...mgr.records import ConfigEntry, OrchestratedDaemon, OsdInfo, RunningOption
from ..cluster_view import ClusterView

#: Why an OSD would not start with these entries; None if it would, or if that is unknown.
WhyUnstartable = Callable[[OsdInfo, Sequence[ConfigEntry]], Optional[str]]

#: OSDs that restart within this time were restarted together, as when a host reboots.
RESTARTED_TOGETHER_S = 120.0


@dataclass(frozen=True)
class Needs:
    """What the next observation must contain beyond the maps and the entries of the option."""

    running: tuple[int, ...] = ()
    ok_to_stop: tuple[int, ...] = ()
    resolved: tuple[int, ...] = ()
    orchestrator: bool = False
    #: OSDs whose orchestrator reports are needed.
    described: tuple[int, ...] = ()
    #: Whether Ceph is being upgraded; always included with ``ok_to_stop``.
    upgrade: bool = False


@dataclass(frozen=True)
class Observation(ClusterView):
    """The cluster at one time. What was not queried, or did not answer, is missing."""

    #: All entries of the option by `who`.
    entries: Mapping[str, str] = field(default_factory=dict)
    #: The same for the option that the rollout does not change; None: not read.
    other_entries: Optional[Mapping[str, str]] = None
    #: Why OSDs that are due would not start with the present entries of both options.
    unstartable: Mapping[int, str] = field(default_factory=dict)
    #: Running values reported by OSDs. Reliable only for a process that started after the last
    #: change of its entries: once an entry is removed, Ceph shows the default, regardless of the
    #: options that RocksDB was opened with (measured on 16.2.15).
    running: Mapping[int, RunningOption] = field(default_factory=dict)
    #: Values the monitor would give an OSD at its next start.
    resolved: Mapping[int, str] = field(default_factory=dict)
    #: Why no orchestrator can restart an OSD; None: one can, or this was not queried.
    orchestrator_reason: Optional[str] = None
    #: The orchestrator's reports about OSDs.
    described: Mapping[int, OrchestratedDaemon] = field(default_factory=dict)
    #: The last requested restart was executed, or never will be.
    restart_settled: bool = False
    #: OSDs that joined, left or restarted within `RESTARTED_TOGETHER_S` while a batch was soaking.
    #: Earlier changes do not explain the loss of an OSD of that batch.
    moved: frozenset[int] = frozenset()
    #: How long this manager has been observing the cluster.
    watched_s: float = 0.0
    #: How long this manager has seen the rollout wait in `machine.wait_key`.
    waited_s: float = 0.0
    #: How long this manager has seen the same OSDs of the rollout absent: see `absence`.
    absent_s: float = 0.0
    #: How long this manager has seen the OSD in flight down without interruption.
    down_s: float = 0.0
    #: How long this manager has seen it down without a sign of life.
    lifeless_s: float = math.inf
    #: How long it was down before it came up, as far as this manager saw; 0.0 while it is down.
    was_down_s: float = 0.0
    #: Whether its process is running although it is down; None: unknown.
    alive: Optional[bool] = None
    #: How long canary and controls were measured before the change, and after it.
    before_s: float = 0.0
    after_s: float = 0.0
    #: The verdict so far; None: none yet.
    judgement: Optional[Judgement] = None
    #: Whether this manager requested the awaited restart. A restart requested by another manager
    #: may be lost with it: an orchestrator keeps its queue in the manager.
    restart_is_ours: bool = True
