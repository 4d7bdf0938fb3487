"""Carries out what the machine of a campaign decides: with `asking`, all of it that does I/O."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Callable, Optional, Protocol

from ...mgr.protocols import (
    Announcements,
    ClusterReader,
    OsdCommands,
    OsdQuestions,
    Store,
    Upgrades,
)
from ...mgr.records import ClusterMap
from ...store.errors import StoredStateError
from ..allowed import Allowed
from ..cluster_view import ClusterView
from ..driver import OperationDriver
from ..errors import OperationRefused
from ..gates import NOT_ALLOWED
from ..guard import Guard
from ..looking import daemon_versions, ok_to_stop, orchestrated_upgrade
from ..stopwatch import Stopwatch
from . import acts, alarm, machine
from .announce import CampaignAnnouncer
from .asking import Asking
from .records import FINISHED, CampaignRequest, CampaignState, planned
from .rules import Compact, Limits, Step
from .storage import CURRENT, CampaignStorage
from .view import Measured, View


class CampaignCluster(ClusterReader, OsdCommands, OsdQuestions, Upgrades, Announcements, Protocol):
    """What a campaign needs of a cluster."""


class CampaignDriver(OperationDriver[CampaignState, View, Compact]):
    """One campaign at a time."""

    KIND = 'compaction campaign'
    NONE_RUNNING = 'no compaction campaign is under way'

    def __init__(
        self,
        cluster: CampaignCluster,
        store: Store,
        on_end: Callable[[CampaignState], None] = lambda _: None,
        limits: Optional[Limits] = None,
        switched_on: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        """``on_end`` keeps a campaign that ended for good; it may raise CommandError."""
        super().__init__(switched_on, guard)
        self._cluster = cluster
        self._storage = CampaignStorage(store)
        self._announcer = CampaignAnnouncer(cluster)
        self._on_end = on_end
        self._limits = limits or Limits()
        self._problem: Optional[str] = None
        self._asking = Asking(cluster)
        #: The time of this tick by the clock that nobody sets.
        self._steady_s = 0.0
        self._in_step: dict[int, Stopwatch] = {}
        self._away: dict[int, Stopwatch] = {}
        self._waits_for: Optional[str] = None

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(text for text in (self._problem, self._trouble) if text is not None)

    @property
    def waits_for(self) -> Optional[str]:
        """What its OSDs do that it waits for; None where it waits for no OSD."""
        return self._waits_for

    def start(self, campaign_id: str, request: CampaignRequest, now_s: float) -> CampaignState:
        """Begin a campaign; raises OperationRefused."""
        self.load()
        if self.under_way:
            raise OperationRefused(errno.EBUSY, f'{self._named()} is under way')
        self._conclude_the_last(campaign_id)
        state = planned(campaign_id, request, now_s)
        self._asking = Asking(self._cluster)
        self._in_step, self._away = {}, {}
        return self._keep(state)

    def name_actor(self, campaign_id: str, actor: str) -> None:
        """Who asked for a campaign, now that it is known; raises CommandError."""
        state = self._state
        if state is None or state.campaign_id != campaign_id or state.ended:
            return
        named = replace(state, request=replace(state.request, actor=actor))
        self._save(named)

    def _paused(self, state: CampaignState, actor: str, now_s: float) -> CampaignState:
        return acts.paused(state, actor, now_s)

    def _resumed(self, state: CampaignState, now_s: float) -> CampaignState:
        if state.paused_reason is None:
            raise OperationRefused(errno.EINVAL, f'{self._named()} is not paused; it is running')
        return acts.resumed(state, now_s)

    def _aborted(self, state: CampaignState, actor: str, now_s: float) -> CampaignState:
        return acts.aborted(state, actor, now_s)

    def tick(
        self,
        now_s: float,
        measured: Measured,
        allowed: Allowed,
        monotonic_s: float,
    ) -> None:
        """Look, decide, save, act; returns at once where there is no campaign.

        ``now_s`` is the time of day, for display; waiting is measured by ``monotonic_s``, a clock
        that nobody sets.
        """
        self.load()
        self._steady_s = monotonic_s
        watched_s = self._watching.look(None, self._steady_s)
        if self._state is None:
            return
        self._go_on(
            now_s,
            lambda state: self._view(state, now_s, measured, watched_s, allowed),
            lambda state: _stuck_at(state, allowed),
            monotonic_s,
        )
        if self._trouble is not None:
            # What was seen before is not counted on.
            self._waits_for = None

    def _decide(self, state: CampaignState, seen: View, now_s: float) -> Step:
        step = machine.step(state, seen, now_s, self._limits)
        self._waits_for = step.waits_for
        return step

    def _stays_in_mode_off(self, *_: object) -> bool:
        return True

    def _in_mode_off(self, action: Compact) -> str:
        return f'{self._named()}: osd.{action.osd_id} is not asked in mode off'

    def _act(self, state: CampaignState, action: Compact, now_s: float) -> bool:  # noqa: ARG002
        osd_id = action.osd_id
        self._asking.forget(osd_id)
        nonce = next(
            (o.nonce for o in self._cluster.cluster_map().osds if o.osd_id == osd_id), None
        )
        self._asking.compact(osd_id, nonce)
        return True

    # -- looking

    def _view(
        self,
        state: CampaignState,
        now_s: float,
        measured: Measured,
        watched_s: float,
        allowed: Allowed,
    ) -> View:
        cluster = self._cluster.cluster_map()
        nonces = {osd.osd_id: osd.nonce for osd in cluster.osds if osd.up}
        wanted = machine.probed(state, cluster)
        for osd_id in wanted:
            refused = partial(self._compact_refused, osd_id, now_s)
            self._asking.look_at(osd_id, nonces.get(osd_id), self._steady_s, refused)
        probes = self._asking.probes(nonces)
        gated = machine.gated(state, cluster, probes)
        seen = ClusterView(
            cluster=cluster,
            pgs=self._cluster.pg_summary(),
            health=frozenset(self._cluster.health_codes()),
            ok_to_stop=ok_to_stop(self._cluster, gated),
            versions=daemon_versions(self._cluster) if gated else None,
            upgrade=orchestrated_upgrade(self._cluster) if gated else None,
            may_act=allowed.may_act,
            not_now=allowed.outside_window,
            deaf=allowed.deaf,
        )
        return View(
            cluster=seen,
            probes=probes,
            used_bytes=measured.used_bytes,
            total_bytes=measured.total_bytes,
            latency_ms=measured.latency_ms,
            watched_s=watched_s,
            in_step_s={
                osd.osd_id: self._in_step.setdefault(osd.osd_id, Stopwatch()).look(
                    (osd.step, osd.nonce, osd.asked), self._steady_s
                )
                for osd in state.in_flight
            },
            away_s=self._away_s(state, cluster),
        )

    def _away_s(self, state: CampaignState, cluster: ClusterMap) -> Mapping[int, float]:
        away = {osd.osd_id for osd in cluster.osds if not osd.up and not osd.in_cluster}
        waited_for = {o.osd_id for o in state.osds if o.step not in FINISHED} if away else set()
        self._away = {n: self._away.get(n, Stopwatch()) for n in away & waited_for}
        return {n: since.look(None, self._steady_s) for n, since in self._away.items()}

    def _compact_refused(self, osd_id: int, now_s: float, error: str) -> None:
        self._save(acts.ask_failed(self._last, osd_id, error, now_s))

    # -- keeping

    def _load(self) -> None:
        try:
            self._state = self._storage.load()
        except StoredStateError as error:
            self._problem = (
                f'the stored "{CURRENT}" could not be read and was quarantined: {error}; a '
                'compaction that runs goes on in its OSD'
            )
        if self._state is None:
            return
        self._unrecorded = self._state.ended
        taken_over = self._state
        self._guard.value('announcements', lambda: self._announcer.taken_over(taken_over), None)

    def _store(self, state: CampaignState) -> None:
        self._storage.save(state)

    def _announce(self, before: Optional[CampaignState], state: CampaignState) -> None:
        self._announcer.changed(before, state)

    def _conclude(self, state: CampaignState) -> None:
        self._on_end(state)

    def _why_waiting(
        self, state: CampaignState, waited_s: float, gate_alarm_after_s: float
    ) -> Optional[str]:
        return alarm.why_waiting(state, waited_s, gate_alarm_after_s)

    def _named(self) -> str:
        return f'{self.KIND} {self._last.campaign_id}'


def _stuck_at(state: CampaignState, allowed: Allowed) -> object:
    """Where it waits; another value each time where it does not, or where that was chosen."""
    chosen = {NOT_ALLOWED, allowed.outside_window}
    if state.ended or state.paused_by is not None or state.paused_reason in {None, *chosen}:
        return object()
    return state.campaign_id, tuple(osd.step for osd in state.osds)
