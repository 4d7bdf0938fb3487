"""Collapse the entries of single OSDs into the shared entry of the plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ...plan.commands import RemoveEntry, SetEntry, removal
from ...plan.entries import masked_for, own, starts_with
from ...plan.records import ChangeKind, end_value, starts_alike, target
from ...shell import command, quoted
from ..gates import Away, absent
from ..phases import Outcome, Phase, clip
from .admission import describe_left_behind, gone_or_replaced, left_behind, start_leaving
from .records import (
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
    ended,
    finished,
    first_at,
    waiting,
    with_osd,
)
from .rules import Observation, Rules, Step, entry_action, waiting_on_error, why_held, write


def collapse(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    gone = _gone_or_replaced(state, seen)
    if gone is not None:
        return Step(start_leaving(state, *gone))
    if state.own_entries_stay is not None:
        return _keep_own_entries(rules, state, seen)
    reason = _why_keep_own_entries(state, seen)
    if reason is not None:
        return Step(replace(state, own_entries_stay=clip(reason), entries_done=0, errors=0))
    shared = state.request.shared_entries
    if state.entries_done < len(shared):
        who, value = shared[state.entries_done]
        if seen.entries.get(who) == value:
            return Step(replace(state, entries_done=state.entries_done + 1, errors=0))
        return write(rules, state, seen, who, value)
    osd = first_at(state, OsdStep.VERIFIED)
    if osd is None:
        return _done(state)
    if end_value(state.request, osd.osd_id) is not None:
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    collapsing = with_osd(state, replace(osd, step=OsdStep.COLLAPSING))
    if own(osd.osd_id) not in seen.entries:
        return Step(collapsing)
    return Step(collapsing, (RemoveEntry(own(osd.osd_id)),))


def _gone_or_replaced(state: RolloutState, seen: Observation) -> Optional[tuple[OsdProgress, str]]:
    """A changed OSD that is gone or was replaced, and the reason."""
    for osd in state.osds:
        if osd.step in {OsdStep.VERIFIED, OsdStep.COLLAPSED}:
            reason = gone_or_replaced(state, osd, seen)
            if reason is not None:
                return osd, reason
    return None


def _why_keep_own_entries(state: RolloutState, seen: Observation) -> Optional[str]:
    """Why the entries of single OSDs are kept: a shared one would change unchecked OSDs."""
    shared = state.request.shared_entries
    checked = {osd.osd_id for osd in state.osds if osd.step is not OsdStep.LEFT_BEHIND}
    left = {osd.osd_id for osd in state.osds} - checked
    before, after = dict(seen.entries), dict(seen.entries)
    for who, value in shared:
        _put(before, who, state.before.entry(who))
        _put(after, who, value)
    reached = [
        osd.osd_id
        for osd in seen.cluster.osds
        if osd.osd_id not in checked
        # An OSD that is down and out returns only if an operator restarts it, which is likely for
        # an OSD of the rollout.
        and (osd.up or osd.in_cluster or osd.osd_id in left)
        and not starts_alike(state.request.option, osd, before, after, seen.other_entries)
    ]
    if not reached:
        return None
    named = ', '.join(map(own, reached[:8])) + (' and more' if len(reached) > 8 else '')
    return (
        'the entries of single OSDs are kept: the entry of '
        f'{", ".join(who for who, _ in shared)} would also change {named}, which this rollout has '
        'not checked'
    )


def _put(entries: dict[str, str], who: str, value: Optional[str]) -> None:
    entries.pop(who, None)
    if value is not None:
        entries[who] = value


def _keep_own_entries(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    """Restore the entries of single OSDs first, then the shared entries."""
    for osd in state.osds:
        if osd.step is OsdStep.COLLAPSED and end_value(state.request, osd.osd_id) is None:
            return Step(with_osd(state, replace(osd, step=OsdStep.REPINNING)))
    for who, _ in state.request.shared_entries:
        value = state.before.entry(who)
        if seen.entries.get(who) != value:
            return write(rules, state, seen, who, value)
    return _done(state)


def _done(state: RolloutState) -> Step:
    left = describe_left_behind(state)
    parts = [
        state.failure,
        None if left is None else f'left behind: {left}',
        None
        if state.own_entries_stay is None
        else f'{state.own_entries_stay}; {_share_later(state)}',
    ]
    done = finished(state, Phase.DONE, Outcome.DONE)
    return Step(replace(done, failure=clip('; '.join(filter(None, parts))) or None))


def _share_later(state: RolloutState) -> str:
    """How an operator collapses the entries later."""
    option = state.request.option
    shared = ', then '.join(
        f'"{removal(who, option)}"'
        if value is None
        else f'"{command("ceph", "config", "set", who, option)}" with the same string'
        for who, value in state.request.shared_entries
    )
    return (
        f'once those OSDs may be changed too: {shared}, then "ceph config rm" for each single OSD'
    )


def collapse_osd(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    if osd.step is OsdStep.RESTORING:
        return _leaving(rules, state, osd, seen)
    if osd.step is OsdStep.REPINNING:
        return _repinning(rules, state, osd, seen)
    if own(n) in seen.entries:
        return write(rules, state, seen, own(n), None)
    if absent(seen, n) is Away.GONE:
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    if n not in seen.resolved:
        return Step(waiting(state, f'cannot read the configuration of osd.{n} from the monitor'))
    if _resolves_to_target(rules, state, n, seen):
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    if seen.waited_s < rules.limits.confirm_s:
        return Step(state)
    ending = Ending(
        Outcome.FAILED,
        f'without its own entry osd.{n} would get {_would_resolve_to(rules, state, n, seen)}: '
        'its entry was set again',
    )
    repinning = with_osd(replace(state, ending=ending), replace(osd, step=OsdStep.REPINNING))
    return Step(repinning, (SetEntry(own(n), target(state.request, n)),))


def _leaving(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Restore the recorded entry of an OSD id that left the rollout."""
    who = own(osd.osd_id)
    value = state.before.entry(who)
    if seen.entries.get(who) != value:
        return write(rules, state, seen, who, value)
    return Step(left_behind(state, osd, osd.left_reason or f'{who} is a different OSD now'))


def _repinning(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Write the OSD's own entry again."""
    who = own(osd.osd_id)
    value = target(state.request, osd.osd_id) if state.request.restart else state.before.entry(who)
    if seen.entries.get(who) == value:
        verified = with_osd(state, replace(osd, step=OsdStep.VERIFIED))
        return Step(verified if state.ending is None else ended(verified, state.ending))
    if state.ending is None:
        # The shared entry gives it the same value so far: not urgent.
        return write(rules, state, seen, who, value)
    return Step(waiting_on_error(rules, state), (entry_action(who, value),))


def _resolves_to_target(rules: Rules, state: RolloutState, osd_id: int, seen: Observation) -> bool:
    """Whether the OSD gets its target at the next start without its own entry."""
    wanted = target(state.request, osd_id)
    started = starts_with(seen.entries, osd_id)
    if started is None and state.request.kind is not ChangeKind.REMOVE_OVERRIDE:
        return False
    # Without an entry the OSD's own default applies, which is the target of this kind; the monitor
    # would report the default of its own release, which need not be the OSD's.
    if started is not None and not rules.same_meaning(started[1], wanted):
        return False
    # OSDs ignore masked entries at startup, but an OSD that names its host in its ceph.conf may get
    # an entry for it. The monitor knows which masks match.
    masked = masked_for(seen.cluster, seen.entries, osd_id)
    return not masked or rules.same_meaning(seen.resolved[osd_id], wanted)


def _would_resolve_to(rules: Rules, state: RolloutState, osd_id: int, seen: Observation) -> str:
    """The value that the OSD would get without its own entry, as text."""
    started = starts_with(seen.entries, osd_id)
    if started is None and state.request.kind is not ChangeKind.REMOVE_OVERRIDE:
        return 'the default of its release'
    if started is not None and not rules.same_meaning(started[1], target(state.request, osd_id)):
        return quoted(started[1])
    return quoted(seen.resolved[osd_id])
