"""How busy the kv_sync threads are, and when waits for other threads indicate too few cores."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import ClusterMap
from rocksdb_tuner.observe.details import Details, WriteLatency
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.classifier import Classifier
from rocksdb_tuner.workload.pressure import KV_SYNC_BUSY, PRESSURE, measured, with_pressure
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from ..advise.builders import osd_info

SMALL = Workload(WorkloadClass.RBD_SMALL_WRITE, 0.9, ())
THREADS = 'Writes spend {} ms, {}% of their time, on the OSD threads that prepare them.'


def look(
    whole_ms: Optional[float] = 40.0,
    queue_ms: Optional[float] = 2.0,
    prepare_ms: Optional[float] = 1.0,
    hits: Optional[int] = 100,
    misses: Optional[int] = 0,
) -> Details:
    latency = WriteLatency(
        40.0, client_op_ms=whole_ms, osd_queue_ms=queue_ms, osd_prepare_ms=prepare_ms
    )
    return Details(0.0, latency, None, None, None, None, hits, misses)


def writing(kib: float = 4.0) -> Signals:
    return Signals(0, window_s=30.0, write_iops=100.0, write_bytes_per_s=100.0 * kib * 1024)


def busy() -> Signals:
    return writing()._replace(kv_sync_busy=0.6)


def reported(
    *samples: Details, signals: Optional[Signals] = None, does: Workload = SMALL
) -> list[str]:
    found = with_pressure(does, [signals or busy()], samples)
    return [e.statement for e in found.evidence if 'kv_sync' not in e.statement]


@pytest.mark.parametrize(
    ('samples', 'message'),
    [
        ([look()], [THREADS.format('3.0', 8)]),
        # The least of each.
        ([look(30.0, 1.3, 0.5)], [THREADS.format('1.8', 6)]),
        ([look(29.0, 1.29, 0.5)], []),
        ([look(30.0, 1.31, 0.49)], []),
        ([look(31.0, 1.3, 0.5)], []),
        # The mean of several, of those that report it.
        ([look(), look(20.0, 0.5, 0.5), look(None)], [THREADS.format('2.0', 6)]),
        ([look(), look(20.0, 0.1, 0.1)], []),
        ([look(whole_ms=None)], []),
        ([look(whole_ms=0.0)], []),
        ([look(queue_ms=None)], []),
        ([look(prepare_ms=None)], []),
        ([look(hits=None)], []),
        ([look(misses=None)], []),
        ([look()._replace(latency=None)], []),
        ([], []),
        ([look(hits=95, misses=5)], [THREADS.format('3.0', 8)]),
        (
            [look(hits=94, misses=6)],
            [THREADS.format('3.0', 8), '6% of onode lookups miss the cache.'],
        ),
    ],
)
def test_waits_for_threads_and_preparation_are_reported(
    samples: list[Details], message: list[str]
) -> None:
    """Long, and a good part of their time, and not in the queue alone."""
    assert reported(*samples) == message


def test_preparation_of_large_writes_takes_cpu() -> None:
    """So their preparation is not significant."""
    assert reported(look(), signals=writing(63.0)._replace(kv_sync_busy=0.6)) != []
    assert reported(look(), signals=writing(1024.0)._replace(kv_sync_busy=0.6)) == []


def test_thread_wait_is_unknown_without_clients_or_kv_sync() -> None:
    """Its work at that time limits no client."""
    assert reported(look(), does=SMALL._replace(workload_class=WorkloadClass.IDLE)) == []
    assert reported(look(), signals=writing()) == []


def test_thread_wait_of_writes_is_stored_with_the_group_workload() -> None:
    """Like the load of the kv_sync threads: at night it does not describe the day."""
    osd = osd_info(0)
    cluster_map = ClusterMap(1, frozenset(), 'pacific', (osd,), ())
    classifier = Classifier()
    for now_s in (0.0, 10.0):
        found = classifier.recognize(
            {0: busy()}, cluster_map, now_s, details={0: look()}.get
        ).per_group['ssd']
    assert {e.signal for e in found.evidence} & PRESSURE == {'kv_sync_busy', 'osd_thread_share'}


def test_thread_load_is_the_mean_of_reporting_osds() -> None:
    seen = [
        Signals(0, window_s=30.0, kv_sync_busy=0.2, kv_sync_ms=1.0),
        Signals(1, window_s=30.0, kv_sync_busy=0.6),
        Signals(2, window_s=30.0),
    ]
    found = with_pressure(SMALL, seen)
    assert [e.statement for e in found.evidence] == [
        'The kv_sync threads are 40% busy.',
        'A commit takes 1.00 ms.',
    ]
    assert with_pressure(SMALL, seen[2:]).evidence == ()
    idle = Workload(WorkloadClass.IDLE, 0.9, ())
    assert with_pressure(idle, seen) is idle
    assert measured(None, KV_SYNC_BUSY) is None
