"""From the entries of single OSDs to the one that the plan named."""

from __future__ import annotations

import shlex
from dataclasses import replace

from .entries import Scope, own
from .observation import Observation, RemoveEntry, SetEntry
from .records import (
    ChangeKind,
    Ending,
    OsdProgress,
    OsdStep,
    Outcome,
    Phase,
    RolloutState,
)
from .request import end_value, shared_entries, target
from .rules import Rules, Step, why_held, with_trouble, write
from .states import ended, finished, first_at, the_ending, waiting, with_osd


def collapse(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    shared = shared_entries(state.request)
    if state.entries_done < len(shared):
        who, value = shared[state.entries_done]
        if seen.entries.get(who) == value:
            return Step(replace(state, entries_done=state.entries_done + 1, errors=0))
        return write(rules, state, seen, who, value)
    osd = first_at(state, OsdStep.VERIFIED)
    if osd is None:
        return Step(finished(state, Phase.DONE, Outcome.DONE))
    if end_value(state.request, osd.osd_id) is not None:
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    collapsing = with_osd(state, replace(osd, step=OsdStep.COLLAPSING))
    if own(osd.osd_id) not in seen.entries:
        return Step(collapsing)
    return Step(collapsing, (RemoveEntry(own(osd.osd_id)),))


def collapse_osd(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    if osd.step is OsdStep.SHIELDING:
        if seen.entries.get(own(n)) == target(state.request, n):
            shielded = with_osd(state, replace(osd, step=OsdStep.VERIFIED))
            return Step(ended(shielded, the_ending(state)))
        return Step(with_trouble(rules, state), (SetEntry(own(n), target(state.request, n)),))
    if own(n) in seen.entries:
        return write(rules, state, seen, own(n), None)
    if n not in seen.resolved:
        return Step(waiting(state, f'what the monitor gives osd.{n} cannot be read'))
    if _gets_target(rules, state, n, seen):
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    if seen.waited_s < rules.limits.confirm_s:
        return Step(state)
    ending = Ending(
        Outcome.FAILED,
        f'without its own entry osd.{n} would get {shlex.quote(seen.resolved[n])}: '
        'its entry was set again',
    )
    shielded = with_osd(replace(state, ending=ending), replace(osd, step=OsdStep.SHIELDING))
    return Step(shielded, (SetEntry(own(n), target(state.request, n)),))


def _gets_target(rules: Rules, state: RolloutState, osd_id: int, seen: Observation) -> bool:
    decided = any(map(Scope.of(seen.cluster, (osd_id,)).may_cover, seen.entries))
    if not decided:
        # The monitor then answers with the default of its own release, which need not be the
        # OSD's; the target of this kind of change is the OSD's.
        return state.request.kind is ChangeKind.REMOVE_OVERRIDE
    return rules.same_meaning(seen.resolved[osd_id], target(state.request, osd_id))
