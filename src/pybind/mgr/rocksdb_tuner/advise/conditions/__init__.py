"""Conditions that an expert would point out: one function and one data entry each. Pure.

A condition says nothing where a signal that it needs is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Mapping, NamedTuple, Optional

from ..records import Finding, OsdFacts, Severity
from . import build, caches, device, load, options, settings, starts
from .catalogue import condition
from .facts import ClusterFacts, ConditionFunction
from .subjects import Least, Subject, least_of, subjects_of_the_present, subjects_of_the_setup

__all__ = ['OF_THE_PRESENT', 'OF_THE_SETUP', 'ClusterFacts', 'SetupFindings', 'findings']

_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: By the id of the data entry: conditions of what OSDs are, and of what is set for them.
OF_THE_SETUP: Mapping[str, ConditionFunction] = {
    'unstartable-options': options.unstartable_options,
    'unjudged-options': options.unjudged_options,
    'options-outside-config-store': options.options_outside_config_store,
    'class-entry-without-effect': options.class_entry_without_effect,
    'different-options': options.different_options,
    'own-entry-shadows': options.own_entry_shadows,
    'redundant-override': options.redundant_override,
    'superseded-options': options.superseded_options,
    'published-options': options.published_options,
    'dangerous-options': options.dangerous_options,
    'unlimited-wal': options.unlimited_wal,
    'too-many-compactions': options.too_many_compactions,
    'options-without-effect': options.options_without_effect,
    'periodic-rewrites': options.periodic_rewrites,
    'unwise-options': options.unwise_options,
    'wal-device-small': device.wal_device_small,
    'large-min-alloc-size': device.large_min_alloc_size,
    'unsharded': device.unsharded,
    'outdated-sharding': device.outdated_sharding,
    'buffered-io-off': load.buffered_io_off,
    'iterator-bounds-off': settings.iterator_bounds_off,
    'compact-on-start': settings.compact_on_start,
    'short-pg-log': settings.short_pg_log,
    'cache-autotune-off': settings.cache_autotune_off,
    'cache-ratios': settings.cache_ratios,
    'unoptimised-build': build.unoptimised_build,
    'deferred-write-regression': build.deferred_write_regression,
    'unknown-release': build.unknown_release,
}
#: And those of what they do now, or have done for some time, by what they are about: to fetch a
#: function into a processor that was busy with something else costs as much as 20 OSDs do in it.
OF_THE_PRESENT: Mapping[Subject, Mapping[str, ConditionFunction]] = {
    Subject.PENDING_RESTART: {'restart-pending': options.restart_pending},
    Subject.CHOSEN_STRING: {'memtables-exceed-memory': options.memtables_exceed_memory},
    Subject.SMALL_MEMORY_TARGET: {'memory-target-small': options.memory_target_small},
    Subject.DB_DEVICE: {
        'spillover': device.spillover,
        'level-does-not-fit': device.level_does_not_fit,
        'db-device-small': device.db_device_small,
        'db-device-nearly-full': device.db_device_nearly_full,
        'db-device-filling': device.db_device_filling,
    },
    Subject.METADATA_WORK: {
        'uncompressed-metadata': load.uncompressed_metadata,
        'compact-on-deletion-off': load.compact_on_deletion_off,
        'hot-index-shard': load.hot_index_shard,
    },
    Subject.STATISTICS: {
        'write-stalls': load.write_stalls,
        'kv-cache-misses': caches.kv_cache_misses,
    },
    Subject.CACHE_MISSES: {'onode-cache-misses': caches.onode_cache_misses},
    Subject.SMALL_UNITS: {'bluefs-small-units': caches.bluefs_small_units},
    Subject.HEALTH_CHECK: {
        'legacy-omap': load.legacy_omap,
        'slow-op-alert': load.slow_op_alert,
        'large-omap-objects': load.large_omap_objects,
    },
    Subject.LARGE_DB: {'metadata-fills-device': device.metadata_fills_device},
    Subject.BUSY_KV_SYNC: {'kv-sync-bound': load.kv_sync_bound},
    Subject.SLOW_SEEKS: {'slow-iterators': load.slow_iterators},
    Subject.MANY_SST_BYTES: {'compaction-storm': load.compaction_storm},
    Subject.SLOW_KV_SYNC: {'slow-sync': load.slow_sync},
    Subject.LONG_ABSENCE: {'slow-start': starts.slow_start},
}


class _OfTheSetup(NamedTuple):
    """What follows from the setup."""

    #: Of `OF_THE_SETUP`.
    findings: tuple[Finding, ...]
    subjects: frozenset[Subject]
    #: What conditions of the present ask for at least.
    least: Least


class SetupFindings:
    """What follows from the setup, worked out anew only where that changed.

    It hardly ever does, and two dozen functions that run once in a tick cost more by being fetched
    than by what they do.
    """

    def __init__(self) -> None:
        self._known: Optional[tuple[object, _OfTheSetup]] = None

    def of(self, cluster: ClusterFacts) -> _OfTheSetup:
        setup = (
            cluster.entries,
            cluster.limits,
            [(osd.info, osd.options, osd.sharded, osd.settings) for osd in cluster.osds],
        )
        if self._known is None or self._known[0] != setup:
            found = _OfTheSetup(
                tuple(_look_for(OF_THE_SETUP, _setup_of(cluster))),
                subjects_of_the_setup(cluster.osds),
                least_of(cluster.limits),
            )
            self._known = setup, found
        return self._known[1]


def findings(
    cluster: ClusterFacts, setup_findings: Optional[SetupFindings] = None
) -> tuple[Finding, ...]:
    """All findings, worst first; ``setup_findings`` remembers those of the last call."""
    of_setup = (setup_findings or SetupFindings()).of(cluster)
    found = list(of_setup.findings)
    for subject in of_setup.subjects | subjects_of_the_present(cluster, of_setup.least):
        found += _look_for(OF_THE_PRESENT[subject], cluster)
    return tuple(sorted(found, key=lambda f: (_ORDER[f.severity], f.finding_id, f.osds)))


def _look_for(
    functions: Mapping[str, ConditionFunction], cluster: ClusterFacts
) -> Iterator[Finding]:
    for condition_id, function in functions.items():
        yield from function(cluster, condition(condition_id))


def _setup_of(cluster: ClusterFacts) -> ClusterFacts:
    """Without all that a condition of the setup must not depend on."""
    return ClusterFacts(
        tuple(
            OsdFacts(osd.info, None, None, osd.options, sharded=osd.sharded, settings=osd.settings)
            for osd in cluster.osds
        ),
        cluster.entries,
        limits=cluster.limits,
    )
