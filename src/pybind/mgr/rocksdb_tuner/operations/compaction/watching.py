"""One OSD on which a compaction may run, at each look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ...units import format_duration
from ..gates import closed_gate
from .records import CampaignState, CompactionStep, OsdCompaction
from .rules import (
    Limits,
    is_new,
    probe_of,
    together,
    why_down,
    why_held,
    why_lost,
)
from .states import skipped
from .view import Probe, View


@dataclass(frozen=True)
class Watched:
    osd: OsdCompaction
    #: Why it goes no further.
    waits: Optional[str] = None
    ask_again: bool = False
    #: What it does meanwhile.
    runs: Optional[str] = None


def watch(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Watched:
    """One OSD on which something may run."""
    n = osd.osd_id
    osd = replace(osd, latency_ms=_higher(osd.latency_ms, view.latency_ms))
    if osd.step is CompactionStep.SETTLING:
        if view.in_step_s.get(n, 0.0) < limits.settle_s:
            return Watched(osd, runs=f'osd.{n} has compacted, and removes files')
        used = view.used_bytes.get(n)
        return Watched(replace(osd, step=CompactionStep.DONE, used_after_bytes=used))
    lost = why_lost(n, view, limits)
    if lost is not None:
        return Watched(skipped(osd, lost))
    down = why_down(n, view)
    if down is not None:
        return Watched(osd, waits=down)
    probe = probe_of(n, view)
    if probe is None or probe.running:
        return Watched(osd, runs=_running(n, probe, view))
    if is_new(osd, probe):
        # Another process: what the one before it did ended with it, and its count began anew.
        return Watched(replace(osd, nonce=probe.nonce, begun_before=0))
    if probe.begun > osd.begun_before:
        return Watched(replace(osd, step=CompactionStep.SETTLING))
    if view.in_step_s.get(n, 0.0) < limits.begin_s:
        return Watched(osd, runs=f'osd.{n} was asked to compact')
    return _not_begun(state, osd, view, limits)


def _running(osd_id: int, probe: Optional[Probe], view: View) -> str:
    """An OSD of Pacific answers nothing until it is done, and one that hangs never does."""
    seen_s = view.in_step_s.get(osd_id, 0.0)
    # It may have begun under another manager.
    least = 'at least ' if seen_s >= view.watched_s else ''
    told = f'osd.{osd_id} has been compacting for {least}{format_duration(seen_s)}'
    return told if probe is not None else f'{told} and has not answered'


def _not_begun(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Watched:
    """It was asked, and does not compact."""
    if osd.asked >= limits.tries:
        reason = f'it was asked {osd.asked} times to compact and did not'
        told = f'{reason} ({state.last_error})' if state.last_error else reason
        return Watched(skipped(osd, told))
    if state.ending is not None:
        return Watched(skipped(osd, 'it had not started by the end'))
    closed = (
        why_held(state, view)
        or closed_gate(view.cluster, osd.osd_id)
        or _apart(state, osd, view, limits)
    )
    if closed is not None:
        return Watched(osd, waits=closed)
    return Watched(replace(osd, asked=osd.asked + 1), ask_again=True)


def _apart(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Optional[str]:
    """Why it would compact beside an OSD of another failure domain: one of them was moved."""
    earlier = True
    for other in state.in_flight:
        if other.osd_id == osd.osd_id:
            earlier = False
        # Of two that do not compact the first is asked, and the second waits for it.
        elif (earlier or not _idle(other, view, limits)) and not together(
            (osd, other), view.cluster.cluster
        ):
            return f'osd.{other.osd_id} compacts in another failure domain'
    return None


def _idle(osd: OsdCompaction, view: View, limits: Limits) -> bool:
    """Whether an OSD was asked, and is known not to compact."""
    if osd.step is not CompactionStep.COMPACTING:
        return False
    probe = probe_of(osd.osd_id, view)
    if probe is None or probe.running:
        return False
    if is_new(osd, probe):
        return True
    late = view.in_step_s.get(osd.osd_id, 0.0) >= limits.begin_s
    return late and probe.begun <= osd.begun_before


def _higher(one: Optional[float], other: Optional[float]) -> Optional[float]:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
