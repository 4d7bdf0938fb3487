"""An operator's overrides for a hypothetical OSD, parsed from command arguments. Pure.

Column families of an OSD.

An OSD reads `bluestore_rocksdb_cfs` only when it is created. Upgrades keep its column families;
only `ceph-bluestore-tool reshard` changes them.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import NamedTuple, Optional

from ...options.releases import KnownRelease, release_of
from ...options.syntax import Column, OptionSyntaxError, ShardingSyntaxError, columns
from ...options.verdict import BadQuestionError
from ...workload.records import WorkloadClass
from ..records import OsdFacts

_SIZE = re.compile(r'(\d{1,20}(?:\.\d{1,9})?) ?([kmgtp]?)(?:i?b)?', re.ASCII | re.IGNORECASE)
_FACTORS = {'': 1, 'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40, 'p': 1 << 50}
_MOST_CORES = 1024
_MOST = '1024P'


@dataclass(frozen=True)
class Overrides:
    """An operator's overrides of known values. None: no override."""

    workload: Optional[WorkloadClass] = None
    cores: Optional[int] = None
    #: Size of a dedicated device; 0: none.
    db_bytes: Optional[int] = None
    wal_bytes: Optional[int] = None
    #: `osd_memory_target`
    memory_bytes: Optional[int] = None
    #: SST files of all column families.
    data_bytes: Optional[int] = None
    wal_bytes_per_s: Optional[int] = None
    bytes_per_key: Optional[int] = None
    #: `bluestore_rocksdb_cfs`, "default" first.
    columns: Optional[tuple[Column, ...]] = None


NO_OVERRIDES = Overrides()


#: Field, minimum and maximum by argument.
_SIZES = {
    'db_size': ('db_bytes', '0', _MOST),
    'wal_size': ('wal_bytes', '0', _MOST),
    #: Ceph refuses less for `osd_memory_target`.
    'memory': ('memory_bytes', '896M', _MOST),
    'data': ('data_bytes', '1', _MOST),
    'ingest': ('wal_bytes_per_s', '1', '1T'),
    'key_size': ('bytes_per_key', '1', '1G'),
}


def read_overrides(
    *,
    workload: Optional[WorkloadClass] = None,
    cores: Optional[int] = None,
    cfs: Optional[str] = None,
    **sizes: Optional[str],
) -> Overrides:
    """Parse command arguments.

    ``sizes`` are bytes with or without a suffix ("60G" is 60 GiB). Raises BadQuestionError (EINVAL)
    with the argument, the error and a valid example.
    """
    if cores is not None and not 1 <= cores <= _MOST_CORES:
        raise _invalid(f'cores must be 1 to {_MOST_CORES} for one OSD, not {cores}')
    found = {}
    for name, text in sizes.items():
        field, least, most = _SIZES[name]
        size, shown = None if text is None else _bytes(text), name.replace('_', '-')
        if text is not None and size is None:
            raise _invalid(f'{shown}: "{text}" is not a size: use bytes, or a suffix as in "60G"')
        if size is not None and not (_bytes(least) or 0) <= size <= (_bytes(most) or 0):
            raise _invalid(f'{shown} must be {least} to {most}, not "{text}"')
        found[field] = size
    columns = None if cfs is None else _columns(cfs)
    return Overrides(workload=workload, cores=cores, columns=columns, **found)


def _invalid(message: str) -> BadQuestionError:
    return BadQuestionError(errno.EINVAL, message)


def _bytes(text: str) -> Optional[int]:
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(float(match[1]) * _FACTORS[match[2].lower()])


def _columns(text: str) -> tuple[Column, ...]:
    try:
        return columns(text)
    except (ShardingSyntaxError, OptionSyntaxError) as error:
        raise _invalid(f'cfs: {error}') from None


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
        except (ShardingSyntaxError, OptionSyntaxError):
            # Unknown syntax.
            return KnownColumns(None)
    made_by = release_of(facts.info.created_version, None)
    if made_by is None:
        return KnownColumns(None)
    return KnownColumns(columns(made_by.default_cfs), made_by.default_cfs, made_by)
