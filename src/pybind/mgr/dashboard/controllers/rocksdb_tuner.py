"""The API of the RocksDB Tuner: the dashboard loads files that have no leading underscore."""

from ._rocksdb_tuner import RocksDBTuner, RocksDBTunerStatus
from ._rocksdb_tuner_experiments import RocksDBTunerExperiments
from ._rocksdb_tuner_operations import RocksDBTunerOperations
from ._rocksdb_tuner_profiles import RocksDBTunerProfiles

__all__ = [
    'RocksDBTuner',
    'RocksDBTunerExperiments',
    'RocksDBTunerOperations',
    'RocksDBTunerProfiles',
    'RocksDBTunerStatus',
]
