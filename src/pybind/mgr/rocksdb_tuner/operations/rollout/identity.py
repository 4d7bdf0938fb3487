"""Whether an OSD is still the one that a rollout was planned for, and what is left behind. Pure.

An id says little: an OSD that is purged and made again, perhaps on another disk, has the same. What
stays with an OSD is its uuid; what its options were chosen for is its device class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ...judge.records import Verdict
from ...mgr.records import OsdInfo
from ...plan.batches import count, planned_batch
from ..phases import Outcome
from ..texts import clip
from .observation import Observation
from .records import Ending, OsdBefore, OsdProgress, OsdStep, RolloutState
from .states import others_changed, with_osd

#: Digits of a uuid that are kept: all of them are random, and a rollout of 1,500 OSDs has no room
#: for more.
_UUID_DIGITS = 6
#: Characters of a reason: there may be one for each OSD.
_REASON_MAX = 200
_NO_UUID = '0' * _UUID_DIGITS


def uuid_head(uuid: Optional[str]) -> Optional[str]:
    """The digits of a uuid that are kept; None of an OSD without one, as after `osd destroy`."""
    head = (uuid or '').replace('-', '')[:_UUID_DIGITS].lower()
    if len(head) < _UUID_DIGITS or head == _NO_UUID or not set(head) <= set('0123456789abcdef'):
        return None
    return head


def not_as_planned(before: OsdBefore, info: OsdInfo) -> Optional[str]:
    """Why this is not the OSD that was planned for; None if it is, as far as that is known.

    What a version of the module before did not record is not compared.
    """
    name = f'osd.{info.osd_id}'
    if before.uuid_head is not None and uuid_head(info.uuid) != before.uuid_head:
        return f'{name} was removed and made again since: the plan was made for the one before'
    if before.device_class is not None and info.device_class != before.device_class:
        return (
            f'{name} now has device class {info.device_class or "none"}: the plan was made for '
            f'{before.device_class}'
        )
    if None not in (before.objectstore, info.objectstore) and (
        info.objectstore != before.objectstore
    ):
        return f'{name} now runs {info.objectstore}: the plan was made for {before.objectstore}'
    return None


def stranger(state: RolloutState, osd_id: int, seen: Observation) -> Optional[str]:
    """The same of an OSD of the rollout; None also where it is not in the map."""
    info = seen.osd(osd_id)
    before = next((b for b in state.before.osds if b.osd_id == osd_id), None)
    return None if info is None or before is None else not_as_planned(before, info)


def leaving(state: RolloutState, osd: OsdProgress, reason: str) -> RolloutState:
    """First its own entry goes back to what the id had, then it is left behind."""
    return with_osd(
        state, replace(osd, step=OsdStep.RESTORING, left_reason=clip(reason, _REASON_MAX))
    )


def left_behind(state: RolloutState, osd: OsdProgress, reason: str) -> RolloutState:
    """The others go on without this OSD.

    A batch of which nothing is left is passed over: no verdict on it is waited for. Where this was
    the canary and nothing else is changed, it all ends.
    """
    left = replace(
        osd,
        step=OsdStep.LEFT_BEHIND,
        left_reason=clip(reason, _REASON_MAX),
        restart_needed=False,
    )
    state = with_osd(state, left)
    if state.ending is None and osd.osd_id == state.request.order[0] and not others_changed(state):
        # Nothing tells how the others would fare.
        return replace(state, ending=Ending(Outcome.FAILED, clip(reason)))
    steps = {one.osd_id: one.step for one in state.osds}
    while len(state.verdicts) < count(state.request):
        batch = planned_batch(state.request, state.soak, len(state.verdicts))
        if not batch.watched or {steps[n] for n in batch.osds} != {OsdStep.LEFT_BEHIND}:
            break
        state = replace(state, verdicts=(*state.verdicts, Verdict.NO_DATA))
    return state


def who_was_left(state: RolloutState) -> Optional[str]:
    """Who was left behind and why; None where nobody was."""
    left = [osd for osd in state.osds if osd.step is OsdStep.LEFT_BEHIND]
    if not left:
        return None
    told = '; '.join(osd.left_reason or f'osd.{osd.osd_id}' for osd in left[:3])
    more = f' and {len(left) - 3} more' if len(left) > 3 else ''
    return f'{told}{more}'


def gone_or_another(state: RolloutState, osd: OsdProgress, seen: Observation) -> Optional[str]:
    """Why a changed OSD is none of the rollout's any more; None while it is."""
    if seen.osd(osd.osd_id) is None:
        return f'osd.{osd.osd_id} was removed from the cluster'
    return stranger(state, osd.osd_id, seen)
