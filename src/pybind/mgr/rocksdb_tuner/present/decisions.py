"""The decisions of a snapshot, one for each group, in the words of every answer."""

from __future__ import annotations

from typing import Optional

from ..advise.decision import decide, wait_for
from ..advise.records import Decision, GroupFacts
from ..advise.weighing import Assessment
from ..observe.report_interval import USABLE_S, Reports
from ..snapshot import Mode, Snapshot
from ..units import format_duration
from .operations import next_step
from .phrases import worst_first

_RECOMMEND = 'ceph rocksdb-tuner mode recommend'
_DOCTOR = 'ceph rocksdb-tuner doctor'
_OPERATION = 'ceph rocksdb-tuner operation status'


def decisions_of(snapshot: Snapshot) -> tuple[Decision, ...]:
    if snapshot.mode is Mode.OFF:
        return (wait_for('osd', 'the mode is off', 'OSDs are not sampled.', _RECOMMEND),)
    if not snapshot.groups:
        return (wait_for('osd', 'there are no samples yet', 'No OSD has reported yet.', _DOCTOR),)
    assessments = {a.who: a for a in snapshot.assessments}
    findings = worst_first(snapshot.findings)
    return tuple(
        decide(
            group,
            findings,
            assessments.get(group.who)
            or Assessment(group.who, _not_assessed(snapshot, group.who), ()),
            _wait(snapshot, group),
        )
        for group in snapshot.groups
    )


def _not_assessed(snapshot: Snapshot, who: str) -> Decision:
    if snapshot.mode is Mode.OBSERVE:
        return wait_for(who, 'the mode is observe', 'It recommends nothing.', _RECOMMEND)
    return wait_for(who, 'there is no evaluation yet', 'OSDs were not evaluated yet.', _DOCTOR)


def _wait(snapshot: Snapshot, group: GroupFacts) -> Optional[Decision]:
    """Why any change of this group has to wait."""
    who, reports = group.who, snapshot.sampling.reports
    state, step = snapshot.operation, next_step(snapshot)
    touched = {osd.osd_id for osd in state.osds} if state and step else set()
    if state and step and touched & {osd.info.osd_id for osd in group.osds}:
        name = f'Operation {state.operation_id}'
        if state.ended:
            because = f'{name} failed: {state.failure}.'
            return Decision(who, f'To continue, {step}', because, next_command=_OPERATION)
        what = step.removeprefix('wait for ').removeprefix('wait: ')
        because = f'{name} for {state.request.who} is under way.'
        if state.paused_reason is not None:
            what, because = state.paused_reason, f'{name} waits: {step}.'
        return wait_for(who, what, because, _OPERATION)
    if reports is Reports.NONE:
        return wait_for(who, 'OSDs do not report', 'Nothing is measured without.', _DOCTOR)
    if reports is Reports.SLOW:
        because = f'Reports more than {format_duration(USABLE_S)} apart cannot be judged.'
        return wait_for(who, 'OSDs report too rarely', because, _DOCTOR)
    return None
