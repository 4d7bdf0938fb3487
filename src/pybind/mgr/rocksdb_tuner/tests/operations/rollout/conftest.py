"""A cluster, a store and a driver that tests let run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.observe.details import read_slow_events
from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.operations import driver
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Permission, Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits, WhyUnstartable
from rocksdb_tuner.plan.records import ChangeKind, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster
from rocksdb_tuner.tests.operations.simulation import TICK_S, Simulation

NEW = (
    'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6,'
    'write_buffer_size=16777216,max_total_wal_size=1073741824'
)
OLD = 'compression=kNoCompression,write_buffer_size=67108864,max_total_wal_size=536870912'
ALL = 'osd'
CLASS = 'osd/class:ssd'


def same_meaning(one: str, other: str) -> bool:
    """Enough of the grammar for tests: order, blanks and separators do not matter."""

    def parsed(text: str) -> dict[str, str]:
        pairs = (item.partition('=') for item in text.replace(';', ',').split(','))
        return {key.strip(): value.strip() for key, _, value in pairs}

    return parsed(one) == parsed(other)


def set_profile(cluster: FakeCluster, value: str = NEW, **changes: object) -> ChangeRequest:
    """A request to give every OSD of class ssd ``value``: as one entry if that is all of them."""
    ids = tuple(n for n, osd in cluster.osds.items() if osd.device_class == 'ssd')
    fields = {
        'recommendation_id': 'ssd-lz4',
        'kind': ChangeKind.SET_PROFILE,
        'who': ALL if len(ids) == len(cluster.osds) else CLASS,
        'targets': tuple((n, value) for n in ids),
        'order': ids,
        'final_entries': ((ALL, value),)
        if len(ids) == len(cluster.osds)
        else tuple((f'osd.{n}', value) for n in ids),
        'actor': 'client.admin',
        'prediction': '{"metric":"write_iops"}',
        **changes,
    }
    fields.setdefault('controls', fields['order'][1:])  # type: ignore[index]
    return ChangeRequest(**fields)  # type: ignore[arg-type]


def remove_override(cluster: FakeCluster, who: str = 'osd') -> ChangeRequest:
    """A request to remove the entry of ``who``, which decides for every OSD."""
    return ChangeRequest(
        recommendation_id='drop-override',
        kind=ChangeKind.REMOVE_OVERRIDE,
        who=who,
        targets=tuple((n, DEFAULTS[osd.release]) for n, osd in cluster.osds.items()),
        order=tuple(cluster.osds),
        final_entries=((who, None),),
        actor='client.admin',
        controls=tuple(cluster.osds)[1:],
    )


def overridden(who: str, osds: int = 3) -> FakeCluster:
    """A cluster whose OSDs run OLD as far as the entry of ``who`` covers them."""
    cluster = FakeCluster(osds)
    cluster.operator_sets(who, OLD)
    for n in cluster.osds:
        cluster.restart_by_hand(n)
        cluster.advance(60)
    return cluster


class Clients:
    """Writes to every OSD that is up, and what they take where it runs NEW and where not."""

    def __init__(self, cluster: FakeCluster, writes_per_s: int = 100) -> None:
        self.cluster = cluster
        self.writes_per_s = writes_per_s
        #: Of an OSD that runs NEW, against others: 1.3 is 30% more time and bytes.
        self.factor = 1.0
        #: By how much each measurement of one OSD varies.
        self.noise = 0.03
        #: Whether memtables are flushed meanwhile.
        self.flushes = True
        #: The subject of the message.
        self.slower_with = NEW
        #: The same of any option string.
        self.factors: dict[str, float] = {}
        #: OSDs that take one and a half times as long, with any options.
        self.slow: set[int] = set()
        #: OSDs of which the manager has no current sample.
        self.silent: set[int] = set()
        #: How far the manager's clock, which stamps reports, is from the time that has passed.
        self.offset_s = 0.0
        self._random = random.Random(8)
        self._samples: dict[int, Sample] = {}

    def write(self, seconds: float) -> None:
        """The work counted by the OSDs in the last ``seconds``."""
        common = self._random.uniform(0.8, 1.2)
        for n, osd in self.cluster.osds.items():
            if not osd.up:
                self._samples.pop(n, None)
                continue
            old = self._samples.get(n)
            if old is None or old.nonce != osd.nonce:
                old = _fresh(osd.nonce)
            writes = int(self.writes_per_s * seconds)
            noise = self._random.uniform(1 - self.noise, 1 + self.noise)
            cost = common * noise * (1 + n / 10)
            cost *= self.factor if self.cluster.runs(n) == self.slower_with else 1.0
            cost *= self.factors.get(self.cluster.runs(n), 1.0)
            cost *= 1.5 if n in self.slow else 1.0
            self._samples[n] = old._replace(
                time_s=self.cluster.now_s + self.offset_s,
                kv_sync=_more(old.kv_sync, writes, 0.5 * cost),
                commit=_more(old.commit, writes, 2 * cost),
                op_w_latency=_more(old.op_w_latency, writes, 5 * cost),
                bytes_written_wal=(old.bytes_written_wal or 0) + int(writes * 7000 * cost),
                bytes_written_sst=(old.bytes_written_sst or 0)
                + (int(writes * 700 * cost) if self.flushes else 0),
            )

    def newest(self, osd_id: int) -> Optional[Sample]:
        return None if osd_id in self.silent else self._samples.get(osd_id)

    def has_sample(self, osd_id: int) -> bool:
        return self.newest(osd_id) is not None


def _fresh(nonce: int) -> Sample:
    values: dict[str, object] = dict.fromkeys(Sample._fields)
    values.update(time_s=0.0, nonce=nonce, kv_sync=(0, 0), commit=(0, 0), op_w_latency=(0, 0))
    values.update(bytes_written_wal=0, bytes_written_sst=0, db_used_bytes=10**9)
    return Sample(**values)  # type: ignore[arg-type]


def _more(latency: Optional[tuple[int, int]], operations: int, each_ms: float) -> tuple[int, int]:
    total_ns, count = latency or (0, 0)
    return total_ns + int(operations * each_ms * 1e6), count + operations


class Run(Simulation[RolloutState]):
    """One cluster with one manager at a time, over which rollouts run."""

    def __init__(
        self,
        cluster: Optional[FakeCluster] = None,
        why_unstartable: WhyUnstartable = lambda *_: None,
    ) -> None:
        super().__init__(cluster or FakeCluster())
        self.restarts_per_day = 0
        #: By how much the manager's clock is wrong.
        self.clock_offset_s = 0.0
        self.why_unstartable = why_unstartable
        self.clients = Clients(self.cluster)
        self.driver = self.new_driver()
        # A manager that has been active for a while.
        self.ticks(10)

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        return Driver(
            self.cluster,
            self.store,
            same_meaning,
            why_unstartable=self.why_unstartable,
            limits=limits,
        )

    def fail_over(self) -> None:
        """Another manager takes over: all that it knows is in the store."""
        self.driver = self.new_driver()
        self.driver.load()

    def allowed(self) -> Permission:
        return Permission(
            self.may_act,
            self.outside_window,
            self.restarts_per_day,
            self.no_reports_reason,
            has_sample=self.clients.has_sample,
        )

    def tick(self, seconds: float = TICK_S) -> None:
        # In mode off nothing is sampled.
        if self.may_act:
            self.driver.observed(
                self.clients.newest,
                self.cluster.now_s + self.clock_offset_s,
                lambda osd_ids: read_slow_events(self.cluster, osd_ids),
            )
        self.driver.tick(
            self.cluster.now_s + self.clock_offset_s, self.allowed(), self.cluster.now_s
        )
        self.cluster.advance(seconds)
        self.clients.write(seconds)

    @property
    def state(self) -> RolloutState:
        assert self.driver.state is not None
        return self.driver.state

    @property
    def running(self) -> list[str]:
        """What each OSD runs."""
        return [self.cluster.runs(n) for n in self.cluster.osds]

    def start(
        self, request: Optional[ChangeRequest] = None, soak: Optional[SoakPlan] = None
    ) -> RolloutState:
        return self.driver.start(request or set_profile(self.cluster), self.cluster.now_s, soak)

    def roll_back(self, name: Optional[str] = None) -> RolloutState:
        """An operator does, and waits for its end."""
        self.driver.rollback(name, 'client.ann', self.cluster.now_s)
        state = self.run_to_end()
        assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
        return state

    def ask_abort(self) -> str:
        """The reason that the answer gives."""
        state = self.driver.abort('client.ann', self.cluster.now_s)
        return (state.ending.reason if state.ending else state.failure) or ''


@pytest.fixture
def run() -> Run:
    return Run()


@pytest.fixture
def one_step_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that follow at once are seen one by one."""
    monkeypatch.setattr(driver, 'STEPS_PER_TICK', 1)


def refusing(text: str = 'no', code: int = 5) -> CommandError:
    return CommandError(code, text)


@contextmanager
def refused(code: int, text: str) -> Iterator[None]:
    """A request of an operator is, with this errno and text."""
    with pytest.raises(OperationRefused, match=text) as refusal:
        yield
    assert refusal.value.errno == code
