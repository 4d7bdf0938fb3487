"""The module options of the metrics endpoint, which an active and a standby manager share.

Wiring, as module.py: what is set for one manager (``mgr/rocksdb_tuner/<name>/metrics_addr``) is
stronger than what is set for all, as with Ceph's own endpoints.
"""

from __future__ import annotations

from typing import Any, List, Optional, Protocol

from mgr_module import Option

from .metrics_endpoint import PATH, Address

#: All addresses of the host, in IPv4 and IPv6.
_ANY = frozenset({'0.0.0.0', '::'})  # noqa: S104 - recognised here, not listened on


class Manager(Protocol):
    """What MgrModule and MgrStandbyModule have in common."""

    def get_localized_module_option(self, key: str, default: Any = ...) -> Any: ...

    def get_mgr_ip(self) -> str: ...


def metrics_options() -> List[Option]:
    """A new list: the manager adds its own options to that of each class."""
    return [
        Option(
            name='metrics',
            type='bool',
            default=False,
            desc='serve metrics to Prometheus, over HTTP without TLS or login',
            runtime=True,
        ),
        Option(
            name='metrics_addr',
            type='str',
            default='127.0.0.1',
            desc='IP address on which metrics are served; :: for all of the host',
            runtime=True,
        ),
        Option(
            name='metrics_port',
            type='uint',
            default=9789,
            min=1,
            max=65535,
            desc='port on which metrics are served',
            runtime=True,
        ),
        Option(
            name='metrics_osd_limit',
            type='uint',
            default=3000,
            min=0,
            max=100000,
            desc='with more OSDs than this there are metrics of device classes, but none of '
            'single OSDs',
            runtime=True,
        ),
    ]


def wanted_address(manager: Manager) -> Optional[Address]:
    """Where metrics are to be served; None for nowhere."""
    if not manager.get_localized_module_option('metrics'):
        return None
    return Address(
        str(manager.get_localized_module_option('metrics_addr')),
        int(manager.get_localized_module_option('metrics_port')),
    )


def url(manager: Manager, address: Address) -> str:
    """What `ceph mgr services` shows of an endpoint on ``address``."""
    host = manager.get_mgr_ip() if address.host in _ANY else address.host
    return f'http://{f"[{host}]" if ":" in host else host}:{address.port}{PATH}'
