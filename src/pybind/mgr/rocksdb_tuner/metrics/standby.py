"""The module in a standby mgr: an empty metrics endpoint. Where active and standby mgrs serve them.

An option set for one manager (``mgr/rocksdb_tuner/<name>/metrics_addr``) overrides the option for
all, as with Ceph's own endpoints.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Optional, Union

from mgr_module import MgrModule, MgrStandbyModule, Option

from ..settings import METRICS, read
from .endpoint import PATH, Address, MetricsEndpoint

log = logging.getLogger(__name__)

#: All addresses of the host, in IPv4 and IPv6.
_ANY = frozenset({'0.0.0.0', '::'})  # noqa: S104 - recognized here, not listened on


#: A standby module is not notified of option changes, so it polls.
PERIOD_S = 10.0
#: Valid without samples: Prometheus sees every mgr up, and each series once.
NOTHING = b'# This manager is a standby: the active manager serves the metrics.\n'


def wanted_address(manager: Union[MgrModule, MgrStandbyModule]) -> Optional[Address]:
    """Where to serve metrics; None: nowhere. Raises SettingError."""
    option = manager.get_localized_module_option
    if not read('metrics', option):
        return None
    return Address(read('metrics_addr', option), read('metrics_port', option))


def url(manager: Union[MgrModule, MgrStandbyModule], address: Address) -> str:
    """The URL that `ceph mgr services` shows for an endpoint on ``address``."""
    host = manager.get_mgr_ip() if address.host in _ANY else address.host
    return f'http://{f"[{host}]" if ":" in host else host}:{address.port}{PATH}'


class StandbyModule(MgrStandbyModule):
    """Answers scrapes, so that all mgrs can be targets and an unreachable one is detected."""

    # A separate list: the mgr appends options to the list of each class.
    MODULE_OPTIONS = [Option(**setting.declaration()) for setting in METRICS]  # noqa: RUF012

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stop = threading.Event()

    def serve(self) -> None:
        """Listen at the configured address until the mgr stops or becomes active."""
        endpoint = MetricsEndpoint(lambda: NOTHING)
        known = None
        try:
            while not self._stop.is_set():
                problem = endpoint.follow(wanted_address(self))
                if problem != known:
                    log.warning('metrics: %s', problem or 'served again')
                known = problem
                self._stop.wait(PERIOD_S)
        finally:
            # The active module of this process needs the same port.
            endpoint.close()

    def shutdown(self) -> None:
        self._stop.set()

    def __del__(self) -> None:
        """Skip Ceph's `__del__`, which removes all log handlers from this interpreter.

        By then they belong to the active module, whose log would be lost (seen on 16.2.15; the code
        of 18.2.7 is the same).
        """
