"""Which column families an OSD has, by what is known of how it was made. Pure.

An OSD reads `bluestore_rocksdb_cfs` once, when it is made. Upgrades leave its column families as
they are; only `ceph-bluestore-tool reshard` changes them.
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
    """What is known; None is "not known"."""

    columns: Optional[tuple[Column, ...]]
    #: Its definition, as `bluestore_rocksdb_cfs` has it.
    definition: Optional[str] = None
    #: The release whose default they are taken to be; None where they are reported.
    made_by: Optional[KnownRelease] = None


def column_families(facts: OsdFacts) -> KnownColumns:
    """Reported by the OSD, or else those of the release that made it."""
    if facts.sharded is False:
        return KnownColumns(_UNSHARDED, '')
    reported = facts.info.sharding
    if reported is not None:
        try:
            return KnownColumns(columns(reported), reported)
        except (ColumnsSyntaxError, OptionSyntaxError):
            # Not in the form that is known.
            return KnownColumns(None)
    made_by = release_of(facts.info.created_version, None)
    if made_by is None:
        return KnownColumns(None)
    return KnownColumns(columns(made_by.default_cfs), made_by.default_cfs, made_by)
