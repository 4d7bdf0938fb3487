"""Executes the decisions of the experiment's state machine, and operator commands."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Callable, Optional

from ...judge.records import SoakPlan
from ...mgr.protocols import Announcements, CommandError, Store
from ...mgr.records import ClusterMap
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...plan.commands import Action, RestartOsd
from ...plan.entries import as_mapping, starts_with
from ...plan.experiment_design import ExperimentPlan
from ...plan.records import ANNEX, OPTION
from ...store.stored import Quarantine
from ..driver import Guard, OperationDriver, cannot_be_stored
from ..phases import OperationRefused, Step
from ..rollout import machine as leg_machine
from ..rollout.admission import planned
from ..rollout.driver import Driver
from ..rollout.observer import ProcessWatch
from ..rollout.osd_step import must_not_wait
from ..rollout.recording import NOT_SOAKING
from ..rollout.records import AskedRestart, OsdProgress
from ..rollout.rules import Needs, suppressed_in_mode_off
from .announce import TEXTS, why_failed
from .machine import (
    ExperimentMachine,
    View,
    aborted,
    action_failed,
    lost_processes,
    paused,
    resumed,
    waits_for_operator,
)
from .measuring import CURRENT, NOT_MEASURED, Measuring, measured_osds, stored_experiment
from .records import ExperimentState, as_rollout

log = logging.getLogger(__name__)

_LOST = (
    'an experiment could not be read: OSDs may still have the option strings of its arms, see '
    f'"ceph config dump" for {OPTION} of single OSDs'
)


class ExperimentDriver(OperationDriver[ExperimentState, View, Action]):
    """Runs one experiment at a time; shares clock and limits with the rollout driver."""

    KIND = 'experiment'

    def __init__(
        self,
        rollouts: Driver,
        announcements: Announcements,
        store: Store,
        on_end: Callable[[ExperimentState], None] = lambda _: None,
        changes_allowed: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        """``rollouts`` must tick first. ``on_end`` records an ended experiment.

        It is called until it does not raise CommandError, also by a manager that takes over, so it
        must be idempotent.
        """
        super().__init__(announcements, TEXTS, changes_allowed, guard)
        self._rollouts = rollouts
        self._cluster = rollouts.cluster
        self._observer = rollouts.observer
        self._quarantine, self._stored = Quarantine(store), stored_experiment(store)
        self._measuring = Measuring(store, self._quarantine)
        self._on_end = on_end
        self._problem: Optional[str] = None

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(text for text in (self._problem, self._error) if text is not None)

    def start(
        self, experiment_id: str, plan: ExperimentPlan, actor: str, now_s: float, *, adopt: bool
    ) -> ExperimentState:
        """Start an experiment; raises OperationRefused."""
        self._refuse_while_running()
        state = self._planned(experiment_id, plan, actor, now_s, adopt=adopt)
        # A restart requested by an earlier operation may still be outstanding.
        asked = self._rollouts.outstanding or self.outstanding
        self._conclude_previous(experiment_id)
        try:
            self._measuring.begin(experiment_id)
        except CommandError as error:
            raise cannot_be_stored(error) from error
        return self._begin(replace(state, asked=asked))

    def _planned(
        self, experiment_id: str, plan: ExperimentPlan, actor: str, now_s: float, *, adopt: bool
    ) -> ExperimentState:
        """A new experiment with the recorded previous state; raises OperationRefused."""
        if plan.refusal is not None:
            raise OperationRefused(
                errno.EINVAL,
                f'not possible here: {plan.refusal.reason}; "ceph rocksdb-tuner experiment plan" '
                'with the same arguments shows what is missing',
            )
        found, same_meaning = self._cluster.entries_now(), self._machine.rollouts.same_meaning
        entries = as_mapping(found, OPTION)
        request = plan.change_of(experiment_id, actor, plan.osds)
        running = self._cluster.running(request, plan.osds)
        # The checks of a rollout; controls keep their running options.
        first = planned(
            experiment_id,
            request,
            cluster=self._cluster.reader.cluster_map(),
            entries=entries,
            other_entries=as_mapping(found, ANNEX),
            running=running,
            same_meaning=same_meaning,
            why_unstartable=self._cluster.why_unstartable,
            now_s=now_s,
            soak=SoakPlan(),
        )
        for n in plan.osds:
            if not same_meaning(running[n].value, plan.from_options):
                raise OperationRefused(
                    errno.EINVAL,
                    f'osd.{n} runs another option string than the group: plan the experiment again',
                )
            # Its running options could not be restored.
            started = starts_with(entries, n)
            if started is not None and not same_meaning(started[1], running[n].value):
                raise OperationRefused(
                    errno.EINVAL,
                    f'osd.{n} does not run the entry of {started[0]} yet: restart it first',
                )
        return ExperimentState(
            experiment_id=experiment_id,
            request=plan,
            actor=actor,
            adopt=adopt,
            before=first.before,
            osds=tuple(map(OsdProgress, plan.changed)),
            started_s=now_s,
            updated_s=now_s,
            started_steady_s=self._rollouts.time.now_s,
        )

    def _named(self, state: ExperimentState, actor: str) -> ExperimentState:
        return replace(state, actor=actor)

    def acknowledge(self, now_s: float) -> bool:
        """Acknowledge a failed experiment; False if there is none. Raises OperationRefused."""
        self.load()
        state = self._state
        if state is None or state.acknowledged or why_failed(state) is None:
            return False
        self._save_requested(replace(state, acknowledged=True, updated_s=now_s))
        return True

    def tick(self, now_s: float) -> None:
        """Observe, decide, save and act; returns at once if there is no experiment.

        ``now_s`` is the wall clock, for display. All other timing is that of the rollout tick just
        before.
        """
        self.load()
        if self._state is None:
            return
        time = self._rollouts.time
        if not self._last.ended:
            time.keep(running=True)
            self._rollouts.handed_over()
        self._allowed = self._rollouts.allowed
        self._advance(now_s, time.now_s)

    def observed(
        self,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        slow_events: Callable[[Iterable[int]], Mapping[int, SlowEvents]] = lambda _: {},
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """Use the latest samples; ``newest`` returns the last sample of an OSD."""
        if self._state is None or self._state.ended:
            return
        # The last observation could not be stored, or is missing: it may hide a disturbance.
        known = self._error is None
        self._measuring.add(self._state, newest, now_s, slow_events, reports, undisturbed=known)

    # -- one step

    @property
    def _machine(self) -> ExperimentMachine:
        return ExperimentMachine(self._rollouts.machine)

    def _observe(self, state: ExperimentState) -> View:
        found = self._guard.value(
            'comparing arms', lambda: self._measuring.found(state), NOT_MEASURED
        )
        leg = as_rollout(state)
        between = None if state.leg is not None else Needs()
        time = self._rollouts.time

        def lost(cluster: ClusterMap) -> bool:
            return bool(lost_processes(state, cluster))

        # Those that the leg changes are compared once it is over.
        compared = tuple(n for n in measured_osds(state) if n not in leg.request.order)
        watched = state.experiment_id, state.stage, state.legs
        idle = ProcessWatch(watched, lost, between, compared)
        machine, allowed = self._machine.rollouts, self._rollouts.allowed
        seen = self._observer.observe(leg, machine, NOT_SOAKING, allowed, time.now_s, idle)
        elapsed_s = max(time.now_s - state.started_steady_s, 0.0)
        return View(seen, *found, elapsed_s)

    def _waits_at(self, state: ExperimentState) -> object:
        if state.leg is not None:
            paused = replace(state.leg, paused_by=state.paused_by)
            return leg_machine.waits_at(paused)
        return None if state.paused_by else (state.experiment_id, state.stage, state.legs)

    def _decide(
        self, state: ExperimentState, seen: View, now_s: float
    ) -> Step[ExperimentState, Action]:
        return self._machine.step(state, seen, now_s)

    def _must_not_wait(
        self, state: ExperimentState, step: Step[ExperimentState, Action], seen: View
    ) -> bool:
        after = step.state
        if state.leg is None:
            # An OSD that crashed with the string of its arm is restored.
            down = seen.cluster.cluster.down
            return not state.changed.isdisjoint(down) and not after.ended
        return not after.ended and must_not_wait(
            state.leg, as_rollout(after), step.actions, seen.cluster
        )

    def _before_acting(self, action: Action) -> None:
        if isinstance(action, RestartOsd):
            self._rollouts.time.count_restart()

    def _is_suppressed(self, state: ExperimentState, action: Action, seen: View) -> bool:
        return state.leg is None or suppressed_in_mode_off(state.leg, action, seen.cluster)

    def _act(self, state: ExperimentState, action: Action, now_s: float) -> bool:
        assert state.leg is not None
        if isinstance(action, RestartOsd):
            self._observer.requested.send(state.leg)
        error = self._cluster.execute(action, OPTION)
        if error is None:
            return True
        log.warning('experiment %s: %s failed: %s', state.experiment_id, action, error)
        self._save_outcome(action_failed(state, action, error, now_s))
        return False

    # -- operator control

    def _paused(self, state: ExperimentState, actor: str, now_s: float) -> ExperimentState:
        return paused(state, actor, now_s)

    def _waits_for_operator(self, state: ExperimentState) -> bool:
        return waits_for_operator(state)

    def _resumed(self, state: ExperimentState, now_s: float) -> ExperimentState:
        return resumed(state, now_s)

    def _aborted(self, state: ExperimentState, actor: str, now_s: float) -> ExperimentState:
        entries = self._cluster.entries_if_known(OPTION)
        down = self._cluster.reader.cluster_map().down
        return aborted(state, actor, now_s, entries, down)

    # -- storing

    def _load(self) -> None:
        super()._load()
        if any(f'"{CURRENT}"' in text for text in self._quarantine.problems()):
            self._problem = _LOST
        self._unrecorded = self._unrecorded and not self._last.recorded

    def _conclude(self, state: ExperimentState) -> None:
        self._on_end(state)
        self._save(replace(state, recorded=True))

    @property
    def outstanding(self) -> Optional[AskedRestart]:
        """The last restart that was requested, while it may still happen."""
        return None if self._state is None else self._state.asked
