"""Starts, drives and controls rollouts, compaction campaigns and experiments.

Only one operation runs at a time. Call everything here in the serve thread.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Callable, Mapping, Optional

from ..advise.compaction import CAMPAIGN
from ..advise.custom_profiles import CustomProfiles
from ..advise.facts import why_unstartable
from ..advise.proposal import change_request
from ..advise.records import Recommendation
from ..advise.strings import same_meaning
from ..judge.records import contradiction
from ..mgr.protocols import Cluster, Store
from ..mgr.records import OsdInfo
from ..observe.details import SlowEvents, read_slow_events
from ..observe.report_interval import ReportInterval
from ..observe.sample import Sample
from ..observe.signals import Signals
from ..operations.compaction.announce import record_of as campaign_record
from ..operations.compaction.driver import CampaignDriver
from ..operations.compaction.machine import SETTLE_S, Measured
from ..operations.compaction.machine import Limits as CampaignLimits
from ..operations.compaction.plan import CampaignPlan
from ..operations.compaction.records import CampaignRequest, CampaignState
from ..operations.driver import AnyOperation
from ..operations.experiment.announce import record_of as experiment_record
from ..operations.experiment.driver import ExperimentDriver
from ..operations.experiment.records import EXPERIMENT, ExperimentState
from ..operations.phases import OperationRefused, Permission
from ..operations.rollout import automatic
from ..operations.rollout.driver import Driver
from ..operations.rollout.records import RolloutState
from ..operations.rollout.rules import VERIFY_S, Limits
from ..options.verdict import BadQuestionError
from ..plan.experiment_design import ExperimentPlan
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps
from .auto_apply import adoptable, profile_of

log = logging.getLogger(__name__)


class CurrentSettings:
    """Read once per tick, and again before an operation starts or changes an OSD."""

    def __init__(
        self, read_all: Callable[[], Settings], read_only_mode: Callable[[], Mode], steps: Steps
    ) -> None:
        self.read, self.read_mode, self._steps = read_all, read_only_mode, steps
        #: The last valid ones.
        self._last = Settings()
        #: Why the options cannot be read now; None if they can.
        self.unreadable: Optional[str] = None

    def now(self) -> Settings:
        """Settings for a tick; nothing starts while they are unreadable."""
        try:
            self._last = self.read()
        except Exception as error:  # noqa: BLE001 - reported
            self._steps.failed('settings', error)
            self.unreadable = 'the options of the module cannot be read'
            return replace(self._last, mode=self.mode())
        self._steps.works('settings')
        # They hold the mode, too
        self._steps.works('mode')
        self.unreadable = None
        return self._last

    def mode(self) -> Mode:
        """The mode right now; off if it cannot be read."""
        return self._steps.value('mode', self.read_mode, Mode.OFF)

    @property
    def impossible(self) -> Optional[str]:
        """Why the module options prevent any change; None if they do not."""
        return contradiction(self._last.soak)


class OperationControl:
    """The last operation of each kind; refuses commands with OperationRefused.

    It also starts rollouts without being asked, the same way as `apply`: auto-apply, and the
    winner of an experiment with ``--adopt``.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        steps: Steps,
        current: CurrentSettings,
        profiles: CustomProfiles,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster, self._steps, self._current = cluster, steps, current
        self._profiles, self._clock, self._monotonic = profiles, clock, monotonic

        def changes_allowed() -> bool:
            return current.mode() is not Mode.OFF

        self.driver = Driver(
            cluster,
            store,
            same_meaning=lambda a, b: same_meaning(a, b, None),
            why_unstartable=why_unstartable,
            changes_allowed=changes_allowed,
            guard=steps,
        )
        self.campaign = CampaignDriver(
            cluster,
            store,
            on_end=lambda state: self.driver.add_record(campaign_record(state)),
            changes_allowed=changes_allowed,
            guard=steps,
        )
        self.experiment = ExperimentDriver(
            self.driver,
            cluster,
            store,
            on_end=self._experiment_ended,
            changes_allowed=changes_allowed,
            guard=steps,
        )
        #: Commands go to the first one under way.
        self._operations: tuple[AnyOperation, ...] = (self.driver, self.experiment, self.campaign)
        self._ages = automatic.RecommendationAges()
        #: Why auto-apply skips recommendations; empty in other modes.
        self.refusals: tuple[automatic.Refusal, ...] = ()

    def _experiment_ended(self, state: ExperimentState) -> None:
        self.driver.add_record(experiment_record(state))
        # Only with a winner: an unreadable monitor map must not hold up the record.
        won = None if state.best is None else profile_of(state, self._cluster.fsid())
        try:
            if won is not None:
                self._profiles.remember(won)
        except BadQuestionError as error:
            # The result is in the history in any case.
            log.warning('cannot keep the winner of %s as a profile: %s', state.experiment_id, error)

    @property
    def changing(self) -> bool:
        """Whether OSDs of a group may run different options on purpose."""
        return self.driver.under_way or self.experiment.under_way

    @property
    def under_way(self) -> bool:
        return any(operation.under_way for operation in self._operations)

    @property
    def compacting(self) -> bool:
        """Whether an OSD may still run a compaction of the campaign."""
        state = self.campaign.state
        return state is not None and state.in_flight is not None

    def shown(self) -> dict[str, Any]:
        """The fields of a snapshot that show operations."""
        return {
            'rollout': self.driver.state,
            'rollout_acknowledged': self.driver.acknowledged,
            'rollout_waits': self.driver.why_waiting(),
            'campaign': self.campaign.state,
            'campaign_waits': self.campaign.why_waiting(),
            'campaign_waits_for': self.campaign.waits_for,
            'experiment': self.experiment.state,
            'experiment_waits': self.experiment.why_waiting(),
            'history': self.driver.history,
            'notices': tuple(text for one in self._operations for text in one.problems),
            'auto_apply_refusals': self.refusals,
        }

    def record(
        self, newest: Callable[[int], Optional[Sample]], now_s: float, reports: ReportInterval
    ) -> None:
        """Record samples as evidence for the verdict on a rollout, or of an experiment."""

        def slow_events(osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
            return read_slow_events(self._cluster, osd_ids)

        self.driver.observed(newest, now_s, slow_events, reports)
        self.experiment.observed(newest, now_s, slow_events, reports)

    def tick(
        self,
        settings: Settings,
        now_s: float,
        allowed: Permission,
        signals: Mapping[int, Signals],
        reports: ReportInterval,
    ) -> None:
        """Continue the operation under way."""
        self.driver.set_limits(
            Limits(
                restart_s=settings.restart_timeout_s,
                boot_s=settings.restart_timeout_s,
                report_s=reports.interval_s,
                verify_s=VERIFY_S + reports.late_s,
            )
        )
        run, monotonic_s = self._steps.run, self._monotonic()
        run('rollout', lambda: self.driver.tick(now_s, allowed, monotonic_s))
        # By the clock and the permission of the rollout's tick.
        run('experiment', lambda: self.experiment.tick(now_s))

        def compact() -> None:
            campaign = self.campaign
            campaign.load()
            campaign.limits = CampaignLimits(settle_s=SETTLE_S + reports.late_s)
            # A pass over all OSDs, which only a campaign needs.
            osds = self._cluster.cluster_map().osds if campaign.under_way else ()
            campaign.tick(now_s, measurements(osds, signals), allowed, monotonic_s)

        run('compaction campaign', compact)

    # -- without being asked

    def recommended(self, recommendations: Sequence[Recommendation]) -> None:
        """Track how long each recommendation has been stable, in any mode."""
        self._ages.update(recommendations, self._monotonic())

    def auto_apply(self, settings: Settings, recommendations: Sequence[Recommendation]) -> None:
        """Start at most one recommendation."""
        driver, campaign, experiment = self.driver, self.campaign, self.experiment
        decision = automatic.decide(
            recommendations,
            self._ages,
            automatic.Preconditions(
                driver.history,
                driver.state,
                driver.acknowledged,
                self._cluster.unavailable_reason(),
                campaign.under_way,
                experiment_under_way=experiment.under_way,
                ended_id=driver.time.ended_id,
                ended_ago_s=driver.time.since_end_s,
                broken=(*driver.broken, *campaign.problems, *experiment.problems),
                impossible=contradiction(settings.soak),
            ),
            self._monotonic(),
            settings.auto_apply,
        )
        self.refusals = decision.refusals
        if decision.chosen is not None:
            self._start(decision.chosen, 'auto-apply', 'auto-apply')

    def adopt(self, recommendations: Sequence[Recommendation], now_s: float) -> None:
        """Start the requested rollout of a winner, once, as soon as it is recommended."""
        experiment = self.experiment.state
        chosen = adoptable(experiment, self.driver.state, recommendations, now_s)
        if experiment is not None and chosen is not None:
            what = f'the winner of experiment {experiment.experiment_id}'
            self._start(chosen, experiment.actor, what)

    def _start(self, chosen: Recommendation, actor: str, what: str) -> None:
        log.info('%s: starting %s', what, chosen.recommendation_id)
        try:
            self.start(chosen, actor)
        except OperationRefused as refusal:
            log.warning('%s: %s was refused: %s', what, chosen.recommendation_id, refusal)

    # -- commands

    def name_actor(self, change_id: str, actor: str) -> None:
        for operation in self._operations:
            operation.name_actor(change_id, actor)

    def start(self, recommendation: Recommendation, actor: str) -> RolloutState:
        """Start the rollout of ``recommendation``."""
        self._refuse_beside_others(self.driver)
        try:
            soak = self._current.read().soak
        except Exception as error:
            raise OperationRefused(
                errno.EINVAL, f'the options of the module cannot be read: {error}'
            ) from error
        request = change_request(recommendation, actor)
        return self.driver.start(
            request, self._clock(), soak, elsewhere=self.experiment.outstanding
        )

    def campaign_of(self, request: CampaignRequest) -> CampaignState:
        """Start a compaction campaign."""
        self._refuse_beside_others(self.campaign)
        return self.campaign.start(CAMPAIGN + self.driver.next_number(), request, self._clock())

    def preview(
        self, request: CampaignRequest, allowed: Permission, signals: Mapping[int, Signals]
    ) -> CampaignPlan:
        """What a campaign would take now; nothing changes."""
        found = measurements(self._cluster.cluster_map().osds, signals)
        return self.campaign.preview(request, found, allowed, self._under_way())

    def start_experiment(self, plan: ExperimentPlan, actor: str, *, adopt: bool) -> ExperimentState:
        self._refuse_beside_others(self.experiment)
        experiment_id = EXPERIMENT + self.driver.next_number()
        return self.experiment.start(experiment_id, plan, actor, self._clock(), adopt=adopt)

    def rollback(self, rollout_id: Optional[str], actor: str) -> RolloutState:
        """Roll back, and abort a campaign under way.

        An OSD that is compacting finishes on its own. An experiment restores its OSDs first.
        """
        now_s = self._clock()

        def end_others() -> None:
            if self.experiment.under_way:
                self._refuse_beside_others(self.driver)
            if self.campaign.under_way:
                self.campaign.abort(actor, now_s)

        return self.driver.rollback(
            rollout_id, actor, now_s, end_others, self.experiment.outstanding
        )

    def pause(self, actor: str) -> None:
        """Pause the operation under way."""
        self._current_operation().pause(actor, self._clock())

    def resume(self) -> None:
        """Resume the operation under way, or acknowledge the failure of the last one."""
        now_s = self._clock()
        acknowledged = not self.under_way and (
            self.experiment.acknowledge(now_s) or self.driver.acknowledge()
        )
        if not acknowledged:
            self._current_operation().resume(now_s)

    def abort(self, actor: str) -> None:
        self._current_operation().abort(actor, self._clock())

    def _current_operation(self) -> AnyOperation:
        """The operation that commands apply to; raises OperationRefused."""
        for operation in self._operations:
            if operation.under_way:
                return operation
        raise OperationRefused(errno.ENOENT, 'no operation is under way')

    def _under_way(self, beside: Optional[AnyOperation] = None) -> Optional[str]:
        """The operation under way, other than ``beside``, as a sentence."""
        for other in self._operations:
            if other is not beside and other.under_way:
                article = 'an' if other.KIND[0] in 'aeiou' else 'a'
                return f'{article} {other.KIND} is under way'
        return None

    def _refuse_beside_others(self, own: AnyOperation) -> None:
        busy = self._under_way(beside=own)
        if busy is not None:
            raise OperationRefused(errno.EBUSY, f'{busy}: wait for it, or abort it')


def measurements(osds: Iterable[OsdInfo], signals: Mapping[int, Signals]) -> Measured:
    """Measurements of the current samples that a campaign needs."""
    used, sizes, writes = {}, {}, []
    unmeasured = set()
    for osd in osds:
        found = signals.get(osd.osd_id, Signals(osd.osd_id))
        iops, latency_ms = found.write_iops, found.op_w_latency_ms
        if iops and latency_ms is not None:
            writes.append((latency_ms, iops))
        elif iops != 0 and osd.up:
            unmeasured.add(osd.osd_id)
        size = osd.main_device_bytes if osd.dedicated_db is False else found.db_total_bytes
        if found.db_used_bytes is not None:
            used[osd.osd_id] = found.db_used_bytes
        if size:
            sizes[osd.osd_id] = size
    total = sum(iops for _, iops in writes)
    mean_ms = round(sum(ms * iops for ms, iops in writes) / total, 3) if total else None
    return Measured(used, sizes, mean_ms, frozenset(unmeasured))
