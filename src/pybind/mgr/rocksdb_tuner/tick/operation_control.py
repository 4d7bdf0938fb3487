"""Starts, drives and controls rollouts, compaction campaigns and experiments.

Only one operation runs at a time. Call everything here in the serve thread.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Any, Callable, Mapping, Optional

from ..advise.compaction import CAMPAIGN
from ..advise.facts import why_unstartable
from ..advise.proposal import change_request
from ..advise.records import Recommendation
from ..advise.strings import same_meaning
from ..mgr.protocols import Cluster, Store
from ..mgr.records import OsdInfo
from ..observe.details import SlowEvents, read_slow_events
from ..observe.report_interval import DEFAULT
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
from ..operations.rollout.driver import Driver
from ..operations.rollout.records import RolloutState
from ..operations.rollout.rules import VERIFY_S, Limits
from ..plan.experiment_design import ExperimentPlan
from ..settings import Settings
from ..steps import Steps
from .current_settings import CurrentSettings


class OperationControl:
    """The last operation of each kind; refuses commands with OperationRefused."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        steps: Steps,
        current: CurrentSettings,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        remember: Callable[[ExperimentState], None] = lambda _: None,
    ) -> None:
        """``remember`` keeps the winner of an ended experiment; it may raise CommandError."""
        self._cluster, self._current = cluster, current
        self._clock, self._monotonic, self._remember = clock, monotonic, remember
        #: As of this tick.
        self.reports = DEFAULT
        self.driver = Driver(
            cluster,
            store,
            same_meaning=lambda a, b: same_meaning(a, b, None),
            why_unstartable=why_unstartable,
            changes_allowed=current.changes_enabled,
            guard=steps,
        )
        self.campaign = CampaignDriver(
            cluster,
            store,
            on_end=lambda state: self.driver.add_record(campaign_record(state)),
            changes_allowed=current.changes_enabled,
            guard=steps,
        )
        self.experiment = ExperimentDriver(
            self.driver,
            cluster,
            store,
            on_end=self._experiment_ended,
            changes_allowed=current.changes_enabled,
            guard=steps,
        )
        #: Commands go to the first one under way.
        self._operations: tuple[AnyOperation, ...] = (self.driver, self.experiment, self.campaign)

    def _experiment_ended(self, state: ExperimentState) -> None:
        self.driver.add_record(experiment_record(state))
        self._remember(state)

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
        }

    def record(self, newest: Callable[[int], Optional[Sample]], now_s: float) -> None:
        """Record samples as evidence for the verdict on a rollout, or of an experiment."""

        def slow_events(osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
            return read_slow_events(self._cluster, osd_ids)

        self.driver.observed(newest, now_s, slow_events, self.reports)
        self.experiment.observed(newest, now_s, slow_events, self.reports)

    def drive_rollout(self, settings: Settings, now_s: float, allowed: Permission) -> None:
        """Continue the rollout; the experiment's tick comes after it."""
        self.driver.set_limits(
            Limits(
                restart_s=settings.restart_timeout_s,
                boot_s=settings.restart_timeout_s,
                report_s=self.reports.interval_s,
                verify_s=VERIFY_S + self.reports.late_s,
            )
        )
        self.driver.tick(now_s, allowed, self._monotonic())

    def drive_campaign(
        self, now_s: float, allowed: Permission, signals: Mapping[int, Signals]
    ) -> Optional[str]:
        """Continue the campaign; the id of its recommendation if it ended in this tick."""
        campaign = self.campaign
        state = campaign.state if campaign.under_way else None
        campaign.load()
        campaign.limits = CampaignLimits(settle_s=SETTLE_S + self.reports.late_s)
        # A pass over all OSDs, which only a campaign needs.
        osds = self._cluster.cluster_map().osds if campaign.under_way else ()
        campaign.tick(now_s, measurements(osds, signals), allowed, monotonic_s=self._monotonic())
        ended = state is not None and not campaign.under_way
        return state.request.recommendation_id if ended and state else None

    def name_actor(self, change_id: str, actor: str) -> None:
        for operation in self._operations:
            operation.name_actor(change_id, actor)

    def start(self, recommendation: Recommendation, actor: str) -> RolloutState:
        """Start the rollout of ``recommendation``."""
        self._refuse_beside_others(self.driver)
        request = change_request(recommendation, actor)
        return self.driver.start(
            request,
            self._clock(),
            self._current.for_start().soak,
            elsewhere=self.experiment.outstanding,
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
        busy = next((_is_under_way(o) for o in self._operations if o.under_way), None)
        return self.campaign.preview(request, found, allowed, busy)

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

    def _refuse_beside_others(self, own: AnyOperation) -> None:
        for other in self._operations:
            if other is not own and other.under_way:
                raise OperationRefused(
                    errno.EBUSY, f'{_is_under_way(other)}: wait for it, or abort it'
                )


def _is_under_way(operation: AnyOperation) -> str:
    article = 'an' if operation.KIND[0] in 'aeiou' else 'a'
    return f'{article} {operation.KIND} is under way'


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
