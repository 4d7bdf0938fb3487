"""Conditions of metadata workloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Optional

from ...observe.details import Details
from ...observe.signals import Signals
from ...options.compression import NO_COMPRESSION
from ...workload.records import Workload
from ..facts import COMPACT_ON_DELETION, release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts
from .build import numbers_of
from .declaration import Condition, condition
from .facts import (
    ClusterFacts,
    Measured,
    compacts_on_deletion,
    effective_options,
    is_enabled,
    worst_of,
)
from .subjects import METADATA_WORK


@condition('uncompressed-metadata')
def uncompressed_metadata(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A metadata workload without compression."""
    measured = []
    for osd, workload in _with_metadata_work(cluster, condition):
        effective = effective_options(osd)
        if effective is not None and effective.get('compression') == NO_COMPRESSION:
            used_bytes = osd.signals.db_used_bytes if osd.signals else None
            evidence = partial(_uncompressed, workload, used_bytes)
            measured.append(Measured(used_bytes or 0, osd, evidence))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'{worst.names} keep metadata uncompressed', worst.ids, worst.evidence
        )


def _uncompressed(workload: Workload, used_bytes: Optional[int]) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('workload', workload.workload_class.value, 'class', None),
        FindingEvidence('compression', NO_COMPRESSION, 'option', None),
        FindingEvidence('db_used_bytes', used_bytes, 'bytes', None),
    )


def _with_metadata_work(
    cluster: ClusterFacts, condition: Condition
) -> Iterator[tuple[OsdFacts, Workload]]:
    confidence = condition.limit('confidence', cluster.limits)
    for osd in cluster.osds:
        workload = osd.workload
        if (
            workload is not None
            and workload.workload_class in METADATA_WORK
            and workload.confidence >= confidence
        ):
            yield osd, workload


@condition('slow-iterators')
def slow_iterators(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Slow iterator seeks, as with many tombstones."""
    usual_ms = condition.limit('seek_ms', cluster.limits)
    # Raising the one threshold also raises the other.
    rotational_ms = max(usual_ms, condition.limit('seek_rotational_ms', cluster.limits))
    seeks = condition.limit('seeks', cluster.limits)
    measured = []
    for osd in cluster.osds:
        details = osd.details
        if details is None or details.omap_seek_ms is None or details.omap_seeks is None:
            continue
        limit_ms = rotational_ms if osd.info.db_rotational else usual_ms
        if details.omap_seeks >= seeks and details.omap_seek_ms >= limit_ms:
            measured.append(Measured(details.omap_seek_ms, osd, partial(_seeks, details)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'RocksDB iterators of {worst.names} are slow, as after mass deletion',
            worst.ids,
            worst.evidence,
        )


def _seeks(details: Details) -> tuple[FindingEvidence, ...]:
    window_s = details.latency.window_s if details.latency else None
    return (
        FindingEvidence('omap_seek_ms', details.omap_seek_ms, 'ms', window_s),
        FindingEvidence('omap_seeks', details.omap_seeks, 'seeks', window_s),
    )


@condition('compact-on-deletion-off')
def compact_on_deletion_off(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A metadata workload without compaction on deletion, so that tombstones pile up."""
    by_need: dict[str, list[int]] = {}
    values = set()
    for osd, _ in _with_metadata_work(cluster, condition):
        release = release_of_osd(osd.info)
        if release is None or osd.settings is None:
            continue
        by_default = compacts_on_deletion(release)
        setting = osd.settings.get(COMPACT_ON_DELETION)
        if not (is_enabled(setting.value) if setting else by_default):
            by_need.setdefault(_before_compaction(osd, condition), []).append(osd.info.osd_id)
            values.add('set' if setting else 'default')
    for before, ids in by_need.items():
        yield condition.finding(
            f'{name_osds(ids)} do not compact after mass deletion',
            tuple(ids),
            (
                FindingEvidence(COMPACT_ON_DELETION, 'false', 'option', None),
                FindingEvidence('source', ', '.join(sorted(values)), 'config source', None),
            ),
            before=before,
        )


def _before_compaction(osd: OsdFacts, condition: Condition) -> str:
    """The first step: set the option, or make it apply to the whole database."""
    version = numbers_of(osd.info.version)
    added = _of_line(version, condition.values['added'])
    if added is not None and version < numbers_of(added):
        return f'Upgrade to at least {added}, which added the option. Then: '
    whole = _of_line(version, condition.values['whole_database'])
    if osd.sharded is False and whole is not None and version < numbers_of(whole):
        return (
            f'It does nothing for an OSD without column families before {whole}: upgrade, or '
            'reshard the OSD first. Then: '
        )
    if osd.sharded is False and version[:1] == numbers_of(added or '')[:1] and whole is None:
        return (
            'It does nothing for an OSD without column families on this release: reshard the OSD '
            'first. Then: '
        )
    return ''


def _of_line(version: tuple[int, ...], texts: Sequence[str]) -> Optional[str]:
    """The point release of the same major version."""
    return next((text for text in texts if numbers_of(text)[:1] == version[:1]), None)


@condition('hot-index-shard')
def hot_index_shard(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An OSD that writes far more metadata than other OSDs of the same pools."""
    busy = condition.limit('busy', cluster.limits)
    factor = condition.limit('times_median', cluster.limits)
    least_osds = condition.limit('least_osds', cluster.limits)
    by_class: dict[str, list[tuple[float, OsdFacts]]] = {}
    for osd, _ in _with_metadata_work(cluster, condition):
        rate = osd.signals.wal_bytes_per_s if osd.signals else None
        if rate is not None and osd.info.device_class is not None:
            by_class.setdefault(osd.info.device_class, []).append((rate, osd))
    for device_class, rates in by_class.items():
        if len(rates) < least_osds:
            continue
        usual = median(rate for rate, _ in rates)
        worst = worst_of(
            [
                Measured(rate, osd, partial(_hot, osd.signals, usual))
                for rate, osd in rates
                if usual > 0
                and rate >= factor * usual
                and osd.signals is not None
                and (osd.signals.kv_sync_busy or 0.0) >= busy
            ]
        )
        if worst:
            yield condition.finding(
                f'{worst.names} {"writes" if len(worst.ids) == 1 else "write"} at least {factor:g} '
                f'times as much metadata as other OSDs of class {device_class}',
                worst.ids,
                worst.evidence,
            )


def _hot(signals: Signals, usual: float) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('wal_bytes_per_s', signals.wal_bytes_per_s, 'bytes/s', window_s),
        FindingEvidence('median of the class', usual, 'bytes/s', window_s),
        FindingEvidence('kv_sync_busy', signals.kv_sync_busy, 'ratio', window_s),
    )
