"""Inputs of the model for tests."""

from __future__ import annotations

from typing import Any

from rocksdb_tuner.lsm.levels import TreeOptions, tree_options
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Devices, TreeModel
from rocksdb_tuner.options.syntax import columns, parse

MIB = 1 << 20
GIB = 1 << 30
PACIFIC_CFS = 'm(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} L P'
REEF_CFS = (
    'm(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} '
    'L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32'
)


def options_of(text: str, version: str = '7.9') -> TreeOptions:
    return tree_options(parse(text), version)


def tree_of(text: str, version: str = '7.9', cfs: str = PACIFIC_CFS, **given: Any) -> TreeModel:
    return model(TreeInputs(parse(text), version, columns(cfs), **given))


def with_db(size_bytes: int) -> Devices:
    return Devices(dedicated_db=True, dedicated_wal=False, db_bytes=size_bytes)
