"""Events on the OSDs of an experiment between two legs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from ...judge.signals import experiment_limits
from ...mgr.records import ClusterMap
from ...plan.entries import own
from ..gates import Away, absent, absent_of, upgrading, why_away
from ..rollout.admission import identity_mismatch, not_as_planned
from ..rollout.records import OsdStep
from ..rollout.rollback import conflicting_entries, conflicts_in_other_option
from ..rollout.rules import Limits, Observation
from . import legs
from .records import DroppedArm, ExperimentState, LegKind
from .states import planned_arms, remaining, taking_part, with_osds


def changed_entries(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Description of externally changed entries that may cover an OSD of the experiment."""
    rollout = legs.as_rollout(state)
    texts = [
        f'{option} of {", ".join(whos[:8])} was changed outside this experiment'
        for option, whos in (
            (rollout.request.option, conflicting_entries(rollout, seen)),
            (rollout.request.other_option, conflicts_in_other_option(rollout, seen)),
        )
        if whos
    ]
    return '; '.join(texts) or None


def left_alone(state: ExperimentState, entries: Mapping[str, str]) -> ExperimentState:
    """OSDs with an unexpected own entry are not restored."""
    return with_osds(
        state,
        (
            replace(
                osd,
                left_alone=True,
                arm=None,
                nonce=None,
                lost=osd.lost or f'{own(osd.osd_id)} keeps an entry set outside this experiment',
            )
            for osd in state.osds
            if osd.osd_id in state.off
            and not osd.left_alone
            and entries.get(own(osd.osd_id)) not in legs.possible_entries(state, osd.osd_id)
        ),
    )


def away(state: ExperimentState, seen: Observation, limits: Limits) -> dict[int, str]:
    """OSDs that the experiment continues without from now on, and why."""
    rollout, found = legs.as_rollout(state), {}
    for osd in taking_part(state):
        n = osd.osd_id
        another = identity_mismatch(rollout, n, seen)
        gone = absent(seen, n)
        if another is not None:
            found[n] = another
        elif gone is not None and seen.absent_s >= _long_s(gone, limits):
            found[n] = why_away(n, gone)
    return found


def perhaps_away(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Why nothing is measured while an OSD may return; None: all OSDs are up."""
    for osd in taking_part(state):
        gone = absent(seen, osd.osd_id)
        if gone is not None:
            why = why_away(osd.osd_id, gone)
            return f'{why}: the experiment will continue without it unless it returns'
        info = seen.osd(osd.osd_id)
        # Placement groups show it later.
        if info is not None and not info.up:
            return f'osd.{osd.osd_id} is down'
    return None


def lost_processes(state: ExperimentState, cluster: ClusterMap) -> tuple[int, ...]:
    """OSDs in arms that lost their verified process, without those that were removed.

    OSDs that a leg is changing are not included: the leg monitors them.
    """
    checked = _checked_processes(state)
    known = {info.osd_id: info for info in cluster.osds}
    gone = set(absent_of(cluster, checked))
    gone |= {
        before.osd_id
        for before in state.before.osds
        if before.osd_id in known and not_as_planned(before, known[before.osd_id]) is not None
    }
    return tuple(
        n
        for n, nonce in checked.items()
        if n in known and n not in gone and not (known[n].up and known[n].nonce == nonce)
    )


def crashed(state: ExperimentState, lost: tuple[int, ...], seen: Observation) -> tuple[int, ...]:
    """The lost processes that were not restarted together with OSDs outside their arms."""
    if upgrading(seen) is not None:
        return ()
    others = seen.moved - _restarted_by_leg(state)
    arms = arms_of(state)
    return tuple(n for n in lost if not {o for o in others if arms.get(o) != arms[n]})


def with_processes_unknown(state: ExperimentState, lost: tuple[int, ...]) -> ExperimentState:
    """The next process of these OSDs is checked like the first one."""
    osds = (replace(osd, nonce=None) for osd in state.osds if osd.osd_id in lost)
    state, leg = with_osds(state, osds), state.leg
    if leg is None:
        return state
    steps = (replace(o, nonce_after=None) if o.osd_id in lost else o for o in leg.osds)
    return replace(state, leg=replace(leg, osds=tuple(steps)))


def arms_of(state: ExperimentState) -> dict[int, str]:
    """The arm of each changed OSD, including those changed by a leg under way."""
    arms = {osd.osd_id: osd.arm for osd in state.osds if osd.arm is not None}
    if state.leg is not None and state.leg_kind is LegKind.CHANGE:
        assigned = {n: arm for arm, osds in state.assigned[-1] for n in osds}
        changed = set(state.leg.request.order)
        pending = {o.osd_id for o in state.leg.osds if o.step is OsdStep.PENDING}
        arms.update({n: assigned[n] for n in assigned.keys() & changed - pending})
    return arms


def _checked_processes(state: ExperimentState) -> dict[int, int]:
    found = {
        osd.osd_id: osd.nonce
        for osd in taking_part(state)
        if osd.arm is not None and osd.nonce is not None
    }
    leg = state.leg
    if leg is None:
        return found
    if state.leg_kind is not LegKind.CHANGE:
        return {n: nonce for n, nonce in found.items() if n not in leg.request.order}
    for osd in leg.osds:
        if osd.step is not OsdStep.PENDING:
            found.pop(osd.osd_id, None)
            if osd.step in legs.CHANGED and osd.nonce_after is not None:
                found[osd.osd_id] = osd.nonce_after
    return found


def _restarted_by_leg(state: ExperimentState) -> frozenset[int]:
    leg = state.leg
    osds = () if leg is None else leg.osds
    return frozenset(osd.osd_id for osd in osds if osd.step is not OsdStep.PENDING)


def too_small(state: ExperimentState) -> tuple[DroppedArm, ...]:
    """Arms with too few OSDs left to separate their effect from differences between OSDs."""
    least = experiment_limits().least_arm_osds
    planned = planned_arms(state, max(state.period, 1))
    return tuple(
        DroppedArm(
            name,
            f'only {len(planned[name])} of its OSDs are left, and it needs {least}',
            (),
            state.period,
            state.blocks,
        )
        for name in remaining(state)
        if len(planned[name]) < least
    )


def of_another_release(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Why the plan no longer matches the cluster; None if it does, as far as known."""
    releases = {osd.osd_id: osd.release for osd in seen.cluster.osds}
    for before in state.before.osds:
        now = releases.get(before.osd_id)
        if now is not None and now != before.release:
            return (
                f'osd.{before.osd_id} now runs {now}: the experiment was planned for '
                f'{before.release}'
            )
    return None


def _long_s(gone: Away, limits: Limits) -> float:
    return limits.confirm_s if gone is Away.GONE else limits.boot_s
