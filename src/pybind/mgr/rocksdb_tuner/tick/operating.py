"""What changes OSDs: an operation of each kind, begun, driven and steered.

Only one of them at a time. Everything here is called in the serve thread.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Callable, Mapping, Optional, Protocol

from ..advise.proposal import change_request
from ..advise.records import Recommendation
from ..advise.strings import same_meaning
from ..mgr.protocols import ConfigStore, CounterReader, Orchestrator, Store
from ..observe.sample import Sample
from ..observe.signals import Signals
from ..observe.slow_events import SlowEvents, read_slow_events
from ..operations.allowed import Allowed
from ..operations.compaction.driver import CampaignCluster, CampaignDriver
from ..operations.compaction.history import record_of as campaign_record
from ..operations.compaction.offer import CAMPAIGN, campaign_request
from ..operations.compaction.records import CampaignState
from ..operations.compaction.view import Measured
from ..operations.errors import OperationRefused
from ..operations.operation import Operation
from ..operations.rollout.announce import RolloutAnnouncer
from ..operations.rollout.driver import Driver
from ..operations.rollout.records import RolloutState
from ..operations.rollout.rules import Limits
from ..settings import Settings
from ..snapshot import Snapshot
from ..steps import Steps
from .current_settings import CurrentSettings


class Changed(CampaignCluster, CounterReader, ConfigStore, Orchestrator, Protocol):
    """What is changed."""


class Operating:
    """The last rollout and the last campaign; raises OperationRefused for what cannot be done."""

    def __init__(
        self,
        cluster: Changed,
        store: Store,
        steps: Steps,
        current: CurrentSettings,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster, self._current = cluster, current
        self._clock, self._monotonic = clock, monotonic
        self._announcer = RolloutAnnouncer(cluster)
        self.driver = Driver(
            config=cluster,
            osds=cluster,
            orchestrator=cluster,
            cluster=cluster,
            upgrades=cluster,
            store=store,
            same_meaning=lambda a, b: same_meaning(a, b, None),
            on_change=self._announcer.changed,
            switched_on=current.switched_on,
            guard=steps,
        )
        self.campaign = CampaignDriver(
            cluster,
            store,
            on_end=lambda state: self.driver.add_record(campaign_record(state)),
            switched_on=current.switched_on,
            guard=steps,
        )
        #: Operators mean the first that is under way, or else the first.
        self._operations: tuple[Operation, ...] = (self.driver, self.campaign)

    def announce_taken_over(self) -> None:
        """What an earlier manager left under way is announced by this one."""
        self._announcer.taken_over(self.driver.state)

    @property
    def rollout_under_way(self) -> bool:
        return self.driver.under_way

    @property
    def under_way(self) -> bool:
        return any(operation.under_way for operation in self._operations)

    @property
    def compacting(self) -> bool:
        """Whether an OSD may be busy with a compaction of ours."""
        state = self.campaign.state
        return state is not None and bool(state.in_flight)

    @property
    def changes(self) -> tuple[Optional[RolloutState], Optional[CampaignState]]:
        """The last rollout and the last campaign, as they are now."""
        return self.driver.state, self.campaign.state

    @property
    def campaign_waits_for(self) -> Optional[str]:
        return self.campaign.waits_for

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with what is stored of them."""
        return tuple(problem for operation in self._operations for problem in operation.problems)

    def shown_in(self, snapshot: Snapshot) -> Snapshot:
        """``snapshot`` with what is under way now."""
        alarm_after_s = self._current.gate_alarm_after_s
        return replace(
            snapshot,
            rollout=self.driver.state,
            rollout_acknowledged=self.driver.acknowledged,
            rollout_waits=self.driver.why_waiting(alarm_after_s),
            campaign=self.campaign.state,
            campaign_waits=self.campaign.why_waiting(alarm_after_s),
            campaign_waits_for=self.campaign.waits_for,
            history=self.driver.history,
            notices=self.problems,
        )

    def record(self, newest: Callable[[int], Optional[Sample]], now_s: float) -> None:
        """Keep what was sampled: the verdict on a rollout is made of it."""

        def slow_events(osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
            return read_slow_events(self._cluster, osd_ids)

        self.driver.observed(newest, now_s, slow_events)

    def drive_rollout(
        self, settings: Settings, now_s: float, allowed: Allowed, unheard: Optional[str]
    ) -> bool:
        """Go on with it; True where it ended."""
        self.driver.wait_at_most(
            Limits(restart_s=settings.restart_timeout_s, boot_s=settings.restart_timeout_s)
        )
        under_way = self.rollout_under_way
        self.driver.tick(
            now_s,
            may_act=allowed.may_act,
            outside_window=allowed.outside_window,
            restarts_per_day=settings.restarts_per_day,
            deaf=allowed.deaf,
            unheard=unheard,
            monotonic_s=self._monotonic(),
        )
        return under_way and not self.rollout_under_way

    def drive_campaign(
        self, now_s: float, allowed: Allowed, signals: Mapping[int, Signals]
    ) -> Optional[str]:
        """Go on with it; the id of its recommendation where it ended."""
        campaign = self.campaign.state if self.campaign.under_way else None
        self.campaign.tick(now_s, measured(signals), allowed, monotonic_s=self._monotonic())
        if campaign is None or self.campaign.under_way:
            return None
        return campaign.request.recommendation_id

    def name_actor(self, change_id: str, actor: str) -> None:
        for operation in self._operations:
            operation.name_actor(change_id, actor)

    def start(self, recommendation: Recommendation, actor: str) -> RolloutState:
        """Begin to carry out ``recommendation``."""
        self._refuse_beside_others(self.driver)
        request = change_request(recommendation, actor)
        return self.driver.start(request, self._clock(), self._current.to_begin().soak)

    def compact(self, recommendation: Recommendation, actor: str) -> CampaignState:
        """Begin the compaction campaign of ``recommendation``."""
        self._refuse_beside_others(self.campaign)
        parallel = self._current.to_begin().compaction_parallel
        request = campaign_request(recommendation, actor, parallel)
        return self.campaign.start(CAMPAIGN + self.driver.next_number(), request, self._clock())

    def rollback(self, rollout_id: Optional[str], actor: str) -> RolloutState:
        """What compacts now goes on in its OSD; nothing more is compacted."""
        now_s = self._clock()

        def end_others() -> None:
            for operation in self._others_under_way(self.driver):
                operation.abort(actor, now_s)

        return self.driver.rollback(rollout_id, actor, now_s, before=end_others)

    def pause(self, actor: str) -> None:
        """Pause what is under way."""
        self._meant().pause(actor, self._clock())

    def resume(self) -> None:
        self._meant().resume(self._clock())

    def abort(self, actor: str) -> None:
        self._meant().abort(actor, self._clock())

    def acknowledge(self) -> RolloutState:
        return self.driver.acknowledge()

    def _meant(self) -> Operation:
        """What an operator steers."""
        return next((o for o in self._operations if o.under_way), self._operations[0])

    def _others_under_way(self, own: Operation) -> Iterator[Operation]:
        return (o for o in self._operations if o is not own and o.under_way)

    def _refuse_beside_others(self, own: Operation) -> None:
        for other in self._others_under_way(own):
            raise OperationRefused(
                errno.EBUSY, f'a {other.KIND} is under way: wait for it, or abort it'
            )


def measured(signals: Mapping[int, Signals]) -> Measured:
    """What a campaign goes by."""
    writes = [
        (s.op_w_latency_ms, s.write_iops)
        for s in signals.values()
        if s.op_w_latency_ms is not None and s.write_iops
    ]
    total = sum(iops for _, iops in writes)
    mean_ms = sum(ms * iops for ms, iops in writes) / total if total else None
    return Measured(
        {n: s.db_used_bytes for n, s in signals.items() if s.db_used_bytes is not None},
        {n: s.db_total_bytes for n, s in signals.items() if s.db_total_bytes is not None},
        None if mean_ms is None else round(mean_ms, 3),
    )
