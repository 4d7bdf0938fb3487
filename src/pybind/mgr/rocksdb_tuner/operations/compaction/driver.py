"""Executes the decisions of the campaign's state machine. Only this does I/O."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Callable, Optional, Protocol

from ...mgr.protocols import (
    Announcements,
    Answer,
    ClusterReader,
    CommandError,
    OsdCommands,
    OsdQuestions,
    ReportReader,
    Store,
    Upgrades,
)
from ...mgr.records import ClusterMap
from ...store.stored import Quarantine, Stored
from ..driver import Guard, OperationDriver, daemon_versions, ok_to_stop, orchestrated_upgrade
from ..gates import ClusterView
from ..phases import Permission, Phase, clip
from ..reported import ReportedSince, Stopwatch
from . import machine, records
from .announce import TEXTS
from .machine import (
    PROBE_ARGUMENTS,
    PROBE_COMMAND,
    Compact,
    Limits,
    Measured,
    Probe,
    Step,
    View,
    parse_probe,
)
from .plan import CampaignPlan, guards, planned_osds
from .records import CampaignRequest, CampaignState, CompactionStep

log = logging.getLogger(__name__)

#: Minimum interval between two counter queries to one OSD.
PROBE_PERIOD_S = 5.0


class OsdCommandQueue:
    """Commands of this manager to one OSD at a time, and its last counters."""

    def __init__(self, osds: OsdQuestions) -> None:
        self._osds = osds
        self._address(-1, None)

    def _address(self, osd_id: int, nonce: Optional[int]) -> None:
        """Drop what another OSD or process was asked: its commands are gone with it."""
        self._to = osd_id, nonce
        self._compact: Optional[Answer] = None
        self._probe: Optional[Answer] = None
        self._probed_s: Optional[float] = None
        #: The latest answer of this process.
        self.found: Optional[Probe] = None

    def compact(self, osd_id: int, nonce: Optional[int]) -> None:
        """``nonce`` identifies the process that gets the command.

        Earlier answers are dropped: they do not cover this compaction.
        """
        self._address(osd_id, nonce)
        self._compact = self._osds.ask(osd_id, 'compact', {})

    def poll(self, osd_id: int, nonce: Optional[int], now_s: float) -> Optional[str]:
        """Collect the answers of an OSD, and query it again when due.

        Why it did not compact; None if it did, or has not answered yet.
        """
        if self._to != (osd_id, nonce):
            self._address(osd_id, nonce)
        if nonce is None:
            return None
        error = None
        if self._compact is not None:
            try:
                if self._compact.output() is None:
                    # Another command would queue behind the unanswered one.
                    return None
            except CommandError as refused:
                error = refused.message
                log.warning('osd.%d did not compact: %s', osd_id, error)
            self._compact = None
        if self._probed_s is not None and now_s - self._probed_s >= 2 * PROBE_PERIOD_S:
            # It was not asked for a while, or does not answer.
            self.found = None
        self._take_probe()
        due = self._probed_s is None or now_s - self._probed_s >= PROBE_PERIOD_S
        if self._probe is None and due:
            self._probed_s = now_s
            self._probe = self._osds.ask(osd_id, PROBE_COMMAND, PROBE_ARGUMENTS)
        return error

    def _take_probe(self) -> None:
        osd_id, nonce = self._to
        try:
            output = None if self._probe is None else self._probe.output()
            if output is None:
                return
            self.found = parse_probe(output, nonce)
        except (CommandError, ValueError) as error:
            log.debug('osd.%d did not report its compactions: %s', osd_id, error)
        self._probe = None


CURRENT = 'campaign/current'


def stored_campaign(store: Store) -> Stored[CampaignState]:
    """Where the last campaign is stored."""
    return Stored(store, CURRENT, CampaignState, _contradictions)


def _contradictions(state: CampaignState) -> Iterator[str]:
    ids = [osd.osd_id for osd in state.osds]
    if not ids or len(set(ids)) != len(ids):
        yield '"osds" is empty or names an OSD twice'
    if [osd_id for osd_id, _ in state.request.osds] != ids:
        yield '"osds" does not match "request.osds"'
    if state.stage is Phase.WAITING:
        yield '"waiting" is not a valid "stage"'
    if state.ended != (state.outcome is not None):
        yield '"outcome" and "stage" contradict each other'


class CampaignCluster(
    ClusterReader, ReportReader, OsdCommands, OsdQuestions, Upgrades, Announcements, Protocol
):
    """Cluster interfaces of a campaign."""


class CampaignDriver(OperationDriver[CampaignState, View, Compact]):
    """Runs one campaign at a time."""

    KIND = 'compaction campaign'

    def __init__(
        self,
        cluster: CampaignCluster,
        store: Store,
        on_end: Callable[[CampaignState], None] = lambda _: None,
        limits: Optional[Limits] = None,
        changes_allowed: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        """``on_end`` records an ended campaign; it may raise CommandError."""
        super().__init__(cluster, TEXTS, changes_allowed, guard)
        self._cluster = cluster
        self._quarantine, self._stored = Quarantine(store), stored_campaign(store)
        self._on_end = on_end
        self.limits = limits or Limits()
        self._commands = OsdCommandQueue(cluster)
        self._reported = ReportedSince()
        #: Monotonic time of this tick, and how long this manager has been observing.
        self._steady_s = self._watched_s = 0.0
        self._measured = Measured({}, {}, None, frozenset())
        self._in_step = Stopwatch()
        self._away: dict[int, Stopwatch] = {}
        #: What it waits for in its OSDs; None if it waits for no OSD.
        self.waits_for: Optional[str] = None

    def preview(
        self,
        request: CampaignRequest,
        measured: Measured,
        allowed: Permission,
        others: Optional[str],
    ) -> CampaignPlan:
        """What a campaign would take, and what would hold it up now."""
        cluster = self._cluster.cluster_map()
        osds = planned_osds(request, cluster, measured)
        first = [osd.osd_id for osd in osds if osd.skipped is None][:1]
        seen = self._cluster_view(cluster, first, allowed, reported=True)
        found = guards(seen, osds, measured, self.limits, others)
        return CampaignPlan(request, osds, found, self.limits)

    def start(self, campaign_id: str, request: CampaignRequest, now_s: float) -> CampaignState:
        """Start a campaign; raises OperationRefused."""
        self._refuse_while_running()
        state = self._begin(records.planned(campaign_id, request, now_s))
        self._commands = OsdCommandQueue(self._cluster)
        self._in_step, self._away = Stopwatch(), {}
        return state

    def _waits_for_operator(self, state: CampaignState) -> bool:
        return state.paused_reason is not None

    def _resumed(self, state: CampaignState, now_s: float) -> CampaignState:
        return records.resumed(state, now_s)

    def _aborted(self, state: CampaignState, actor: str, now_s: float) -> CampaignState:
        return records.aborted(state, actor, now_s)

    def tick(
        self,
        now_s: float,
        measured: Measured,
        allowed: Permission,
        monotonic_s: float,
    ) -> None:
        """Observe, decide, save and act; returns at once if there is no campaign.

        ``now_s`` is the wall clock, for display; waiting is measured by ``monotonic_s``.
        """
        self.load()
        self._measured, self._allowed, self._steady_s = measured, allowed, monotonic_s
        self._watched_s = self._watched.update(None, monotonic_s)
        if self._state is None:
            return
        self._advance(now_s, monotonic_s)
        if self._error is not None:
            # Earlier observations may be stale.
            self.waits_for = None

    def _decide(self, state: CampaignState, seen: View, now_s: float) -> Step:
        step = machine.step(state, seen, now_s)
        self.waits_for = step.waits_for
        return step

    def _act(self, state: CampaignState, action: Compact, now_s: float) -> bool:  # noqa: ARG002
        info = self._cluster.cluster_map().by_id.get(action.osd_id)
        self._commands.compact(action.osd_id, None if info is None else info.nonce)
        return True

    def _waits_at(self, state: CampaignState) -> object:
        paused = state.paused_by is not None
        return None if paused else (state.campaign_id, tuple(osd.step for osd in state.osds))

    # -- observing

    def _observe(self, state: CampaignState) -> View:
        cluster, startable = self._cluster.cluster_map(), machine.startable(state)
        nonces = {osd.osd_id: osd.nonce for osd in cluster.osds if osd.up}
        osd, found = state.at_hand, None
        if osd is not None and (osd.step is CompactionStep.COMPACTING or startable is not None):
            error = self._commands.poll(osd.osd_id, nonces.get(osd.osd_id), self._steady_s)
            found = self._commands.found
            if error is not None:
                # The counters show whether it compacts all the same.
                text = clip(f'osd.{osd.osd_id}: {error}')
                self._save(replace(state, last_error=text, updated_s=self._now_s))
        processes = {osd.osd_id: (osd.up, osd.in_cluster, osd.nonce) for osd in cluster.osds}
        reported = self._reported.update(processes, self._cluster, nonces, self._steady_s)
        gated = [] if startable is None else [startable]
        away_s = self._away_s(cluster)
        awaited = (n for n in self._measured.unmeasured if away_s.get(n, 0.0) < self.limits.away_s)
        at = osd and (osd.osd_id, osd.step, osd.asked)
        return View(
            cluster=self._cluster_view(cluster, gated, self._allowed, reported=reported),
            measured=self._measured._replace(unmeasured=frozenset(awaited)),
            probe=found,
            watched_s=self._watched_s,
            in_step_s=self._in_step.update(at, self._steady_s),
            away_s=away_s.get(osd.osd_id, 0.0) if osd is not None else 0.0,
            limits=self.limits,
        )

    def _cluster_view(
        self, cluster: ClusterMap, gated: Sequence[int], allowed: Permission, *, reported: bool
    ) -> ClusterView:
        return ClusterView(
            cluster=cluster,
            pgs=self._cluster.pg_summary(),
            health=frozenset(self._cluster.health_codes()),
            ok_to_stop=ok_to_stop(self._cluster, gated),
            versions=daemon_versions(self._cluster) if gated else None,
            upgrade=orchestrated_upgrade(self._cluster) if gated else None,
            may_act=allowed.may_act,
            schedule_reason=allowed.outside_window,
            no_reports_reason=allowed.no_reports_reason or allowed.reports_unknown,
            osds_moved=not reported,
        )

    def _away_s(self, cluster: ClusterMap) -> Mapping[int, float]:
        measured = self._measured
        known = measured.used_bytes.keys() & measured.total_bytes.keys() - measured.unmeasured
        # Without a sample of any OSD it is the manager that has none.
        away = {
            osd.osd_id: osd.up
            for osd in cluster.osds
            if (bool(known) and osd.osd_id not in known if osd.up else not osd.in_cluster)
        }
        self._away = {n: self._away.get(n, Stopwatch()) for n in away}
        return {n: since.update(away[n], self._steady_s) for n, since in self._away.items()}

    def _conclude(self, state: CampaignState) -> None:
        self._on_end(state)
