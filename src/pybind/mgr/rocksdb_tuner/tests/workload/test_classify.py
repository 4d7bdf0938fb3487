"""Workloads from signals: what each class needs, its bounds, and unknown rather than a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap, PoolInfo
from rocksdb_tuner.observe.load_history import PoolRates
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.classify import Activity, activity, classify, writer_of
from rocksdb_tuner.workload.pools import PoolContext, Share, leading, pool_context
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass, thresholds

KNOWLEDGE = Path(__file__).parents[2] / 'knowledge'
RBD = PoolContext(frozenset({'rbd'}))
RGW = PoolContext(frozenset({'rgw'}))
RBD_AND_RGW = PoolContext(frozenset({'rbd', 'rgw'}))
CEPHFS = PoolContext(frozenset({'cephfs_metadata'}))
RBD_AND_CEPHFS = PoolContext(frozenset({'rbd', 'cephfs_metadata'}))
NONE = PoolContext()
ALL_KINDS = frozenset({'rbd', 'rgw', 'cephfs_metadata'})
SMALL, MIXED = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.MIXED
LIMITS = thresholds()


def signals(
    write_iops: float = 0.0,
    write_bytes: float = 4096.0,
    rw_iops: float = 0.0,
    rw_bytes: float = 0.0,
    read_iops: float = 0.0,
    read_bytes: float = 4096.0,
    recovery: float = 0.0,
) -> Signals:
    return Signals(
        osd_id=0,
        window_s=30.0,
        write_iops=write_iops,
        rw_iops=rw_iops,
        read_iops=read_iops,
        write_bytes_per_s=write_iops * write_bytes,
        rw_bytes_per_s=rw_iops * rw_bytes,
        read_bytes_per_s=read_iops * read_bytes,
        recovery_ops_per_s=recovery,
    )


def seen(pools: PoolContext, *osds: Signals) -> Workload:
    return classify(activity(osds), pools)


@pytest.mark.parametrize(
    ('osd', 'pools', 'expected'),
    [
        (signals(), RBD, 'idle'),
        (signals(write_iops=1.0, rw_iops=3.0, read_iops=6.0, read_bytes=20.0), RGW, 'idle'),
        (signals(write_iops=400.0), RBD, 'rbd-small-write'),
        (signals(write_iops=400.0, write_bytes=16384.0), RBD, 'rbd-small-write'),
        (signals(write_iops=400.0, rw_iops=4.0), RBD_AND_RGW, 'rbd-small-write'),
        (signals(write_iops=70.0, rw_iops=100.0), RGW, 'rgw-metadata'),
        (signals(write_iops=70.0, rw_iops=100.0), RBD_AND_RGW, 'rgw-metadata'),
        (signals(rw_iops=190.0, read_iops=70.0, read_bytes=900.0), RGW, 'rgw-metadata'),
        (signals(write_iops=200.0, write_bytes=0.0), RGW, 'rgw-metadata'),
        (signals(write_iops=2.7, write_bytes=4e6, rw_iops=12.0), RGW, 'large-write'),
        (signals(write_iops=50.0, write_bytes=4e6), RBD, 'large-write'),
        (signals(rw_iops=60.0, rw_bytes=8e5, read_iops=20.0), RGW, 'large-write'),
        (signals(rw_iops=60.0, rw_bytes=2e3, read_iops=20.0), RGW, 'rgw-metadata'),
        (signals(read_iops=900.0), RBD, 'read-mostly'),
        (signals(read_iops=40.0, read_bytes=25000.0, rw_iops=2.0), RGW, 'read-mostly'),
        (signals(write_iops=100.0, read_iops=180.0), RBD, 'mixed'),
        (signals(write_iops=100.0, write_bytes=40000.0), RBD, 'mixed'),
        (signals(write_iops=800.0, write_bytes=13000.0), CEPHFS, 'cephfs-metadata'),
        (signals(write_iops=200.0, write_bytes=0.0), CEPHFS, 'cephfs-metadata'),
        (signals(recovery=20.0), RBD, 'recovery'),
        (signals(write_iops=10.0, recovery=20.0), RBD, 'recovery'),
        (signals(write_iops=400.0), RBD_AND_CEPHFS, 'unknown'),
        (signals(write_iops=400.0), NONE, 'unknown'),
        (signals(write_iops=70.0, rw_iops=100.0), RBD, 'unknown'),
        (signals(write_iops=70.0, rw_iops=100.0), CEPHFS, 'unknown'),
        (signals(write_iops=20.0, write_bytes=1e6, read_iops=900.0), RBD, 'mixed'),
        (signals(write_iops=200.0, write_bytes=0.0), RBD, 'unknown'),
    ],
)
def test_each_class_by_its_signals(osd: Signals, pools: PoolContext, expected: str) -> None:
    workload = seen(pools, osd)
    assert workload.workload_class.value == expected
    assert (workload.confidence == 0.0) == (expected == 'unknown')


@given(
    st.lists(
        st.builds(
            signals,
            write_iops=st.floats(0, 1e6),
            write_bytes=st.floats(0, 1e8),
            rw_iops=st.floats(0, 1e6),
            rw_bytes=st.floats(0, 1e7),
            read_iops=st.floats(0, 1e6),
            read_bytes=st.floats(0, 1e8),
            recovery=st.floats(0, 1e6),
        )
        | st.just(Signals(osd_id=1)),
        max_size=5,
    ),
    st.builds(
        PoolContext,
        st.frozensets(st.sampled_from(sorted(ALL_KINDS))),
        st.none()
        | st.dictionaries(
            st.sampled_from(['rbd', 'rgw', 'cephfs_metadata', 'cephfs_data', 'other']),
            st.builds(Share, st.floats(0, 1), st.floats(0, 1)),
        ),
    ),
)
def test_any_signals_give_a_class_with_an_honest_confidence(
    osds: list[Signals], pools: PoolContext
) -> None:
    workload = seen(pools, *osds)
    assert 0.0 <= workload.confidence <= 0.95
    unknown = workload.workload_class is WorkloadClass.UNKNOWN
    assert unknown == (workload.confidence == 0.0)


# -- the bounds of each class

#: 4 KiB writes of block devices, beyond all that is needed to be sure.
BUSY = Activity(
    osds=2,
    window_s=30.0,
    writes_per_s=1000.0,
    class_calls_per_s=0.0,
    reads_per_s=0.0,
    write_bytes_per_s=1000 * 4096.0,
    class_call_bytes_per_s=0.0,
    read_bytes_per_s=0.0,
    recovery_per_s=0.0,
)


def doing(**changes: float) -> Activity:
    return BUSY._replace(**changes)  # type: ignore[arg-type]


def sized(mean_bytes: float) -> dict[str, float]:
    return {'write_bytes_per_s': 1000 * mean_bytes}


NOISE_OPS, NOISE_BYTES = LIMITS.noise_ops_per_s * 2, LIMITS.noise_bytes_per_s * 2
NOISE = {'writes_per_s': NOISE_OPS, 'write_bytes_per_s': NOISE_BYTES}
RECOVERED = LIMITS.recovery_ops_share * 1000
READS = 1000 * LIMITS.read_share / (1 - LIMITS.read_share)
CALLS = 1000 * LIMITS.class_call_share / (1 - LIMITS.class_call_share)
LARGE = {'writes_per_s': 10.0, 'write_bytes_per_s': 10 * 1e6, 'reads_per_s': 2.0}


def rare(noise_bytes: float) -> dict[str, float]:
    """Megabytes at a time, beside class calls."""
    return {
        'writes_per_s': noise_bytes / 1e6,
        'write_bytes_per_s': noise_bytes,
        'class_calls_per_s': 500.0,
    }


@pytest.mark.parametrize(
    ('changes', 'pools', 'expected'),
    [
        # Idle is at most the background noise per OSD, in operations and in bytes.
        (NOISE, RBD, 'idle'),
        ({**NOISE, 'writes_per_s': NOISE_OPS * 1.01}, RBD, 'rbd-small-write'),
        ({**NOISE, 'write_bytes_per_s': NOISE_BYTES * 1.01}, RBD, 'rbd-small-write'),
        # Recovery has its share of the clients' changes: class calls are some, reads are not.
        ({'recovery_per_s': RECOVERED}, RBD, 'recovery'),
        ({'recovery_per_s': RECOVERED * 0.99}, RBD, 'rbd-small-write'),
        ({'recovery_per_s': RECOVERED, 'class_calls_per_s': 10.0}, RBD, 'rbd-small-write'),
        ({'recovery_per_s': RECOVERED, 'reads_per_s': 100.0}, RBD, 'recovery'),
        ({'reads_per_s': READS * 1.001}, RBD, 'read-mostly'),
        ({'reads_per_s': READS * 0.999}, RBD, 'mixed'),
        # Small and large depend on the mean write.
        (sized(LIMITS.small_write_bytes), RBD, 'rbd-small-write'),
        (sized(LIMITS.small_write_bytes + 1), RBD, 'mixed'),
        # A metadata server writes its journal in pieces of any size.
        (sized(LIMITS.small_write_bytes + 1), CEPHFS, 'cephfs-metadata'),
        (sized(LIMITS.large_write_bytes - 1), RBD, 'mixed'),
        (sized(LIMITS.large_write_bytes), RBD, 'large-write'),
        (sized(1.0), RBD, 'rbd-small-write'),
        # Less than a byte each: they set keys, and the pool of these is unknown.
        (sized(0.9), RBD, 'unknown'),
        # Few large writes beside more read bytes, or beside class calls, do not decide.
        ({**LARGE, 'read_bytes_per_s': 10e6}, RBD, 'large-write'),
        ({**LARGE, 'read_bytes_per_s': 10e6 + 1}, RBD, 'mixed'),
        (rare(NOISE_BYTES), RGW, 'rgw-metadata'),
        (rare(NOISE_BYTES * 1.01), RGW, 'large-write'),
        ({'class_calls_per_s': CALLS * 1.001}, RBD_AND_RGW, 'rgw-metadata'),
        ({'class_calls_per_s': CALLS * 0.999}, RBD_AND_RGW, 'rbd-small-write'),
    ],
)
def test_each_class_ends_at_its_threshold(
    changes: dict[str, float], pools: PoolContext, expected: str
) -> None:
    assert classify(doing(**changes), pools).workload_class.value == expected


# -- pools


def reported(seen: Activity, **shares: float) -> Workload:
    kinds = {kind: Share(share, share) for kind, share in shares.items()}
    return classify(seen, PoolContext(ALL_KINDS, kinds, leading(kinds)))


def test_pool_type_leads_with_its_dominant_share() -> None:
    dominant = LIMITS.dominant_kind_share
    enough = reported(BUSY, rbd=dominant, rgw=1 - dominant)
    assert enough.workload_class is WorkloadClass.RBD_SMALL_WRITE
    assert enough.confidence == pytest.approx(0.75)
    short = reported(BUSY, rbd=dominant - 0.01, rgw=1.01 - dominant)
    assert short.workload_class is WorkloadClass.MIXED
    # The leader gets weaker: mixed becomes more certain.
    assert short.confidence == pytest.approx(0.75 + 0.01 * 1.5)


def test_journal_belongs_to_cephfs_only_with_most_of_the_written_bytes() -> None:
    large = doing(write_bytes_per_s=1000 * 1e6)
    dominant = LIMITS.dominant_kind_share
    journal = reported(large, cephfs_metadata=dominant, rbd=1 - dominant)
    assert journal.workload_class is WorkloadClass.CEPHFS_METADATA
    assert journal.confidence == pytest.approx(0.75)
    assert journal.evidence[0].statement.startswith(f'{100 * dominant:.0f}% of the written bytes')
    less = reported(large, cephfs_metadata=dominant - 0.01, rbd=1.01 - dominant)
    assert less.workload_class is WorkloadClass.LARGE_WRITE


def pool(pool_id: int, *applications: str, metadata: bool = False, classes: str = '') -> PoolInfo:
    of = tuple(filter(None, [classes]))
    name = f'pool{pool_id}'
    return PoolInfo(pool_id, name, applications, 3, 2, of, cephfs_metadata=metadata, crush_rule=0)


def shares(
    changes_per_s: float, *pools: PoolInfo, **rates: tuple[float, float]
) -> Optional[dict[str, Share]]:
    """Pools with so many writes and bytes per second, by ``p`` and their id."""
    cluster_map = ClusterMap(1, frozenset(), None, (), pools)
    known = {int(name[1:]): PoolRates(0.0, 0.0, *rate) for name, rate in rates.items()}
    found = pool_context(cluster_map, 'ssd', known, changes_per_s).shares
    return None if found is None else dict(found)


def test_backtraces_count_with_the_work_of_the_metadata_pool() -> None:
    """Attributes in the pool of the data: less than half a KiB on average."""
    files, metadata = pool(1, 'cephfs'), pool(2, 'cephfs', metadata=True)
    blocks = pool(3, 'rbd')
    found = shares(
        200.0, files, metadata, blocks, p1=(50.0, 50 * 511.0), p2=(50.0, 1e6), p3=(100.0, 1e6)
    )
    assert found is not None
    assert found['cephfs_metadata'].changes == pytest.approx(0.5)
    alone = shares(150.0, files, blocks, p1=(50.0, 50 * 511.0), p3=(100.0, 1e6))
    assert alone is not None
    assert alone['cephfs_metadata'].changes == pytest.approx(1 / 3)
    assert alone['cephfs_metadata'].write_bytes == 0.0
    data = shares(150.0, files, blocks, p1=(50.0, 50 * 512.0), p3=(100.0, 1e6))
    assert data is not None
    assert data['cephfs_data'].changes == pytest.approx(1 / 3)


def test_rest_of_the_operations_belongs_to_the_gateway() -> None:
    """A put is three operations of fifteen parts; 165 puts and 500 block writes per second."""
    pools = pool(1, 'rbd'), pool(2, 'rgw')
    found = shares(995.0, *pools, p1=(500.0, 0.0), p2=(15 * 165.0, 0.0))
    assert found is not None
    assert found['rbd'].changes == pytest.approx(500 / 995)


def test_pool_statistics_must_cover_half_of_the_changes() -> None:
    assert shares(100.0, pool(1, 'mgr'), p1=(100.0, 0.0)) is None
    assert shares(100.0, pool(1, 'rbd'), p1=(50.0, 0.0)) == {'rbd': Share(1.0, 0.0)}
    assert shares(100.0, pool(1, 'rbd'), p1=(49.9, 0.0)) is None
    assert shares(0.0, pool(1, 'rbd'), p1=(0.0, 0.0)) is None


def test_pool_with_a_rule_of_another_class_does_not_count() -> None:
    def pool(name: str, application: str, *classes: str) -> PoolInfo:
        return PoolInfo(1, name, (application,), 3, 2, classes, cephfs_metadata=False, crush_rule=0)

    cluster_map = ClusterMap(1, frozenset(), None, (), (pool('a', 'rbd', 'hdd'), pool('b', 'rgw')))
    assert pool_context(cluster_map, 'ssd', {}, 0.0) == RGW
    assert pool_context(cluster_map, 'hdd', {}, 0.0) == RBD_AND_RGW


@pytest.mark.parametrize(
    ('osd', 'shares', 'expected'),
    [
        (signals(write_iops=400.0), {'rbd': 0.9, 'cephfs_metadata': 0.1}, 'rbd-small-write'),
        (signals(write_iops=400.0), {'rbd': 0.1, 'cephfs_metadata': 0.9}, 'cephfs-metadata'),
        (signals(write_iops=400.0, write_bytes=0.0), {'rgw': 1.0}, 'rgw-metadata'),
        (signals(write_iops=400.0, write_bytes=0.0), {'other': 1.0}, 'unknown'),
        (signals(write_iops=400.0), {'other': 0.8, 'rbd': 0.2}, 'unknown'),
        (signals(write_iops=100.0, rw_iops=60.0), {'rbd': 0.4, 'rgw': 0.6}, 'mixed'),
        (signals(write_iops=100.0, rw_iops=60.0), {'rbd': 0.1, 'rgw': 0.9}, 'rgw-metadata'),
        (signals(write_iops=50.0, write_bytes=4e5), {'cephfs_metadata': 1.0}, 'cephfs-metadata'),
        (signals(write_iops=50.0, write_bytes=4e5), {'rbd': 1.0}, 'large-write'),
        (signals(read_iops=900.0, write_iops=9.0), {'rbd': 0.5, 'rgw': 0.5}, 'read-mostly'),
    ],
)
def test_pool_statistics_identify_the_client(
    osd: Signals, shares: dict[str, float], expected: str
) -> None:
    """Pools of all kinds exist; their applications alone prove nothing."""
    reported = {kind: Share(share, share) for kind, share in shares.items()}
    pools = PoolContext(ALL_KINDS, reported, leading(reported))
    workload = seen(pools, osd)
    assert workload.workload_class.value == expected
    if expected not in {'read-mostly', 'large-write'}:
        assert 'pools' in {e.signal for e in workload.evidence}


# -- how sure


def test_few_operations_are_less_certain_unless_they_carry_many_bytes() -> None:
    full = LIMITS.full_confidence_ops_per_s * 2

    def at(share: float, mean: float = 4096.0) -> float:
        writes = full * share
        return classify(doing(writes_per_s=writes, write_bytes_per_s=writes * mean), RBD).confidence

    assert at(1.0) == pytest.approx(0.95)
    bytes_of_half = full * 0.5 * 4096 / 2 / (16 * LIMITS.noise_bytes_per_s)
    assert at(0.5) == pytest.approx(0.95 * (0.7 + 0.3 * max(0.5, bytes_of_half)), abs=0.001)
    few = 10.0
    written = 2 * 8 * LIMITS.noise_bytes_per_s
    large = classify(doing(writes_per_s=few, write_bytes_per_s=written), RBD)
    by_operations = few / full
    assert large.confidence == pytest.approx(
        0.95 * (0.7 + 0.3 * max(0.5, by_operations)), abs=0.001
    )


@pytest.mark.parametrize(
    'lacks',
    [
        *('window_s', 'write_iops', 'read_iops', 'rw_iops'),
        *('write_bytes_per_s', 'rw_bytes_per_s', 'read_bytes_per_s'),
    ],
)
def test_osd_with_an_unknown_value_does_not_count(lacks: str) -> None:
    whole = signals(write_iops=1.0)
    lacking: Any = whole._replace(**{lacks: None})  # type: ignore[arg-type]
    assert activity([lacking]) is None
    both = activity([lacking, whole])
    assert both is not None
    assert both.osds == 1


# -- the writer of a mixture


def writing(writes: float, reads: float, size_kib: float = 4) -> Activity:
    return Activity(1, 30.0, writes, 0.0, reads, writes * size_kib * 1024, 0.0, reads * 4096.0, 0.0)


def writer(seen: Activity, pools: PoolContext) -> tuple[WorkloadClass, Optional[WorkloadClass]]:
    workload = classify(seen, pools)
    found = writer_of(workload)
    if found is not None:
        assert found.confidence >= 0.7
    return workload.workload_class, found and found.workload_class


@pytest.mark.parametrize('reads', [50, 70])
def test_reads_do_not_hide_the_writer_of_block_devices(reads: int) -> None:
    assert writer(writing(1000 - 10 * reads, 10 * reads), RBD) == (MIXED, SMALL)


@pytest.mark.parametrize('size_kib', [20, 32, 63])
def test_writes_neither_small_nor_large_have_a_writer(size_kib: int) -> None:
    assert writer(writing(1000, 10, size_kib), RBD) == (MIXED, SMALL)


def test_large_writes_are_no_metadata() -> None:
    assert writer(writing(200, 900, 128), RBD)[1] is None


def test_few_writes_among_reads_have_no_writer() -> None:
    assert writer(writing(12, 900), RBD)[1] is None
    assert writer(writing(13, 900), RBD)[1] is SMALL


@pytest.mark.parametrize(('share', 'who'), [(0.55, SMALL), (0.49, None)])
def test_client_type_with_most_changes_is_the_writer(
    share: float, who: Optional[WorkloadClass]
) -> None:
    shares = {
        'rbd': Share(share, share),
        'rgw': Share(0.3, 0.3),
        'other': Share(0.7 - share, 0.0),
    }
    both = PoolContext(frozenset({'rbd', 'rgw'}), shares, leading(shares))
    assert writer(writing(1000, 10), both)[1] is who


def test_doubtful_mixture_makes_its_writer_doubtful() -> None:
    found = classify(writing(500, 500), RBD)
    doubted = writer_of(found._replace(confidence=0.35))
    assert doubted is not None
    assert doubted.confidence == 0.35


def test_writer_unknown_to_this_version_is_none() -> None:
    odd = Workload(MIXED, 0.7, (Evidence('writer:tape', 0.9, 'confidence', 30.0, 'x'),))
    assert writer_of(odd) is None
    assert writer_of(None) is None


def test_thresholds_file_matches_its_schema_and_is_complete() -> None:
    document = json.loads((KNOWLEDGE / 'workload.json').read_text())
    schema = json.loads((KNOWLEDGE / 'schemas' / 'workload.schema.json').read_text())
    jsonschema.validate(document, schema)
    assert thresholds().small_write_bytes < thresholds().large_write_bytes
