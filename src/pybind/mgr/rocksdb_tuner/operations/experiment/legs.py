"""Changes of OSDs as rollouts without a soak. Pure.

An experiment has at most one leg under way. A forward leg gives OSDs the option strings of their
arms, each by its own entry. The restoring leg is a rollback: it restores own entries to exactly
what was recorded before the experiment, and restarts the OSDs that may run anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Callable, NamedTuple, Optional

from ...plan.entries import own
from ...plan.records import ChangeKind, ChangeRequest
from ..phases import Phase
from ..rollout.records import (
    Before,
    Direction,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from ..rollout.rollback import rolled_back
from .records import ExperimentOsd, ExperimentState, LegKind
from .states import osd_of, taking_part, with_osds

#: In these steps the own entry of an OSD is the same as before the leg.
_AS_BEFORE = frozenset({OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND})
#: It was changed, and its change is complete.
CHANGED = frozenset({OsdStep.VERIFIED, OsdStep.COLLAPSED})

SameMeaning = Callable[[str, str], bool]


def now(state: ExperimentState) -> RolloutState:
    """The leg under way, or the OSDs between two legs."""
    return state.leg or as_rollout(state)


def as_rollout(state: ExperimentState) -> RolloutState:
    """The OSDs of the experiment between two legs, as a rollout state for evaluation only.

    It has their entries, and which of them may have been changed externally.
    """
    osds = taking_part(state)
    strings = {osd.osd_id: _string(state, osd) for osd in osds}
    return RolloutState(
        rollout_id=state.experiment_id,
        request=_request(
            state,
            strings,
            {osd.osd_id: strings[osd.osd_id] for osd in osds if osd.arm is not None},
        ),
        before=state.before,
        osds=tuple(
            OsdProgress(osd.osd_id, OsdStep.PENDING if osd.arm is None else OsdStep.COLLAPSED)
            for osd in osds
        ),
        started_s=state.started_s,
        updated_s=state.updated_s,
        stage=Phase.PROMOTING,
        asked=state.asked,
        pending_conflict=state.pending_conflict,
    )


def change(state: ExperimentState, arms: Mapping[int, str]) -> ExperimentState:
    """Give each OSD the option string of its arm; in this order."""
    strings = {n: state.request.options(arm) for n, arm in arms.items()}
    leg = _leg(
        state, _request(state, strings, strings), _before_now(state), map(OsdProgress, strings)
    )
    return _with_leg(state, LegKind.CHANGE, leg)


def recheck(state: ExperimentState, osd_id: int) -> ExperimentState:
    """Check the next process of an OSD that restarted; if it does not start, restore it."""
    strings = {osd_id: _string(state, osd_of(state, osd_id))}
    leg = _leg(
        state,
        _request(state, strings, strings),
        state.before,
        # Any process that is up is checked.
        (OsdProgress(osd_id, OsdStep.RESTARTING),),
    )
    return _with_leg(state, LegKind.RECHECK, replace(leg, stage=Phase.PROMOTING))


def back(
    state: ExperimentState, kind: LegKind, osd_ids: Iterable[int], same_meaning: SameMeaning
) -> ExperimentState:
    """Restore these OSDs, and those that a leg under way may have changed.

    No leg afterwards if there is nothing to restore.
    """
    concerned = sorted({*osd_ids, *(() if state.leg is None else state.leg.request.order)})
    parts = {
        osd_id: part
        for osd_id in concerned
        if (part := _part(state, osd_of(state, osd_id), same_meaning)) is not None
    }
    after = merged(state)
    state = with_osds(state, (osd_of(after, n) for n in concerned if n not in parts))
    if not parts:
        return replace(state, leg=None, leg_kind=None)
    request = _request(
        state,
        {n: part.target for n, part in parts.items()},
        {n: part.other for n, part in parts.items()},
    )
    leg = _leg(state, request, state.before, (part.progress for part in parts.values()))
    actor = f'the experiment, of {len(parts)} OSD(s)'
    turned = rolled_back(leg, actor, state.updated_s, paused_by=state.paused_by)
    return _with_leg(state, kind, turned)


def merged(state: ExperimentState) -> ExperimentState:
    """The OSDs of a leg in their state after it."""
    leg = state.leg
    if leg is None:
        return state
    # Only a change gives an OSD another arm: one that was checked again, or was to be restored, may
    # still have its arm from the previous period.
    changes = state.leg_kind is LegKind.CHANGE
    arms = {n: arm for arm, osds in state.assigned[-1] for n in osds} if changes else {}
    forward = changes or state.leg_kind is LegKind.RECHECK
    found = []
    for progress in leg.osds:
        osd = osd_of(state, progress.osd_id)
        # A restored OSD is as before the leg, whose record may be of another arm.
        restored = leg.before.entry(own(osd.osd_id)) == state.before.entry(own(osd.osd_id))
        if osd.left_alone or (progress.step in _AS_BEFORE and restored):
            osd = replace(osd, arm=None, nonce=None)
        elif progress.step in CHANGED and forward:
            arm = arms.get(osd.osd_id, osd.arm)
            osd = replace(osd, arm=arm, nonce=progress.nonce_after)
        if progress.step is OsdStep.LEFT_BEHIND and osd.lost is None:
            osd = replace(osd, lost=progress.left_reason or f'{own(osd.osd_id)} was left behind')
        found.append(osd)
    return with_osds(state, found)


def possible_entries(state: ExperimentState, osd_id: int) -> frozenset[Optional[str]]:
    """What the experiment may find in the own entry of an OSD that it changed."""
    osd, who = osd_of(state, osd_id), own(osd_id)
    found = {state.before.entry(who)}
    if osd.arm is not None:
        found.add(state.request.options(osd.arm))
    leg = state.leg
    if leg is not None and osd_id in leg.request.order:
        found |= {dict(leg.request.targets)[osd_id], leg.before.entry(who)}
        found |= {dict(leg.request.final_entries).get(who)} - {None}
    return frozenset(found)


class _Part(NamedTuple):
    """One OSD of a restoring leg."""

    progress: OsdProgress
    #: What its process may run, and another string that its own entry may have.
    target: str
    other: str


def _part(state: ExperimentState, osd: ExperimentOsd, same_meaning: SameMeaning) -> Optional[_Part]:
    """None: nothing of the OSD has to be restored."""
    leg, n = state.leg, osd.osd_id
    progress = None if leg is None else next((o for o in leg.osds if o.osd_id == n), None)
    string = _string(state, osd)
    if osd.left_alone:
        return None
    if leg is None or progress is None:
        return None if osd.arm is None else _Part(_whole(osd), string, string)
    target = dict(leg.request.targets)[n]
    if leg.direction is Direction.BACK and state.leg_kind in {LegKind.DROP, LegKind.RESTORE}:
        other = dict(leg.request.final_entries).get(own(n)) or target
        return None if progress.step in _AS_BEFORE else _Part(progress, target, other)
    if progress.step in _AS_BEFORE:
        kept = leg.before.entry(own(n)) != state.before.entry(own(n))
        # Its target may have been set externally.
        return _Part(_whole(osd), string, target) if kept else None
    if osd.arm is not None and state.leg_kind is LegKind.CHANGE:
        # Its process from before the leg does not run the old string either; and a process that
        # comes up while a restart is under way may have started with any entry.
        restarting = progress.step is OsdStep.RESTARTING
        progress = replace(progress, restart_needed=not restarting)
    # An arm that means the same as the old string does not save a restart: the process may run the
    # other one of the two.
    old = next(before.value for before in state.before.osds if before.osd_id == n)
    if osd.arm is not None and same_meaning(target, old):
        return _Part(progress, string, target)
    return _Part(progress, target, string if osd.arm is not None else target)


def _whole(osd: ExperimentOsd) -> OsdProgress:
    """An OSD whose change is complete."""
    return OsdProgress(osd.osd_id, OsdStep.VERIFIED, nonce_after=osd.nonce, restart_needed=True)


def _with_leg(state: ExperimentState, kind: LegKind, leg: RolloutState) -> ExperimentState:
    return replace(
        state,
        leg=leg,
        leg_kind=kind,
        legs=state.legs + 1,
        pending_conflict=None,
        paused_reason=None,
    )


def _leg(
    state: ExperimentState, request: ChangeRequest, before: Before, osds: Iterable[OsdProgress]
) -> RolloutState:
    leg = state.leg
    wanted = set(request.order)
    return RolloutState(
        rollout_id=f'{state.experiment_id}.{state.legs + 1}',
        request=request,
        before=replace(before, osds=tuple(osd for osd in before.osds if osd.osd_id in wanted)),
        osds=tuple(osds),
        started_s=state.updated_s,
        updated_s=state.updated_s,
        paused_by=state.paused_by,
        asked=state.asked,
        longest_boot_s=0.0 if leg is None else leg.longest_boot_s,
    )


def _request(
    state: ExperimentState, strings: Mapping[int, str], own_entries: Mapping[int, str]
) -> ChangeRequest:
    return ChangeRequest(
        recommendation_id=state.experiment_id,
        kind=ChangeKind.SET_PROFILE,
        who=state.request.who,
        targets=tuple(strings.items()),
        order=tuple(strings),
        final_entries=tuple((own(n), value) for n, value in own_entries.items()),
        actor=state.request.actor,
    )


def _string(state: ExperimentState, osd: ExperimentOsd) -> str:
    """The option string that an OSD runs."""
    if osd.arm is not None:
        return state.request.options(osd.arm)
    return next(before.value for before in state.before.osds if before.osd_id == osd.osd_id)


def _before_now(state: ExperimentState) -> Before:
    """The state before a forward leg, including the experiment's own entries and options."""
    changed = {osd.osd_id: _string(state, osd) for osd in state.osds if osd.arm is not None}
    entries = {
        **dict(state.before.entries),
        **{own(n): string for n, string in changed.items()},
    }
    return replace(
        state.before,
        entries=tuple(sorted(entries.items())),
        osds=tuple(_running(before, changed.get(before.osd_id)) for before in state.before.osds),
    )


def _running(before: OsdBefore, string: Optional[str]) -> OsdBefore:
    return before if string is None else replace(before, value=string, source='mon')
