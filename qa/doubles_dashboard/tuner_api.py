"""All endpoints of the dashboard's controllers of the RocksDB Tuner."""

from __future__ import annotations

import inspect
from typing import Any

from dashboard.controllers._rocksdb_tuner import RocksDBTuner
from dashboard.controllers._rocksdb_tuner_experiments import RocksDBTunerExperiments
from dashboard.controllers._rocksdb_tuner_operations import RocksDBTunerOperations
from dashboard.controllers._rocksdb_tuner_profiles import RocksDBTunerProfiles

CONTROLLERS: tuple[Any, ...] = (
    RocksDBTuner,
    RocksDBTunerProfiles,
    RocksDBTunerOperations,
    RocksDBTunerExperiments,
)


class Api:
    """The endpoints by the names of their functions, which are unique."""

    def __getattr__(self, name: str) -> Any:
        (found,) = (one for one in CONTROLLERS if name in vars(one))
        return getattr(found(), name)


def endpoints() -> list[Any]:
    return [
        function
        for one in CONTROLLERS
        for _, function in inspect.getmembers(one, inspect.isfunction)
        if hasattr(function, 'path')
    ]
