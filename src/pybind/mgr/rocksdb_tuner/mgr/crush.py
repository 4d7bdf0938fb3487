"""The failure domains of OSDs by the rules of a CRUSH map. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Mapping, NamedTuple, Optional

from .records import FailureDomain

_OSD = 'osd'


class Bucket(NamedTuple):
    """A node of a CRUSH tree; one in the shadow tree of a device class is named "r1~ssd"."""

    #: Below 0.
    bucket_id: int
    name: str
    #: "root", "rack", "host"
    kind: str
    #: Ids of buckets and, from 0, of OSDs.
    items: tuple[int, ...]


class Draw(NamedTuple):
    """The steps of a rule from a `take` to its `emit`."""

    root_id: int
    #: Types of the chosen items: "host", "osd".
    kinds: frozenset[str]


class CrushMap(NamedTuple):
    buckets: tuple[Bucket, ...] = ()
    #: Draws of the rules, by rule id.
    rules: Mapping[int, tuple[Draw, ...]] = {}


def parse_crush(crush: Mapping[str, Any]) -> CrushMap:
    """Parse `get('osd_map_crush')`, or a part of it."""
    return CrushMap(
        tuple(
            Bucket(b['id'], b['name'], b['type_name'], tuple(item['id'] for item in b['items']))
            for b in crush.get('buckets') or []
        ),
        {rule['rule_id']: tuple(_draws(rule['steps'])) for rule in crush.get('rules') or []},
    )


def _draws(steps: Iterable[Mapping[str, Any]]) -> Iterator[Draw]:
    root_id: Optional[int] = None
    kinds: set[str] = set()
    for step in steps:
        # Some tunable steps have no name: Ceph prints their number under another key.
        op = step.get('op')
        if op == 'take' and step.get('item') is not None:
            root_id, kinds = step['item'], set()
        elif op is not None and step.get('type') is not None:
            kinds.add(step['type'])
        elif op == 'emit' and root_id is not None:
            yield Draw(root_id, frozenset(kinds))
            root_id = None


class _Nearest(NamedTuple):
    """The bucket from which one draw takes an OSD."""

    #: Number of buckets between it and the OSD; -1: it is the OSD.
    height: int
    domain: FailureDomain


def failure_domains(
    crush: CrushMap, rule_ids: Iterable[int], hosts: Mapping[int, Optional[str]]
) -> Mapping[int, Optional[FailureDomain]]:
    """The failure domain of each OSD of ``hosts``, by id; None: unknown.

    ``rule_ids``: the rules of the pools. Among the rules that use an OSD the one with the smallest
    domain decides: its bucket is within the others' buckets. An OSD without a rule holds no data;
    its host is its domain. If the buckets of two rules overlap without nesting, or one rule may
    choose twice among the same OSDs, no bucket is safe to lose, and each OSD is its own domain.
    """
    rules = [crush.rules[rule_id] for rule_id in {*rule_ids} if rule_id in crush.rules]
    buckets = {bucket.bucket_id: bucket for bucket in crush.buckets}
    drawn = {draw: _drawn(draw, buckets) for rule in rules for draw in rule}
    nearest: dict[int, list[tuple[int, Optional[_Nearest]]]] = {}
    for number, found in enumerate(drawn.values()):
        for osd_id, bucket in found.items():
            nearest.setdefault(osd_id, []).append((number, bucket))
    decided = {
        osd_id: min(bucket for _, bucket in found if bucket is not None).domain
        for osd_id, found in nearest.items()
        if all(bucket is not None for _, bucket in found)
    }
    alone = {osd_id for rule in rules for osd_id in _drawn_twice(rule, drawn)}
    torn = _torn(decided, nearest)
    return {
        osd_id: _of_osd(osd_id)
        if osd_id in alone or decided.get(osd_id) in torn
        else decided.get(osd_id)
        if osd_id in nearest
        else None
        if host is None
        else FailureDomain('host', host)
        for osd_id, host in hosts.items()
    }


class _Visit(NamedTuple):
    bucket_id: int
    depth: int
    #: The lowest ancestor of a chosen type, and its depth.
    chosen: Optional[tuple[int, FailureDomain]]
    #: It or an ancestor is in more than one place of the tree.
    shared: bool


def _drawn(draw: Draw, buckets: Mapping[int, Bucket]) -> Mapping[int, Optional[_Nearest]]:
    """The OSDs that ``draw`` may choose; None: not below a bucket of a chosen type."""
    each_by_itself = not draw.kinds or _OSD in draw.kinds
    found: dict[int, Optional[_Nearest]] = {}

    def take(osd_id: int, nearest: Optional[_Nearest], *, shared: bool) -> None:
        own = each_by_itself or shared or found.get(osd_id, nearest) != nearest
        found[osd_id] = _Nearest(-1, _of_osd(osd_id)) if own else nearest

    if draw.root_id >= 0:
        take(draw.root_id, None, shared=False)
    left = [_Visit(draw.root_id, 0, None, shared=False)]
    # Visit each bucket at most twice, even if the map has loops.
    visited: dict[int, bool] = {}
    while left:
        bucket_id, depth, chosen, shared = left.pop()
        bucket = buckets.get(bucket_id)
        if bucket is None or visited.get(bucket_id):
            continue
        shared = visited[bucket_id] = shared or bucket_id in visited
        # The root itself is not chosen.
        if depth > 0 and bucket.kind in draw.kinds:
            chosen = depth, FailureDomain(bucket.kind, bucket.name.partition('~')[0])
        nearest = None if chosen is None else _Nearest(depth - chosen[0], chosen[1])
        for item in bucket.items:
            if item < 0:
                left.append(_Visit(item, depth + 1, chosen, shared))
            else:
                take(item, nearest, shared=shared)
    return found


def _drawn_twice(
    rule: tuple[Draw, ...], drawn: Mapping[Draw, Mapping[int, Optional[_Nearest]]]
) -> Iterator[int]:
    """OSDs that more than one draw of ``rule`` may choose."""
    seen: set[int] = set()
    for draw in rule if len(rule) > 1 else ():
        yield from seen.intersection(drawn[draw])
        seen.update(drawn[draw])


def _torn(
    decided: Mapping[int, FailureDomain],
    nearest: Mapping[int, list[tuple[int, Optional[_Nearest]]]],
) -> set[FailureDomain]:
    """Domains whose OSDs another draw takes from more than one bucket."""
    first: dict[tuple[FailureDomain, int], FailureDomain] = {}
    return {
        domain
        for osd_id, domain in decided.items()
        for number, bucket in nearest[osd_id]
        # OSDs of one bucket can be at different heights.
        if bucket is not None and first.setdefault((domain, number), bucket.domain) != bucket.domain
    }


def _of_osd(osd_id: int) -> FailureDomain:
    return FailureDomain(_OSD, f'osd.{osd_id}')
