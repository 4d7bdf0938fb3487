"""Order of a rollout: the canary, its controls and the batches.

OSDs and controls of an experiment.

They have a similar load, and noisy OSDs are excluded. The OSDs of an arm are in different failure
domains, and matched OSDs of different arms in the same one if it has enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, Optional

from ..mgr.records import FailureDomain, Place

#: A typical OSD has half to twice the group's median of client writes.
TYPICAL_FACTOR = 2.0


#: (False for the canary, load, id), sorted ascending.
_Rank = tuple[bool, float, int]


def canary_first(
    places: Mapping[int, Place], write_iops: Mapping[int, Optional[float]]
) -> tuple[int, ...]:
    """Rollout order of the OSDs in ``places``; ``write_iops`` is None or missing if unknown.

    The canary is the OSD with the fewest client writes among the typical OSDs of the group: its
    restart affects few clients, and its result applies to the others. An idle OSD would be safer
    but prove nothing. If no clients write, the canary is the OSD with the lowest known load; an
    unknown load does not count as idle.

    The rest of the canary's failure domain follows, then domain by domain, within a domain host by
    host, the least loaded OSD first. A fault of the new options thus stays within the first domain
    until it is complete, and the other replicas of each PG are on unchanged OSDs. If each OSD is
    its own failure domain, the order is host by host.
    """
    if not places:
        return ()
    load = {osd_id: _load(write_iops.get(osd_id)) for osd_id in places}
    canary = min(
        typical_of(places, write_iops) or places, key=lambda osd_id: (load[osd_id], osd_id)
    )
    domains = {osd_id: place.domain or osd_id for osd_id, place in places.items()}
    hosts: dict[object, set[Optional[str]]] = {}
    for osd_id, place in places.items():
        hosts.setdefault(domains[osd_id], set()).add(place.host)
    found: dict[object, dict[object, list[_Rank]]] = {}
    for osd_id, place in places.items():
        domain = domains[osd_id]
        # The outer of host and domain contains the other.
        spans = len(hosts[domain]) > 1
        outer, inner = (domain, place.host) if spans else (place.host, domain)
        rank = osd_id != canary, load[osd_id], osd_id
        found.setdefault(outer, {}).setdefault(inner, []).append(rank)
    ordered = sorted(
        sorted(sorted(ranks) for ranks in within.values()) for within in found.values()
    )
    return tuple(osd_id for outer in ordered for inner in outer for _, _, osd_id in inner)


def typical_of(
    osd_ids: Collection[int], write_iops: Mapping[int, Optional[float]]
) -> frozenset[int]:
    """OSDs with client writes near the median; empty if no clients write."""
    known = {n: iops for n in osd_ids if (iops := write_iops.get(n)) is not None}
    middle = median(known.values()) if known else 0.0
    least, most = middle / TYPICAL_FACTOR, middle * TYPICAL_FACTOR
    return frozenset(n for n, iops in known.items() if middle and least <= iops <= most)


def in_batches(order: Sequence[int], places: Mapping[int, Place]) -> tuple[tuple[int, ...], ...]:
    """Split ``order`` into batches within one failure domain; each soaks before the next.

    The canary, then one, two, four OSDs and so on: little is at risk early on, and later the soaks
    take no longer than the restarts. An OSD with an unknown failure domain is its own batch.
    """
    found: list[tuple[int, ...]] = []
    most = 1
    while (start := sum(map(len, found))) < len(order):
        domain = _domain(places, order[start])
        end = start + 1
        while (
            domain is not None
            and end < min(len(order), start + most)
            and _domain(places, order[end]) == domain
        ):
            end += 1
        found.append(tuple(order[start:end]))
        most = most * 2 if len(found) > 1 else 1
    return tuple(found)


def domains_of(
    batches: Iterable[Sequence[int]], places: Mapping[int, Place]
) -> tuple[Optional[FailureDomain], ...]:
    """The failure domain of each batch; None: unknown."""
    found = ({_domain(places, osd_id) for osd_id in batch} for batch in batches)
    return tuple(domains.pop() if len(domains) == 1 else None for domains in found)


def _domain(places: Mapping[int, Place], osd_id: int) -> Optional[FailureDomain]:
    place = places.get(osd_id)
    return None if place is None else place.domain


def matched_controls(
    order: Sequence[int], write_iops: Mapping[int, Optional[float]], most: int
) -> tuple[int, ...]:
    """At most ``most`` controls for the canary, the first of ``order``, most similar first.

    Similarity is by client writes. Among equals, OSDs that are changed later come first.
    """
    if not order:
        return ()
    wanted = _load(write_iops.get(order[0]))

    def distance(osd_id: int) -> float:
        load = _load(write_iops.get(osd_id))
        if math.isinf(wanted):
            return math.inf
        return abs(math.log1p(load) - math.log1p(wanted))

    place = {osd_id: place for place, osd_id in enumerate(order)}
    return tuple(sorted(order[1:], key=lambda n: (distance(n), -place[n]))[:most])


def _load(write_iops: Optional[float]) -> float:
    return math.inf if write_iops is None else write_iops


#: OSDs above this multiple of the median noise are excluded.
MOST_NOISY = 2.0


@dataclass(frozen=True)
class Candidate:
    """One OSD of the group; None: unknown."""

    osd_id: int
    device_class: Optional[str]
    domain: Optional[FailureDomain]
    write_iops: Optional[float]
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
    middle = median(_load(c.write_iops) for c in found) if found else 0.0
    return tuple(sorted(found, key=lambda c: (abs(_load(c.write_iops) - middle), c.osd_id)))


def choose(
    ordered: Sequence[Candidate], arms: int, arm_osds: int, controls: int
) -> Optional[Chosen]:
    """Choose among `usable` OSDs, of which there are enough; None: in too few failure domains."""
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
    return Chosen(
        tuple(tuple(c.osd_id for c in column) for column in columns),
        tuple(c.osd_id for c in _spread(left, controls)),
    )


def _spread(ordered: Sequence[Candidate], count: int) -> list[Candidate]:
    """The most typical OSD of each failure domain, then the next of each."""
    seen: Counter[Optional[FailureDomain]] = Counter()
    rank: dict[int, tuple[int, int]] = {}
    for place, c in enumerate(ordered):
        rank[c.osd_id] = seen[c.domain], place
        seen[c.domain] += 1
    return sorted(ordered, key=lambda c: rank[c.osd_id])[:count]
