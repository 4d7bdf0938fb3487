"""Objections to an option string: their limits, and their order."""

from __future__ import annotations

from itertools import islice
from typing import Optional

import pytest

from rocksdb_tuner.advise.objections import (
    Name,
    standing_objections,
    workload_objections,
)
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.workload.classify import Writer
from rocksdb_tuner.workload.records import Evidence, WorkloadClass

from .builders import PACIFIC, release

MIB = 1 << 20
RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
CEPHFS = WorkloadClass.CEPHFS_METADATA
ALTERNATE = profile('alternate-2019').options


def busy(share: float) -> Evidence:
    return Evidence('kv_sync_busy', share, 'ratio', 30.0, 'busy')


UNCOMPRESSED = {'write_buffer_size': str(64 * MIB), 'compression': 'kNoCompression'}


@pytest.mark.parametrize(
    ('effective', 'who', 'share', 'names'),
    [
        (UNCOMPRESSED, RBD, 0.25, [Name.LARGE_MEMTABLES]),
        (UNCOMPRESSED, RBD, 0.24, []),
        (UNCOMPRESSED, RBD, None, []),
        ({**UNCOMPRESSED, 'write_buffer_size': str(64 * MIB - 1)}, RBD, 0.9, []),
        (UNCOMPRESSED, RGW, 0.9, [Name.UNCOMPRESSED]),
        (UNCOMPRESSED, CEPHFS, None, [Name.UNCOMPRESSED]),
        ({**UNCOMPRESSED, 'compression': 'kLZ4Compression'}, RGW, 0.9, []),
        # What an OSD would not start with is not known to be uncompressed.
        ({}, RGW, 0.9, []),
        ({}, RBD, 0.9, []),
    ],
)
def test_large_memtables_hurt_busy_small_writes_and_no_compression_hurts_metadata(
    effective: dict[str, str], who: WorkloadClass, share: Optional[float], names: list[Name]
) -> None:
    measured = None if share is None else busy(share)
    found = workload_objections(effective, Writer(who, 0.9), measured)
    assert [o.name for o in found] == names


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        (PACIFIC, []),
        (profile('variant-2022-d').options, []),
        (f'{PACIFIC},ttl=60', []),
        (f'{PACIFIC},compaction_readahead_size=0', [(Name.HARMFUL, 'compaction_readahead_size')]),
        (f'{PACIFIC},disableWAL=true', [(Name.UNSAFE, 'disableWAL')]),
        (
            f'{PACIFIC},compaction_readahead_size=0,disableWAL=true',
            [(Name.UNSAFE, 'disableWAL'), (Name.HARMFUL, 'compaction_readahead_size')],
        ),
        (f'{PACIFIC},block_based_table_factory={{block_cache=1M}}', []),
        # Published as a whole: superseded, and none of what the checks warn of it.
        (ALTERNATE, [(Name.SUPERSEDED, None)]),
        (f'{ALTERNATE},disableWAL=true', [(Name.UNSAFE, 'disableWAL')]),
    ],
)
def test_objections_to_a_custom_string_are_ordered_worst_first(
    text: str, found: list[tuple[Name, Optional[str]]]
) -> None:
    reported = [(o.name, o.option) for o in standing_objections(text, release('16.2.15'))]
    assert reported[: len(found)] == found
    # In a string with an error the harm of its other values is reported after that.
    others = list(islice(reported, len(found), None))
    assert all(name is Name.HARMFUL for name, _ in others)
    assert others == [] or text.startswith(f'{ALTERNATE},')
