"""Cache misses: reported if memory is exhausted, not reported if too little is known."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.records import OsdFacts, Severity
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details

from .builders import GIB, found, seen

TARGET = 4 * GIB


def looked_at(
    mapped: Optional[int] = TARGET, target: Optional[int] = TARGET, **more: Any
) -> Details:
    return Details(0.0, None, None, None, mapped, target, window_s=80.0, **more)


def onodes(hits: Optional[int], misses: Optional[int], **memory: Any) -> OsdFacts:
    return seen(more={'details': looked_at(onode_hits=hits, onode_misses=misses, **memory)})


@pytest.mark.parametrize(
    ('osd', 'fires'),
    [
        (onodes(499, 501), True),
        (onodes(500, 500), False),
        (onodes(0, 1000), True),
        # Too few.
        (onodes(0, 999), False),
        (onodes(0, 0), False),
        (onodes(None, 9000), False),
        (onodes(0, None), False),
        # The caches still grow.
        (onodes(0, 9000, mapped=int(0.84 * TARGET)), False),
        (onodes(0, 9000, mapped=int(0.86 * TARGET)), True),
        (onodes(0, 9000, mapped=None), False),
        (onodes(0, 9000, target=None), False),
        (seen(), False),
    ],
)
def test_onode_reads_from_rocksdb_are_informational(osd: OsdFacts, fires: bool) -> None:
    finding = found(osd).get('onode-cache-misses')
    assert (finding is not None) is fires
    if finding is not None:
        assert finding.severity is Severity.INFO
        share = finding.evidence[0]
        assert (share.unit, share.window_s) == ('ratio', 80.0)


def blocks(hits: Optional[int], misses: Optional[int], details: Optional[Details]) -> OsdFacts:
    times = RocksdbTimes(300.0, None, None, None, hits, misses)
    return seen(more={'rocksdb_times': times, 'details': details})


@pytest.mark.parametrize(
    ('osd', 'fires'),
    [
        (blocks(299, 701, looked_at()), True),
        (blocks(300, 700, looked_at()), False),
        (blocks(0, 999, looked_at()), False),
        (blocks(None, 9000, looked_at()), False),
        (blocks(0, None, looked_at()), False),
        (blocks(0, 9000, None), False),
        (blocks(0, 9000, looked_at(mapped=GIB)), False),
        (seen(more={'details': looked_at()}), False),
    ],
)
def test_block_reads_from_the_device_are_informational(osd: OsdFacts, fires: bool) -> None:
    finding = found(osd).get('kv-cache-misses')
    assert (finding is not None) is fires
    if finding is not None:
        assert finding.severity is Severity.INFO
        assert finding.evidence[0].window_s == 300.0


def test_osd_with_the_fewest_hits_comes_first() -> None:
    worse = onodes(10, 9000)._replace(info=seen(7).info)
    assert found(onodes(400, 9000), worse)['onode-cache-misses'].osds == (7, 0)


@pytest.mark.parametrize(('fallbacks', 'fires'), [(1, True), (0, False), (None, False)])
def test_small_bluefs_allocations_are_informational(fallbacks: Optional[int], fires: bool) -> None:
    details = looked_at(bluefs_fallbacks=fallbacks, fragmentation=0.7)
    finding = found(seen(more={'details': details})).get('bluefs-small-units')
    assert (finding is not None) is fires
    if finding is not None:
        assert [e.value for e in finding.evidence] == [1, 0.7]
        assert finding.severity is Severity.INFO
