"""The module in a standby manager: its metrics endpoint, which has nothing to say."""

from __future__ import annotations

import logging
import threading

from mgr_module import MgrStandbyModule, Option

from ..settings import METRICS
from .endpoint import MetricsEndpoint
from .settings import wanted_address

log = logging.getLogger(__name__)

#: A standby is not told when an option changes.
PERIOD_S = 10.0
#: Valid and without a sample: Prometheus sees every manager up, and each series once.
NOTHING = '# This manager is a standby: the active one has the metrics.\n'


class StandbyModule(MgrStandbyModule):
    """Answers scrapes, so that all managers can be targets and an unreachable one is noticed."""

    # A list of its own: the manager appends options to that of each class.
    MODULE_OPTIONS = [Option(**setting.declaration()) for setting in METRICS]  # noqa: RUF012

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._stop = threading.Event()

    def serve(self) -> None:
        """Listen where the options say until this manager ends or becomes the active one."""
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
            # The active module of this process is to listen on the same port.
            endpoint.close()

    def shutdown(self) -> None:
        self._stop.set()

    def __del__(self) -> None:
        """Leave the log alone: Ceph's own `__del__` takes all handlers away from this interpreter.

        By then these are the active module's, of which nobody would hear again, not even of its
        errors (seen on 16.2.15; the code of 18.2.7 is the same).
        """
