"""OSDs and controls of an experiment. Pure.

They are similar in what affects write latency: load, PGs and share of primaries; noisy OSDs are
excluded. The OSDs of an arm are in different failure domains, and matched OSDs of different arms in
the same one if it has enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, Optional

from ..mgr.records import FailureDomain
from .order import typical_of

#: OSDs above this multiple of the median noise are excluded.
MOST_NOISY = 2.0


@dataclass(frozen=True)
class Candidate:
    """One OSD of the group; None: unknown."""

    osd_id: int
    device_class: Optional[str]
    domain: Optional[FailureDomain]
    write_iops: Optional[float]
    pgs: Optional[int]
    #: Share of its PGs, from 0 to 1.
    primary_share: Optional[float]
    #: Standard deviation of the objective between blocks, from `judge.noise`.
    noise: Optional[float]


class Chosen(NamedTuple):
    #: One per arm: OSDs that run the same arm in each period.
    columns: tuple[tuple[int, ...], ...]
    controls: tuple[int, ...]


def usable(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """OSDs that are typical of the group, the most typical first."""
    classes = Counter(c.device_class for c in candidates if c.device_class is not None)
    common = max(classes, key=lambda name: (classes[name], name), default=None)
    loaded = typical_of(
        [c.osd_id for c in candidates], {c.osd_id: c.write_iops for c in candidates}
    )
    noises = [c.noise for c in candidates if c.noise is not None]
    most = MOST_NOISY * median(noises) if noises else 0.0
    found = [
        c
        for c in candidates
        if c.device_class == common
        and c.domain is not None
        and c.osd_id in loaded
        and c.noise is not None
        and c.noise <= most
    ]
    distances = _distances(found)
    return tuple(sorted(found, key=lambda c: (distances[c.osd_id], c.osd_id)))


def choose(
    ordered: Sequence[Candidate], arms: int, arm_osds: int, controls: int
) -> Optional[Chosen]:
    """Choose among `usable` OSDs; None: too few of them, or in too few failure domains."""
    columns: list[list[Candidate]] = [[] for _ in range(arms)]
    left = list(ordered)
    rank = {c.osd_id: number for number, c in enumerate(ordered)}
    for _ in range(arm_osds):
        shared: Optional[FailureDomain] = None
        for column in columns:
            taken = {c.domain for c in column}
            free = [c for c in left if c.domain not in taken]
            if not free:
                return None
            # The largest domain first, to keep the small ones for the other arms.
            wide = Counter(c.domain for c in free)
            found = next(
                (c for c in free if c.domain == shared),
                max(free, key=lambda c: (min(wide[c.domain], arms), -rank[c.osd_id])),
            )
            shared = found.domain
            column.append(found)
            left.remove(found)
    picked = _spread(left, controls)
    if len(picked) < controls:
        return None
    return Chosen(
        tuple(tuple(c.osd_id for c in column) for column in columns),
        tuple(c.osd_id for c in picked),
    )


def _spread(ordered: Sequence[Candidate], count: int) -> list[Candidate]:
    """The most typical OSD of each failure domain, then the next of each."""
    seen: Counter[Optional[FailureDomain]] = Counter()
    rank: dict[int, tuple[int, int]] = {}
    for place, c in enumerate(ordered):
        rank[c.osd_id] = seen[c.domain], place
        seen[c.domain] += 1
    return sorted(ordered, key=lambda c: rank[c.osd_id])[:count]


def _distances(candidates: Sequence[Candidate]) -> Mapping[int, float]:
    """Distance of each OSD from the median, summed over load, PGs and primaries."""
    found = {c.osd_id: 0.0 for c in candidates}
    facts = (
        {c.osd_id: math.log(c.write_iops) for c in candidates if c.write_iops},
        {c.osd_id: math.log(c.pgs) for c in candidates if c.pgs},
        {c.osd_id: c.primary_share for c in candidates if c.primary_share is not None},
    )
    for known in facts:
        middle = median(known.values()) if known else 0.0
        furthest = max((abs(value - middle) for value in known.values()), default=0.0)
        for osd_id in found:
            # An unknown value counts as far as the farthest one.
            found[osd_id] += abs(known[osd_id] - middle) if osd_id in known else furthest
    return found
