"""Rules shared by all parts of the state machine: time limits, and whether changes are allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Callable, Optional

from ...judge.records import Judgement
from ...mgr.records import ConfigEntry, OrchestratedDaemon, OsdInfo, RunningOption
from ...observe.report_interval import DEFAULT
from ...plan.commands import Action, RestartOsd, entry_action, entry_command
from ...plan.entries import own
from .. import phases
from ..gates import NOT_ALLOWED, ClusterView, closed_gate
from ..phases import paused_text
from .records import Direction, RolloutState, waiting

#: Why an OSD would not start with these entries; None if it would, or if that is unknown.
WhyUnstartable = Callable[[OsdInfo, Sequence[ConfigEntry]], Optional[str]]

#: OSDs that restart within this time were restarted together, as when a host reboots.
RESTARTED_TOGETHER_S = 120.0


@dataclass(frozen=True)
class Needs:
    """What the next observation must contain beyond the maps and the entries of the option."""

    running: tuple[int, ...] = ()
    ok_to_stop: tuple[int, ...] = ()
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


#: A new process reports the right options within this time, and the time by which reports are late.
VERIFY_S = 60.0


@dataclass(frozen=True)
class Limits:
    """Time limits, in seconds as seen by one manager."""

    #: How long a newly active manager observes before it acts.
    observe_first_s: float = 10.0
    #: The old process must be gone this long after a restart was requested.
    restart_s: float = 300.0
    #: A process that is down must be up again within this time.
    boot_s: float = 300.0
    #: How long an OSD with a running process may be down; then operator action is required.
    boot_most_s: float = 3600.0
    #: Until this time after a start, the manager may still show the values of the previous process.
    report_s: float = DEFAULT.interval_s
    #: A new process must report the right options within this time.
    verify_s: float = VERIFY_S
    #: A refused restart is requested again after this time.
    retry_s: float = 30.0
    #: A monitor may answer with the state before the last change: an unexpected entry or value
    #: must be seen for this long.
    confirm_s: float = 2.0
    #: Consecutive failed actions before the rollout reports the error.
    tries: int = 3
    #: An OSD that goes down more often than this after coming up counts as crashing.
    flaps: int = 2


#: The next state of a rollout, and at most one action.
Step = phases.Step[RolloutState, Action]


@dataclass(frozen=True)
class Rules:
    """``same_meaning``: whether two option strings configure RocksDB identically."""

    same_meaning: Callable[[str, str], bool]
    limits: Limits = field(default_factory=Limits)


def why_held(state: RolloutState, seen: Observation) -> Optional[str]:
    """Why no change is allowed now; None if changes are."""
    if state.direction is Direction.RECOVER:
        return None
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if seen.may_act else NOT_ALLOWED


def suppressed_in_mode_off(state: RolloutState, action: Action, seen: Observation) -> bool:
    """Whether an action decided before mode off must not be sent any more.

    The recovery of a failed OSD continues: its entry is restored, and it is started if it is down.
    An OSD that is up is not restarted.
    """
    if state.direction is not Direction.RECOVER:
        return True
    if not isinstance(action, RestartOsd):
        return False
    info = seen.osd(action.osd_id)
    return info is None or info.up


def why_closed(state: RolloutState, osd_id: int, seen: Observation) -> Optional[str]:
    """Why this OSD may not be restarted now; None if it may."""
    return why_held(state, seen) or seen.unstartable.get(osd_id) or closed_gate(seen, osd_id)


def repeated_error(rules: Rules, state: RolloutState) -> Optional[str]:
    if state.errors < rules.limits.tries:
        return None
    return f'{state.errors} attempts failed, retrying: {state.last_error}'


def entry(
    rules: Rules, state: RolloutState, seen: Observation, who: str, value: Optional[str]
) -> Optional[Step]:
    """The step that gives ``who`` this entry (None: none); None once it is confirmed."""
    if seen.entries.get(who) == value:
        return None
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    action, error = entry_action(who, value), repeated_error(rules, state)
    if error is not None and state.direction is Direction.RECOVER:
        command = entry_command(action, state.request.option)
        error = (
            f'{who} may not start with its entry, and its removal is refused: "{command}" ({error})'
        )
    return Step(state if error is None else waiting(state, error), (action,))


def entries(
    rules: Rules,
    state: RolloutState,
    seen: Observation,
    wanted: Sequence[tuple[str, Optional[str]]],
) -> Optional[Step]:
    """The step to the next of these entries, in order; None once all are confirmed."""
    done = state.entries_done
    while done < len(wanted) and seen.entries.get(wanted[done][0]) == wanted[done][1]:
        done += 1
    if done > state.entries_done:
        return Step(replace(state, entries_done=done, errors=0))
    return entry(rules, state, seen, *wanted[done]) if done < len(wanted) else None


def restoring_command(state: RolloutState, osd_id: int) -> str:
    """The command that restores the recorded entry of an OSD."""
    who = own(osd_id)
    return entry_command(entry_action(who, state.before.entry(who)), state.request.option)
