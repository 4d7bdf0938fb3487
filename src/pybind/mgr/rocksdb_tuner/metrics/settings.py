"""Where metrics are served: options common to active and standby managers.

An option set for one manager (``mgr/rocksdb_tuner/<name>/metrics_addr``) overrides the option for
all, as with Ceph's own endpoints.
"""

from __future__ import annotations

from typing import Optional, Protocol

from ..setting import OptionValue
from ..settings import METRICS_ADDRESS, METRICS_PORT, SERVED
from .endpoint import PATH, Address

#: All addresses of the host, in IPv4 and IPv6.
_ANY = frozenset({'0.0.0.0', '::'})  # noqa: S104 - recognized here, not listened on


class Manager(Protocol):
    """Common interface of MgrModule and MgrStandbyModule."""

    def get_localized_module_option(self, key: str, default: OptionValue = ...) -> OptionValue:
        """The option as set for this manager, else for all."""

    def get_mgr_ip(self) -> str:
        """The address of this manager for other hosts."""


def wanted_address(manager: Manager) -> Optional[Address]:
    """Where to serve metrics; None: nowhere. Raises SettingError."""
    option = manager.get_localized_module_option
    if not SERVED.read(option):
        return None
    return Address(METRICS_ADDRESS.read(option), METRICS_PORT.read(option))


def url(manager: Manager, address: Address) -> str:
    """The URL that `ceph mgr services` shows for an endpoint on ``address``."""
    host = manager.get_mgr_ip() if address.host in _ANY else address.host
    return f'http://{f"[{host}]" if ":" in host else host}:{address.port}{PATH}'
