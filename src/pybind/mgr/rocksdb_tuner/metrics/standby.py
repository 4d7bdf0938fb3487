"""The module in a standby mgr: an empty metrics endpoint."""

from __future__ import annotations

import logging
import threading
from typing import Any

from mgr_module import MgrStandbyModule, Option

from ..settings import METRICS
from .endpoint import MetricsEndpoint
from .settings import wanted_address

log = logging.getLogger(__name__)

#: A standby module is not notified of option changes, so it polls.
PERIOD_S = 10.0
#: Valid without samples: Prometheus sees every mgr up, and each series once.
NOTHING = '# This manager is a standby: the active manager serves the metrics.\n'


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
