"""Watch, explain and safely change how BlueStore OSDs use RocksDB."""

# Python 3.6 reads this file, `version` and `python_too_old`.

import os
import sys

from .version import MINIMUM_PYTHON

if 'UNITTEST' in os.environ:
    # In a Ceph source tree this stubs ceph_module, as for every other module.
    import tests  # noqa: F401

try:
    import mgr_module
except ModuleNotFoundError as error:
    # Outside a ceph-mgr (`python3 -m rocksdb_tuner.offline`) mgr_module is missing, or cannot
    # import what is built into ceph-mgr. Any other missing module is a genuine error.
    if error.name not in {'mgr_module', 'ceph_module'}:
        raise
    __all__ = []
else:
    del mgr_module
    __all__ = ['Module']
    if sys.version_info >= MINIMUM_PYTHON:
        from .metrics.standby import StandbyModule
        from .module import Module

        __all__ += ['StandbyModule']
    else:
        from .python_too_old import Module  # type: ignore[assignment]
