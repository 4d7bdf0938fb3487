"""One step of an OSD on which a compaction may be running."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ...units import format_duration
from ..gates import closed_gate
from .records import CampaignState, CompactionStep, OsdCompaction
from .rules import (
    Limits,
    is_new_process,
    probe_of,
    together,
    why_down,
    why_given_up,
    why_held,
    why_unknown,
)
from .states import skipped
from .view import Probe, View


@dataclass(frozen=True)
class Watched:
    osd: OsdCompaction
    #: Why it is held up.
    waits: Optional[str] = None
    ask_again: bool = False
    #: Its current work, for display.
    runs: Optional[str] = None


def watch(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Watched:
    """The next step of an OSD in flight."""
    n = osd.osd_id
    osd = replace(osd, latency_ms=_higher(osd.latency_ms, view.latency_ms))
    if osd.step is CompactionStep.SETTLING:
        if view.in_step_s.get(n, 0.0) < limits.settle_s:
            return Watched(osd, runs=f'osd.{n} has compacted and is deleting old files')
        used = view.used_bytes.get(n)
        return Watched(replace(osd, step=CompactionStep.DONE, used_after_bytes=used))
    lost = why_given_up(n, view, limits)
    if lost is not None:
        return Watched(skipped(osd, lost))
    down = why_down(n, view)
    if down is not None:
        return Watched(osd, waits=down)
    probe = probe_of(n, view)
    if probe is None or probe.running:
        return Watched(osd, runs=_running(n, probe, view))
    if is_new_process(osd, probe):
        # A new process: the previous compaction ended with the old one, and counters restarted.
        return Watched(replace(osd, nonce=probe.nonce, started_before=0))
    if probe.started > osd.started_before:
        return Watched(replace(osd, step=CompactionStep.SETTLING))
    if view.in_step_s.get(n, 0.0) < limits.begin_s:
        return Watched(osd, runs=f'compaction requested from osd.{n}')
    return _not_started(state, osd, view, limits)


def _running(osd_id: int, probe: Optional[Probe], view: View) -> str:
    """A Pacific OSD answers only when it is done; one that hangs never answers."""
    seen_s = view.in_step_s.get(osd_id, 0.0)
    # It may have started under another manager.
    least = 'at least ' if seen_s >= view.watched_s else ''
    text = f'osd.{osd_id} has been compacting for {least}{format_duration(seen_s)}'
    return text if probe is not None else f'{text} and has not answered'


def _not_started(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Watched:
    """A compaction was requested and does not start."""
    if osd.asked >= limits.tries:
        reason = f'it did not start compacting after {osd.asked} requests'
        text = f'{reason} ({state.last_error})' if state.last_error else reason
        return Watched(skipped(osd, text))
    if state.ending is not None:
        return Watched(skipped(osd, 'it had not started when the campaign ended'))
    closed = (
        why_held(state, view)
        or closed_gate(view.cluster, osd.osd_id)
        or why_unknown(osd.osd_id, view)
        or _apart(state, osd, view, limits)
    )
    if closed is not None:
        return Watched(osd, waits=closed)
    return Watched(replace(osd, asked=osd.asked + 1), ask_again=True)


def _apart(state: CampaignState, osd: OsdCompaction, view: View, limits: Limits) -> Optional[str]:
    """Why it would compact together with an OSD of another failure domain: one was moved."""
    earlier = True
    for other in state.in_flight:
        if other.osd_id == osd.osd_id:
            earlier = False
        # If neither of two compacts, the first gets the request, and the second waits.
        elif (earlier or not _idle(other, view, limits)) and not together(
            (osd, other), view.cluster.cluster
        ):
            return f'osd.{other.osd_id} is compacting in another failure domain'
    return None


def _idle(osd: OsdCompaction, view: View, limits: Limits) -> bool:
    """Whether an OSD got the request and is known not to be compacting."""
    if osd.step is not CompactionStep.COMPACTING:
        return False
    probe = probe_of(osd.osd_id, view)
    if probe is None or probe.running:
        return False
    if is_new_process(osd, probe):
        return True
    late = view.in_step_s.get(osd.osd_id, 0.0) >= limits.begin_s
    return late and probe.started <= osd.started_before


def _higher(one: Optional[float], other: Optional[float]) -> Optional[float]:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
