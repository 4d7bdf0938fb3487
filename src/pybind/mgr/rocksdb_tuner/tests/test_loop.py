"""The serve loop with real threads: who reads does not stop it, and who changes is answered."""

from __future__ import annotations

import errno
import gc
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import pytest

from rocksdb_tuner import Module, requests
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.sample import names_for
from rocksdb_tuner.requests import BusyError, Requests
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.tuner import Tuner

from .fake_cluster import FakeCluster, FakeStore
from .query_command import ask
from .test_tuner import World

READERS = 8


class Served:
    """The module in its loop, over a cluster in memory; time is real."""

    def __init__(self, osds: int, interval_s: float) -> None:
        self.cluster = FakeCluster(osds)
        self.settings = Settings(sample_interval_s=interval_s)
        # Any: the double shows what the real mgr keeps to itself.
        self.module: Any = Module('rocksdb_tuner', '', '')
        self.tuner = self.module._tuner = Tuner(
            self.cluster,
            FakeStore(),
            lambda: self.settings,
            manager_version='16.2.15',
            manager_release='pacific',
        )
        self.tuner.requests.wake = self.module._wake.set
        self.ticks = 0
        tick = self.tuner.tick

        def counted() -> None:
            self.ticks += 1
            self.report()
            tick()

        self.tuner.tick = counted  # type: ignore[method-assign]

    def report(self) -> None:
        names = names_for('pacific')
        for osd_id in self.cluster.osds:
            for path in names:
                if path is not None:
                    point = CounterPoint(time.time(), self.ticks, self.ticks)
                    self.cluster.counters[osd_id, path] = point

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self.module.serve)
        thread.start()
        try:
            wait_for(lambda: self.tuner.published.inputs is not None)
            yield
        finally:
            self.module.shutdown()
            thread.join(20)
        assert not thread.is_alive()


def wait_for(condition: Callable[[], object], within_s: float = 20.0) -> None:
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


@contextmanager
def closed_loop(work: Callable[[], object], threads: int = READERS) -> Iterator[list[int]]:
    """As many threads, each of which repeats its request; the number of answers of each."""
    stop = threading.Event()
    answered = [0] * threads

    def loop(number: int) -> None:
        while not stop.is_set():
            work()
            answered[number] += 1

    started = [threading.Thread(target=loop, args=(n,)) for n in range(threads)]
    for thread in started:
        thread.start()
    try:
        yield answered
    finally:
        stop.set()
        for thread in started:
            thread.join(30)


def test_garbage_collections_leave_out_what_was_loaded() -> None:
    """They would walk it in a tick, for tens of milliseconds."""
    gc.unfreeze()
    try:
        with Served(osds=3, interval_s=3600.0).running():
            assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice a second, however long it takes."""
    monkeypatch.setattr('rocksdb_tuner.sampler.choose_interval', lambda *_: 0.5)


@pytest.mark.usefixtures('fast')
def test_slow_report_readers_block_neither_ticks_nor_changes() -> None:
    served = Served(osds=150, interval_s=0.5)
    with served.running():

        def read() -> None:
            assert ask(served.module, 'report').retval == 0
            assert ask(served.module, 'growth', '0').retval == 0

        with closed_loop(read) as answered:
            wait_for(lambda: min(answered) >= 1)
            before, started_s = served.ticks, time.monotonic()
            asked = 0
            while time.monotonic() < started_s + 5:
                asked_s = time.monotonic()
                result = ask(served.module, 'operation_pause')
                assert result.retval == -errno.ENOENT, result.stderr
                assert time.monotonic() - asked_s < 5
                asked += 1
            assert asked >= 2
            assert served.ticks - before >= 3
            read_before = list(answered)
            wait_for(lambda: all(a > b for a, b in zip(answered, read_before)))


def test_change_costs_no_tick() -> None:
    served = Served(osds=3, interval_s=3600.0)
    with served.running():
        before = served.ticks
        for _ in range(50):
            assert ask(served.module, 'operation_pause').retval == -errno.ENOENT
        assert served.ticks == before


def test_mode_change_is_noticed_at_once_without_endless_ticks() -> None:
    served = Served(osds=3, interval_s=3600.0)
    with served.running():
        before, started_s = served.ticks, time.monotonic()
        with closed_loop(lambda: ask(served.module, 'mode', 'recommend')):
            wait_for(lambda: served.ticks >= before + 3)
            spent_s = time.monotonic() - started_s
            assert served.ticks - before <= spent_s + 2


def test_number_of_waiting_changes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, 'TIMEOUT_S', 1.0)
    assert BusyError.errno == errno.EAGAIN
    handed_in = Requests()
    refused: list[str] = []

    def submit() -> None:
        try:
            handed_in.submit(lambda: None)
        except BusyError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=submit) for _ in range(requests.WAITING_MAX + 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum('64 requests are already waiting; nothing was done' in text for text in refused) == 3
    assert sum('waiting for a monitor; nothing was done' in text for text in refused) == 64
    # A canceled change is not executed, and frees its slot.
    assert handed_in.take() == 0
    threading.Thread(target=submit).start()
    wait_for(lambda: handed_in.take() == 1)


def test_bounded_number_is_processed_at_once_and_the_rest_wakes_the_loop() -> None:
    handed_in = Requests()
    woken = threading.Event()
    count = requests.BATCH_MAX + 2
    threads = [
        threading.Thread(target=lambda: handed_in.submit(lambda: None)) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    wait_for(lambda: handed_in._waiting.qsize() == count)
    handed_in.wake = woken.set
    assert handed_in.take() == requests.BATCH_MAX
    assert woken.is_set()
    assert handed_in.take() == 2
    for thread in threads:
        thread.join(20)


def test_caller_reads_its_own_change() -> None:
    """`apply` was answered a moment before `operation status` knew of the rollout."""
    world = World()
    world.recommended_for_rbd()
    (recommendation, *_) = world.tuner.snapshot.recommendations
    read: list[object] = []

    def operator() -> None:
        world.tuner.submit(lambda: world.tuner.operations.start(recommendation, 'client.admin'))
        read.append(world.tuner.snapshot.rollout)

    thread = threading.Thread(target=operator)
    thread.start()
    # No more of the loop than this: what it does afterwards may come too late.
    wait_for(lambda: world.tuner.requests.take() == 1)
    thread.join(20)
    assert read == [world.tuner.operations.driver.state]
    assert read != [None]


def test_published_snapshot_is_immutable() -> None:
    """Writing a report takes time."""
    world = World()
    world.load_ops_per_s = 500
    world.run(60)
    published = world.tuner.published
    before = report(world.tuner.collection(published), anonymous=False)
    world.run(400)
    assert report(world.tuner.collection(published), anonymous=False) == before
    assert report(world.tuner.collection(), anonymous=False) != before
    json.loads(before)


@pytest.mark.usefixtures('fast')
@pytest.mark.parametrize('broken', ['health_checks', 'metrics', 'tick'])
def test_no_exception_ends_the_loop(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError('planted')

    monkeypatch.setattr('rocksdb_tuner.module.ERROR_PAUSE_S', 0.2)
    served = Served(osds=3, interval_s=0.5)
    names = {'health_checks': 'health checks', 'metrics': 'metrics', 'tick': 'tick'}
    with served.running():
        if broken == 'health_checks':
            monkeypatch.setattr('rocksdb_tuner.module.health_checks', fail)
        elif broken == 'metrics':
            monkeypatch.setattr(served.module._metrics, 'follow', fail)
        else:
            served.tuner.tick = fail  # type: ignore[method-assign]

        def reported() -> bool:
            check = served.module.health_checks.get('ROCKSDB_TUNER_STEP_FAILED')
            return check is not None and names[broken] in str(check['detail'])

        wait_for(reported)
        assert ask(served.module, 'operation_pause').retval == -errno.ENOENT
        monkeypatch.undo()
        if broken != 'tick':
            wait_for(lambda: 'ROCKSDB_TUNER_STEP_FAILED' not in served.module.health_checks)
