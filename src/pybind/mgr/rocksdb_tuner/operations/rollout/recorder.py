"""Turns samples of changed OSDs and their controls into blocks of evidence for a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Optional

from ...judge.evidence import Block, Evidence
from ...judge.records import block_length_s, planned_block_s, warm_up_s
from ...judge.signals import limits
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...plan.batches import PlannedBatch, count
from ..phases import Phase
from .batches import batch_of, is_unchanged, watched_batch
from .blocks import Blocks
from .records import Direction, RolloutState
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
    pending = number < count(state.request) and is_unchanged(state, batch_of(state, number))
    return Part.BEFORE if waits and pending else None


def no_evidence(state: RolloutState, batch: PlannedBatch) -> Evidence:
    return Evidence(
        rollout_id=state.rollout_id,
        batch=batch.number,
        changed=batch.compared,
        controls=batch.controls,
        block_s=planned_block_s(batch.soak),
    )


class Recorder:
    """Collects the evidence on one batch; blocks cover undisturbed time only."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._blocks = Blocks()
        #: Lengths of the last blocks, as far as this manager knows them.
        self._lengths_s: dict[Part, tuple[float, ...]] = {Part.BEFORE: (), Part.AFTER: ()}

    def measured_s(self, part: Part, enough_s: float) -> float:
        """How long it was measured.

        Blocks are longer where OSDs report, or are sampled, rarely: then ``enough_s`` still takes
        the least number of blocks for a verdict.
        """
        evidence = self.evidence
        blocks = len(evidence.before if part is Part.BEFORE else evidence.after)
        most_s = max(evidence.block_s, enough_s / limits().least_blocks)
        known = self._lengths_s[part][-blocks:] if blocks else ()
        longer_s = sum(min(length_s, most_s) - evidence.block_s for length_s in known)
        return blocks * evidence.block_s + longer_s

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
        self._keep(part, block)
        known = (*self._lengths_s[part], self._blocks.length_s)
        self._lengths_s[part] = known[-limits().most_blocks :]
        return True

    def _keep(self, part: Part, block: Block) -> None:
        most = limits().most_blocks
        if part is Part.BEFORE:
            kept = (*self.evidence.before, block)[-most:]
            self.evidence = replace(self.evidence, before=kept)
        else:
            kept = (*self.evidence.after, block)[-most:]
            self.evidence = replace(self.evidence, after=kept)
