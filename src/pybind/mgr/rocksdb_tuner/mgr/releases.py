"""Differences of the mgr API between Ceph releases, in one place.

Measured on 16.2.15, 18.2.7 and 20.2.4. Two more differences are avoided: options are declared by
keyword, since a parameter was inserted before the second one; and `object_format`, which formats
output, is missing in Pacific.
"""

from __future__ import annotations

from typing import Any, Callable

import mgr_module

# 20.2 removed the three global decorators: every module has its own registry. Check for the new API
# first, since a later release may bring the old names back as a shim.
# Any: the type stubs cover one API at a time.
_api: Any = mgr_module
if hasattr(_api, 'CLICommandBase'):
    CLICommand: Any = _api.CLICommandBase.make_registry_subtype('RocksDBTunerCLICommand')
    CLIReadCommand: Any = CLICommand.Read
    CLIWriteCommand: Any = CLICommand.Write
else:
    CLICommand = _api.CLICommand
    CLIReadCommand = _api.CLIReadCommand
    CLIWriteCommand = _api.CLIWriteCommand

# A mgr before NotifyType notifies every module of everything, by plain names, which equal the enum
# members. Newer ones notify a module only of the types it lists.
OSD_MAP_CHANGED: Any = _api.NotifyType.osd_map if hasattr(_api, 'NotifyType') else 'osd_map'


#: (service type, service id, path) -> {path: point}
LatestCounter = Callable[[str, str, str], 'dict[str, Any]']


def latest_counter_reader(module: Any) -> LatestCounter:
    """The cheapest call that returns the newest point of one unlabeled counter.

    Tentacle uses ``get_latest_counter`` for labeled counters, with another signature: check for the
    new name first.
    """
    unlabeled = getattr(module, 'get_latest_unlabeled_counter', None)
    reader: LatestCounter = unlabeled or module.get_latest_counter
    return reader


def counter_reader(module: Any) -> LatestCounter:
    """The same for the last 20 points of a counter: {path: points}."""
    reader: LatestCounter = getattr(module, 'get_unlabeled_counter', None) or module.get_counter
    return reader
