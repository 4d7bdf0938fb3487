"""Admission of a request, checked before anything is recorded or changed."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Callable, Optional

from ...judge.records import SoakPlan, Verdict, contradiction
from ...mgr.records import ClusterMap, ConfigEntry, OsdInfo, RunningOption
from ...plan.batches import count, planned_batch
from ...plan.commands import removal
from ...plan.entries import decided_by, own, starts_with
from ...plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest, overruled, starts_alike
from ..gates import Away, absent, why_away
from ..phases import OperationRefused, Outcome, clip
from .records import (
    Before,
    Ending,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
    others_changed,
    with_osd,
    wrong_request,
)
from .rules import Observation, WhyUnstartable

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
    changed: Optional[tuple[str, Optional[str]]] = None
    if before.device_class is not None and info.device_class != before.device_class:
        changed = f'has device class {info.device_class or "none"}', before.device_class
    elif len({before.objectstore, info.objectstore} - {None}) > 1:
        changed = f'runs {info.objectstore}', before.objectstore
    if changed is None:
        return None
    return f'osd.{info.osd_id} now {changed[0]}: the plan was made for {changed[1]}'


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
    why = clip(reason, _REASON_MAX)
    left = replace(osd, step=OsdStep.LEFT_BEHIND, left_reason=why, restart_needed=False)
    state = with_osd(state, left)
    if state.ending is None and osd.osd_id == state.request.order[0] and not others_changed(state):
        # Without a canary the effect on the others is unknown.
        return replace(state, ending=Ending(Outcome.FAILED, clip(reason)))
    while len(state.verdicts) < count(state.request):
        batch = planned_batch(state.request, state.soak, len(state.verdicts))
        if not batch.watched or not state.left_behind >= set(batch.osds):
            break
        state = replace(state, verdicts=(*state.verdicts, Verdict.NO_DATA))
    return state


def describe_left_behind(state: RolloutState) -> Optional[str]:
    """The OSDs left behind, with reasons; None if there are none."""
    left = [osd for osd in state.osds if osd.step is OsdStep.LEFT_BEHIND]
    if not left:
        return None
    text = '; '.join(osd.left_reason or f'osd.{osd.osd_id}' for osd in left[:3])
    return text + (f' and {len(left) - 3} more' if len(left) > 3 else '')


def gone_or_replaced(state: RolloutState, osd: OsdProgress, seen: Observation) -> Optional[str]:
    """Why a changed OSD is gone or a different one; None if neither."""
    if absent(seen, osd.osd_id) is Away.GONE:
        return why_away(osd.osd_id, Away.GONE)
    return identity_mismatch(state, osd.osd_id, seen)


def planned(
    rollout_id: str,
    request: ChangeRequest,
    *,
    cluster: ClusterMap,
    entries: Mapping[str, str],
    running: Mapping[int, RunningOption],
    same_meaning: Callable[[str, str], bool],
    why_unstartable: WhyUnstartable = lambda *_: None,
    now_s: float,
    soak: SoakPlan,
    other_entries: Optional[Mapping[str, str]] = None,
) -> RolloutState:
    """A new rollout with the recorded previous state; raises OperationRefused.

    ``entries`` are those of the option by `who`, ``other_entries`` those of the option that the
    request does not change (None: not monitored); ``running`` is missing of OSDs without an answer.
    """
    _refuse_malformed(request, same_meaning)
    impossible = contradiction(soak)
    if impossible is not None:
        raise OperationRefused(errno.EINVAL, impossible)
    osds = _present(request, cluster)
    _refuse_own_entries(request, entries)
    for osd in osds:
        n = osd.osd_id
        if n not in running:
            text = f'cannot read the running options of osd.{n}; try again'
            raise OperationRefused(errno.EAGAIN, text)
        if osd.release is None:
            text = f'the release of osd.{n} is not known yet; try again'
            raise OperationRefused(errno.EAGAIN, text)
        if running[n].beats_config_store:
            raise OperationRefused(errno.EINVAL, overruled(request, n, running[n]))
        if not request.restart and not same_meaning(running[n].value, request.target_by_osd[n]):
            text = f'osd.{n} must be restarted first: it runs another value'
            raise OperationRefused(errno.EINVAL, text)
    after = {who: value for who, value in entries.items() if who not in request.final_by_who}
    after.update({who: value for who, value in request.final_entries if value is not None})
    both = {request.option: after, request.other_option: other_entries or {}}
    at_start = [ConfigEntry(who, name, v) for name in both for who, v in both[name].items()]
    for why in (why_unstartable(osd, at_start) for osd in osds):
        if why is not None:
            raise OperationRefused(errno.EINVAL, why)
    _refuse_shadowed(request, osds, after, same_meaning)
    _refuse_outsiders(request, cluster, entries, after, other_entries)
    before = (
        OsdBefore(
            osd.osd_id,
            running[osd.osd_id].value,
            running[osd.osd_id].source,
            osd.release,
            uuid_head(osd.uuid),
            osd.device_class,
            osd.objectstore,
        )
        for osd in osds
    )
    others = None if other_entries is None else _recorded(request, other_entries)
    first = OsdStep.PENDING if request.restart else OsdStep.VERIFIED
    return RolloutState(
        rollout_id=rollout_id,
        request=request,
        before=Before(_recorded(request, entries), tuple(before), others),
        osds=tuple(OsdProgress(osd_id, first) for osd_id in request.order),
        started_s=now_s,
        updated_s=now_s,
        soak=soak,
    )


def _refuse_malformed(request: ChangeRequest, same_meaning: Callable[[str, str], bool]) -> None:
    if request.option not in {OPTION, ANNEX}:
        raise OperationRefused(
            errno.EINVAL, f'{request.option} cannot be rolled out: only {OPTION} and {ANNEX} can'
        )
    # Without its annex an OSD runs the other option alone, which need not be the default.
    strings = request.strings
    effective = request.restart or strings is None or not same_meaning(*strings)
    if request.option == ANNEX and request.kind is not ChangeKind.SET_PROFILE and effective:
        raise OperationRefused(
            errno.EINVAL, f'{ANNEX} is removed only where that does not change what OSDs run'
        )
    for wrong in wrong_request(request):
        raise OperationRefused(errno.EINVAL, f'the request contradicts itself: {wrong}')


def _present(request: ChangeRequest, cluster: ClusterMap) -> tuple[OsdInfo, ...]:
    known = cluster.by_id
    missing = [n for n in request.order if n not in known]
    if missing:
        text = f'{_osds(missing)} not in the OSD map; it has {_names(sorted(known))}'
        raise OperationRefused(errno.ENOENT, text)
    down = [n for n in request.order if not known[n].up]
    if down:
        text = f'{_osds(down)} down: bring it up, or remove it, before this is applied'
        raise OperationRefused(errno.EBUSY, text)
    return tuple(known[n] for n in request.order)


def _refuse_own_entries(request: ChangeRequest, entries: Mapping[str, str]) -> None:
    final = request.final_by_who
    owned = {own(osd_id) for osd_id in request.order}
    for who in sorted(entries):
        section, _, mask = who.partition('/')
        if section in owned and (mask or who not in final):
            raise OperationRefused(
                errno.EINVAL,
                f'{section} has its own entry, which this change would remove: '
                f'"{removal(who, request.option)}" first if it is not wanted',
            )


def _refuse_shadowed(
    request: ChangeRequest,
    osds: Iterable[OsdInfo],
    after: Mapping[str, str],
    same_meaning: Callable[[str, str], bool],
) -> None:
    masked = [who for who, value in request.final_entries if '/' in who and value is not None]
    if masked:
        raise OperationRefused(
            errno.EINVAL,
            f'the entry for {masked[0]} has a mask, which OSDs ignore at startup: name "osd" or '
            'single OSDs',
        )
    targets = request.target_by_osd
    for osd in osds:
        starts = starts_with(after, osd.osd_id)
        if starts is None and request.kind is ChangeKind.SET_PROFILE:
            raise OperationRefused(
                errno.EINVAL, f'no entry would apply to osd.{osd.osd_id} at the end'
            )
        for decided in (starts, decided_by(after, osd)):
            if decided is not None and not same_meaning(decided[1], targets[osd.osd_id]):
                who = decided[0]
                raise OperationRefused(
                    errno.EINVAL,
                    f'at the end the entry of {who} would take precedence for osd.{osd.osd_id}, '
                    f'with another value: "{removal(who, request.option)}" first if it is not '
                    'wanted',
                )


def _refuse_outsiders(
    request: ChangeRequest,
    cluster: ClusterMap,
    entries: Mapping[str, str],
    after: Mapping[str, str],
    other_entries: Optional[Mapping[str, str]],
) -> None:
    """No OSD outside the request may get another value at its next restart."""
    removed = request.kind is ChangeKind.REMOVE_OVERRIDE
    changed = [
        osd.osd_id
        for osd in cluster.osds
        if osd.osd_id not in request.position
        # An OSD that is down and out returns only if an operator restarts it. One that is down and
        # in holds the rollout, and keeps a removed entry in place if it returns.
        and (osd.up or (osd.in_cluster and not removed))
        and not starts_alike(request.option, osd, entries, after, other_entries)
    ]
    if changed:
        raise OperationRefused(
            errno.EINVAL,
            f'{_osds(changed)} not among the OSDs to change, but would get another value at the '
            'next restart',
        )


def _recorded(request: ChangeRequest, entries: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    owned = {own(osd_id) for osd_id in request.order}
    return tuple(
        (who, entries[who])
        for who in sorted(entries)
        if not who.startswith('osd.') or who.partition('/')[0] in owned
    )


def _names(osd_ids: Sequence[int]) -> str:
    more = f' and {len(osd_ids) - 8} more' if len(osd_ids) > 8 else ''
    return ', '.join(map(own, osd_ids[:8])) + more


def _osds(osd_ids: Sequence[int]) -> str:
    """The subject of a sentence: "osd.1 is", "osd.1, osd.2 are"."""
    return f'{_names(osd_ids)} {"is" if len(osd_ids) == 1 else "are"}'
