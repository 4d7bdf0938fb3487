"""Plays back counters that were recorded from real OSDs, as the mgr would have received them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Mapping, Optional

from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint, OsdInfo, PoolCounters, PoolInfo
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.sample import ALL_OPERATIONS
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.sampler import FULL_S, WARM_UP_ROUNDS
from rocksdb_tuner.tests.all_operations import all_operations

DATA = Path(__file__).parent / 'data'
DEVICE_CLASS = 'ssd'
SAMPLE_INTERVAL_S = 10.0
CEPHFS_METADATA_POOL = 'cephfs_meta'


@dataclass(frozen=True)
class Report:
    """The counters of one OSD at one time, by path."""

    time_s: float
    osd_id: int
    nonce: int
    points: Mapping[str, CounterPoint]


@dataclass(frozen=True)
class Reading:
    """How the cluster was at one time."""

    time_s: float
    cluster_map: ClusterMap
    #: Empty where that was not recorded.
    pool_counters: Mapping[int, PoolCounters]
    #: (id, severity) of the module's findings; None if they were not recorded.
    findings: Optional[tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Span:
    """A time in which it is known what went on, and by which classes that is named rightly."""

    what: str
    #: The first one is what is meant.
    labels: tuple[str, ...]
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Sample:
    """The module's data at one sampling."""

    now_s: float
    cluster_map: ClusterMap
    signals: Mapping[int, Signals]
    pool_counters: Mapping[int, PoolCounters]


@dataclass(frozen=True)
class Recording:
    """A client's run, with what came before and after it."""

    name: str
    release: str
    reports: tuple[Report, ...]
    readings: tuple[Reading, ...]
    spans: tuple[Span, ...] = ()
    part: str = ''
    #: From when to when the client did what it is for.
    load_start_s: float = 0.0
    load_end_s: float = 0.0

    def cluster_map(self) -> ClusterMap:
        """As it was at the end."""
        return self.readings[-1].cluster_map

    def samples(self, offset_s: float = 0.0) -> Iterator[Sample]:
        """The data at every sampling; ``offset_s`` shifts the first one.

        OSDs are sampled as by the module, but for those whose class is about to change: without
        the classification they are not known, and are read no more than others.
        """
        observer, mgr = Observer(), _Mgr()
        rounds, full_s = 0, 0.0
        begin_s, end_s = self.reports[0].time_s, self.reports[-1].time_s
        now_s = begin_s + offset_s
        pending, readings = list(self.reports), list(self.readings)
        newest = readings[0]
        while now_s < end_s + SAMPLE_INTERVAL_S:
            while pending and pending[0].time_s <= now_s:
                mgr.receive(pending.pop(0))
            while readings and readings[0].time_s <= now_s:
                newest = readings.pop(0)
            full = rounds < WARM_UP_ROUNDS or now_s - full_s >= FULL_S
            observer.observe(mgr, newest.cluster_map, now_s, None if full else ())
            rounds, full_s = rounds + 1, now_s if full else full_s
            yield Sample(now_s, newest.cluster_map, observer.signals(), newest.pool_counters)
            now_s += SAMPLE_INTERVAL_S

    def play(self, offset_s: float = 0.0) -> Iterator[tuple[float, Mapping[int, Signals]]]:
        """(time, signals of all OSDs) at every sampling."""
        for look in self.samples(offset_s):
            yield look.now_s, look.signals


class _Mgr:
    """A CounterReader that knows the newest report of each OSD."""

    def __init__(self) -> None:
        self._newest: dict[int, Mapping[str, CounterPoint]] = {}

    def receive(self, report: Report) -> None:
        points = dict(report.points)
        operations = all_operations(points.get)
        if operations is not None:
            points.setdefault(ALL_OPERATIONS, operations)
        self._newest[report.osd_id] = points

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        known = self._newest.get(osd_id, {})
        return [known.get(path) for path in paths]


def load(name: str) -> Recording:
    """One of the files that README.md describes."""
    path = DATA / f'{name}.json'
    if path.exists():
        return _of_one_client(name, json.loads(path.read_text()))
    return load_file(DATA / f'{name}.json.xz')


@lru_cache(maxsize=64)
def load_file(path: Path) -> Recording:
    """A recording of format 2."""
    document = json.loads(lzma.decompress(path.read_bytes()))
    assert document['format'] == 2, f'{path}: format {document["format"]}'
    release = document['release']
    readings = _readings(document['readings'], release)
    return Recording(
        name=document['name'],
        release=release,
        reports=tuple(_reports(document)),
        readings=readings,
        spans=_spans(document['spans']),
        part=document['part'],
    )


def names() -> list[str]:
    """The recordings of one client each, without spans."""
    return sorted(path.stem for path in DATA.glob('*.json'))


def campaign() -> list[str]:
    """The recordings made by `qa/record`."""
    return sorted(path.name[: -len('.json.xz')] for path in DATA.glob('*.json.xz'))


def _spans(found: list[dict[str, Any]]) -> tuple[Span, ...]:
    """Those that follow each other with the same names are one."""
    spans: list[Span] = []
    for s in found:
        span = Span(s['what'], tuple(s['labels']), s['begin_s'], s['end_s'])
        if spans and spans[-1].labels == span.labels and span.begin_s - spans[-1].end_s < 1.0:
            span = replace(spans.pop(), end_s=span.end_s)
        spans.append(span)
    return tuple(spans)


def _readings(found: list[dict[str, Any]], release: str) -> tuple[Reading, ...]:
    """If the map could not be read at one time, the previous one is used."""
    readings: list[Reading] = []
    cluster_map: Optional[ClusterMap] = None
    counters: Mapping[int, PoolCounters] = {}
    for reading in found:
        if 'osds' in reading:
            osds = tuple(
                _osd(int(osd_id), release, nonce, up=up, in_cluster=in_cluster)
                for osd_id, (up, in_cluster, nonce) in reading['osds'].items()
            )
            metadata = set(reading['cephfs_metadata'])
            pools = tuple(
                _pool(int(pool_id), name, tuple(applications), size, int(pool_id) in metadata)
                for pool_id, (name, applications, size) in reading['pools'].items()
            )
            cluster_map = ClusterMap(1, frozenset(), release, osds, pools)
        if 'pool_io' in reading:
            counters = {
                int(pool_id): PoolCounters(reads, 1024 * read_kib, writes, 1024 * written_kib)
                for pool_id, (reads, read_kib, writes, written_kib) in reading['pool_io'].items()
            }
        if cluster_map is None:
            continue
        message = reading.get('findings')
        readings.append(
            Reading(
                time_s=reading['time_s'],
                cluster_map=cluster_map,
                pool_counters=counters,
                findings=None if message is None else tuple((f[0], f[1]) for f in message),
            )
        )
    return tuple(readings)


def _reports(document: Mapping[str, Any]) -> Iterator[Report]:
    paths = document['counters']
    for reading in document['readings']:
        for osd_id, values in reading.get('counters', {}).items():
            up, _, nonce = reading['osds'][osd_id]
            if up:
                points = _points(paths, values, reading['time_s'])
                yield Report(reading['time_s'], int(osd_id), nonce, points)


def _of_one_client(name: str, document: Mapping[str, Any]) -> Recording:
    release = document['release']
    rows = sorted(document['reports'], key=lambda row: float(row[0]))
    reports = tuple(
        Report(time_s, osd_id, nonce, _points(document['counters'], values, time_s))
        for time_s, osd_id, nonce, values in rows
    )
    nonces = {report.osd_id: report.nonce for report in reports}
    cluster_map = ClusterMap(
        epoch=1,
        flags=frozenset(),
        require_osd_release=release,
        osds=tuple(
            _osd(osd_id, release, nonces[osd_id], up=True, in_cluster=True)
            for osd_id in sorted(nonces)
        ),
        pools=tuple(
            _pool(i, pool, tuple(applications), 3, pool == CEPHFS_METADATA_POOL)
            for i, (pool, applications) in enumerate(sorted(document['pools'].items()), start=1)
        ),
    )
    return Recording(
        name=name,
        release=release,
        reports=reports,
        readings=(Reading(reports[0].time_s, cluster_map, {}, None),),
        load_start_s=document['load_start_s'],
        load_end_s=document['load_end_s'],
    )


def _points(paths: list[str], values: list[Any], time_s: float) -> Mapping[str, CounterPoint]:
    return {
        path: CounterPoint(time_s, *value)
        if isinstance(value, list)
        else CounterPoint(time_s, value, None)
        for path, value in zip(paths, values)
        if value is not None
    }


def _pool(
    pool_id: int, name: str, applications: tuple[str, ...], size: int, metadata: bool
) -> PoolInfo:
    return PoolInfo(
        pool_id=pool_id,
        name=name,
        applications=applications,
        size=size,
        min_size=max(1, size - 1),
        device_classes=(),
        cephfs_metadata=metadata,
        crush_rule=0,
    )


def _osd(osd_id: int, release: str, nonce: int, *, up: bool, in_cluster: bool) -> OsdInfo:
    return OsdInfo(
        osd_id=osd_id,
        up=up,
        in_cluster=in_cluster,
        nonce=nonce,
        host='vm',
        device_class=DEVICE_CLASS,
        version=None,
        release=release,
        dedicated_db=False,
        dedicated_wal=False,
        db_device_bytes=None,
        objectstore='bluestore',
    )
