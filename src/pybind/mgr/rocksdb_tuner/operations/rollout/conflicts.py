"""Conflicts: entries that were changed externally during a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from ...plan.entries import Scope, own
from ..phases import Phase
from ..texts import clip
from .observation import Observation
from .records import Direction, OsdProgress, OsdStep, RolloutState
from .rollback import rolled_back
from .states import UNCHANGED, in_flight

#: What a rollback does with the changes that a failed rollout leaves.
REVERTS = 'reverts it'
REVERTS_IF_UNCHANGED = f'{REVERTS}, unless it has been changed since'
ROLLBACK_REFUSED = 'refuses to revert it'


def conflicting_entries(state: RolloutState, seen: Observation) -> tuple[str, ...]:
    """Each `who` whose entry holds neither the recorded value nor one this rollout wrote."""
    if state.direction is Direction.BACK:
        # A rollback only writes recorded values: other entries do not matter.
        return tuple(sorted(_rollback_conflicts(state, seen.entries)))
    if state.direction is Direction.RECOVER:
        osd = in_flight(state)
        if osd is None or seen.entries.get(own(osd.osd_id)) in _allowed_own(state, osd):
            return ()
        return (own(osd.osd_id),)
    return tuple(sorted(_forward_conflicts(state, seen)))


def conflicts_in_other_option(state: RolloutState, seen: Observation) -> tuple[str, ...]:
    """Each `who` whose entry of the other option was changed since the rollout started.

    OSDs combine both options, so the remaining OSDs would get other settings than were verified. A
    rollback does not depend on it.
    """
    before, now = state.before.other_entries, seen.other_entries
    if before is None or now is None or state.direction is not Direction.FORWARD:
        return ()
    return tuple(sorted(_covered(_differing(dict(before), now), state, seen)))


def entries_blocking_rollback(state: RolloutState, entries: Mapping[str, str]) -> tuple[str, ...]:
    """Each `who` that a rollback would restore and that was changed externally since."""
    return tuple(_rollback_conflicts(rolled_back(state, '', state.updated_s), entries))


def describe_leftovers(state: RolloutState, entries: Optional[Mapping[str, str]]) -> RolloutState:
    """Append to the failure which OSDs stay changed, and how to revert that.

    ``entries`` are the present entries of the option by `who`; None: unknown.
    """
    if state.stage is not Phase.FAILED or state.direction is Direction.BACK:
        return state
    changed = [own(osd.osd_id) for osd in state.osds if osd.step not in UNCHANGED]
    if not changed:
        return state
    restored = [who for who in changed if _is_restored(state, who, entries)]
    kept = [who for who in changed if who not in restored]
    command = f'"ceph rocksdb-tuner rollback {state.rollout_id}"'
    blocking = () if entries is None else entries_blocking_rollback(state, entries)
    reverts = REVERTS_IF_UNCHANGED if entries is None else REVERTS
    if blocking:
        reverts = (
            f'{ROLLBACK_REFUSED}, because {_named(blocking)} has been changed outside this '
            f'rollout: correct {state.request.option} by hand'
        )
    texts = (
        state.failure,
        f'the change stays on {_named(kept)}: {command} {reverts}' if kept else None,
        f'the previous entry of {_named(restored)} is restored, but was not seen in effect'
        if restored
        else None,
        f'{command} restarts what needs it' if restored and not blocking else None,
    )
    return replace(state, failure=clip('; '.join(filter(None, texts))))


def _is_restored(state: RolloutState, who: str, entries: Optional[Mapping[str, str]]) -> bool:
    concerned = (who, *(shared for shared, _ in state.request.shared_entries))
    return entries is not None and all(
        entries.get(one) == state.before.entry(one) for one in concerned
    )


def _named(whos: Sequence[str]) -> str:
    return ', '.join(whos[:5]) + (' and more' if len(whos) > 5 else '')


def _forward_conflicts(state: RolloutState, seen: Observation) -> Iterator[str]:
    entries, before = seen.entries, state.before.value_by_who
    written = set()
    for index, (who, value) in enumerate(state.request.shared_entries):
        written.add(who)
        if entries.get(who) not in _allowed_shared(state, index, before.get(who), value):
            yield who
    targets = state.request.target_by_osd if state.request.restart else {}
    for osd in state.osds:
        step = osd.step
        if step in UNCHANGED:
            continue
        who = own(osd.osd_id)
        written.add(who)
        value = entries.get(who)
        # First the state of nearly all OSDs of a large rollout.
        expected = step is OsdStep.VERIFIED and value == targets.get(osd.osd_id, '')
        if not expected and value not in _allowed_own(state, osd):
            yield who
    others = [who for who in _differing(before, entries) if who not in written]
    yield from _covered(others, state, seen)


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = [who for who, value in now.items() if before.get(who) != value]
    return [*changed, *(who for who in before if who not in now)]


def _covered(whos: Sequence[str], state: RolloutState, seen: Observation) -> list[str]:
    """Those that may apply to an OSD of the rollout."""
    if not whos:
        return []
    concerned = (osd.osd_id for osd in state.osds if osd.step is not OsdStep.LEFT_BEHIND)
    scope = Scope.of(seen.cluster, concerned)
    return [who for who in whos if scope.may_cover(who)]


def _rollback_conflicts(state: RolloutState, entries: Mapping[str, str]) -> Iterator[str]:
    """Entries to restore that hold neither the recorded value nor, before that, a written one."""
    request, before = state.request, state.before.value_by_who
    shared = dict(request.shared_entries)
    target_by_who = {own(osd_id): value for osd_id, value in request.targets}
    for index, who in enumerate(state.restoring):
        value = entries.get(who)
        if value == before.get(who):
            continue
        written = (
            (shared[who],) if who in shared else (target_by_who[who], request.final_by_who.get(who))
        )
        if index < state.entries_done or value not in written:
            yield who


def _allowed_shared(
    state: RolloutState, index: int, before: Optional[str], final: Optional[str]
) -> tuple[Optional[str], ...]:
    if not state.shared_touched:
        return (before,)
    return (before, final) if index >= state.entries_done else (final,)


def _allowed_own(state: RolloutState, osd: OsdProgress) -> tuple[Optional[str], ...]:
    """Allowed values of the own entry of an OSD that this rollout has started to change."""
    who = own(osd.osd_id)
    before, final = state.before.entry(who), state.request.final_by_who.get(who)
    target = state.request.target_by_osd[osd.osd_id]
    wanted = target if state.request.restart else before
    if osd.step is OsdStep.RESTORING and state.direction is Direction.FORWARD:
        # It is being left behind: see `collapse`.
        return (before, wanted, final)
    if osd.step in {OsdStep.SETTING, OsdStep.RESTORING}:
        return (before, wanted)
    if osd.step is OsdStep.COLLAPSING:
        return (wanted, final)
    if osd.step is OsdStep.REPINNING:
        return (wanted, final, target)
    if osd.step is OsdStep.COLLAPSED:
        return (final,)
    # From "restart due" on, the entry was confirmed. Only an OSD under recovery has its previous
    # entry again.
    recovering = state.direction is Direction.RECOVER and osd.restart_needed
    return (before,) if recovering else (wanted,)
