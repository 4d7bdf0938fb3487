"""Whether an OSD is still the planned one, and leaving OSDs behind. Pure.

An id does not identify an OSD: a recreated OSD, perhaps on another disk, has the same id. An OSD is
identified by its uuid; its options were chosen for its device class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Optional

from ...judge.records import Verdict
from ...mgr.records import OsdInfo
from ...plan.batches import count, planned_batch
from ..phases import Outcome
from ..texts import clip
from .observation import Observation
from .records import Ending, OsdBefore, OsdProgress, OsdStep, RolloutState
from .states import others_changed, with_osd

#: Stored digits of a uuid: all of them are random, and more would take space for each OSD.
_UUID_DIGITS = 6
#: Longest reason, of which there may be one for each OSD.
_REASON_MAX = 200
#: A rollout compares the uuids of all its OSDs at each step of its collapse.
_UUIDS_REMEMBERED = 1 << 15
_NO_UUID = '0' * _UUID_DIGITS


@lru_cache(_UUIDS_REMEMBERED)
def uuid_head(uuid: Optional[str]) -> Optional[str]:
    """The stored digits of a uuid; None without a uuid, as after `osd destroy`."""
    head = (uuid or '').replace('-', '')[:_UUID_DIGITS].lower()
    if len(head) < _UUID_DIGITS or head == _NO_UUID or not set(head) <= set('0123456789abcdef'):
        return None
    return head


def not_as_planned(before: OsdBefore, info: OsdInfo) -> Optional[str]:
    """Why this is not the planned OSD; None if it is, as far as known.

    Unknown values are not compared.
    """
    if before.uuid_head is not None and uuid_head(info.uuid) != before.uuid_head:
        return (
            f'osd.{info.osd_id} was removed and recreated: the plan was made for the previous OSD'
        )
    if before.device_class is not None and info.device_class != before.device_class:
        return (
            f'osd.{info.osd_id} now has device class {info.device_class or "none"}: the plan was '
            f'made for {before.device_class}'
        )
    if None not in (before.objectstore, info.objectstore) and (
        info.objectstore != before.objectstore
    ):
        return (
            f'osd.{info.osd_id} now runs {info.objectstore}: the plan was made for '
            f'{before.objectstore}'
        )
    return None


def identity_mismatch(state: RolloutState, osd_id: int, seen: Observation) -> Optional[str]:
    """`not_as_planned` for an OSD of the rollout; None also if it is not in the map."""
    info = seen.osd(osd_id)
    before = state.before.by_id.get(osd_id)
    return None if info is None or before is None else not_as_planned(before, info)


def start_leaving(state: RolloutState, osd: OsdProgress, reason: str) -> RolloutState:
    """Restore the recorded entry of its id first, then leave the OSD behind."""
    return with_osd(
        state, replace(osd, step=OsdStep.RESTORING, left_reason=clip(reason, _REASON_MAX))
    )


def left_behind(state: RolloutState, osd: OsdProgress, reason: str) -> RolloutState:
    """Continue without this OSD.

    A batch without remaining OSDs is skipped without a verdict. If this was the canary and no other
    OSD is changed, the rollout ends.
    """
    left = replace(
        osd,
        step=OsdStep.LEFT_BEHIND,
        left_reason=clip(reason, _REASON_MAX),
        restart_needed=False,
    )
    state = with_osd(state, left)
    if state.ending is None and osd.osd_id == state.request.order[0] and not others_changed(state):
        # Without a canary the effect on the others is unknown.
        return replace(state, ending=Ending(Outcome.FAILED, clip(reason)))
    steps = {one.osd_id: one.step for one in state.osds}
    while len(state.verdicts) < count(state.request):
        batch = planned_batch(state.request, state.soak, len(state.verdicts))
        if not batch.watched or {steps[n] for n in batch.osds} != {OsdStep.LEFT_BEHIND}:
            break
        state = replace(state, verdicts=(*state.verdicts, Verdict.NO_DATA))
    return state


def describe_left_behind(state: RolloutState) -> Optional[str]:
    """The OSDs left behind, with reasons; None if there are none."""
    left = [osd for osd in state.osds if osd.step is OsdStep.LEFT_BEHIND]
    if not left:
        return None
    text = '; '.join(osd.left_reason or f'osd.{osd.osd_id}' for osd in left[:3])
    more = f' and {len(left) - 3} more' if len(left) > 3 else ''
    return f'{text}{more}'


def gone_or_replaced(state: RolloutState, osd: OsdProgress, seen: Observation) -> Optional[str]:
    """Why a changed OSD is gone or a different one; None if neither."""
    if seen.osd(osd.osd_id) is None:
        return f'osd.{osd.osd_id} was removed from the cluster'
    return identity_mismatch(state, osd.osd_id, seen)
