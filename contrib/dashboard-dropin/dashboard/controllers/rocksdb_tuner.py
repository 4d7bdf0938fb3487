"""Loads the controllers of the RocksDB Tuner, without keeping the dashboard from starting.

The dashboard imports every file here whose name has no leading underscore, and does not start if
one of them fails. So this file only imports the others, and unregisters the controllers of a file
that failed.
"""

import importlib
import logging

from ._base_controller import BaseController

_FILES = ('', '_profiles', '_operations', '_experiments', '_tab')

for _name in (f'{__package__}._rocksdb_tuner{_file}' for _file in _FILES):
    try:
        importlib.import_module(_name)
    except Exception:
        # A class is registered when it is created, even if its file then fails to load.
        registry = BaseController._registry  # noqa: SLF001 - no other way to unregister one
        registry[:] = [controller for controller in registry if controller.__module__ != _name]
        logging.getLogger(__name__).exception(
            'cannot load %s of the RocksDB Tuner; the dashboard continues without it', _name
        )
