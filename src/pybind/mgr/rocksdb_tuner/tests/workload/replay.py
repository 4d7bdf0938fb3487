"""Plays back counters that were recorded from real OSDs, as the mgr would have received them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Mapping, Optional

from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint, OsdInfo, PoolInfo
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.signals import Signals

DATA = Path(__file__).parent / 'data'
DEVICE_CLASS = 'ssd'
SAMPLE_INTERVAL_S = 10.0


@dataclass(frozen=True)
class Report:
    """What one OSD sent at one time, by counter path."""

    time_s: float
    osd_id: int
    nonce: int
    points: Mapping[str, CounterPoint]


@dataclass(frozen=True)
class Recording:
    """A client's run, with what came before and after it."""

    name: str
    client: str
    release: str
    #: When the client ran, and when it had set itself up: from then on it did what it is for.
    client_start_s: float
    load_start_s: float
    load_end_s: float
    #: Applications by pool.
    pools: Mapping[str, tuple[str, ...]]
    reports: tuple[Report, ...]

    def without_pools_of(self, *applications: str) -> Recording:
        """The same counters, as if nobody had pools of these applications."""
        pools = {p: a for p, a in self.pools.items() if not set(a) & set(applications)}
        return replace(self, pools=pools)

    def cluster_map(self) -> ClusterMap:
        nonces = {report.osd_id: report.nonce for report in self.reports}
        return ClusterMap(
            epoch=1,
            flags=frozenset(),
            require_osd_release=self.release,
            osds=tuple(self._osd(osd_id, nonces[osd_id]) for osd_id in sorted(nonces)),
            pools=tuple(
                PoolInfo(
                    pool_id=i,
                    name=name,
                    applications=applications,
                    size=3,
                    min_size=2,
                    device_classes=(),
                    cephfs_metadata=name == 'cephfs_meta',
                )
                for i, (name, applications) in enumerate(sorted(self.pools.items()), start=1)
            ),
        )

    def _osd(self, osd_id: int, nonce: int) -> OsdInfo:
        return OsdInfo(
            osd_id=osd_id,
            up=True,
            in_cluster=True,
            nonce=nonce,
            host='vm',
            device_class=DEVICE_CLASS,
            version=None,
            release=self.release,
            dedicated_db=False,
            dedicated_wal=False,
            db_device_bytes=None,
            objectstore='bluestore',
        )

    def play(self, offset_s: float = 0.0) -> Iterator[tuple[float, Mapping[int, Signals]]]:
        """(time, signals of all OSDs) at every sampling; ``offset_s`` shifts the first one."""
        observer, cluster_map, mgr = Observer(), self.cluster_map(), _Mgr()
        now_s = self.reports[0].time_s + offset_s
        pending = list(self.reports)
        while pending:
            while pending and pending[0].time_s <= now_s:
                mgr.receive(pending.pop(0))
            observer.observe(mgr, cluster_map, now_s)
            yield now_s, observer.signals()
            now_s += SAMPLE_INTERVAL_S


class _Mgr:
    """A CounterReader that knows the newest report of each OSD."""

    def __init__(self) -> None:
        self._newest: dict[int, Mapping[str, CounterPoint]] = {}

    def receive(self, report: Report) -> None:
        self._newest[report.osd_id] = report.points

    def latest(self, osd_id: int, path: str) -> Optional[CounterPoint]:
        return self._newest.get(osd_id, {}).get(path)


def load(name: str) -> Recording:
    """One of the files that README.md describes."""
    document = json.loads((DATA / f'{name}.json').read_text())
    paths = document['counters']
    reports = []
    for time_s, osd_id, nonce, values in document['reports']:
        points = {
            path: CounterPoint(time_s, *value)
            if isinstance(value, list)
            else CounterPoint(time_s, value, None)
            for path, value in zip(paths, values)
        }
        reports.append(Report(time_s, osd_id, nonce, points))
    return Recording(
        name=name,
        client=document['client'],
        release=document['release'],
        client_start_s=document['client_start_s'],
        load_start_s=document['load_start_s'],
        load_end_s=document['load_end_s'],
        pools={pool: tuple(apps) for pool, apps in document['pools'].items()},
        reports=tuple(sorted(reports, key=lambda report: report.time_s)),
    )


def names() -> list[str]:
    return sorted(path.stem for path in DATA.glob('*.json'))
