"""Conditions that an expert would point out: one function and one data entry each. Pure.

A condition says nothing where a signal that it needs is not known.
"""

from __future__ import annotations

from typing import Mapping

from ..records import Finding, Severity
from . import build, device, load, options
from .catalogue import condition
from .facts import ClusterFacts, ConditionFunction

__all__ = ['FUNCTIONS', 'ClusterFacts', 'findings']

_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: By the id of the data entry.
FUNCTIONS: Mapping[str, ConditionFunction] = {
    'unstartable-options': options.unstartable_options,
    'options-outside-config-store': options.options_outside_config_store,
    'class-entry-without-effect': options.class_entry_without_effect,
    'restart-pending': options.restart_pending,
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
    'memtables-exceed-memory': options.memtables_exceed_memory,
    'spillover': device.spillover,
    'level-does-not-fit': device.level_does_not_fit,
    'db-device-small': device.db_device_small,
    'db-device-nearly-full': device.db_device_nearly_full,
    'db-device-filling': device.db_device_filling,
    'metadata-fills-device': device.metadata_fills_device,
    'wal-device-small': device.wal_device_small,
    'large-min-alloc-size': device.large_min_alloc_size,
    'unsharded': device.unsharded,
    'legacy-omap': load.legacy_omap,
    'uncompressed-metadata': load.uncompressed_metadata,
    'kv-sync-bound': load.kv_sync_bound,
    'slow-iterators': load.slow_iterators,
    'compact-on-deletion-off': load.compact_on_deletion_off,
    'buffered-io-off': load.buffered_io_off,
    'compaction-storm': load.compaction_storm,
    'write-stalls': load.write_stalls,
    'slow-sync': load.slow_sync,
    'slow-op-alert': load.slow_op_alert,
    'unoptimised-build': build.unoptimised_build,
    'deferred-write-regression': build.deferred_write_regression,
    'unknown-release': build.unknown_release,
}


def findings(cluster: ClusterFacts) -> tuple[Finding, ...]:
    """All findings, worst first."""
    found = [
        finding
        for condition_id, function in FUNCTIONS.items()
        for finding in function(cluster, condition(condition_id))
    ]
    return tuple(sorted(found, key=lambda f: (_ORDER[f.severity], f.finding_id, f.osds)))
