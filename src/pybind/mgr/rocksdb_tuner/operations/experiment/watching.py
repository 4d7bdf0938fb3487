"""Events on the OSDs of an experiment. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from ...mgr.records import ClusterMap
from ...plan.entries import own
from ...plan.records import overruled
from ..gates import Away, absent, upgrading, why_away
from ..rollout.admission import identity_mismatch
from ..rollout.records import OsdStep
from ..rollout.rollback import conflicting_entries, conflicts_in_other_option
from ..rollout.rules import Limits, Observation
from . import legs
from .records import ExperimentState, LegKind
from .states import with_osds


def changed_entries(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Description of externally changed entries that may cover an OSD of the experiment."""
    rollout = legs.now(state)
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
            replace(osd, left_alone=True, changed=False, nonce=None)
            for osd in state.osds
            if osd.osd_id in state.off
            and entries.get(own(osd.osd_id)) not in legs.possible_entries(state, osd.osd_id)
        ),
    )


def not_as_planned(state: ExperimentState, seen: Observation, limits: Limits) -> Optional[str]:
    """Why the plan no longer matches the cluster; None if it does, as far as known."""
    releases = {osd.osd_id: osd.release for osd in seen.cluster.osds}
    for before in state.before.osds:
        release = releases.get(before.osd_id)
        if release not in {None, before.release}:
            return (
                f'osd.{before.osd_id} now runs {release}: the experiment was planned for '
                f'{before.release}'
            )
    rollout = legs.now(state)
    for n, osd in rollout.by_id.items():
        another = identity_mismatch(rollout, n, seen)
        if another is not None:
            return another
        gone, running = absent(seen, n), seen.running.get(n)
        long_s = limits.confirm_s if gone is Away.GONE else limits.boot_s
        if gone is not None and seen.absent_s >= long_s:
            return why_away(n, gone)
        if osd.step is OsdStep.PENDING and running is not None and running.beats_config_store:
            return overruled(rollout.request, n, running)
    return None


def down(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Why nothing is measured: an OSD is down. Placement groups show it later."""
    for n in legs.now(state).request.order:
        info = seen.osd(n)
        if info is None or not info.up:
            return f'osd.{n} is down'
    return None


def lost_processes(state: ExperimentState, cluster: ClusterMap) -> tuple[int, ...]:
    """OSDs in arms that lost their verified process, without those that were removed.

    OSDs that a leg is changing are not included: the leg monitors them.
    """
    known = cluster.by_id
    return tuple(
        n
        for n, nonce in _checked_processes(state).items()
        if n in known and not (known[n].up and known[n].nonce == nonce)
    )


def crashed(state: ExperimentState, lost: tuple[int, ...], seen: Observation) -> tuple[int, ...]:
    """The lost processes that were not restarted together with OSDs outside their arms."""
    if upgrading(seen) is not None:
        return ()
    steps = () if state.leg is None else state.leg.osds
    others = seen.moved - {osd.osd_id for osd in steps if osd.step is not OsdStep.PENDING}
    arms = {osd.osd_id: osd.arm for osd in state.osds}
    return tuple(n for n in lost if all(arms.get(other) == arms[n] for other in others))


def _checked_processes(state: ExperimentState) -> dict[int, int]:
    changing = state.leg is not None and state.leg_kind is LegKind.CHANGE
    leg = {} if state.leg is None else state.leg.by_id
    found = {osd.osd_id: osd.nonce for osd in state.osds if osd.changed and osd.osd_id not in leg}
    if changing:
        found.update({n: o.nonce_after for n, o in leg.items() if o.step in legs.CHANGED})
    return {n: nonce for n, nonce in found.items() if nonce is not None}
