"""Watch, explain and safely change how BlueStore OSDs use RocksDB."""

import os
import sys

if sys.version_info < (3, 9):  # noqa: UP036 - Pacific's containers ship 3.6: say it in words
    raise ImportError(
        'rocksdb_tuner needs Python 3.9 or newer, this ceph-mgr runs {}.{}'.format(
            *sys.version_info[:2]
        )
    )

if 'UNITTEST' in os.environ:
    # In a Ceph source tree this stubs ceph_module, as for every other module.
    import tests  # noqa: F401

from .module import Module

__all__ = ['Module']
