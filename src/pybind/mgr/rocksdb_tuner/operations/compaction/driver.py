"""Carries out what the machine of a campaign decides: the only part of it that does I/O.

Nothing here waits for an OSD. `compact` blocks on Pacific until it is done, minutes or hours, and
whatever else an OSD of Pacific is asked meanwhile waits behind it: so both are sent, and their
answers are looked for at later ticks.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Callable, NamedTuple, Optional, Protocol

from ...mgr.protocols import (
    Announcements,
    Answer,
    ClusterReader,
    CommandError,
    OsdCommands,
    OsdQuestions,
    Store,
    Upgrades,
)
from ...mgr.records import ClusterMap, DaemonVersions
from ...store.errors import StoredStateError
from ..cluster_view import ClusterView
from ..errors import OperationRefused
from ..gates import NOT_ALLOWED
from ..guard import Guard, Unguarded
from ..phases import Outcome
from ..stopwatch import Stopwatch
from . import alarm, machine
from .announce import lines, progress
from .machine import Limits
from .records import FINISHED, CampaignRequest, CampaignState, planned
from .storage import CURRENT, CampaignStorage
from .view import COMPACT_COMMAND, PROBE_ARGUMENTS, PROBE_COMMAND, Probe, View, parse_probe

log = logging.getLogger(__name__)

#: The same OSD is not asked for its counters more often than this.
PROBE_PERIOD_S = 5.0
#: A tick ends after this many steps.
STEPS_PER_TICK = 10


class Measured(NamedTuple):
    """What the module measured; see `View`."""

    used_bytes: Mapping[int, int]
    total_bytes: Mapping[int, int]
    latency_ms: Optional[float]


class Allowed(NamedTuple):
    """Whether anything may be begun now, beside what the cluster itself says."""

    #: False: the operator switched changes off.
    may_act: bool = True
    #: Why not by the maintenance window, and why the manager does not know how the OSDs are.
    outside_window: Optional[str] = None
    deaf: Optional[str] = None


class CampaignCluster(ClusterReader, OsdCommands, OsdQuestions, Upgrades, Announcements, Protocol):
    """What a campaign needs of a cluster."""


@dataclass
class _Asked:
    """What this manager sent to one OSD."""

    #: The command to compact, and the process that it was sent to; None once it was answered.
    compact: Optional[Answer] = None
    compacting: Optional[int] = None
    probe: Optional[Answer] = None
    #: The process that the probe was sent to.
    nonce: Optional[int] = None
    probed_s: Optional[float] = None


class CampaignDriver:
    """One campaign at a time.

    Everything but the properties must be called from the module's serve thread only.
    """

    def __init__(
        self,
        cluster: CampaignCluster,
        store: Store,
        on_end: Callable[[CampaignState], None] = lambda _: None,
        limits: Optional[Limits] = None,
        switched_on: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        """``on_end`` keeps a campaign that ended for good; it may raise CommandError.

        ``switched_on`` tells whether the mode allows changes at this very moment. ``guard`` runs
        what must not hold up the campaign: announcing it.
        """
        self._cluster = cluster
        self._storage = CampaignStorage(store)
        self._on_end = on_end
        self._limits = limits or Limits()
        self._switched_on = switched_on
        self._guard = guard or Unguarded()
        self._state: Optional[CampaignState] = None
        self._loaded = False
        self._unrecorded = False
        self._problem: Optional[str] = None
        self._trouble: Optional[str] = None
        self._asked: dict[int, _Asked] = {}
        self._probes: dict[int, Probe] = {}
        #: The time of this tick by the clock that nobody sets.
        self._steady_s = 0.0
        self._watching = Stopwatch()
        self._in_step: dict[int, Stopwatch] = {}
        self._away: dict[int, Stopwatch] = {}
        #: How long it waits without a step for what the operator did not choose.
        self._stuck = Stopwatch()
        self._stuck_s = 0.0
        self._waits_for: Optional[str] = None

    @property
    def state(self) -> Optional[CampaignState]:
        """The campaign under way, or the last one."""
        return self._state

    @property
    def under_way(self) -> bool:
        return self._state is not None and not self._state.ended

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(text for text in (self._problem, self._trouble) if text is not None)

    @property
    def waits_for(self) -> Optional[str]:
        """What its OSDs do that it waits for; None where it waits for no OSD."""
        return self._waits_for

    def why_waiting(self, gate_alarm_after_s: float) -> Optional[str]:
        """What the operator has to do for it; None where it needs nobody: see `alarm`."""
        if self._state is None:
            return None
        return alarm.why_waiting(self._state, self._stuck_s, gate_alarm_after_s)

    def load(self) -> None:
        """Read what is stored, once. Never raises: what cannot be read is set aside."""
        if self._loaded:
            return
        self._loaded = True
        try:
            self._state = self._storage.load()
        except StoredStateError as error:
            self._problem = (
                f'the stored "{CURRENT}" could not be read and was set aside: {error}; a '
                'compaction that runs goes on in its OSD'
            )
        if self._state is None:
            return
        self._unrecorded = self._state.ended
        self._guard.value('announcements', self._show_progress, None)

    def start(self, campaign_id: str, request: CampaignRequest, now_s: float) -> CampaignState:
        """Begin a campaign; raises OperationRefused."""
        if self.under_way:
            raise OperationRefused(errno.EBUSY, f'{self._named()} is under way')
        state = planned(campaign_id, request, now_s)
        self._asked, self._probes, self._in_step, self._away = {}, {}, {}, {}
        return self._keep(state)

    def name_actor(self, campaign_id: str, actor: str) -> None:
        """Who asked for a campaign, now that it is known; raises CommandError."""
        state = self._state
        if state is None or state.campaign_id != campaign_id or state.ended:
            return
        named = replace(state, request=replace(state.request, actor=actor))
        self._save(named)

    def pause(self, actor: str, now_s: float) -> CampaignState:
        return self._keep(machine.paused(self._running(), actor, now_s))

    def resume(self, now_s: float) -> CampaignState:
        """Raises OperationRefused."""
        state = self._running()
        if state.paused_reason is None:
            raise OperationRefused(errno.EINVAL, f'{self._named()} is not paused; it is running')
        return self._keep(machine.resumed(state, now_s))

    def abort(self, actor: str, now_s: float) -> CampaignState:
        return self._keep(machine.aborted(self._running(), actor, now_s))

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
        try:
            for _ in range(STEPS_PER_TICK):
                if self._state.ended:
                    break
                view = self._view(self._state, now_s, measured, watched_s, allowed)
                if not self._step(self._state, view, now_s):
                    break
            if self._unrecorded:
                self._on_end(self._state)
                self._unrecorded = False
        except CommandError as error:
            trouble = f'the compaction campaign cannot go on now: {error.message}'
            if trouble != self._trouble:
                log.warning(trouble)
            self._trouble = trouble
            # What was seen before is not counted on.
            self._waits_for = None
        else:
            self._trouble = None
        self._stuck_s = self._stuck.look(_stuck_at(self._state, allowed), self._steady_s)

    def _step(self, state: CampaignState, view: View, now_s: float) -> bool:
        """Whether there may be more to do at once."""
        step = machine.step(state, view, now_s, self._limits)
        self._waits_for = step.waits_for
        if step.state != state:
            self._save(step.state)
        if step.compact is not None:
            # Storing the state took its time.
            if not self._switched_on():
                log.info('%s: osd.%d is not asked in mode off', self._named(), step.compact)
                self._save(state)
                return False
            self._compact(step.compact)
        return step.state != state

    def _compact(self, osd_id: int) -> None:
        # What it said before says nothing of this time.
        self._probes.pop(osd_id, None)
        nonce = next(
            (o.nonce for o in self._cluster.cluster_map().osds if o.osd_id == osd_id), None
        )
        answer = self._cluster.ask(osd_id, COMPACT_COMMAND, {})
        self._asked[osd_id] = _Asked(compact=answer, compacting=nonce)

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
            self._look_at(osd_id, nonces.get(osd_id), now_s)
        probes = {n: p for n, p in self._probes.items() if p.nonce == nonces.get(n)}
        gated = machine.gated(state, cluster, probes)
        seen = ClusterView(
            cluster=cluster,
            pgs=self._cluster.pg_summary(),
            health=frozenset(self._cluster.health_codes()),
            ok_to_stop=self._ok_to_stop(gated),
            versions=self._versions() if gated else None,
            upgrade=self._upgrade() if gated else None,
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

    def _ok_to_stop(self, osd_ids: Iterable[int]) -> Mapping[int, Optional[str]]:
        with suppress(CommandError):
            return {n: self._cluster.ok_to_stop((n,)) for n in osd_ids}
        return {}

    def _versions(self) -> Optional[tuple[DaemonVersions, ...]]:
        with suppress(CommandError):
            return self._cluster.daemon_versions()
        return None

    def _upgrade(self) -> Optional[str]:
        try:
            return self._cluster.orchestrated_upgrade()
        except CommandError as error:
            return f'its state cannot be told ({error.message})'

    def _look_at(self, osd_id: int, nonce: Optional[int], now_s: float) -> None:
        """Take the answers of one OSD, and ask it again once that is due."""
        asked = self._asked.setdefault(osd_id, _Asked())
        if nonce is not None and asked.compacting not in {None, nonce}:
            # That process is gone, and what it was asked with it.
            asked.compact = asked.compacting = None
        if asked.compact is not None and not self._answered(osd_id, asked, now_s):
            # Behind a command that is not answered, another would wait too.
            return
        if asked.probe is not None:
            self._take_probe(osd_id, asked)
        if nonce is None or (asked.probe is not None and asked.nonce == nonce):
            return
        probed_s = asked.probed_s if asked.nonce == nonce else None
        if probed_s is not None and self._steady_s - probed_s < PROBE_PERIOD_S:
            return
        asked.nonce, asked.probed_s = nonce, self._steady_s
        asked.probe = self._cluster.ask(osd_id, PROBE_COMMAND, PROBE_ARGUMENTS)

    def _answered(self, osd_id: int, asked: _Asked, now_s: float) -> bool:
        assert asked.compact is not None
        try:
            if asked.compact.output() is None:
                return False
        except CommandError as error:
            log.warning('osd.%d did not compact: %s', osd_id, error.message)
            assert self._state is not None
            self._save(machine.ask_failed(self._state, osd_id, error.message, now_s))
        asked.compact = None
        return True

    def _take_probe(self, osd_id: int, asked: _Asked) -> None:
        assert asked.probe is not None
        try:
            output = asked.probe.output()
            if output is None:
                return
            self._probes[osd_id] = parse_probe(output, asked.nonce)
        except (CommandError, ValueError) as error:
            log.debug('osd.%d did not tell of its compactions: %s', osd_id, error)
        asked.probe = None

    # -- keeping

    def _running(self) -> CampaignState:
        if self._state is None or self._state.ended:
            raise OperationRefused(errno.ENOENT, 'no compaction campaign is under way')
        return self._state

    def _named(self) -> str:
        assert self._state is not None
        return f'compaction campaign {self._state.campaign_id}'

    def _keep(self, state: CampaignState) -> CampaignState:
        """Store what an operator asked for, who hears of it only once that is done."""
        try:
            return self._save(state)
        except CommandError as error:
            raise OperationRefused(
                error.errno, f'this cannot be stored now: {error.message}; try again'
            ) from error

    def _save(self, state: CampaignState) -> CampaignState:
        self._storage.save(state)
        before, self._state = self._state, state
        self._unrecorded = state.ended
        self._guard.value('announcements', lambda: self._announce(before, state), None)
        return state

    def _announce(self, before: Optional[CampaignState], state: CampaignState) -> None:
        for text, warning in lines(before, state):
            self._cluster.log(text, warning)
        self._show_progress()

    def _show_progress(self) -> None:
        state = self._state
        assert state is not None
        event_id = f'rocksdb_tuner-{state.campaign_id}'
        if not state.ended:
            self._cluster.show_progress(event_id, *progress(state))
        else:
            failed = state.outcome is Outcome.FAILED
            self._cluster.end_progress(event_id, state.failure if failed else None)


def _stuck_at(state: CampaignState, allowed: Allowed) -> object:
    """Where it waits; another value each time where it does not, or where that was chosen."""
    chosen = {NOT_ALLOWED, allowed.outside_window}
    if state.ended or state.paused_by is not None or state.paused_reason in {None, *chosen}:
        return object()
    return state.campaign_id, tuple(osd.step for osd in state.osds)
