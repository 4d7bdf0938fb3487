"""Cuts undisturbed time into blocks, each with the measurements of every OSD in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ...judge.evidence import Block, Measured, measured
from ...judge.signals import limits
from ...observe.details import SlowEvents
from ...observe.sample import Sample
from ...observe.window import window


class Blocks:
    def __init__(self) -> None:
        self._measured_now: object = None
        #: When the current block may start, and its initial sample.
        self._begin_s = 0.0
        self._first: Optional[Mapping[int, Optional[Sample]]] = None
        #: Of the last block: longer than requested where ticks are rare.
        self.length_s = 0.0
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
        events = slow_events or {}
        if self._first is None:
            self._begin(samples, now_s, events)
            return None
        self._slow_events.append(events)
        if now_s - self._begin_s < block_s:
            return None
        block = Block({n: self._measured(n, last) for n, last in samples.items()}, now_s)
        self.length_s = now_s - self._begin_s
        self._begin(samples, now_s, events)
        return block

    def _begin(
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
