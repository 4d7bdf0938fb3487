"""Conditions of RocksDB's column families."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Optional

from ...lsm.columns import columns, options_of
from ...options.releases import KnownRelease
from ...options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ..facts import release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence
from ..strings import check
from ..whatif.column_families import column_families
from .declaration import Condition, condition
from .facts import ClusterFacts

#: The column family of PG logs and other PG metadata omap.
_PG_LOG = 'P'


@condition('unsharded')
def unsharded(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An unsharded RocksDB, with the default column family only."""
    by_release: dict[str, list[int]] = {}
    for osd in cluster.osds:
        if osd.sharded is False:
            release = release_of_osd(osd.info)
            by_release.setdefault(release.default_cfs if release else '', []).append(
                osd.info.osd_id
            )
    for sharding, ids in by_release.items():
        yield condition.finding(
            f'the RocksDB of {name_osds(ids)} has no column families',
            tuple(ids),
            (FindingEvidence('sharding/def', 'not in BlueFS', 'file', None),),
            sharding=sharding or '<bluestore_rocksdb_cfs of the release>',
        )


@condition('outdated-sharding')
def outdated_sharding(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Column families of an older release than the running one.

    Only OSDs that report their sharding definition are known to be resharded.
    """
    alike: dict[tuple[str, KnownRelease, Optional[str], Optional[str]], list[int]] = {}
    for osd in cluster.osds:
        release, known = release_of_osd(osd.info), column_families(osd)
        if release is None or not known.definition or osd.sharded is not True:
            continue
        if known.columns != columns(release.default_cfs):
            key = (
                known.definition,
                release,
                osd.info.created_version,
                osd.options.running if osd.options else None,
            )
            alike.setdefault(key, []).append(osd.info.osd_id)
    for (definition, release, made_by, running), ids in alike.items():
        present, version = release.default_cfs, release.rocksdb_version
        yield condition.finding(
            f'{name_osds(ids)} have the column families of {made_by or "another release"}',
            tuple(ids),
            (
                FindingEvidence('ceph_version_when_created', made_by, 'version', None),
                FindingEvidence('column families', definition, 'definition', None),
                FindingEvidence('default of the release', present, 'definition', None),
                FindingEvidence(
                    'flush of P', _flush_of(definition, running, version), 'bytes', None
                ),
                FindingEvidence(
                    'flush of P then', _flush_of(present, running, version), 'bytes', None
                ),
            ),
            sharding=present,
        )


def _flush_of(definition: str, running: Optional[str], rocksdb_version: str) -> Optional[int]:
    """Memtables of the PG log that are flushed together; None if unknown."""
    found = [column for column in columns(definition) if column.name == _PG_LOG]
    if running is None or not found:
        return None
    try:
        checked = check(format(options_of(found[0], parse(running))), rocksdb_version)
    except OptionSyntaxError:
        return None
    values = checked.effective
    names = ('write_buffer_size', 'min_write_buffer_number_to_merge')
    if not checked.accepted:
        return None
    return math.prod(int(values[name]) for name in names)
