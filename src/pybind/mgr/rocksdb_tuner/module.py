"""The mgr module: options, commands and the serve loop."""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import replace
from typing import Any, Dict, List, Optional

from mgr_module import MgrModule, Option

from .advise.custom_profiles import CustomProfiles
from .commands import Context, answer_module, guarded
from .commands.command import OPERATOR
from .metrics.endpoint import MetricsEndpoint
from .metrics.series import MetricsText
from .metrics.standby import url, wanted_address
from .mgr.adapter import MgrCluster, MgrStore
from .mgr.parse import short_version
from .mgr.releases import OSD_MAP_CHANGED, CLICommand
from .observe.sample import ALL_OPERATIONS
from .present.health import failing_checks, health_checks
from .settings import SETTINGS, read, read_mode, read_settings
from .snapshot import Mode
from .steps import reason_of
from .tuner import Tuner

#: Pause of the loop after an unexpected error.
ERROR_PAUSE_S = 10.0
#: Commands of the self-test: together they use all knowledge and every view of the snapshot.
SELF_TESTED = (
    'status',
    'osd',
    'workload',
    'findings',
    'recommend',
    'doctor',
    'explain',
    'profile_ls',
)
#: The minimum time between ticks, regardless of how often options are set.
TICK_SPACING_S = 1.0


class Module(MgrModule):
    """Answers commands from the newest snapshot; the serve thread samples, decides and acts."""

    CLICommand = CLICommand
    NOTIFY_TYPES = [OSD_MAP_CHANGED]
    MODULE_OPTIONS: List[Option] = [Option(**setting.declaration()) for setting in SETTINGS]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # No queries or computation here: the mgr becomes active only when this returns.
        self._wake = threading.Event()
        self._stopping = False
        #: A module option was set: the next tick is due immediately.
        self._options_set = False
        self._cluster, store = MgrCluster(self), MgrStore(self)
        self._tuner = Tuner(
            self._cluster,
            store,
            lambda: read_settings(self.get_module_option),
            manager_version=short_version(self.version),
            manager_release=self.release_name,
            read_mode=lambda: read_mode(self.get_module_option),
        )
        self._tuner.requests.wake = self._wake.set
        self._metrics = MetricsEndpoint(
            MetricsText(
                lambda: self._tuner.snapshot,
                lambda: read('metrics_osd_limit', self.get_module_option),
            )
        )
        self._metrics_uri = ''
        #: The context of command handlers.
        self.context = Context(
            lambda: self._tuner,
            CustomProfiles(store),
            self.get_module_option,
            self._set_mode,
            lambda: self._metrics_uri or None,
        )

    # -- the loop

    def serve(self) -> None:
        """Tick until the mgr stops the module; no exception of a tick ends the loop.

        Requests in between are handled without a tick.
        """
        steps = self._tuner.steps
        steps.run('loading', self._tuner.load)
        # What is loaded by now stays. Full garbage collections would walk it, for 30 ms each time.
        gc.collect()
        gc.freeze()
        ticked_s = due_s = time.monotonic()
        try:
            while not self._stopping:
                if time.monotonic() >= due_s:
                    self._options_set = False
                    ticked_s = time.monotonic()
                    pause_s = ERROR_PAUSE_S
                    if steps.run('tick', self._tuner.tick):
                        pause_s = self._tuner.next_tick_in_s()
                    self._publish_health(self._serve_metrics())
                    due_s = time.monotonic() + pause_s
                else:
                    steps.run('requests', self._tuner.take_requests)
                    # A request may make the next tick due sooner.
                    due_s = min(due_s, time.monotonic() + self._tuner.next_tick_in_s())
                if self._options_set:
                    due_s = min(due_s, ticked_s + TICK_SPACING_S)
                self._wake.wait(max(0.0, due_s - time.monotonic()))
                self._wake.clear()
        finally:
            self._metrics.close()

    def shutdown(self) -> None:
        self._stopping = True
        self._cluster.close()
        self._wake.set()

    def notify(self, notify_type: str, notify_id: str) -> None:  # noqa: ARG002 - Ceph's
        if notify_type == OSD_MAP_CHANGED:
            self._cluster.invalidate_map()

    def config_notify(self) -> None:
        self._options_set = True
        self._wake.set()

    def _publish_health(self, metrics_problem: Optional[str]) -> None:
        """Raise and clear health checks; if that fails, raise one that reports it."""
        steps = self._tuner.steps
        # The tick itself may have failed.
        snapshot = replace(self._tuner.snapshot, failing=steps.failing)

        def publish() -> None:
            self.set_health_checks(health_checks(snapshot, metrics_problem))

        if not steps.run('health checks', publish):
            steps.run(
                'fallback health check',
                lambda: self.set_health_checks(failing_checks(steps.failing, None)),
            )

    def _serve_metrics(self) -> Optional[str]:
        """Serve metrics as configured; returns the error, or None."""
        try:
            address = wanted_address(self)
            problem = self._metrics.follow(address)
            uri = '' if address is None or problem else url(self, address)
            if uri != self._metrics_uri:
                self.set_uri(uri)
                self._metrics_uri = uri
        except Exception as error:  # noqa: BLE001 - must not stop the loop
            self._tuner.steps.failed('metrics', error)
            return reason_of(error)
        self._tuner.steps.works('metrics')
        return problem

    # -- commands

    def _handle_command(self, inbuf: str, cmd: Dict[str, Any]) -> Any:
        """Called by Ceph for each command; clients never get a traceback."""
        return guarded(super()._handle_command, inbuf, cmd)

    def remote_command(
        self, command: str, arguments: Dict[str, Any], actor: str = OPERATOR
    ) -> Dict[str, Any]:
        """Run a command for another module, which calls this with `mgr.remote`."""
        return answer_module(self.context, command, arguments, actor)

    def self_test(self) -> None:
        """Called by `ceph mgr self-test module rocksdb_tuner`; raises an error if a check fails.

        It uses the same mgr interfaces as the module, and changes nothing.
        """
        read_settings(self.get_module_option)
        self._cluster.invalidate_map()
        osds = self._cluster.cluster_map().osds
        self._cluster.pg_summary()
        for osd in osds[:1]:
            self._cluster.latest(osd.osd_id, [ALL_OPERATIONS])
        for command in SELF_TESTED:
            answer = self.remote_command(command, {})
            if answer['retval'] != 0:
                raise RuntimeError(f'{command}: {answer["stderr"]}')

    def tab_has_no_place(self) -> None:
        """Called by the dashboard if a browser could not add the tab."""
        self.context.report_tab_missing()

    def _set_mode(self, mode: Mode) -> None:
        self.set_module_option('mode', mode.value)
        self.config_notify()
