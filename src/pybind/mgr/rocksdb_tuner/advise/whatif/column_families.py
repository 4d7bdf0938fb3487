"""Column families of an OSD. Pure.

An OSD reads `bluestore_rocksdb_cfs` only when it is created. Upgrades keep its column families;
only `ceph-bluestore-tool reshard` changes them.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ...lsm.columns import Column, ColumnsSyntaxError, columns
from ...options.releases import KnownRelease, release_of
from ...options.syntax import OptionSyntaxError
from ..records import OsdFacts

__all__ = ['KnownColumns', 'column_families']

_UNSHARDED = columns('')


class KnownColumns(NamedTuple):
    """Column families; None: unknown."""

    columns: Optional[tuple[Column, ...]]
    #: The sharding definition, as in `bluestore_rocksdb_cfs`.
    definition: Optional[str] = None
    #: The release whose default is assumed; None if the OSD reports them.
    made_by: Optional[KnownRelease] = None


def column_families(facts: OsdFacts) -> KnownColumns:
    """Column families reported by the OSD, or else the default of the release that created it."""
    if facts.sharded is False:
        return KnownColumns(_UNSHARDED, '')
    reported = facts.info.sharding
    if reported is not None:
        try:
            return KnownColumns(columns(reported), reported)
        except (ColumnsSyntaxError, OptionSyntaxError):
            # Unknown syntax.
            return KnownColumns(None)
    made_by = release_of(facts.info.created_version, None)
    if made_by is None:
        return KnownColumns(None)
    return KnownColumns(columns(made_by.default_cfs), made_by.default_cfs, made_by)
