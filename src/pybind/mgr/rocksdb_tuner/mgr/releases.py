"""The one place that knows how the mgr API differs between Ceph releases.

Measured on 16.2.15, 18.2.7 and 20.2.4; what each difference is stands beside it. Two more are met
by what the module does without: options are declared by keyword, since a parameter was put in
before the second one; and `object_format`, which formats output, is in no Pacific.
"""

from __future__ import annotations

from typing import Any, Callable, Protocol, TypeVar

import mgr_module

_Handler = TypeVar('_Handler', bound=Callable[..., Any])


class Decorator(Protocol):
    """Takes a command's words, and makes a method its handler."""

    def __call__(self, prefix: str) -> Callable[[_Handler], _Handler]: ...


# 20.2 removed the three global decorators: every module makes its own registry. Ask for the new
# way first, since nothing says that a later release will not bring the old names back as a shim.
# Any: the type stubs are those of one shape at a time.
_api: Any = mgr_module
if hasattr(_api, 'CLICommandBase'):
    CLICommand: Any = _api.CLICommandBase.make_registry_subtype('RocksDBTunerCLICommand')
    CLIReadCommand: Decorator = CLICommand.Read
    CLIWriteCommand: Decorator = CLICommand.Write
else:
    CLICommand = _api.CLICommand
    CLIReadCommand = _api.CLIReadCommand
    CLIWriteCommand = _api.CLIWriteCommand

# A mgr from before NotifyType notifies every module of everything, by its plain name, which the
# enumeration's members equal. Newer ones notify of what a module lists, and of nothing otherwise.
OSD_MAP_CHANGED: Any = _api.NotifyType.osd_map if hasattr(_api, 'NotifyType') else 'osd_map'

__all__ = [
    'OSD_MAP_CHANGED',
    'CLICommand',
    'CLIReadCommand',
    'CLIWriteCommand',
    'latest_counter_reader',
]

#: (service type, service id, path) -> {path: point}
LatestCounter = Callable[[str, str, str], 'dict[str, Any]']


def latest_counter_reader(module: Any) -> LatestCounter:
    """The cheapest call that returns the newest point of one unlabeled counter.

    Tentacle kept the name ``get_latest_counter`` for labeled counters, with another signature:
    the new name must be looked for first.
    """
    unlabeled = getattr(module, 'get_latest_unlabeled_counter', None)
    reader: LatestCounter = unlabeled or module.get_latest_counter
    return reader
