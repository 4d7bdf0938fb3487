#!/usr/bin/python3
"""A rollout over a large cluster in memory, with failovers of the manager during restarts.

    bench_rollout.py            300 OSDs to the end, and the first 20 of 10,000
    bench_rollout.py --whole    10,000 OSDs to the end: hours

The cluster is that of tests/chaos: placement groups on racks, the monitor's store, an orchestrator
that restarts OSDs. The driver is the module's own, and runs as in a manager; a failover is a
driver that knows only the store. Simulated times are short, so that nearly each sample has
something to do. Measured are bytes and CPU time of each write of the state, of loading it, and of a
sample. A run fails unless each OSD that was to be changed runs the new string at its end, each was
restarted once and no other was; one to the end also leaves a single entry for all.
"""

from __future__ import annotations

import argparse
import json
import operator
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Callable, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from bench_store import CountingStore  # noqa: E402 - after the path to it

from rocksdb_tuner.mgr.records import ClusterMap, ConfigEntry, OsdInfo, PgSummary  # noqa: E402
from rocksdb_tuner.operations.phases import Outcome  # noqa: E402
from rocksdb_tuner.operations.rollout.announce import RolloutAnnouncer  # noqa: E402
from rocksdb_tuner.operations.rollout.driver import Driver  # noqa: E402
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState  # noqa: E402
from rocksdb_tuner.operations.rollout.states import in_flight  # noqa: E402
from rocksdb_tuner.plan.order import domains_of, in_batches  # noqa: E402
from rocksdb_tuner.plan.records import ChangeKind, ChangeRequest  # noqa: E402
from rocksdb_tuner.tests.chaos import topology  # noqa: E402
from rocksdb_tuner.tests.chaos.cluster import ChaosCluster  # noqa: E402
from rocksdb_tuner.tests.fake_cluster import MGR_TICK_S, FakeOsd  # noqa: E402

RESULTS = CHECKOUT / 'qa/bench/results/rollout.json'
ALL = 'osd'
OLD = 'compression=kNoCompression,write_buffer_size=67108864,max_total_wal_size=536870912'
NEW = (
    'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6,'
    'write_buffer_size=16777216,max_total_wal_size=1073741824'
)
#: So many OSDs, of which so many are changed.
RUNS = ((300, 300), (10_000, 20))
WHOLE = ((10_000, 10_000),)
#: After so many of every hundred that are changed another manager takes over.
FAILOVERS_PERCENT = (10, 50, 90)
TICK_S = 6.0
#: A sample that requests nothing further this often is stuck.
_MAX_SAMPLES_PER_OSD = 40
_CHANGED = frozenset({OsdStep.VERIFIED, OsdStep.COLLAPSING, OsdStep.COLLAPSED})
#: The monitor refuses larger ones.
_VALUE_MOST_BYTES = 65536


class LargeCluster(ChaosCluster):
    """A `ChaosCluster` that caches what it would otherwise search among all OSDs each time.

    Entries are those of single OSDs, and of all.
    """

    _all: frozenset[int] = frozenset()

    def __init__(self, spots: topology.Topology) -> None:
        self._lively: set[int] = set()
        self._away: set[int] = set()
        self._listed: Optional[tuple[OsdInfo, ...]] = None
        self._map: Optional[ClusterMap] = None
        self._entries: dict[str, ConfigEntry] = {}
        super().__init__(spots)
        # OSDs are down only briefly: nearly each sample finds the next step.
        self.stop_s = self.boot_s = self.recover_s = 1.0
        self.report_s = self.pg_report_s = self.orchestrator_delay_s = 0.5
        self._all = frozenset(self.osds)

    @property
    def usable(self) -> frozenset[int]:
        # None is purged or marked out here.
        return self._all or super().usable

    @property
    def down(self) -> set[int]:
        return self._away

    def advance(self, seconds: float) -> None:
        whole = self.osds
        self._lively |= {found.osd_id for found in self.accepted}
        # `ChaosCluster` checks each OSD for pending work.
        self.osds = {n: whole[n] for n in sorted(self._lively)}
        try:
            super().advance(seconds)
        finally:
            self._lively = {n for n, osd in self.osds.items() if self._restless(osd)}
            self.osds = whole

    def restart_all(self) -> None:
        for osd in self.osds.values():
            self._stop(osd)
            self._start(osd)
        self.advance(30.0)

    def _changed(self) -> None:
        super()._changed()
        self._listed = None

    def _stop(self, osd: FakeOsd) -> None:
        self._away.add(osd.osd_id)
        self._lively.add(osd.osd_id)
        super()._stop(osd)

    def _start(self, osd: FakeOsd) -> None:
        self._lively.add(osd.osd_id)
        super()._start(osd)

    def _boot(self, osd: FakeOsd) -> None:
        super()._boot(osd)
        if osd.up:
            self._away.discard(osd.osd_id)

    def cluster_map(self) -> ClusterMap:
        if self._listed is None:
            self._listed = tuple(map(self._seen, self.osds.values()))
        flags = frozenset(self.flags)
        if self._map is None or (self._map.osds, self._map.flags) != (self._listed, flags):
            # Like the module's adapter, which parses a map once.
            self._map = ClusterMap(self.epoch, flags, self.release, self._listed, self.pools)
        return self._map

    def health_codes(self) -> Mapping[str, str]:
        return {'OSD_DOWN': 'HEALTH_WARN'} if self.down else {}

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        return tuple(entry for entry in self._entries.values() if entry.name in names)

    def pg_summary(self) -> PgSummary:
        # Older ones are never queried again.
        heard_s = self.now_s - self.pg_report_s - MGR_TICK_S
        while len(self._states) > 1 and self._states[1][0] <= heard_s:
            del self._states[0]
        return super().pg_summary()

    def operator_sets(self, who: str, value: str, name: Optional[str] = None) -> None:
        self.store[who, name or self.option] = value
        self._entry_changed(who)

    def operator_removes(self, who: str, name: Optional[str] = None) -> None:
        self.store.pop((who, name or self.option), None)
        self._entry_changed(who)

    def _entry_changed(self, who: str) -> None:
        value = self.store.get((who, self.option))
        if value is None:
            self._entries.pop(who, None)
        else:
            self._entries[who] = ConfigEntry(who, self.option, value)
        section, _, osd_id = who.partition('.')
        assert section == 'osd', who
        for osd in [self.osds[int(osd_id)]] if osd_id else self.osds.values():
            self._shown_again(osd, self.option)
            osd.reported = dict(osd.shown)

    def _from_store(self, osd: FakeOsd, name: str) -> Optional[str]:
        return self._at_start(osd, name)


@dataclass(frozen=True)
class Measured:
    """One rollout. CPU is that of the thread; percentiles are of all writes."""

    osds: int
    changed: int
    failovers: int
    changed_before_each: tuple[int, ...]
    ended: str
    restarts: int
    most_restarts_of_an_osd: int
    osds_with_new_options: int
    entries: int
    looks: int
    look_cpu_ms_median: float
    look_cpu_ms_p99: float
    saves: int
    save_bytes_mean: float
    save_bytes_p99: int
    save_bytes_most: int
    save_keys_mean: float
    save_cpu_ms_median: float
    save_cpu_ms_p99: float
    save_cpu_ms_most: float
    written_bytes: int
    largest_value_bytes: int
    load_cpu_ms: tuple[float, ...]
    loaded_bytes: tuple[int, ...]
    #: Of one that begins: what is written before anything is changed.
    begin_bytes: int
    begin_cpu_ms: float


class CountingDriver(Driver):
    """Reports the cost of each write of the state: bytes, keys, milliseconds of CPU."""

    def __init__(
        self, cluster: LargeCluster, store: CountingStore, wrote: Callable[[int, int, float], None]
    ) -> None:
        self._counted, self._wrote = store, wrote
        super().__init__(
            config=cluster,
            osds=cluster,
            orchestrator=cluster,
            cluster=cluster,
            upgrades=cluster,
            store=store,
            same_meaning=operator.eq,
            on_change=RolloutAnnouncer(cluster).changed,
        )

    def _store(self, state: RolloutState) -> None:
        written, keys = self._counted.bytes, self._counted.keys_written
        began_s = time.thread_time()
        super()._store(state)
        took_ms = (time.thread_time() - began_s) * 1e3
        self._wrote(self._counted.bytes - written, self._counted.keys_written - keys, took_ms)


class Manager:
    """One manager after the other, with the one store, and what it took them."""

    def __init__(self, cluster: LargeCluster) -> None:
        self.cluster = cluster
        self.store = CountingStore()
        self.save_bytes: list[int] = []
        self.save_keys: list[int] = []
        self.save_cpu_ms: list[float] = []
        self.look_cpu_ms: list[float] = []
        self.load_cpu_ms: list[float] = []
        self.loaded_bytes: list[int] = []
        self.driver = self._active()

    def _active(self) -> Driver:
        driver = CountingDriver(self.cluster, self.store, self._wrote)
        began_s = time.thread_time()
        driver.load()
        self.load_cpu_ms.append((time.thread_time() - began_s) * 1e3)
        self.loaded_bytes.append(sum(map(len, self.store.values.values())))
        return driver

    def _wrote(self, written: int, keys: int, took_ms: float) -> None:
        self.save_bytes.append(written)
        self.save_keys.append(keys)
        self.save_cpu_ms.append(took_ms)

    def fail_over(self) -> None:
        """Another one: it only has the stored state of the last one."""
        known = self.state
        self.driver = self._active()
        if self.state != known:
            raise SystemExit('what the next manager read is not what the last one stored')

    @property
    def state(self) -> RolloutState:
        assert self.driver.state is not None
        return self.driver.state

    def look(self) -> None:
        began_s = time.thread_time()
        self.driver.tick(
            self.cluster.now_s, True, has_sample=lambda _: True, monotonic_s=self.cluster.now_s
        )
        self.look_cpu_ms.append((time.thread_time() - began_s) * 1e3)
        self.cluster.advance(TICK_S)


def overridden(osds: int) -> LargeCluster:
    """All OSDs run an old string, from one entry."""
    cluster = LargeCluster(topology.large(osds, random.Random(1)))
    cluster.operator_sets(ALL, OLD)
    cluster.restart_all()
    assert all(cluster.runs(n) == OLD for n in cluster.osds)
    return cluster


def request_of(cluster: LargeCluster) -> ChangeRequest:
    ids = tuple(cluster.osds)
    batches = in_batches(ids, cluster.places)
    return ChangeRequest(
        recommendation_id='osd-lz4',
        kind=ChangeKind.SET_PROFILE,
        who=ALL,
        targets=tuple((n, NEW) for n in ids),
        order=ids,
        final_entries=((ALL, NEW),),
        actor='client.admin',
        controls=ids[1:],
        batches=batches,
        domains=domains_of(batches, cluster.places),
    )


def measured(osds: int, to_change: int) -> Measured:
    cluster = overridden(osds)
    boots_before = {n: osd.boots for n, osd in cluster.osds.items()}
    manager = Manager(cluster)
    for _ in range(3):
        manager.look()
    manager.look_cpu_ms.clear()
    manager.driver.start(request_of(cluster), cluster.now_s)
    begin_bytes, begin_cpu_ms = manager.save_bytes[0], manager.save_cpu_ms[0]
    due = [to_change * percent // 100 for percent in FAILOVERS_PERCENT]
    changed_before: list[int] = []
    began_s = time.monotonic()
    whole = to_change == osds
    while not manager.state.ended and (whole or changed_by(manager.state) < to_change):
        if len(manager.look_cpu_ms) > osds * _MAX_SAMPLES_PER_OSD:
            raise SystemExit(f'it does not come to an end: {manager.state.paused_reason}')
        manager.look()
        flying = in_flight(manager.state)
        if due and flying is not None and flying.step is OsdStep.RESTARTING:
            changed = changed_by(manager.state)
            if changed >= due[0]:
                # During a restart: the manager taking over must not request it again.
                del due[0]
                changed_before.append(changed)
                manager.fail_over()
        if len(manager.look_cpu_ms) % 1000 == 0:
            messages(manager, time.monotonic() - began_s)
    if whole:
        manager.look()
    restarts = Counter(
        command for command in cluster.commands if command.startswith('ceph orch daemon restart')
    )
    boots = {n: osd.boots - boots_before[n] for n, osd in cluster.osds.items()}
    found = Measured(
        osds=osds,
        changed=changed_by(manager.state),
        failovers=len(changed_before),
        changed_before_each=tuple(changed_before),
        ended=manager.state.phase.value,
        restarts=sum(restarts.values()),
        most_restarts_of_an_osd=max(*boots.values(), *restarts.values()),
        osds_with_new_options=sum(cluster.runs(n) == NEW for n in cluster.osds),
        entries=len(cluster.store),
        looks=len(manager.look_cpu_ms),
        look_cpu_ms_median=round(statistics.median(manager.look_cpu_ms), 2),
        look_cpu_ms_p99=round(_p99(manager.look_cpu_ms), 2),
        saves=len(manager.save_bytes),
        save_bytes_mean=round(statistics.mean(manager.save_bytes), 1),
        save_bytes_p99=int(_p99(manager.save_bytes)),
        save_bytes_most=max(manager.save_bytes),
        save_keys_mean=round(statistics.mean(manager.save_keys), 3),
        save_cpu_ms_median=round(statistics.median(manager.save_cpu_ms), 3),
        save_cpu_ms_p99=round(_p99(manager.save_cpu_ms), 3),
        save_cpu_ms_most=round(max(manager.save_cpu_ms), 3),
        written_bytes=manager.store.bytes,
        largest_value_bytes=manager.store.largest,
        # The first manager found nothing.
        load_cpu_ms=tuple(round(ms, 1) for ms in manager.load_cpu_ms[1:]),
        loaded_bytes=tuple(manager.loaded_bytes[1:]),
        begin_bytes=begin_bytes,
        begin_cpu_ms=round(begin_cpu_ms, 2),
    )
    wrong = [
        found.failovers != len(FAILOVERS_PERCENT),
        found.most_restarts_of_an_osd != 1,
        found.restarts not in {to_change, found.osds_with_new_options},
        any(cluster.runs(n) != NEW or boots[n] != 1 for n in list(cluster.osds)[:to_change]),
        whole and manager.state.outcome is not Outcome.DONE,
        whole and cluster.entries_of() != {ALL: NEW},
        found.largest_value_bytes > _VALUE_MOST_BYTES,
    ]
    if any(wrong):
        raise SystemExit(f'wrong: {wrong} {found}')
    return found


def changed_by(state: RolloutState) -> int:
    return sum(osd.step in _CHANGED for osd in state.osds)


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


def messages(manager: Manager, lasted_s: float) -> None:
    steps = Counter(osd.step.value for osd in manager.state.osds)
    print(f'{lasted_s:6.0f} s, {len(manager.look_cpu_ms)} samples: {dict(steps)}', flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--whole', action='store_true', help='10,000 OSDs to the end')
    parser.add_argument('--out', type=Path, default=RESULTS)
    arguments = parser.parse_args()
    known = json.loads(arguments.out.read_text())['runs'] if arguments.out.is_file() else []
    for osds, to_change in WHOLE if arguments.whole else RUNS:
        found = asdict(measured(osds, to_change))
        print(json.dumps(found), flush=True)
        known = [run for run in known if (run['osds'], run['changed']) != (osds, found['changed'])]
        known = sorted([*known, found], key=lambda run: (run['osds'], run['changed']))
        arguments.out.write_text(json.dumps({'runs': known}, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
