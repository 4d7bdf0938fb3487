"""Lets the dashboard load the controllers of the RocksDB Tuner, and start without them if need be.

The dashboard imports every file here whose name has no leading underscore, and does not start if
one of them fails. So this file only imports the other one, and takes back what that registered.
"""

import logging

from ._base_controller import BaseController

_CONTROLLERS = f'{__package__}._rocksdb_tuner'

try:
    from . import _rocksdb_tuner  # noqa: F401
except Exception:
    # A class is registered when it is made, not when its file was read to the end.
    registry = BaseController._registry  # noqa: SLF001 - there is no other way to take one back
    registry[:] = [controller for controller in registry if controller.__module__ != _CONTROLLERS]
    logging.getLogger(__name__).exception(
        'the controllers of the RocksDB Tuner are left out; everything else goes on'
    )
