"""Cluster log lines, progress and the history record of a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ...judge.records import Effect, Judgement, SignalVerdict, Verdict
from ...units import format_bytes, format_change
from ..announce import Line, Progress, Texts
from ..history import HistoryRecord
from ..phases import Outcome
from .machine import why_waiting
from .records import CampaignState, CompactionStep, OsdCompaction


def transitions(before: Optional[CampaignState], after: CampaignState) -> Iterator[Line]:
    """Lines for the cluster log."""
    if before is None or before.campaign_id != after.campaign_id:
        request = after.request
        yield Line(f'{request.actor} compacts {len(after.osds)} OSD(s) of {request.who}')
        return
    for old, new in zip(before.osds, after.osds):
        if new.step is not old.step:
            yield Line(f'osd.{new.osd_id} {_text(new)}', new.step is CompactionStep.SKIPPED)
    if after.ended and not before.ended:
        yield Line(in_words(after), after.outcome is Outcome.FAILED)
    elif after.paused_reason != before.paused_reason:
        reason = after.paused_reason
        yield Line('continues' if reason is None else f'waiting: {reason}')


def progress(state: CampaignState) -> Progress:
    where = f'{state.finished} of {len(state.osds)} OSDs, {state.phase.value}'
    message = f'Compacting RocksDB of {state.request.who} ({where})'
    return Progress(message, min(0.99, state.finished / len(state.osds)))


def why_failed(state: CampaignState) -> Optional[str]:
    return state.failure if state.outcome is Outcome.FAILED else None


def in_words(state: CampaignState) -> str:
    """One sentence: how it ended, or its progress, and the space it freed."""
    finished = sum(osd.step is CompactionStep.DONE for osd in state.osds)
    text = f'{finished} of {len(state.osds)} OSD(s) compacted'
    used = state.used_bytes
    if used is not None:
        text += f', {_change(*used)}'
    return f'{text}; {state.failure}' if state.failure else text


def change_percent(before_bytes: int, after_bytes: int) -> Optional[float]:
    """None if there was nothing before."""
    return None if before_bytes <= 0 else (after_bytes / before_bytes - 1) * 100


TEXTS = Texts(transitions, progress, why_failed, why_waiting)


def _text(osd: OsdCompaction) -> str:
    if osd.step is CompactionStep.COMPACTING:
        return 'starts compacting'
    if osd.step is CompactionStep.SETTLING:
        return 'has compacted'
    if osd.step is CompactionStep.SKIPPED:
        return f'skipped: {osd.reason}'
    if osd.used_before_bytes is None or osd.used_after_bytes is None:
        return 'is done'
    return f'is done: {_change(osd.used_before_bytes, osd.used_after_bytes)}'


def _change(before_bytes: int, after_bytes: int) -> str:
    percent = change_percent(before_bytes, after_bytes)
    share = '' if percent is None else f' ({format_change(percent)})'
    return f'DB {format_bytes(before_bytes)} -> {format_bytes(after_bytes)}{share}'


#: The signal of its prediction in `knowledge/judged_signals.json`.
SPACE = 'db_used_bytes_after_compaction'
#: Smaller changes come from flushes and from files that await removal.
SAME_PERCENT = 5.0


def record_of(state: CampaignState) -> HistoryRecord:
    """The history record of an ended campaign."""
    request = state.request
    return HistoryRecord(
        rollout_id=state.campaign_id,
        time_s=state.started_s,
        recommendation_id=request.recommendation_id or state.campaign_id,
        who=request.who,
        options_from=request.options,
        options_to=request.options,
        actor=request.actor,
        outcome=state.outcome or Outcome.WAITING,
        reason=state.failure,
        prediction=request.prediction,
        measured=in_words(state) if state.used_bytes else None,
        predicted=request.predicted,
        judgement=_judgement(state),
    )


def _judgement(state: CampaignState) -> Judgement:
    used = state.used_bytes
    percent = None if used is None else change_percent(*used)
    if percent is None:
        return Judgement(Verdict.NO_DATA, (SignalVerdict(SPACE, Effect.UNCLEAR),))
    effect, verdict = Effect.SAME, Verdict.NO_WORSE
    if percent < -SAME_PERCENT:
        effect, verdict = Effect.BETTER, Verdict.BETTER
    elif percent > SAME_PERCENT:
        effect = Effect.WORSE
    return Judgement(verdict, (SignalVerdict(SPACE, effect, percent),))
