"""In which order OSDs are changed, which of them comes first, and what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Optional

from ..mgr.records import FailureDomain, Place

#: An OSD is typical of its group with client writes of half to twice the group's middle.
TYPICAL_FACTOR = 2.0


#: (False for the canary, load, id) of an OSD: what comes first is the least.
_Rank = tuple[bool, float, int]


def canary_first(
    places: Mapping[int, Place], write_iops: Mapping[int, Optional[float]]
) -> tuple[int, ...]:
    """The OSDs of ``places``, by id; ``write_iops`` is None or missing where it is not known.

    The first, the canary, is the OSD with the least client writes among those that are typical
    of the group: its restart is noticed by few clients, and what is found of it says something of
    the others. An idle one would be safer and prove nothing. Where nobody writes, it is the OSD
    with the least known load: one whose load is not known is not taken for an idle one.

    After it come the OSDs of the same failure domain, then domain by domain, in each of them host
    by host and there the least loaded first: until the first domain is through, everything that
    could be wrong with the new options is within it, and every placement group has its other
    copies on OSDs that were not touched. Where the OSDs of a host are domains of their own, the
    host is finished before the next.
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
        # The larger of the two holds the smaller one.
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
    """Those whose clients write about as much as those of most; empty where nobody writes."""
    load = {osd_id: _load(write_iops.get(osd_id)) for osd_id in osd_ids}
    middle = _middle(load.values())
    return frozenset(osd_id for osd_id in osd_ids if _typical(load[osd_id], middle))


def in_batches(order: Sequence[int], places: Mapping[int, Place]) -> tuple[tuple[int, ...], ...]:
    """``order`` in pieces of at most one failure domain, each of which is watched before the next.

    The canary, then one, two, four OSDs and so on: while little is known of the change little is
    at stake, and later the watching does not take longer than the restarts. An OSD whose failure
    domain is not known is by itself.
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
    """The failure domain that each batch lies in; None: not known."""
    found = ({_domain(places, osd_id) for osd_id in batch} for batch in batches)
    return tuple(domains.pop() if len(domains) == 1 else None for domains in found)


def _domain(places: Mapping[int, Place], osd_id: int) -> Optional[FailureDomain]:
    place = places.get(osd_id)
    return None if place is None else place.domain


def matched_controls(
    order: Sequence[int], write_iops: Mapping[int, Optional[float]], most: int
) -> tuple[int, ...]:
    """At most ``most`` OSDs to compare the first of ``order`` with, most alike first.

    Alike is whose clients write about as much. One that is changed late comes before one that is
    changed soon, where nothing else tells them apart.
    """
    if not order:
        return ()
    wanted = _load(write_iops.get(order[0]))

    def apart(osd_id: int) -> float:
        load = _load(write_iops.get(osd_id))
        if math.isinf(wanted):
            return math.inf
        return abs(math.log1p(load) - math.log1p(wanted))

    place = {osd_id: place for place, osd_id in enumerate(order)}
    return tuple(sorted(order[1:], key=lambda n: (apart(n), -place[n]))[:most])


def _load(write_iops: Optional[float]) -> float:
    return math.inf if write_iops is None else write_iops


def _middle(loads: Iterable[float]) -> Optional[float]:
    """The median of the known loads; None where none is known, or most are idle."""
    known = [load for load in loads if not math.isinf(load)]
    return median(known) or None if known else None


def _typical(load: float, middle: Optional[float]) -> bool:
    return middle is not None and middle / TYPICAL_FACTOR <= load <= middle * TYPICAL_FACTOR
