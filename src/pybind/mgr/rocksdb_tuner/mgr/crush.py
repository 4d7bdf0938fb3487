"""The failure domains of OSDs by the rules of a CRUSH map. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
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


def failure_domains(
    crush: CrushMap, rule_ids: Iterable[int], hosts: Mapping[int, Optional[str]]
) -> Mapping[int, Optional[FailureDomain]]:
    """The failure domain of each OSD of ``hosts``, by id; None: unknown.

    ``rule_ids``: the rules of the pools. Among the rules that use an OSD the one with the smallest
    domain decides: in one tree its bucket is within the others' buckets. An OSD without a rule
    holds no data; its host is its domain. An OSD that is in several places of the tree, or that one
    rule may choose twice, is its own domain: no bucket is safe to lose.
    """
    buckets = {bucket.bucket_id: bucket for bucket in crush.buckets}
    parents: dict[int, list[Bucket]] = {}
    for bucket in crush.buckets:
        for item in bucket.items if '~' not in bucket.name else ():
            parents.setdefault(item, []).append(bucket)
    draws: dict[int, list[tuple[int, Draw]]] = {}
    # Many erasure-coded pools have a rule of their own that draws as the others do.
    rules = {crush.rules[rule_id] for rule_id in {*rule_ids} & crush.rules.keys()}
    for number, rule in enumerate(rules):
        for draw in rule:
            for osd_id in _below(draw.root_id, buckets):
                draws.setdefault(osd_id, []).append((number, draw))

    return {
        osd_id: _drawn(osd_id, draws[osd_id], parents, buckets)
        if osd_id in draws
        else None
        if host is None
        else FailureDomain('host', host)
        for osd_id, host in hosts.items()
    }


def _drawn(
    osd_id: int,
    draws: Sequence[tuple[int, Draw]],
    parents: Mapping[int, Sequence[Bucket]],
    buckets: Mapping[int, Bucket],
) -> Optional[FailureDomain]:
    """The domain of an OSD that these draws, each with its rule, may choose."""
    itself, above = FailureDomain(_OSD, f'osd.{osd_id}'), _above(osd_id, parents)
    twice = len({rule_id for rule_id, _ in draws}) < len(draws)
    if above is None or twice:
        return itself
    chosen = [_chosen(above, draw, buckets) for _, draw in draws]
    known = [height for height in chosen if height is not None]
    if len(known) < len(chosen):
        return None
    lowest = min(known)
    return itself if lowest < 0 else FailureDomain(above[lowest].kind, above[lowest].name)


def _below(root_id: int, buckets: Mapping[int, Bucket]) -> set[int]:
    """The OSDs in a tree, even if it has loops."""
    found: set[int] = set()
    left = [root_id]
    while left:
        item = left.pop()
        if item not in found:
            found.add(item)
            left += buckets[item].items if item in buckets else ()
    return {item for item in found if item >= 0}


def _above(item: int, parents: Mapping[int, Sequence[Bucket]]) -> Optional[list[Bucket]]:
    """The buckets that hold an item, the innermost first; None: it is in several places."""
    found: dict[int, Bucket] = {}
    while item in parents:
        bucket = parents[item][0]
        if len(parents[item]) > 1 or bucket.bucket_id in found:
            return None
        item, found[bucket.bucket_id] = bucket.bucket_id, bucket
    return list(found.values())


def _chosen(above: Sequence[Bucket], draw: Draw, buckets: Mapping[int, Bucket]) -> Optional[int]:
    """The place among ``above`` of the lowest bucket of a chosen type, below the draw's root.

    -1: the OSD itself is chosen; None: it is not below such a bucket.
    """
    if not draw.kinds or _OSD in draw.kinds:
        return -1
    root = buckets.get(draw.root_id)
    name = None if root is None else root.name.partition('~')[0]
    inside = takewhile(lambda bucket: bucket.name != name, above)
    return next((n for n, bucket in enumerate(inside) if bucket.kind in draw.kinds), None)
