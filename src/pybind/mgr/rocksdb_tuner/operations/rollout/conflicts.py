"""Conflicts: entries that somebody else changed during a rollout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

from ...plan.entries import Scope, own
from ...plan.request import shared_entries
from ..phases import Phase
from ..texts import clip
from .observation import Observation
from .records import Direction, OsdProgress, OsdStep, RolloutState
from .rollback import rolled_back
from .states import UNCHANGED, in_flight


def conflicting_entries(state: RolloutState, seen: Observation) -> tuple[str, ...]:
    """Each `who` whose entry holds neither the recorded value nor one this rollout wrote."""
    allowed = _allowed_entries(state)
    before = dict(state.before.entries)
    concerned = (osd.osd_id for osd in state.osds if osd.step is not OsdStep.LEFT_BEHIND)
    scope = Scope.of(seen.cluster, concerned)
    return tuple(
        who
        for who in sorted({*seen.entries, *before, *allowed})
        if seen.entries.get(who) not in allowed.get(who, {before.get(who)})
        and _is_watched(state, who, allowed, scope)
    )


def conflicts_in_other_option(state: RolloutState, seen: Observation) -> tuple[str, ...]:
    """Each `who` whose entry of the other option was changed since the rollout started.

    OSDs combine both options, so the remaining OSDs would get other settings than were verified. A
    rollback does not depend on it.
    """
    before, now = state.before.other_entries, seen.other_entries
    if before is None or now is None or state.direction is not Direction.FORWARD:
        return ()
    was = dict(before)
    concerned = (osd.osd_id for osd in state.osds if osd.step is not OsdStep.LEFT_BEHIND)
    scope = Scope.of(seen.cluster, concerned)
    return tuple(
        who for who in sorted({*was, *now}) if was.get(who) != now.get(who) and scope.may_cover(who)
    )


def entries_blocking_rollback(state: RolloutState, entries: Mapping[str, str]) -> tuple[str, ...]:
    """Each `who` that a rollback would restore and that somebody else has changed since."""
    turned = rolled_back(state, '', state.updated_s)
    allowed = _allowed_entries(turned)
    return tuple(who for who in turned.restoring if entries.get(who) not in allowed[who])


def describe_leftovers(state: RolloutState, entries: Optional[Mapping[str, str]]) -> RolloutState:
    """Append to the failure which OSDs stay changed, and how to revert that.

    ``entries`` are the present entries of the option by `who`; None: unknown.
    """
    if state.stage is not Phase.FAILED or state.direction is Direction.BACK:
        return state
    changed = [own(osd.osd_id) for osd in state.osds if osd.step not in UNCHANGED]
    if not changed:
        return state
    kept = _named(changed)
    text = f'the change stays on {kept}: "ceph rocksdb-tuner rollback {state.rollout_id}" '
    blocking = () if entries is None else entries_blocking_rollback(state, entries)
    if blocking:
        text += (
            f'refuses to revert it while {_named(blocking)} has a value that somebody else set: '
            f'correct {state.request.option} by hand'
        )
    else:
        text += 'reverts it'
        if entries is None:
            text += ', unless somebody else has changed it since'
    return replace(state, failure=clip(f'{state.failure}; {text}' if state.failure else text))


def _named(whos: Sequence[str]) -> str:
    return ', '.join(whos[:5]) + (' and more' if len(whos) > 5 else '')


def _is_watched(
    state: RolloutState,
    who: str,
    allowed: Mapping[str, frozenset[Optional[str]]],
    scope: Scope,
) -> bool:
    """Whether a conflicting change of this entry stops the rollout."""
    if state.direction is Direction.FORWARD:
        return who in allowed or scope.may_cover(who)
    if state.direction is Direction.BACK:
        # A rollback only writes recorded values: other entries do not matter.
        return who in allowed
    osd = in_flight(state)
    return osd is not None and who == own(osd.osd_id)


def _allowed_entries(state: RolloutState) -> dict[str, frozenset[Optional[str]]]:
    """Allowed values of the entries that this rollout writes."""
    before, targets = dict(state.before.entries), dict(state.request.targets)
    final = dict(state.request.final_entries)
    shared = shared_entries(state.request)
    if state.direction is Direction.BACK:
        ours = {own(n): {before.get(own(n)), targets[n], final.get(own(n))} for n in targets}
        ours.update({who: {before.get(who), value} for who, value in shared})
        return {
            who: frozenset(ours[who] if index >= state.entries_done else {before.get(who)})
            for index, who in enumerate(state.restoring)
        }
    allowed = {
        who: _allowed_shared(state, index, before.get(who), value)
        for index, (who, value) in enumerate(shared)
    }
    for osd in state.osds:
        if osd.step is OsdStep.LEFT_BEHIND:
            continue
        who = own(osd.osd_id)
        allowed[who] = _allowed_own(
            osd,
            before.get(who),
            targets[osd.osd_id] if state.request.restart else before.get(who),
            final.get(who),
            state.direction,
        )
        if osd.step is OsdStep.REPINNING:
            allowed[who] |= {targets[osd.osd_id]}
    return allowed


def _allowed_shared(
    state: RolloutState, index: int, before: Optional[str], final: Optional[str]
) -> frozenset[Optional[str]]:
    if not state.shared_touched:
        return frozenset({before})
    return frozenset({before, final} if index >= state.entries_done else {final})


def _allowed_own(
    osd: OsdProgress,
    before: Optional[str],
    wanted: Optional[str],
    final: Optional[str],
    direction: Direction,
) -> frozenset[Optional[str]]:
    if osd.step in UNCHANGED:
        return frozenset({before})
    if osd.step is OsdStep.RESTORING and direction is Direction.FORWARD:
        # It is being left behind: see `collapse`.
        return frozenset({before, wanted, final})
    if osd.step in {OsdStep.SETTING, OsdStep.RESTORING}:
        return frozenset({before, wanted})
    if osd.step in {OsdStep.COLLAPSING, OsdStep.REPINNING}:
        return frozenset({wanted, final})
    if osd.step is OsdStep.COLLAPSED:
        return frozenset({final})
    # From "restart due" on, the entry was confirmed. Only an OSD under recovery has its previous
    # entry again.
    recovering = direction is Direction.RECOVER and osd.restart_needed
    return frozenset({before if recovering else wanted})
