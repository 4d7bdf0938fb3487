"""Clusters as they are built: roots, racks, hosts, device classes, pools, data centers."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Callable, NamedTuple

from rocksdb_tuner.mgr.records import FailureDomain


class Shape(str, Enum):
    FLAT = 'hosts'
    SINGLE = 'OSDs that are failure domains of their own'
    RACKS = 'racks'
    ROOTS = 'two roots, one of each device class'
    ERASURE = 'hosts, erasure coded'
    STRETCH = 'two data centers, stretched'
    LARGE = 'many racks'


class Spot(NamedTuple):
    """The location of an OSD."""

    host: str
    domain: FailureDomain
    device_class: str
    #: Data center or root.
    top: str


class Pool(NamedTuple):
    name: str
    size: int
    min_size: int
    erasure_coded: bool
    device_class: str


@dataclass(frozen=True)
class Group:
    """A placement group: the OSDs that CRUSH would try, in this order."""

    pool: Pool
    candidates: tuple[int, ...]

    def acting(self, usable: Collection[int], spots: Mapping[int, Spot]) -> tuple[int, ...]:
        """Those that hold it while these OSDs are in: one of each failure domain."""
        found: list[int] = []
        domains: set[FailureDomain] = set()
        tops: dict[str, int] = {}
        for osd in self.candidates:
            spot = spots[osd]
            # A stretched pool has half of its copies in each data center.
            full = tops.get(spot.top, 0) * 2 >= self.pool.size and len(self._tops(spots)) > 1
            if osd in usable and spot.domain not in domains and not full:
                found.append(osd)
                domains.add(spot.domain)
                tops[spot.top] = tops.get(spot.top, 0) + 1
            if len(found) == self.pool.size:
                break
        return tuple(found)

    def _tops(self, spots: Mapping[int, Spot]) -> set[str]:
        return {spots[osd].top for osd in self.candidates}


@dataclass(frozen=True)
class Topology:
    shape: Shape
    #: By OSD id.
    spots: tuple[Spot, ...]
    pools: tuple[Pool, ...]
    groups: tuple[Group, ...]

    def __str__(self) -> str:
        hosts = len({spot.host for spot in self.spots})
        classes = ' and '.join(sorted({spot.device_class for spot in self.spots}))
        pools = ', '.join(
            f'{pool.name} {"EC " if pool.erasure_coded else ""}{pool.size}/{pool.min_size}'
            for pool in self.pools
        )
        return f'{len(self.spots)} OSDs ({classes}) on {hosts} hosts, {self.shape.value}; {pools}'


_SHAPES = (
    (Shape.FLAT,) * 6
    + (Shape.SINGLE,) * 2
    + (Shape.RACKS,) * 3
    + (Shape.ROOTS, Shape.ERASURE, Shape.STRETCH) * 2
)
#: One schedule in so many is of a large cluster.
LARGE_ONE_IN = 120


def drawn(dice: random.Random, *, two_classes: bool, spare: bool = False) -> Topology:
    """A topology; with ``two_classes`` it has OSDs of ssd and hdd, with ``spare`` two of each."""
    shape = dice.choice(_SHAPES)
    if dice.randrange(LARGE_ONE_IN) == 0:
        shape = Shape.LARGE
    spots = list(_spots(dice, shape))
    if spare and shape is not Shape.LARGE:
        spots = list(_twice(spots))
    if two_classes and len({spot.device_class for spot in spots}) == 1:
        spots += [spot._replace(device_class='hdd') for spot in spots[-2:]]
        if len([spot for spot in spots if spot.device_class == 'ssd']) < 2:
            spots.insert(0, spots[0])
    spots = _with_domains(spots)
    pools = tuple(_pools(dice, shape, spots))
    return Topology(shape, tuple(spots), pools, tuple(_groups(dice, spots, pools)))


def _twice(spots: Sequence[Spot]) -> Iterator[Spot]:
    """Two OSDs at each place, so that placement groups find room without one of them."""
    for n, spot in enumerate(spot for spot in spots for _ in range(2)):
        alone = spot.domain.kind == 'osd'
        yield spot._replace(domain=FailureDomain('osd', f'osd.{n}')) if alone else spot


def _with_domains(spots: Sequence[Spot]) -> list[Spot]:
    """A class that is all in one failure domain has pools that spread over OSDs."""
    domains: dict[str, set[FailureDomain]] = {}
    for spot in spots:
        domains.setdefault(spot.device_class, set()).add(spot.domain)
    return [
        spot
        if len(domains[spot.device_class]) > 1
        else spot._replace(domain=FailureDomain('osd', f'osd.{n}'))
        for n, spot in enumerate(spots)
    ]


def _spots(dice: random.Random, shape: Shape) -> Iterator[Spot]:
    return _SPOTS[shape](dice)


def _flat(dice: random.Random) -> Iterator[Spot]:
    for host in sorted(dice.randrange(3) for _ in range(dice.choice((3, 3, 3, 4, 5)))):
        yield _on_host(f'node{host}')


def _single(dice: random.Random) -> Iterator[Spot]:
    for n in range(dice.choice((3, 4))):
        yield Spot(f'node{n // 2}', FailureDomain('osd', f'osd.{n}'), 'ssd', 'default')


def _racks(dice: random.Random) -> Iterator[Spot]:
    for rack in range(dice.choice((2, 3))):
        for n in range(dice.choice((1, 2))):
            yield Spot(f'node{rack}-{n}', FailureDomain('rack', f'r{rack}'), 'ssd', 'default')


def _roots(dice: random.Random) -> Iterator[Spot]:
    for root, device_class in (('fast', 'ssd'), ('slow', 'hdd')):
        for host in range(dice.choice((2, 3))):
            yield _on_host(f'{root}{host}', device_class, root)


def _erasure(dice: random.Random) -> Iterator[Spot]:
    for host in range(dice.choice((4, 5))):
        yield _on_host(f'node{host}')


def _stretch(_: random.Random) -> Iterator[Spot]:
    for center in ('east', 'west'):
        for host in range(2):
            yield _on_host(f'{center}{host}', top=center)


def small(osds: int) -> Topology:
    """A cluster of so many hosts with one OSD each, all of which hold each placement group."""
    pool = Pool('rbd-ssd', osds, 1, False, 'ssd')
    ids = tuple(range(osds))
    groups = tuple(Group(pool, (*ids[n:], *ids[:n])) for n in ids)
    return Topology(Shape.FLAT, tuple(_on_host(f'node{n}') for n in ids), (pool,), groups)


def large(osds: int, dice: random.Random) -> Topology:
    """A cluster of so many OSDs, in racks, of two device classes."""
    spots = tuple(_in_racks(osds))
    pools = tuple(_pools(dice, Shape.LARGE, spots))
    return Topology(Shape.LARGE, spots, pools, tuple(_groups(dice, spots, pools)))


def _large(dice: random.Random) -> Iterator[Spot]:
    return _in_racks(dice.choice((60, 100, 300, 1000)))


def _in_racks(osds: int) -> Iterator[Spot]:
    for n in range(osds):
        rack = FailureDomain('rack', f'r{n * 8 // osds}')
        yield Spot(f'node{n // 10}', rack, 'ssd' if n % 5 else 'nvme', 'default')


_SPOTS: Mapping[Shape, Callable[[random.Random], Iterator[Spot]]] = {
    Shape.FLAT: _flat,
    Shape.SINGLE: _single,
    Shape.RACKS: _racks,
    Shape.ROOTS: _roots,
    Shape.ERASURE: _erasure,
    Shape.STRETCH: _stretch,
    Shape.LARGE: _large,
}


def _on_host(host: str, device_class: str = 'ssd', top: str = 'default') -> Spot:
    return Spot(host, FailureDomain('host', host), device_class, top)


def _pools(dice: random.Random, shape: Shape, spots: Sequence[Spot]) -> Iterator[Pool]:
    for device_class in sorted({spot.device_class for spot in spots}):
        domains = len({spot.domain for spot in spots if spot.device_class == device_class})
        if shape is Shape.STRETCH:
            size = min(4, domains)
            yield Pool(f'rbd-{device_class}', size, size // 2, False, device_class)
        elif shape is Shape.ERASURE and domains > 2:
            # k + m with m = 1 or 2, and min_size k + 1.
            coding = dice.choice((1, 2)) if domains > 3 else 1
            least = domains - coding + (coding > 1)
            yield Pool(f'ec-{device_class}', domains, least, True, device_class)
        else:
            size = min(3, domains)
            yield Pool(f'rbd-{device_class}', size, max(1, size - 1), False, device_class)


def _groups(dice: random.Random, spots: Sequence[Spot], pools: Sequence[Pool]) -> Iterator[Group]:
    # Every second cluster has OSDs that are primary of nothing (primary affinity): their reports do
    # not show what their restart did.
    some = random.Random(str(spots)).random() < 0.5
    for pool in pools:
        members = [n for n, spot in enumerate(spots) if spot.device_class == pool.device_class]
        primaries = members[: max(1, len(members) // 2)] if some else members
        for number in range(max(6, min(40, len(members) // 8))):
            # Every OSD of a small cluster holds some.
            first = primaries[number % len(primaries)]
            others = [n for n in members if n != first]
            rest = dice.sample(others, min(len(others), 24))
            yield Group(pool, (first, *rest))
