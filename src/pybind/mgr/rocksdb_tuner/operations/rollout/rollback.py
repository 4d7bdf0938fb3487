"""Restores one OSD that failed (`recover`), or everything that was changed (`back`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from ...plan.entries import Scope, own
from ..phases import Outcome, Phase, clip, paused_text
from .admission import describe_left_behind, identity_mismatch
from .osd_step import down_and_due, drive, start_recovery, unsafe
from .records import (
    UNCHANGED,
    Direction,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
    ended,
    finished,
    others_changed,
    recovery_ending,
    with_osd,
)
from .rules import Observation, Rules, Step, entries, why_held

#: What a rollback does with the changes that a failed rollout leaves.
REVERTS = 'reverts it'
REVERTS_IF_UNCHANGED = f'{REVERTS}, unless it has been changed since'
ROLLBACK_REFUSED = 'refuses to revert it'


def rolled_back(
    state: RolloutState, actor: str, now_s: float, paused_by: Optional[str] = None
) -> RolloutState:
    """Turn the rollout into a rollback of everything it changed.

    ``paused_by`` keeps a pause; None: an operator's rollback ends an earlier pause.
    """
    earlier = f'{state.failure}; ' if state.failure else ''
    shared = tuple(who for who, _ in state.request.shared_entries)
    return replace(
        state,
        direction=Direction.BACK,
        stage=Phase.ROLLING_BACK,
        restoring=(
            *(shared if state.shared_touched else ()),
            *(own(osd.osd_id) for osd in state.osds if osd.step not in UNCHANGED),
        ),
        entries_done=0,
        ending=None,
        outcome=None,
        acknowledged=False,
        failure=clip(f'{earlier}rolled back by {actor}'),
        paused_by=paused_by,
        paused_reason=None if paused_by is None else paused_text(paused_by),
        pending_conflict=None,
        errors=0,
        updated_s=now_s,
    )


def presumed_changed(state: RolloutState) -> RolloutState:
    """A rollout with unknown progress: as if every OSD were changed."""
    osds = tuple(
        osd if osd.step is OsdStep.LEFT_BEHIND else replace(osd, step=OsdStep.VERIFIED)
        for osd in state.osds
    )
    return replace(state, osds=osds, direction=Direction.FORWARD, shared_touched=True)


def recover(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    osd = state.in_flight
    if osd is None:
        return _after_recovery(state, recovery_ending(state))
    return drive(rules, state, osd, seen)


def _after_recovery(state: RolloutState, ending: Ending) -> Step:
    """A failed OSD fails the whole change: it is rolled back on all OSDs.

    After an operator's abort, the OSDs changed until then are the operator's decision.
    """
    if ending.outcome is Outcome.ROLLED_BACK:
        turned = rolled_back(state, '', state.updated_s, paused_by=state.paused_by)
        return Step(replace(turned, failure=state.failure))
    if ending.outcome is Outcome.FAILED and others_changed(state):
        failed = replace(state, failure=ending.reason)
        actor = 'the module on all OSDs'
        return Step(rolled_back(failed, actor, state.updated_s, paused_by=state.paused_by))
    return Step(ended(state, ending))


def back(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    stopped = _stopped(rules, state, seen)
    if stopped is not None:
        return Step(stopped)
    if state.entries_done < len(state.restoring):
        wanted = [(who, state.before.entry(who)) for who in state.restoring]
        step = entries(rules, state, seen, wanted)
        assert step is not None
        if step.state.entries_done < len(wanted):
            return step
        osds = tuple(_restore_step(state, osd, seen) for osd in state.osds)
        return Step(replace(step.state, osds=osds))
    osd = state.in_flight
    if osd is None:
        left = describe_left_behind(state)
        failure = state.failure if left is None else f'{state.failure}; left behind: {left}'
        done = finished(state, Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
        return Step(replace(done, failure=failure and clip(failure)))
    down = down_and_due(state, seen)
    if osd.step is OsdStep.RESTART_DUE:
        osd = down or osd
    elif osd.step is OsdStep.RESTARTING and down is not None:
        info = seen.osd(osd.osd_id)
        if seen.waited_s >= rules.limits.restart_s and info is not None and info.up:
            # Regardless of its restart: the OSD that is down comes first.
            return Step(with_osd(state, replace(osd, step=OsdStep.RESTART_DUE)))
    return drive(rules, state, osd, seen)


def _stopped(rules: Rules, state: RolloutState, seen: Observation) -> Optional[RolloutState]:
    """An aborted rollback, or one that is held; None: it continues.

    One OSD is brought to a safe state all the same; the others stay as they are.
    """
    osd, ending = unsafe(state, seen.cluster.down), state.ending
    held = why_held(state, seen)
    if osd is None:
        return None if ending is None else ended(state, ending)
    if ending is None and held is None:
        return None
    who = own(osd.osd_id)
    if ending is None:
        deadly = seen.entries.get(who) != state.before.entry(who)
        if osd is not state.in_flight or not deadly or osd.osd_id not in seen.cluster.down:
            return None
        # Nothing holds the removal of what keeps it from starting.
        ending = Ending(Outcome.ROLLED_BACK, held or '')
    others = (
        o if o is osd or o.step in UNCHANGED else replace(o, step=OsdStep.VERIFIED)
        for o in state.osds
    )
    state = replace(state, osds=tuple(others))
    if state.entries_done < len(state.restoring):
        return start_recovery(rules, state, osd, seen, ending)
    return replace(state, direction=Direction.RECOVER)


def _restore_step(state: RolloutState, osd: OsdProgress, seen: Observation) -> OsdProgress:
    """Whether the OSD's process may have started with the value just removed."""
    if osd.step in UNCHANGED:
        return osd
    another = identity_mismatch(state, osd.osd_id, seen)
    if another is not None:
        # It never ran the recorded options; its entry is removed, the rest is not the rollout's.
        return replace(osd, step=OsdStep.LEFT_BEHIND, left_reason=another)
    info = seen.osd(osd.osd_id)
    if info is None or not state.request.restart:
        return replace(osd, step=OsdStep.RESTORED)
    if info.nonce == osd.nonce_before and not osd.restart_needed:
        if osd.step is OsdStep.RESTARTING:
            # The requested restart is still to come, or under way.
            return replace(osd, restart_needed=True, doubtful=True)
        if osd.step in {OsdStep.SETTING, OsdStep.RESTART_DUE, OsdStep.RESTORING}:
            return replace(osd, step=OsdStep.RESTORED)
    return replace(
        osd,
        step=OsdStep.RESTART_DUE,
        nonce_before=info.nonce,
        restart_needed=True,
        doubtful=not info.up,
        restarts_asked=0,
        flaps=0,
    )


def conflicting_entries(state: RolloutState, seen: Observation) -> tuple[str, ...]:
    """Each `who` whose entry holds neither the recorded value nor one this rollout wrote."""
    allowed = dict(_allowed(state))
    found = [who for who, values in allowed.items() if seen.entries.get(who) not in values]
    # A recovery or rollback only writes recorded values: other entries do not matter.
    if state.direction is Direction.FORWARD:
        changed = _differing(state.before.value_by_who, seen.entries)
        found += _covered([who for who in changed if who not in allowed], state, seen)
    return tuple(sorted(found))


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
    allowed = _allowed(rolled_back(state, '', state.updated_s))
    return tuple(who for who, values in allowed if entries.get(who) not in values)


def describe_leftovers(state: RolloutState, entries: Optional[Mapping[str, str]]) -> RolloutState:
    """Append to the failure which OSDs stay changed, and how to revert that.

    ``entries`` are the present entries of the option by `who`; None: unknown.
    """
    if state.stage is not Phase.FAILED or state.direction is Direction.BACK:
        return state
    changed = [own(osd.osd_id) for osd in state.osds if osd.step not in UNCHANGED]
    if not changed:
        return state
    shared = [who for who, _ in state.request.shared_entries]
    restored = [
        who
        for who in changed
        if entries is not None
        and all(entries.get(one) == state.before.entry(one) for one in (who, *shared))
    ]
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


def _named(whos: Sequence[str]) -> str:
    return ', '.join(whos[:5]) + (' and more' if len(whos) > 5 else '')


def _allowed(state: RolloutState) -> Iterator[tuple[str, tuple[Optional[str], ...]]]:
    """Each `who` that this rollout writes, with the values that its entry may hold now."""
    request, before = state.request, state.before.value_by_who
    if state.direction is Direction.BACK:
        shared = dict(request.shared_entries)
        targets = {own(osd_id): value for osd_id, value in request.targets}
        for index, who in enumerate(state.restoring):
            own_values = (targets.get(who), request.final_by_who.get(who))
            written = (shared[who],) if who in shared else own_values
            yield who, (before.get(who), *(() if index < state.entries_done else written))
        return
    if state.direction is Direction.FORWARD:
        for index, (who, value) in enumerate(request.shared_entries):
            old = () if state.shared_touched and index < state.entries_done else (before.get(who),)
            yield who, (*old, *((value,) if state.shared_touched else ()))
    osds = state.osds
    if state.direction is Direction.RECOVER:
        osds = () if state.in_flight is None else (state.in_flight,)
    for osd in osds:
        if osd.step not in UNCHANGED:
            yield own(osd.osd_id), _allowed_own(state, osd)


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


def _allowed_own(state: RolloutState, osd: OsdProgress) -> tuple[Optional[str], ...]:
    """Allowed values of the own entry of an OSD that this rollout has started to change."""
    who = own(osd.osd_id)
    before, final = state.before.entry(who), state.request.final_by_who.get(who)
    target = state.request.target_by_osd[osd.osd_id]
    wanted = target if state.request.restart else before
    # It is being left behind.
    leaving = (final,) if state.direction is Direction.FORWARD or osd.left_reason else ()
    allowed: Mapping[OsdStep, tuple[Optional[str], ...]] = {
        OsdStep.SETTING: (before, wanted),
        OsdStep.RESTORING: (before, wanted, *leaving),
        OsdStep.COLLAPSING: (wanted, final, target),
        OsdStep.COLLAPSED: (final,),
    }
    if osd.step in allowed:
        return allowed[osd.step]
    # From "restart due" on, the entry was confirmed: under recovery the previous one.
    recovering = state.direction is Direction.RECOVER and osd.restart_needed
    return (before,) if recovering else (wanted,)
