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
#: Ceph refuses less for `osd_memory_target`.
_LEAST_MEMORY = '896M'


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


def read_overrides(
    *,
    workload: Optional[WorkloadClass] = None,
    cores: Optional[int] = None,
    db_size: Optional[str] = None,
    wal_size: Optional[str] = None,
    memory: Optional[str] = None,
    data: Optional[str] = None,
    ingest: Optional[str] = None,
    key_size: Optional[str] = None,
    cfs: Optional[str] = None,
) -> Overrides:
    """Parse command arguments.

    Sizes are bytes with or without a suffix ("60G" is 60 GiB). Raises BadQuestionError (EINVAL)
    with the argument, the error and a valid example.
    """
    if cores is not None and not 1 <= cores <= _MOST_CORES:
        raise BadQuestionError(
            errno.EINVAL, f'cores must be 1 to {_MOST_CORES} for one OSD, not {cores}'
        )
    return Overrides(
        workload=workload,
        cores=cores,
        db_bytes=_size('db-size', db_size, '0'),
        wal_bytes=_size('wal-size', wal_size, '0'),
        memory_bytes=_size('memory', memory, _LEAST_MEMORY),
        data_bytes=_size('data', data, '1'),
        wal_bytes_per_s=_size('ingest', ingest, '1', '1T'),
        bytes_per_key=_size('key-size', key_size, '1', '1G'),
        columns=None if cfs is None else _columns(cfs),
    )


def _size(name: str, text: Optional[str], least: str, most: str = _MOST) -> Optional[int]:
    if text is None:
        return None
    size = _bytes(text)
    if size is None:
        raise BadQuestionError(
            errno.EINVAL, f'{name}: "{text}" is not a size: use bytes, or a suffix as in "60G"'
        )
    if not (_bytes(least) or 0) <= size <= (_bytes(most) or 0):
        raise BadQuestionError(errno.EINVAL, f'{name} must be {least} to {most}, not "{text}"')
    return size


def _bytes(text: str) -> Optional[int]:
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(float(match[1]) * _FACTORS[match[2].lower()])


def _columns(text: str) -> tuple[Column, ...]:
    try:
        return columns(text)
    except (ShardingSyntaxError, OptionSyntaxError) as error:
        raise BadQuestionError(errno.EINVAL, f'cfs: {error}') from None


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
