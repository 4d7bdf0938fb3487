"""Changes of OSDs as rollouts without a soak. Pure.

An experiment has at most one leg under way. A forward leg gives OSDs the option strings of their
arms, each by its own entry. The restoring leg is a rollback: it restores own entries to exactly
what was recorded before the experiment, and restarts the OSDs that may run anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Optional

from ...plan.entries import own
from ...plan.records import ChangeKind, ChangeRequest
from ..phases import Phase
from ..rollout.records import UNCHANGED, OsdProgress, OsdStep, RolloutState
from ..rollout.rollback import rolled_back
from .records import ExperimentState, LegKind
from .states import with_osds

#: An OSD was changed, and its change is complete.
CHANGED = frozenset({OsdStep.VERIFIED, OsdStep.COLLAPSED})


def now(state: ExperimentState) -> RolloutState:
    """The leg under way, or all OSDs of the experiment between two legs, for evaluation only."""
    if state.leg is not None:
        return state.leg
    steps = (OsdStep.COLLAPSED if osd.changed else OsdStep.PENDING for osd in state.osds)
    osds = [*map(OsdProgress, (osd.osd_id for osd in state.osds), steps)]
    osds += map(OsdProgress, state.request.plan.controls)
    rollout = _leg(state, osds, [osd.osd_id for osd in state.osds if osd.changed])
    return replace(
        rollout,
        rollout_id=state.experiment_id,
        stage=Phase.PROMOTING,
        pending_conflict=state.pending_conflict,
    )


def change(state: ExperimentState, osd_ids: Iterable[int]) -> ExperimentState:
    """Give each OSD the option string of its arm; in this order."""
    return _with_leg(state, LegKind.CHANGE, _leg(state, map(OsdProgress, osd_ids)))


def back(state: ExperimentState, kind: LegKind, osd_ids: Iterable[int]) -> ExperimentState:
    """Restore these OSDs, and those that a leg under way may have changed.

    No leg afterwards if there is nothing to restore.
    """
    progress = {
        osd.osd_id: OsdProgress(
            osd.osd_id, OsdStep.VERIFIED, nonce_after=osd.nonce, restart_needed=True
        )
        for osd in state.osds
        if osd.changed and osd.osd_id in set(osd_ids)
    }
    progress.update({} if state.leg is None else state.leg.by_id)
    parts = [
        progress[n]
        for n in sorted(progress)
        if progress[n].step not in UNCHANGED and not state.osd(n).left_alone
    ]
    kept = {part.osd_id: state.osd(part.osd_id) for part in parts}
    after = merged(state)
    state = replace(state, osds=tuple(kept.get(osd.osd_id, osd) for osd in after.osds))
    if not parts:
        return replace(state, leg=None, leg_kind=None)
    actor = f'the experiment, of {len(parts)} OSD(s)'
    leg = _leg(state, parts)
    turned = rolled_back(leg, actor, state.updated_s, paused_by=state.paused_by)
    return _with_leg(state, kind, turned)


def merged(state: ExperimentState) -> ExperimentState:
    """The OSDs of a leg in their state after it."""
    found = []
    for progress in () if state.leg is None else state.leg.osds:
        osd = state.osd(progress.osd_id)
        if osd.left_alone or progress.step in UNCHANGED:
            osd = replace(osd, changed=False, nonce=None)
        elif progress.step in CHANGED and state.leg_kind is LegKind.CHANGE:
            osd = replace(osd, changed=True, nonce=progress.nonce_after)
        found.append(osd)
    return with_osds(state, found)


def possible_entries(state: ExperimentState, osd_id: int) -> frozenset[Optional[str]]:
    """What the experiment may find in the own entry of an OSD that it changed."""
    arm = state.osd(osd_id).arm
    return frozenset({state.before.entry(own(osd_id)), state.request.options(arm)})


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
    state: ExperimentState,
    osds: Iterable[OsdProgress],
    own_entries: Optional[Collection[int]] = None,
) -> RolloutState:
    """``own_entries``: the OSDs with an entry of their arm at the end; None: all."""
    progress = tuple(osds)
    order = tuple(osd.osd_id for osd in progress)
    arms = {osd.osd_id: state.request.options(osd.arm) for osd in state.osds}
    strings = {n: arms.get(n) or state.before.by_id[n].value for n in order}
    changed = order if own_entries is None else own_entries
    request = ChangeRequest(
        recommendation_id=state.experiment_id,
        kind=ChangeKind.SET_PROFILE,
        who=state.request.who,
        targets=tuple(strings.items()),
        order=order,
        final_entries=tuple((own(n), strings[n]) for n in changed),
        actor=state.request.actor,
    )
    return RolloutState(
        rollout_id=f'{state.experiment_id}.{state.legs + 1}',
        request=request,
        before=replace(state.before, osds=tuple(state.before.by_id[n] for n in order)),
        osds=progress,
        started_s=state.updated_s,
        updated_s=state.updated_s,
        paused_by=state.paused_by,
        asked=state.asked,
        longest_boot_s=0.0 if state.leg is None else state.leg.longest_boot_s,
    )
