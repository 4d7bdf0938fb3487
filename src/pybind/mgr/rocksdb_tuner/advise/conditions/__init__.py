"""Conditions that an expert would point out: one function and one data entry each. Pure.

A condition says nothing where a signal that it needs is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Mapping, Optional

from ..records import Finding, OsdFacts, Severity
from . import build, device, load, options
from .catalogue import condition
from .facts import ClusterFacts, ConditionFunction

__all__ = ['OF_THE_PRESENT', 'OF_THE_SETUP', 'ClusterFacts', 'SetupFindings', 'findings']

_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: By the id of the data entry: conditions of what OSDs are, and of what is set for them.
OF_THE_SETUP: Mapping[str, ConditionFunction] = {
    'unstartable-options': options.unstartable_options,
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
    'wal-device-small': device.wal_device_small,
    'large-min-alloc-size': device.large_min_alloc_size,
    'unsharded': device.unsharded,
    'buffered-io-off': load.buffered_io_off,
    'unoptimised-build': build.unoptimised_build,
    'deferred-write-regression': build.deferred_write_regression,
    'unknown-release': build.unknown_release,
}
#: And those of what they do now, or have done for some time.
OF_THE_PRESENT: Mapping[str, ConditionFunction] = {
    'restart-pending': options.restart_pending,
    'memtables-exceed-memory': options.memtables_exceed_memory,
    'spillover': device.spillover,
    'level-does-not-fit': device.level_does_not_fit,
    'db-device-small': device.db_device_small,
    'db-device-nearly-full': device.db_device_nearly_full,
    'db-device-filling': device.db_device_filling,
    'metadata-fills-device': device.metadata_fills_device,
    'legacy-omap': load.legacy_omap,
    'uncompressed-metadata': load.uncompressed_metadata,
    'kv-sync-bound': load.kv_sync_bound,
    'slow-iterators': load.slow_iterators,
    'compact-on-deletion-off': load.compact_on_deletion_off,
    'compaction-storm': load.compaction_storm,
    'write-stalls': load.write_stalls,
    'slow-sync': load.slow_sync,
    'slow-op-alert': load.slow_op_alert,
}


class SetupFindings:
    """The findings of `OF_THE_SETUP`, looked for anew only where the setup changed.

    It hardly ever does, and two dozen functions that run once in a tick cost more by being fetched
    into a processor that was busy with something else than by what they do.
    """

    def __init__(self) -> None:
        self._setup: object = None
        self._found: tuple[Finding, ...] = ()

    def of(self, cluster: ClusterFacts) -> tuple[Finding, ...]:
        setup = (
            cluster.entries,
            cluster.limits,
            [(osd.info, osd.options, osd.sharded, osd.settings) for osd in cluster.osds],
        )
        if setup != self._setup:
            self._found = tuple(_look_for(OF_THE_SETUP, _setup_of(cluster)))
            self._setup = setup
        return self._found


def findings(
    cluster: ClusterFacts, setup_findings: Optional[SetupFindings] = None
) -> tuple[Finding, ...]:
    """All findings, worst first; ``setup_findings`` remembers those of the last call."""
    found = [
        *(setup_findings or SetupFindings()).of(cluster),
        *_look_for(OF_THE_PRESENT, cluster),
    ]
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
