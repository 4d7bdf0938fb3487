"""Conditions of memtable memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Optional

from ...options.memtables import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    bound_bytes,
    full_bytes,
    left_of_target,
)
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from .declaration import Condition, ModuleOption, Threshold, condition
from .facts import ClusterFacts, RunningString
from .subjects import Subject


@condition(
    'memtables-exceed-memory',
    title='Memtables may take more memory than the OSD has',
    severity=Severity.INFO,
    needs=Subject.CHOSEN_STRING,
    thresholds={
        'share_of_target': Threshold(
            1.0,
            'share of what osd_memory_target leaves',
            (
                'beyond it nothing is left for the caches: 768 MiB (osd_memory_base) and 128 '
                'MiB (osd_memory_cache_min) of the target are reserved'
            ),
            source=(
                'src/common/options/osd.yaml.in; ceph/ceph#22970; up to 15% above the target '
                'is normal'
            ),
            option=ModuleOption('memtable_memory_limit', 0.1, 10.0),
        ),
    },
    remedy=(
        'Set max_total_wal_size=1073741824, which also limits memtables, or lower '
        'write_buffer_size and max_write_buffer_number: "ceph rocksdb-tuner recommend" has the '
        'commands.'
    ),
    commands=('ceph rocksdb-tuner recommend',),
    do_not='Do not lower osd_memory_target: that only shrinks the caches.',
    source=(
        'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022: buffers are per column family; '
        'ceph/ceph#22970: memory autotuning does not cover memtables'
    ),
    tests=(
        'tests/advise/conditions/test_options.py',
        'qa/tests/integration/test_conditions.py',
    ),
)
def memtables_exceed_memory(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Memtables of a configured string that may exceed their share of osd_memory_target."""
    share = condition.limit('share_of_target', cluster.limits)
    for running in cluster.chosen_strings:
        over = [o for o in _with_memory(running) if o.bound > share * left_of_target(o.target)]
        over = [o for o in over if o.bound > DEFAULT_BOUND_BYTES]
        if over:
            ids = tuple(o.osd.info.osd_id for o in over)
            yield condition.finding(
                f'memtables of {name_osds(ids)} may take more memory than the OSD has',
                ids,
                _memory(over[0]),
            )


@condition(
    'memory-target-small',
    title='osd_memory_target is too small for the memtables of any release',
    severity=Severity.INFO,
    needs=Subject.SMALL_MEMORY_TARGET,
    remedy=(
        'If the host has the memory, exclude each of these OSDs from autotuning and set '
        'osd_memory_target to 4 GiB, its default: {command}. cephadm with '
        'osd_memory_target_autotune sets it for "osd/host:<host>", which wins over "osd", and '
        'removes the entry of an OSD that it tunes. Otherwise "ceph rocksdb-tuner profile derive '
        '--osd {osd}" prints options with smaller memtables.'
    ),
    commands=(
        'ceph config set osd.{osd} osd_memory_target_autotune false',
        'ceph config set osd.{osd} osd_memory_target 4294967296',
    ),
    stops_osds=False,
    source=(
        'Ceph documentation, Hardware Recommendations, Memory, and OSD Service, Automatically '
        'tuning OSD memory; ceph/ceph#22970: memory autotuning does not cover memtables'
    ),
    tests=('tests/advise/conditions/test_options.py',),
)
def memory_target_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An osd_memory_target that is too small for the memtables of any default."""
    small = [
        o
        for running in cluster.strings
        for o in _with_memory(running)
        if left_of_target(o.target) < o.bound <= DEFAULT_BOUND_BYTES
    ]
    if small:
        ids = tuple(sorted(o.osd.info.osd_id for o in small))
        least = min(small, key=lambda o: (o.target, o.osd.info.osd_id))
        yield condition.finding(
            f'osd_memory_target of {name_osds(ids)} leaves too little for memtables',
            ids,
            _memory(least),
        )


class _OfMemory(NamedTuple):
    """An OSD with the bound of its memtables and its memory target."""

    osd: OsdFacts
    bound: int
    target: int
    mapped: Optional[int]


def _with_memory(running: RunningString) -> Iterator[_OfMemory]:
    checked = running.checked
    if checked is None or not checked.accepted:
        return
    one = full_bytes(checked.effective)
    for osd in running.osds:
        details = osd.details
        if details is not None and details.memory_target_bytes is not None:
            number = 1 if osd.sharded is False else DEFAULT_FAMILIES
            bound = bound_bytes(checked.effective, number * one, number)
            yield _OfMemory(osd, bound, details.memory_target_bytes, details.memory_mapped_bytes)


def _memory(of: _OfMemory) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('memtables', of.bound, 'bytes', None),
        FindingEvidence('osd_memory_target', of.target, 'bytes', None),
        FindingEvidence('memory_mapped', of.mapped, 'bytes', None),
    )
