"""Turns samples of changed OSDs and their controls into blocks of evidence for a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Optional

from ...judge.evidence import Block, Evidence, Measured, measured
from ...judge.signals import limits
from ...judge.soak import block_length_s
from ...observe.sample import Sample
from ...observe.slow_events import SlowEvents
from ...observe.window import window
from ...plan.batches import PlannedBatch, count
from ..phases import Phase
from .batches import batch_of, watched_batch
from .records import Direction, OsdStep, RolloutState
from .soak import judgement_in_view
from .states import in_flight


class Part(Enum):
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
    waits = state.stage in {Phase.SOAKING, Phase.PROMOTING} and in_flight(state) is None
    pending = number < count(state.request) and all(
        osd.step is OsdStep.PENDING
        for osd in state.osds
        if osd.osd_id in batch_of(state, number).osds
    )
    return Part.BEFORE if waits and pending else None


def no_evidence(state: RolloutState, batch: PlannedBatch) -> Evidence:
    return Evidence(
        rollout_id=state.rollout_id,
        batch=batch.number,
        changed=batch.compared,
        controls=batch.controls,
        block_s=block_length_s(batch.soak),
    )


class Recorder:
    """Collects the evidence on one batch; blocks cover undisturbed time only."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._part: Optional[Part] = None
        #: When the current block may start, and its first samples.
        self._begin_s = 0.0
        self._first: Optional[Mapping[int, Optional[Sample]]] = None
        #: Slow events of each OSD since then.
        self._slow_events: list[Mapping[int, SlowEvents]] = []

    def add(
        self,
        part: Optional[Part],
        samples: Mapping[int, Optional[Sample]],
        now_s: float,
        slow_events: Optional[Mapping[int, SlowEvents]] = None,
    ) -> bool:
        """Add the newest samples, None for an OSD without one; True if a block is complete."""
        if part is not self._part or now_s < self._begin_s - limits().warm_up_s:
            self._part, self._first = part, None
            # After a restart caches are cold; before a change there was no restart.
            self._begin_s = now_s + (limits().warm_up_s if part is Part.AFTER else 0.0)
        if part is None or now_s < self._begin_s:
            return False
        events = slow_events or {}
        if self._first is None:
            self._begin_block(samples, now_s, events)
            return False
        self._slow_events.append(events)
        if now_s - self._begin_s < self.evidence.block_s:
            return False
        self._keep(part, Block({n: self._measured(n, last) for n, last in samples.items()}))
        self._begin_block(samples, now_s, events)
        return True

    def _begin_block(
        self,
        samples: Mapping[int, Optional[Sample]],
        now_s: float,
        slow_events: Mapping[int, SlowEvents],
    ) -> None:
        self._begin_s, self._first, self._slow_events = now_s, samples, [slow_events]

    def _measured(self, osd_id: int, last: Optional[Sample]) -> Measured:
        first = None if self._first is None else self._first.get(osd_id)
        span = None if first is None or last is None else window(first, last)
        used = None if last is None else last.db_used_bytes
        events = [slow_events.get(osd_id, SlowEvents()) for slow_events in self._slow_events]
        return measured(span, used, limits().least_writes, events)

    def _keep(self, part: Part, block: Block) -> None:
        most = limits().most_blocks
        if part is Part.BEFORE:
            kept = (*self.evidence.before, block)[-most:]
            self.evidence = replace(self.evidence, before=kept)
        else:
            kept = (*self.evidence.after, block)[-most:]
            self.evidence = replace(self.evidence, after=kept)
