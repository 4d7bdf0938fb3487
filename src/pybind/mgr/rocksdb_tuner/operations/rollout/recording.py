"""Evidence on the batch in view and on the next one, preserved over a failover.

Undisturbed time is cut into blocks, each with the measurements of every OSD in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import NamedTuple, Optional

from ...judge.evidence import Block, Evidence, Measured, fresh, measured, moved, spacing_s
from ...judge.records import (
    Judgement,
    Verdict,
    baseline_most_age_s,
    block_length_s,
    least_soak_s,
    planned_block_s,
    warm_up_s,
)
from ...judge.signals import limits
from ...judge.verdict import judge
from ...mgr.protocols import CommandError
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...observe.window import window
from ...plan.batches import PlannedBatch, count
from ...plan.records import Purpose
from ..phases import Phase
from .records import (
    Direction,
    RolloutState,
    batch_in_view,
    batch_of,
    is_unchanged,
    judgement_in_view,
    watched_batch,
)
from .storage import RolloutStorage

log = logging.getLogger(__name__)

#: Clocks may differ by a tick that took long.
_CLOCK_SET_S = 120.0
#: For `Judgement.missing`.
_A_FRESH_BASELINE = 'a baseline from shortly before: the rollout was held up since it was measured'


class Blocks:
    def __init__(self) -> None:
        self._measured_now: object = None
        #: When the current block may start, and its initial sample.
        self._begin_s = 0.0
        self._first: Optional[Mapping[int, Optional[Sample]]] = None
        #: Slow events of every OSD since then.
        self._slow_events: list[Mapping[int, SlowEvents]] = []

    def add(
        self,
        measured_now: object,
        samples: Mapping[int, Optional[Sample]],
        now_s: float,
        *,
        block_s: float,
        warm_up_s: float,
        slow_events: Optional[Mapping[int, SlowEvents]] = None,
    ) -> Optional[Block]:
        """Add the newest samples, None of an OSD without one; returns the block they complete.

        ``measured_now`` is what a block measures: another value restarts the block, after
        ``warm_up_s``. None: nothing is measured, or it is disturbed.
        """
        set_back_s = max(warm_up_s, limits().warm_up_s)
        if measured_now != self._measured_now or now_s < self._begin_s - set_back_s:
            self._measured_now, self._first = measured_now, None
            self._begin_s = now_s + warm_up_s
        if measured_now is None or now_s < self._begin_s:
            return None
        events, first, block = slow_events or {}, self._first, None
        if first is not None:
            self._slow_events.append(events)
            if now_s - self._begin_s < block_s:
                return None
            by_osd = {n: self._measured(n, first.get(n), last) for n, last in samples.items()}
            block = Block(by_osd, now_s)
        self._begin_s, self._first, self._slow_events = now_s, samples, [events]
        return block

    def _measured(self, osd_id: int, first: Optional[Sample], last: Optional[Sample]) -> Measured:
        span = None if first is None or last is None else window(first, last)
        used = None if last is None else last.db_used_bytes
        events = [slow_events.get(osd_id, SlowEvents()) for slow_events in self._slow_events]
        return measured(span, used, limits().least_writes, events)


class Part(Enum):
    """Named as the fields of `Evidence`."""

    BEFORE = 'before'
    AFTER = 'after'


def recorded_now(state: RolloutState, idle_reason: Optional[str] = None) -> Optional[Part]:
    """Which side of the comparison is being measured; None: neither, or it is disturbed.

    Waiting for ``idle_reason`` does not disturb it.
    """
    disturbed = (
        state.phase is Phase.WAITING
        and judgement_in_view(state) is None
        and state.paused_reason != idle_reason
    )
    if state.soak.most_s <= 0 or state.direction is not Direction.FORWARD or disturbed:
        return None
    if watched_batch(state) is not None:
        return Part.AFTER
    number = len(state.verdicts)
    if number == 0:
        return Part.BEFORE if state.stage is Phase.PREFLIGHT else None
    # The next batch is waiting: no change is under way.
    waits = state.stage in {Phase.SOAKING, Phase.PROMOTING} and state.in_flight is None
    pending = number < count(state.request) and is_unchanged(state, batch_of(state, number))
    return Part.BEFORE if waits and pending else None


class Recorder:
    """Collects the evidence on one batch; blocks cover undisturbed time only."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._blocks = Blocks()
        #: What the last verdict was found by, and the verdict.
        self._judged: tuple[object, Optional[Judgement]] = (None, None)

    def judgement(self, state: RolloutState) -> Optional[Judgement]:
        """None: no verdict yet. Found once for each block; it stays if all OSDs are gone."""
        known = self.evidence
        of = known.after, known.changed, known.controls
        if known.after and known.changed and self._judged[0] != of:
            self._judged = of, _judged(state, known)
        return self._judged[1] if known.after else None

    def measured_s(self, part: Part, enough_s: float) -> float:
        """How long it was measured.

        Blocks are longer where OSDs report, or are sampled, rarely: then ``enough_s`` still takes
        the least number of blocks for a verdict.
        """
        blocks, block_s = getattr(self.evidence, part.value), self.evidence.block_s
        most_s = max(block_s, enough_s / limits().least_blocks)
        return len(blocks) * min(max(spacing_s(blocks), block_s), most_s)

    def add(
        self,
        part: Optional[Part],
        samples: Mapping[int, Optional[Sample]],
        now_s: float,
        slow_events: Optional[Mapping[int, SlowEvents]] = None,
        reports: ReportInterval = DEFAULT,
    ) -> bool:
        """Take the newest samples, None of an OSD without one; True if they completed a block."""
        block = self._blocks.add(
            part,
            samples,
            now_s,
            block_s=block_length_s(self.evidence.block_s, reports),
            # After a start caches are empty; before a change there was none.
            warm_up_s=warm_up_s(reports) if part is Part.AFTER else 0.0,
            slow_events=slow_events,
        )
        if part is None or block is None:
            return False
        kept = (*getattr(self.evidence, part.value), block)[-limits().most_blocks :]
        self.evidence = replace(self.evidence, **{part.value: kept})  # type: ignore[arg-type]
        return True


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
        #: Whether there are blocks that are not stored.
        self._unsaved = False
        #: The wall clock and the persistent one, when they were last compared.
        self._clocks: Optional[tuple[float, float]] = None

    def compare_clocks(self, now_s: float, steady_s: float) -> None:
        """If the wall clock ``now_s`` was set since the last call, blocks get their new times."""
        before_s, steady_before_s = self._clocks or (now_s, steady_s)
        by_s = (now_s - before_s) - (steady_s - steady_before_s)
        if abs(by_s) > _CLOCK_SET_S:
            for recorder in self._recorders.values():
                recorder.evidence = moved(recorder.evidence, by_s)
            self._unsaved = True
        self._clocks = now_s, steady_s

    def found(self, state: RolloutState, now_s: float) -> SoakProgress:
        recorder, soak = self._in_view(state, now_s), batch_in_view(state).soak
        return SoakProgress(
            before_s=recorder.measured_s(Part.BEFORE, least_soak_s(soak)),
            after_s=recorder.measured_s(Part.AFTER, soak.most_s),
            judgement=recorder.judgement(state),
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
        measured_now = [(in_view, part)]
        number = in_view.evidence.batch + 1
        following = batch_of(state, number) if number < count(state.request) else None
        if following is not None and following.judged:
            before = Part.BEFORE if part is Part.AFTER else None
            measured_now.append((self._recorder_of(state, following), before))
        osds = {n for recorder, now in measured_now if now for n in recorder.evidence.osds}
        events = slow_events(sorted(osds)) if osds else {}
        for recorder, now in measured_now:
            samples = {n: newest(n) for n in recorder.evidence.osds}
            self._unsaved |= recorder.add(now, samples, now_s, events, reports)
        # A baseline that is measured while the schedule holds the rollout is stored once it is
        # used: it may take days, and another manager measures its own.
        if part is not Part.BEFORE or state.phase is not Phase.WAITING:
            self.keep()

    def keep(self) -> None:
        """Store new blocks."""
        if not self._unsaved:
            return
        try:
            self._storage.save_evidence(tuple(r.evidence for r in self._recorders.values()))
        except CommandError as error:
            # A manager that takes over would have less evidence and soak longer.
            log.warning('cannot store evidence for the verdict: %s', error.message)
        else:
            self._unsaved = False

    def end(self) -> None:
        """Delete the evidence; raises CommandError."""
        self._recorders = {}
        self._storage.save_evidence(())

    def _in_view(self, state: RolloutState, now_s: float) -> Recorder:
        """The recorder of the batch in view, without what no longer counts."""
        if self._rollout_id != state.rollout_id:
            self._rollout_id = state.rollout_id
            self._recorders = {
                evidence.batch: Recorder(evidence)
                for evidence in self._storage.load_evidence()
                if evidence.rollout_id == state.rollout_id
            }
        batch = batch_in_view(state)
        for number in [number for number in self._recorders if number < batch.number]:
            del self._recorders[number]
        recorder = self._recorder_of(state, batch)
        known = recorder.evidence
        forward = state.direction is Direction.FORWARD and not state.ended
        if forward and watched_batch(state) is None and batch.number == len(state.verdicts):
            # Its process restarted during the soak.
            known = replace(known, after=())
        if is_unchanged(state, batch):
            most_age_s = baseline_most_age_s(batch.soak, spacing_s(known.before))
            known = replace(known, before=fresh(known.before, now_s, most_age_s))
        recorder.evidence = known
        return recorder

    def _recorder_of(self, state: RolloutState, batch: PlannedBatch) -> Recorder:
        known = self._recorders.get(batch.number)
        wanted = Evidence(
            rollout_id=state.rollout_id,
            batch=batch.number,
            changed=batch.compared,
            controls=batch.controls,
            block_s=planned_block_s(batch.soak),
        )
        if known is None or not set(wanted.osds) <= set(known.evidence.osds):
            known = self._recorders[batch.number] = Recorder(wanted)
        # If an OSD was left behind, measurements of the others stay valid.
        known.evidence = replace(known.evidence, changed=wanted.changed, controls=wanted.controls)
        return known


def _judged(state: RolloutState, evidence: Evidence) -> Judgement:
    """The verdict; not harmless if the baseline is of another time."""
    canary = evidence.batch == 0
    # The canary must gain in this signal; later batches must only not get worse.
    gain = state.request.promised if canary and state.request.purpose is Purpose.GAIN else None
    found = judge(evidence, batch_of(state, evidence.batch).among, gain)
    # The change of each compared OSD, which stands for others of its batch, takes a while, and so
    # does the soak: each at most as long as blocks are kept.
    most_s = (1 + len(evidence.changed)) * limits().most_blocks * evidence.block_s
    newest = evidence.after[-1].end_s
    near = newest is not None and fresh(evidence.before[-1:], newest, most_s)
    if near or not found.verdict.harmless:
        return found
    return replace(found, verdict=Verdict.INCONCLUSIVE, missing=(_A_FRESH_BASELINE,))
