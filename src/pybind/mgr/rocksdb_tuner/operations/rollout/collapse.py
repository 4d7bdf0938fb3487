"""From the entries of single OSDs to the one that the plan named."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from ...plan.actions import RemoveEntry, SetEntry
from ...plan.entries import masked_for, own, starts_with
from ...plan.records import ChangeKind
from ...plan.request import end_value, shared_entries, target
from ..leaving import Away, absent
from ..phases import Outcome, Phase
from ..texts import clip
from .identity import gone_or_another, leaving, left_behind, who_was_left
from .observation import Observation
from .records import Ending, OsdProgress, OsdStep, RolloutState
from .rules import Rules, Step, entry_action, why_held, with_trouble, write
from .states import ended, finished, first_at, waiting, with_osd


def collapse(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    gone = _no_more_ours(state, seen)
    if gone is not None:
        return Step(leaving(state, *gone))
    if state.own_entries_stay is not None:
        return _unshared(rules, state, seen)
    reason = _why_not_shared(rules, state, seen)
    if reason is not None:
        return Step(replace(state, own_entries_stay=clip(reason), entries_done=0, errors=0))
    shared = shared_entries(state.request)
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


def _no_more_ours(state: RolloutState, seen: Observation) -> Optional[tuple[OsdProgress, str]]:
    """A changed OSD that is gone, or another one by now, and which of it."""
    for osd in state.osds:
        if osd.step in {OsdStep.VERIFIED, OsdStep.COLLAPSED}:
            reason = gone_or_another(state, osd, seen)
            if reason is not None:
                return osd, reason
    return None


def _why_not_shared(rules: Rules, state: RolloutState, seen: Observation) -> Optional[str]:
    """Why no entry is shared: OSDs that nobody checked would start with something else by it."""
    shared = shared_entries(state.request)
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
        # One that is down and out comes back only by somebody's hand, if ever; but one of the
        # rollout's may be meant to.
        and (osd.up or osd.in_cluster or osd.osd_id in left)
        and not _starts_alike(rules, before, after, osd.osd_id)
    ]
    if not reached:
        return None
    named = ', '.join(map(own, reached[:8])) + (' and more' if len(reached) > 8 else '')
    return (
        f'the entries of single OSDs stay: that of {", ".join(who for who, _ in shared)} would '
        f'also change {named}, which this rollout did not check'
    )


def _put(entries: dict[str, str], who: str, value: Optional[str]) -> None:
    entries.pop(who, None)
    if value is not None:
        entries[who] = value


def _starts_alike(
    rules: Rules, one: Mapping[str, str], other: Mapping[str, str], osd_id: int
) -> bool:
    old, new = starts_with(one, osd_id), starts_with(other, osd_id)
    if old is None or new is None:
        return old is new
    return rules.same_meaning(old[1], new[1])


def _unshared(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    """Entries of single OSDs first, then what they were to share as it was before."""
    for osd in state.osds:
        if osd.step is OsdStep.COLLAPSED and end_value(state.request, osd.osd_id) is None:
            return Step(with_osd(state, replace(osd, step=OsdStep.SHIELDING)))
    for who, _ in shared_entries(state.request):
        value = state.before.entry(who)
        if seen.entries.get(who) != value:
            return write(rules, state, seen, who, value)
    return _done(state)


def _done(state: RolloutState) -> Step:
    left = who_was_left(state)
    told = [
        state.failure,
        None if left is None else f'left behind: {left}',
        None if state.own_entries_stay is None else f'{state.own_entries_stay}; {_later(state)}',
    ]
    done = finished(state, Phase.DONE, Outcome.DONE)
    return Step(replace(done, failure=clip('; '.join(filter(None, told))) or None))


def _later(state: RolloutState) -> str:
    """How an operator shares the entries after all."""
    option = state.request.option
    shared = ', then '.join(
        f'"ceph config rm {who} {option}"'
        if value is None
        else f'"ceph config set {who} {option}" with the same string'
        for who, value in shared_entries(state.request)
    )
    return f'once these may have it too: {shared}, then "ceph config rm" of each single one'


def collapse_osd(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    if osd.step is OsdStep.RESTORING:
        return _leaving(rules, state, osd, seen)
    if osd.step is OsdStep.SHIELDING:
        return _shielding(rules, state, osd, seen)
    if own(n) in seen.entries:
        return write(rules, state, seen, own(n), None)
    if absent(seen, n) is Away.GONE:
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    if n not in seen.resolved:
        return Step(waiting(state, f'what the monitor gives osd.{n} cannot be read'))
    if _gets_target(rules, state, n, seen):
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    if seen.waited_s < rules.limits.confirm_s:
        return Step(state)
    ending = Ending(
        Outcome.FAILED,
        f'without its own entry osd.{n} would get {_would_get(rules, state, n, seen)}: '
        'its entry was set again',
    )
    shielded = with_osd(replace(state, ending=ending), replace(osd, step=OsdStep.SHIELDING))
    return Step(shielded, (SetEntry(own(n), target(state.request, n)),))


def _leaving(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """What an OSD that is none of ours has of its own goes back to what the id had."""
    who = own(osd.osd_id)
    value = state.before.entry(who)
    if seen.entries.get(who) != value:
        return write(rules, state, seen, who, value)
    return Step(left_behind(state, osd, osd.left_reason or f'{who} is another OSD now'))


def _shielding(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """The OSD's own entry is written again."""
    who = own(osd.osd_id)
    value = target(state.request, osd.osd_id) if state.request.restart else state.before.entry(who)
    if seen.entries.get(who) == value:
        shielded = with_osd(state, replace(osd, step=OsdStep.VERIFIED))
        return Step(shielded if state.ending is None else ended(shielded, state.ending))
    if state.ending is None:
        # What it shares gives it the same so far: there is no hurry.
        return write(rules, state, seen, who, value)
    return Step(with_trouble(rules, state), (entry_action(who, value),))


def _gets_target(rules: Rules, state: RolloutState, osd_id: int, seen: Observation) -> bool:
    """Whether the OSD's next process gets its target without an entry of its own."""
    wanted = target(state.request, osd_id)
    started = starts_with(seen.entries, osd_id)
    if started is None and state.request.kind is not ChangeKind.REMOVE_OVERRIDE:
        return False
    # Where no entry decides, the OSD's own default does, and that is the target of this kind; the
    # monitor's answer is then the default of its own release, which need not be the OSD's.
    if started is not None and not rules.same_meaning(started[1], wanted):
        return False
    # An entry with a mask gives an OSD nothing that it can be relied upon to start with, but one
    # that names its host in its ceph.conf may get it. The monitor knows which masks match.
    masked = masked_for(seen.cluster, seen.entries, osd_id)
    return not masked or rules.same_meaning(seen.resolved[osd_id], wanted)


def _would_get(rules: Rules, state: RolloutState, osd_id: int, seen: Observation) -> str:
    """What stands against removing the OSD's own entry, in words."""
    started = starts_with(seen.entries, osd_id)
    if started is None and state.request.kind is not ChangeKind.REMOVE_OVERRIDE:
        return 'the default of its release'
    if started is not None and not rules.same_meaning(started[1], target(state.request, osd_id)):
        return shlex.quote(started[1])
    return shlex.quote(seen.resolved[osd_id])
