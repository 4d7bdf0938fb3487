"""Collapse the entries of single OSDs into the shared entry of the plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ...plan.commands import removal
from ...plan.entries import Scope, own
from ...plan.records import end_value, starts_alike
from ...shell import command
from ..phases import Outcome, Phase, clip
from .admission import describe_left_behind, gone_or_replaced, start_leaving
from .records import OsdStep, RolloutState, finished, waiting, with_osd
from .rules import Observation, Rules, Step, entries, entry, why_held


def collapse(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    for changed in state.osds:
        if changed.step in {OsdStep.VERIFIED, OsdStep.COLLAPSED}:
            gone = gone_or_replaced(state, changed, seen)
            if gone is not None:
                return Step(start_leaving(state, changed, gone))
    if state.own_entries_stay is not None:
        return _keep_own_entries(rules, state, seen)
    reason = _why_keep_own_entries(rules, state, seen)
    if reason is not None:
        return Step(replace(state, own_entries_stay=clip(reason), entries_done=0, errors=0))
    shared = entries(rules, state, seen, state.request.shared_entries)
    if shared is not None:
        return shared
    osd = next((osd for osd in state.osds if osd.step is OsdStep.VERIFIED), None)
    if osd is None:
        return _done(state)
    if end_value(state.request, osd.osd_id) is not None:
        return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSED)))
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    collapsing = with_osd(state, replace(osd, step=OsdStep.COLLAPSING))
    return entry(rules, collapsing, seen, own(osd.osd_id), None) or Step(collapsing)


def _why_keep_own_entries(rules: Rules, state: RolloutState, seen: Observation) -> Optional[str]:
    """Why the entries of single OSDs are kept; None: the shared one does the same.

    It must not change OSDs that were not checked, and OSDs ignore masked entries at startup, but
    one that names its host in its ceph.conf may get an entry for it.
    """
    shared = dict(state.request.shared_entries)
    others = {who: value for who, value in seen.entries.items() if who not in shared}
    checked = {osd.osd_id for osd in state.osds if osd.step is not OsdStep.LEFT_BEHIND}
    removed = {n for n in checked if end_value(state.request, n) is None}
    masked = [who for who in others if '/' in who]
    if masked and removed:
        scope = Scope.of(seen.cluster, removed)
        targets = {value for _, value in state.request.targets}
        masked = [
            who
            for who in masked
            if scope.may_cover(who)
            and not all(rules.same_meaning(others[who], value) for value in targets)
        ]
        if masked:
            return (
                'the entries of single OSDs are kept: without them OSDs may start with the entry '
                f'of {", ".join(masked[:8])}'
            )
    before, after = (
        {**others, **{who: value for who, value in found.items() if value is not None}}
        for found in ({who: state.before.entry(who) for who in shared}, shared)
    )
    reached = [
        osd.osd_id
        for osd in seen.cluster.osds
        if osd.osd_id not in checked
        # An OSD that is down and out returns only if an operator restarts it, which is likely for
        # an OSD of the rollout.
        and (osd.up or osd.in_cluster or osd.osd_id in state.by_id)
        and not starts_alike(state.request.option, osd, before, after, seen.other_entries)
    ]
    if not reached:
        return None
    named = ', '.join(map(own, reached[:8])) + (' and more' if len(reached) > 8 else '')
    return (
        f'the entries of single OSDs are kept: the entry of {", ".join(shared)} would also change '
        f'{named}, which this rollout has not checked'
    )


def _keep_own_entries(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    """Restore the entries of single OSDs first, then the shared entries."""
    for osd in state.osds:
        if osd.step is OsdStep.COLLAPSED and end_value(state.request, osd.osd_id) is None:
            return Step(with_osd(state, replace(osd, step=OsdStep.COLLAPSING)))
    for who, _ in state.request.shared_entries:
        write = entry(rules, state, seen, who, state.before.entry(who))
        if write is not None:
            return write
    return _done(state)


def _done(state: RolloutState) -> Step:
    left, option = describe_left_behind(state), state.request.option
    parts = [state.failure, None if left is None else f'left behind: {left}']
    if state.own_entries_stay is not None:
        # How an operator collapses the entries later.
        shared = ', then '.join(
            f'"{removal(who, option)}"'
            if value is None
            else f'"{command("ceph", "config", "set", who, option)}" with the same string'
            for who, value in state.request.shared_entries
        )
        later = f'once that has changed: {shared}, then "ceph config rm" for each single OSD'
        parts += [state.own_entries_stay, later]
    done = finished(state, Phase.DONE, Outcome.DONE)
    return Step(replace(done, failure=clip('; '.join(filter(None, parts))) or None))
