"""Properties of a group's OSDs that an experiment matches OSDs by. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Mapping, Optional

from ..judge.noise import MeasuredNoise
from ..observe.load_history import KeptWork, Work
from ..plan.order import Candidate
from .case import Case


def similar_by(case: Case, kept: KeptWork, noise: Optional[MeasuredNoise]) -> tuple[Candidate, ...]:
    """The OSDs with the properties to match: load, placement groups, primaries and noise."""
    by_osd: Mapping[int, float] = {} if noise is None else noise.by_osd
    return tuple(
        Candidate(
            osd_id=osd.info.osd_id,
            device_class=osd.info.device_class,
            domain=osd.info.failure_domain,
            write_iops=_write_iops(kept, osd.info.osd_id),
            pgs=None if osd.details is None else osd.details.pgs,
            primary_share=_primary_share(kept.by_osd[osd.info.osd_id]),
            noise=by_osd.get(osd.info.osd_id),
        )
        for osd in case.osds
    )


def _write_iops(kept: KeptWork, osd_id: int) -> Optional[float]:
    """Client writes per second over the whole history, not an instantaneous value."""
    spans = zip(kept.times_s, kept.times_s[1:])
    known = [
        (work.writes, end_s - begin_s)
        for work, (begin_s, end_s) in zip(kept.by_osd[osd_id], spans)
        if work.writes is not None
    ]
    return sum(count for count, _ in known) / sum(s for _, s in known) if known else None


def _primary_share(work: Sequence[Work]) -> Optional[float]:
    """Share of client writes among transactions: an OSD writes as a primary and as a replica."""
    known = [(w.writes, w.txns) for w in work if w.writes is not None and w.txns]
    txns = sum(count for _, count in known)
    return min(1.0, sum(writes for writes, _ in known) / txns) if txns else None
