"""What is measured of the batch in view and of the next one, kept over a failover."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Callable, NamedTuple, Optional

from ...judge.records import Judgement
from ...judge.verdict import judge
from ...mgr.protocols import CommandError
from ...observe.sample import Sample
from ...observe.slow_events import SlowEvents
from ...plan.batches import PlannedBatch, count
from ...plan.records import Purpose
from .batches import batch_of, watched_batch
from .recorder import Part, Recorder, no_evidence, recorded_now
from .records import Direction, RolloutState
from .storage import RolloutStorage

log = logging.getLogger(__name__)


class Found(NamedTuple):
    """What is known of the batch in view so far."""

    #: How long it was measured before the change, and after it.
    before_s: float
    after_s: float
    #: None: nothing follows from that yet.
    judgement: Optional[Judgement]


NOTHING_FOUND = Found(before_s=0.0, after_s=0.0, judgement=None)


class Recording:
    """The evidence of one rollout at a time.

    While a batch is watched, the next one is unchanged and undisturbed: what it is to be compared
    with later is measured then, and costs no time of its own.
    """

    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        self._rollout_id: Optional[str] = None
        self._recorders: dict[int, Recorder] = {}
        #: On the batch in view.
        self._judgement: Optional[Judgement] = None

    def found(self, state: RolloutState) -> Found:
        """What is known of the batch in view."""
        evidence = self._in_view(state).evidence
        return Found(
            before_s=len(evidence.before) * evidence.block_s,
            after_s=len(evidence.after) * evidence.block_s,
            judgement=self._judgement if evidence.after else None,
        )

    def add(
        self,
        state: RolloutState,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        idle_reason: Optional[str] = None,
        slow_events: Callable[[Iterable[int]], Mapping[int, SlowEvents]] = lambda _: {},
    ) -> None:
        """Take the newest samples; see `recorded_now` for ``idle_reason``.

        ``slow_events`` is asked for those that are measured, and only while they are.
        """
        in_view = self._in_view(state)
        part = recorded_now(state, idle_reason)
        number = in_view.evidence.batch
        following = _following(state, number)
        upcoming = None if following is None else self._recorder_of(state, following)
        told: Mapping[int, SlowEvents] = {}
        if part is not None:
            beside = () if upcoming is None or part is Part.BEFORE else upcoming.evidence.osds
            told = slow_events(sorted({*in_view.evidence.osds, *beside}))
        completed = _add(in_view, part, newest, now_s, told)
        if completed and part is Part.AFTER:
            among = batch_of(state, number).among
            self._judgement = judge(in_view.evidence, among, _promised(state, number))
        if upcoming is not None:
            before = Part.BEFORE if part is Part.AFTER else None
            completed = _add(upcoming, before, newest, now_s, told) or completed
        if completed:
            self._save()

    def end(self) -> None:
        """Nothing of the rollout is needed any more; raises CommandError."""
        self._recorders = {}
        self._storage.save_evidence(())

    def _in_view(self, state: RolloutState) -> Recorder:
        if self._rollout_id != state.rollout_id:
            self._rollout_id = state.rollout_id
            self._recorders = {
                evidence.batch: Recorder(evidence)
                for evidence in self._storage.load_evidence()
                if evidence.rollout_id == state.rollout_id
            }
            self._judgement = None
        batch = _batch_in_view(state)
        self._drop_what_ended(state, batch)
        passed = [number for number in self._recorders if number < batch.number]
        for number in passed:
            del self._recorders[number]
        recorder = self._recorder_of(state, batch)
        if passed:
            self._judgement = None
        if self._judgement is None and recorder.evidence.after:
            self._judgement = judge(recorder.evidence, batch.among, _promised(state, batch.number))
        return recorder

    def _drop_what_ended(self, state: RolloutState, batch: PlannedBatch) -> None:
        """What was measured of a process that was restarted while it was watched."""
        known = self._recorders.get(batch.number)
        if known is None or not known.evidence.after or batch.number != len(state.verdicts):
            return
        if (
            state.direction is Direction.FORWARD
            and not state.ended
            and watched_batch(state) is None
        ):
            known.evidence = replace(known.evidence, after=())
            self._judgement = None

    def _recorder_of(self, state: RolloutState, batch: PlannedBatch) -> Recorder:
        known = self._recorders.get(batch.number)
        wanted = no_evidence(state, batch)
        if known is None or not set(wanted.osds) <= set(known.evidence.osds):
            known = self._recorders[batch.number] = Recorder(wanted)
        elif known.evidence.osds != wanted.osds:
            # What was measured of the others stays true where one was left behind.
            known.evidence = replace(
                known.evidence, changed=wanted.changed, controls=wanted.controls
            )
        return known

    def _save(self) -> None:
        try:
            self._storage.save_evidence(tuple(r.evidence for r in self._recorders.values()))
        except CommandError as error:
            # A manager that takes over would know less, and wait for longer.
            log.warning('what a verdict is made of cannot be stored: %s', error.message)


def _add(
    recorder: Recorder,
    part: Optional[Part],
    newest: Callable[[int], Optional[Sample]],
    now_s: float,
    told: Mapping[int, SlowEvents],
) -> bool:
    osds = recorder.evidence.osds
    slow_events = {n: told[n] for n in osds if n in told}
    return recorder.add(part, {n: newest(n) for n in osds}, now_s, slow_events)


def _batch_in_view(state: RolloutState) -> PlannedBatch:
    """The batch that is changed or watched, or the last one."""
    last = count(state.request) - 1
    return batch_of(state, min(len(state.verdicts), last))


def _promised(state: RolloutState, number: int) -> Optional[str]:
    """The signal in which the canary is to gain; batches after it are not to lose."""
    gain = number == 0 and state.request.purpose is Purpose.GAIN
    return state.request.promised if gain else None


def _following(state: RolloutState, number: int) -> Optional[PlannedBatch]:
    """The next batch, if it is to be compared with anything."""
    if number + 1 >= count(state.request):
        return None
    batch = batch_of(state, number + 1)
    return batch if batch.judged else None
