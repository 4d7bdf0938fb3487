"""Evidence on the batch in view and on the next one, preserved over a failover."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Callable, NamedTuple, Optional

from ...judge.evidence import Evidence, fresh, moved, spacing_s
from ...judge.records import Judgement, Verdict, baseline_most_age_s, least_soak_s
from ...judge.signals import limits
from ...judge.verdict import judge
from ...mgr.protocols import CommandError
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...plan.batches import PlannedBatch, count
from ...plan.records import Purpose
from ..phases import Phase
from .batches import batch_in_view, batch_of, is_unchanged, watched_batch
from .recorder import Part, Recorder, no_evidence, recorded_now
from .records import Direction, RolloutState
from .storage import RolloutStorage

log = logging.getLogger(__name__)

#: Clocks may differ by a tick that took long.
_CLOCK_SET_S = 120.0


class SoakProgress(NamedTuple):
    """Progress of the soak of the batch in view."""

    #: Measured time before and after the change.
    before_s: float
    after_s: float
    #: None: no verdict yet.
    judgement: Optional[Judgement]


NOT_SOAKING = SoakProgress(before_s=0.0, after_s=0.0, judgement=None)


class Recording:
    """The evidence of one rollout at a time.

    While a batch is soaking, the next one is unchanged and undisturbed: its baseline is measured
    then and takes no extra time.
    """

    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        self._rollout_id: Optional[str] = None
        self._recorders: dict[int, Recorder] = {}
        #: The verdict on the batch in view.
        self._judgement: Optional[Judgement] = None
        #: Whether there are blocks that are not stored.
        self._unsaved = False
        #: The wall clock and the persistent one, when they were last compared.
        self._clocks: Optional[tuple[float, float]] = None

    def compare_clocks(self, now_s: float, steady_s: float) -> None:
        """If the wall clock ``now_s`` was set since the last call, blocks get their new times."""
        if self._clocks is not None:
            by_s = (now_s - self._clocks[0]) - (steady_s - self._clocks[1])
            if abs(by_s) > _CLOCK_SET_S:
                for recorder in self._recorders.values():
                    recorder.evidence = moved(recorder.evidence, by_s)
                self._unsaved = True
        self._clocks = now_s, steady_s

    def found(self, state: RolloutState, now_s: float) -> SoakProgress:
        """Findings on the batch in view."""
        recorder, soak = self._in_view(state, now_s), batch_in_view(state).soak
        return SoakProgress(
            before_s=recorder.measured_s(Part.BEFORE, least_soak_s(soak)),
            after_s=recorder.measured_s(Part.AFTER, soak.most_s),
            judgement=self._judgement if recorder.evidence.after else None,
        )

    def add(
        self,
        state: RolloutState,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        idle_reason: Optional[str] = None,
        slow_events: Callable[[Iterable[int]], Mapping[int, SlowEvents]] = lambda _: {},
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """Add the newest samples; see `recorded_now` for ``idle_reason``.

        ``slow_events`` is called for the measured OSDs only, and only while they are measured.
        """
        in_view = self._in_view(state, now_s)
        part = recorded_now(state, idle_reason)
        number = in_view.evidence.batch
        following = _following(state, number)
        upcoming = None if following is None else self._recorder_of(state, following)
        events: Mapping[int, SlowEvents] = {}
        if part is not None:
            upcoming_osds = (
                () if upcoming is None or part is Part.BEFORE else upcoming.evidence.osds
            )
            events = slow_events(sorted({*in_view.evidence.osds, *upcoming_osds}))
        completed = _add(in_view, part, newest, now_s, events, reports)
        if completed and part is Part.AFTER:
            among = batch_of(state, number).among
            self._judgement = _judged(in_view.evidence, among, _gain_signal(state, number))
        if upcoming is not None:
            before = Part.BEFORE if part is Part.AFTER else None
            completed = _add(upcoming, before, newest, now_s, events, reports) or completed
        self._unsaved = self._unsaved or completed
        # A baseline that is measured while the schedule holds the rollout is stored once it is
        # used: it may take days, and another manager measures its own.
        if part is not Part.BEFORE or state.phase is not Phase.WAITING:
            self.keep()

    def keep(self) -> None:
        """Store new blocks."""
        if self._unsaved:
            self._save()

    def end(self) -> None:
        """Delete the evidence; raises CommandError."""
        self._recorders = {}
        self._storage.save_evidence(())

    def _in_view(self, state: RolloutState, now_s: float) -> Recorder:
        if self._rollout_id != state.rollout_id:
            self._rollout_id = state.rollout_id
            self._recorders = {
                evidence.batch: Recorder(evidence)
                for evidence in self._storage.load_evidence()
                if evidence.rollout_id == state.rollout_id
            }
            self._judgement = None
        batch = batch_in_view(state)
        self._drop_ended(state, batch)
        passed = [number for number in self._recorders if number < batch.number]
        for number in passed:
            del self._recorders[number]
        recorder = self._recorder_of(state, batch)
        if passed:
            self._judgement = None
        if self._judgement is None and recorder.evidence.after:
            self._judgement = _judged(
                recorder.evidence, batch.among, _gain_signal(state, batch.number)
            )
        if is_unchanged(state, batch):
            known = recorder.evidence.before
            most_age_s = baseline_most_age_s(batch.soak, spacing_s(known))
            recorder.evidence = replace(recorder.evidence, before=fresh(known, now_s, most_age_s))
        return recorder

    def _drop_ended(self, state: RolloutState, batch: PlannedBatch) -> None:
        """Drop measurements of a process that restarted during its soak."""
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
            # An OSD was left behind: measurements of the others stay valid.
            known.evidence = replace(
                known.evidence, changed=wanted.changed, controls=wanted.controls
            )
        return known

    def _save(self) -> None:
        try:
            self._storage.save_evidence(tuple(r.evidence for r in self._recorders.values()))
        except CommandError as error:
            # A manager that takes over would have less evidence and soak longer.
            log.warning('cannot store evidence for the verdict: %s', error.message)
        else:
            self._unsaved = False


def _add(
    recorder: Recorder,
    part: Optional[Part],
    newest: Callable[[int], Optional[Sample]],
    now_s: float,
    events: Mapping[int, SlowEvents],
    reports: ReportInterval,
) -> bool:
    osds = recorder.evidence.osds
    slow_events = {n: events[n] for n in osds if n in events}
    return recorder.add(part, {n: newest(n) for n in osds}, now_s, slow_events, reports)


#: For `Judgement.missing`.
_A_FRESH_BASELINE = 'a baseline from shortly before: the rollout was held up since it was measured'


def _judged(evidence: Evidence, among: int, promised: Optional[str]) -> Judgement:
    """The verdict; not harmless if the baseline is of another time."""
    found = judge(evidence, among, promised)
    # The change of each compared OSD, which stands for others of its batch, takes a while, and so
    # does the soak: each at most as long as blocks are kept.
    most_s = (1 + len(evidence.changed)) * limits().most_blocks * evidence.block_s
    newest = evidence.after[-1].end_s
    near = newest is not None and fresh(evidence.before[-1:], newest, most_s)
    if near or not found.verdict.harmless:
        return found
    return replace(found, verdict=Verdict.INCONCLUSIVE, missing=(_A_FRESH_BASELINE,))


def _gain_signal(state: RolloutState, number: int) -> Optional[str]:
    """The signal in which the canary must gain; later batches must only not get worse."""
    gain = number == 0 and state.request.purpose is Purpose.GAIN
    return state.request.promised if gain else None


def _following(state: RolloutState, number: int) -> Optional[PlannedBatch]:
    """The next batch, if it gets a verdict."""
    if number + 1 >= count(state.request):
        return None
    batch = batch_of(state, number + 1)
    return batch if batch.judged else None
