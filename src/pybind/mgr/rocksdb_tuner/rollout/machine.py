"""What to do next about a rollout: pure, no I/O, no clock.

``Machine.step`` looks at the stored state and at one observation of the cluster and answers with
the next state and at most one action. The driver stores the state, then carries the action out:
every action can therefore be repeated, and a manager that takes over in between finds either an
action to repeat or one whose effect it can see.

An OSD's process is known by the nonce in the OSD map. A restart is over when the nonce changed;
what the new process runs is then read from itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Callable, Optional

from ..mgr.records import OsdInfo, RunningOption
from .entries import Scope, own, starts_with
from .gates import closed_gate, placement_groups
from .observation import Action, Needs, Observation, RemoveEntry, RestartOsd, SetEntry
from .records import (
    ChangeKind,
    ChangeRequest,
    Direction,
    Ending,
    Inconclusive,
    Judgement,
    OsdProgress,
    OsdStep,
    Outcome,
    Phase,
    RolloutState,
    Verdict,
)
from .verdict import baseline_s, in_words, is_judged, too_few_controls

#: Texts in the state are cut to this many characters: they come from other programs.
TEXT_MAX = 600

_WATCHED = frozenset({OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING})
_ACTED_ON = frozenset(
    {
        OsdStep.SETTING,
        OsdStep.RESTORING,
        OsdStep.RESTART_DUE,
        OsdStep.COLLAPSING,
        OsdStep.SHIELDING,
    }
)


@dataclass(frozen=True)
class Limits:
    """How long is waited for what, in seconds as seen by one manager."""

    #: A manager that became active looks this long before it does anything.
    look_first_s: float = 10.0
    #: The process must have given way this long after a restart was asked for.
    restart_s: float = 300.0
    #: A process that is down must be up again within this time.
    boot_s: float = 300.0
    #: What the manager shows of a new process may be what the one before it reported: it is not
    #: believed before this time (mgr_stats_period).
    report_s: float = 5.0
    #: A new process must report the right options within this time.
    verify_s: float = 60.0
    #: The same of its placement groups, for which the manager needs one more report.
    settle_s: float = 5.0
    #: A restart that was refused is asked for again after this time.
    retry_s: float = 30.0
    #: A monitor may answer from just before the last change: an unexpected entry, or a value
    #: that should have gone, must be seen for this long.
    confirm_s: float = 2.0
    #: Actions that fail in a row before the rollout says so.
    tries: int = 3
    #: An OSD that goes down this often after having come up is taken to crash.
    flaps: int = 2


@dataclass(frozen=True)
class Step:
    state: RolloutState
    #: At most one.
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Machine:
    """Decisions about a rollout.

    ``same_meaning`` tells whether two option strings configure RocksDB alike.
    """

    same_meaning: Callable[[str, str], bool]
    limits: Limits = field(default_factory=Limits)

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        """The next state and action. ``now_s`` (since the epoch) only stamps the state."""
        if state.ended:
            return Step(state)
        if seen.watched_s < self.limits.look_first_s:
            result = Step(_waiting(state, 'this manager has just become active and looks first'))
        else:
            result = self._checked(replace(state, paused_reason=None), seen)
        return Step(_stamped(state, result.state, now_s), result.actions)

    # -- somebody else's changes

    def _checked(self, state: RolloutState, seen: Observation) -> Step:
        changed = self._changed_by_others(state, seen)
        if not changed:
            return self._dispatch(replace(state, suspicion=None), seen)
        suspicion = _clip(
            f'{state.request.option} of {", ".join(changed)} was changed by somebody else'
        )
        if state.suspicion != suspicion:
            return Step(replace(state, suspicion=suspicion))
        if seen.waited_s < self.limits.confirm_s:
            return Step(state)
        osd = in_flight(state)
        sections = {who.partition('/')[0] for who in changed}
        if state.direction is not Direction.FORWARD or osd is None or own(osd.osd_id) in sections:
            reason = f'{state.ending.reason}; {suspicion}' if state.ending else suspicion
            return Step(_ended(state, Ending(Outcome.ABORTED, reason)))
        # The OSD in flight is ours alone: it is brought to a safe state before the end.
        ending = state.ending or Ending(Outcome.ABORTED, suspicion)
        return self._dispatch(replace(state, ending=ending), seen)

    def _changed_by_others(self, state: RolloutState, seen: Observation) -> tuple[str, ...]:
        """Every `who` whose entry is neither what was recorded nor what this rollout wrote."""
        allowed = _allowed_entries(state)
        before = dict(state.before.entries)
        scope = Scope.of(seen.cluster, state.request.order)
        return tuple(
            who
            for who in sorted({*seen.entries, *before, *allowed})
            if seen.entries.get(who) not in allowed.get(who, {before.get(who)})
            and _is_watched(state, who, allowed, scope)
        )

    # -- directions

    def _dispatch(self, state: RolloutState, seen: Observation) -> Step:
        if state.direction is Direction.RECOVER:
            return self._recover(state, seen)
        if state.direction is Direction.BACK:
            return self._back(state, seen)
        return self._forward(state, seen)

    def _forward(self, state: RolloutState, seen: Observation) -> Step:
        osd = in_flight(state)
        if osd is not None:
            return self._drive_forward(state, osd, seen)
        if state.ending is not None:
            return Step(_ended(state, state.ending))
        if state.stage is Phase.PLANNED:
            return Step(replace(state, stage=Phase.PREFLIGHT))
        if state.stage is Phase.COLLAPSING:
            return self._collapse(state, seen)
        if soaks(state):
            return self._soak(state, seen)
        following = _first(state, OsdStep.PENDING)
        if following is None:
            return Step(replace(state, stage=Phase.COLLAPSING, shared_touched=True))
        return self._begin(state, following, seen)

    def _soak(self, state: RolloutState, seen: Observation) -> Step:
        """Watch the canary until there is a verdict; the others follow only then."""
        state = replace(state, stage=Phase.SOAKING, soaked_s=seen.after_s)
        held = self._held(state, seen)
        if held is not None:
            return Step(_waiting(state, held))
        canary = state.osds[0]
        info = seen.osd(canary.osd_id)
        if info is None or not info.up or info.nonce != canary.nonce_after:
            cause = f'the process of osd.{canary.osd_id} ended while it was watched'
            judgement = Judgement(Verdict.FAILED, cause=cause)
            return Step(_failed_verdict(state, judgement))
        if not is_judged(state.request, state.soak):
            return self._without_verdict(state, too_few_controls(len(state.controls)))
        unsettled = placement_groups(seen)
        if unsettled is not None:
            return Step(_waiting(replace(state, judgement=None), unsettled))
        if seen.judgement is None:
            return Step(state)
        if seen.judgement.verdict is Verdict.FAILED:
            return Step(_failed_verdict(state, seen.judgement))
        if seen.judgement.verdict is Verdict.PASSED and seen.after_s >= state.soak.least_s:
            return Step(replace(state, judgement=seen.judgement, promoted=True))
        if seen.after_s >= state.soak.most_s:
            return self._without_verdict(state, seen.judgement)
        return Step(state)

    @staticmethod
    def _without_verdict(state: RolloutState, judgement: Judgement) -> Step:
        """The soak is over without a verdict: what follows was laid down before."""
        judged = replace(state, judgement=judgement)
        if state.soak.inconclusive is Inconclusive.PROMOTE:
            return Step(replace(judged, promoted=True))
        lacks = '; '.join(judgement.missing)
        if state.soak.inconclusive is Inconclusive.ROLLBACK:
            return Step(rolled_back(judged, f'the policy, for want of {lacks}', state.updated_s))
        return Step(
            _waiting(
                judged,
                f'the verdict on osd.{state.request.order[0]} is {judgement.verdict.value}: '
                '"ceph rocksdb-tuner rollout resume" changes the others all the same, "ceph '
                f'rocksdb-tuner rollback" takes it back; missing is {lacks}',
            )
        )

    def _begin(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        """Change the next OSD's entry, if everything allows its restart."""
        n = osd.osd_id
        # An OSD that was begun is finished, and what goes back does not wait for the window.
        closed = self._closed(state, n, seen) or seen.outside_window
        if closed is not None:
            return Step(_waiting(state, closed))
        first = n == state.request.order[0] and is_judged(state.request, state.soak)
        if first and seen.before_s < baseline_s(state.soak):
            # What the canary will be compared with.
            return Step(state)
        info = _present(seen, n)
        recorded = next(b for b in state.before.osds if b.osd_id == n)
        if info.release != recorded.release:
            return Step(
                _ended(
                    state,
                    Ending(
                        Outcome.FAILED,
                        f'osd.{n} now runs {info.release}: this was planned for {recorded.release}',
                    ),
                )
            )
        running = seen.running.get(n)
        if running is None:
            return Step(_waiting(state, f'what osd.{n} runs cannot be read'))
        if running.beats_config_store:
            return Step(_ended(state, Ending(Outcome.FAILED, overruled(state.request, n, running))))
        stage = Phase.CANARY if n == state.request.order[0] else Phase.PROMOTING
        begun = replace(osd, step=OsdStep.SETTING, nonce_before=info.nonce)
        return Step(
            _with(replace(state, stage=stage), begun), (SetEntry(own(n), target(state, n)),)
        )

    def _drive_forward(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        if osd.step is OsdStep.SETTING:
            return self._setting(state, osd, seen)
        if osd.step is OsdStep.RESTART_DUE:
            if state.ending is not None:
                return Step(self._failing(state, osd, seen, state.ending))
            return self._restart_due(state, osd, seen)
        if osd.step is OsdStep.RESTARTING:
            return self._restarting(state, osd, seen)
        if osd.step is OsdStep.CHECKING:
            return self._checking_forward(state, osd, seen)
        if osd.step is OsdStep.SETTLING:
            return self._settling_forward(state, osd, seen)
        return self._collapsing_osd(state, osd, seen)

    def _setting(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        if state.ending is not None:
            return Step(self._failing(state, osd, seen, state.ending))
        who, value = own(osd.osd_id), target(state, osd.osd_id)
        if seen.entries.get(who) == value:
            # Any process with another nonce started when the entry was in the store already.
            return Step(_with(state, self._due(osd, seen)))
        return self._write(state, seen, who, value)

    def _checking_forward(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        n = osd.osd_id
        lost = self._lost_again(state, osd, seen)
        if lost is not None:
            return lost
        if seen.waited_s < self.limits.report_s:
            return Step(state)
        running = seen.running.get(n)
        wanted = target(state, n)
        if running and running.source == 'mon' and self.same_meaning(running.value, wanted):
            return Step(_with(state, replace(osd, step=OsdStep.SETTLING)))
        if seen.waited_s < self.limits.verify_s:
            return Step(state)
        if running is None:
            reason = f'osd.{n} was restarted, but what it runs cannot be read'
        elif running.beats_config_store:
            reason = overruled(state.request, n, running)
        else:
            reason = (
                f'osd.{n} was restarted without effect: it runs '
                f'{shlex.quote(running.value)} (source {running.source})'
            )
        return Step(self._failing(state, osd, seen, Ending(Outcome.FAILED, reason)))

    def _settling_forward(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        lost = self._lost_again(state, osd, seen)
        if lost is not None:
            return lost
        if state.ending is None:
            unsettled = self._unsettled(state, seen)
            if unsettled is not None:
                return unsettled
        return Step(_with(state, replace(osd, step=OsdStep.VERIFIED)))

    def _unsettled(self, state: RolloutState, seen: Observation) -> Optional[Step]:
        """Waiting for clean placement groups after a restart; None once they are."""
        if seen.waited_s < self.limits.settle_s:
            return Step(state)
        closed = placement_groups(seen)
        if closed is None:
            return None
        # Recovery after a restart is part of it, and worth a word only if it takes long.
        return Step(state if seen.waited_s < self.limits.boot_s else _waiting(state, closed))

    # -- moving from entries of OSDs to the mask

    def _collapse(self, state: RolloutState, seen: Observation) -> Step:
        shared = shared_entries(state.request)
        if state.entries_done < len(shared):
            who, value = shared[state.entries_done]
            if seen.entries.get(who) == value:
                return Step(replace(state, entries_done=state.entries_done + 1, errors=0))
            return self._write(state, seen, who, value)
        osd = _first(state, OsdStep.VERIFIED)
        if osd is None:
            return Step(_finished(state, Phase.DONE, Outcome.DONE))
        if end_value(state.request, osd.osd_id) is not None:
            return Step(_with(state, replace(osd, step=OsdStep.COLLAPSED)))
        held = self._held(state, seen)
        if held is not None:
            return Step(_waiting(state, held))
        collapsing = _with(state, replace(osd, step=OsdStep.COLLAPSING))
        if own(osd.osd_id) not in seen.entries:
            return Step(collapsing)
        return Step(collapsing, (RemoveEntry(own(osd.osd_id)),))

    def _collapsing_osd(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        n = osd.osd_id
        if osd.step is OsdStep.SHIELDING:
            if seen.entries.get(own(n)) == target(state, n):
                shielded = _with(state, replace(osd, step=OsdStep.VERIFIED))
                return Step(_ended(shielded, _the_ending(state)))
            return Step(self._with_trouble(state), (SetEntry(own(n), target(state, n)),))
        if own(n) in seen.entries:
            return self._write(state, seen, own(n), None)
        if n not in seen.resolved:
            return Step(_waiting(state, f'what the monitor gives osd.{n} cannot be read'))
        if self._gets_target(state, n, seen):
            return Step(_with(state, replace(osd, step=OsdStep.COLLAPSED)))
        if seen.waited_s < self.limits.confirm_s:
            return Step(state)
        ending = Ending(
            Outcome.FAILED,
            f'without its own entry osd.{n} would get {shlex.quote(seen.resolved[n])}: '
            'its entry was set again',
        )
        shielded = _with(replace(state, ending=ending), replace(osd, step=OsdStep.SHIELDING))
        return Step(shielded, (SetEntry(own(n), target(state, n)),))

    def _gets_target(self, state: RolloutState, osd_id: int, seen: Observation) -> bool:
        decided = any(map(Scope.of(seen.cluster, (osd_id,)).may_cover, seen.entries))
        if not decided:
            # The monitor then answers with the default of its own release, which need not be the
            # OSD's; the target of this kind of change is the OSD's.
            return state.request.kind is ChangeKind.REMOVE_OVERRIDE
        return self.same_meaning(seen.resolved[osd_id], target(state, osd_id))

    # -- one OSD failed

    def _failing(
        self, state: RolloutState, osd: OsdProgress, seen: Observation, ending: Ending
    ) -> RolloutState:
        """Put the OSD in flight back to what it had, then end."""
        if state.ending not in {None, ending}:
            ending = replace(ending, reason=f'{_the_ending(state).reason}; {ending.reason}')
        info = seen.osd(osd.osd_id)
        running = seen.running.get(osd.osd_id)
        recorded = next(b for b in state.before.osds if b.osd_id == osd.osd_id)
        untouched = info is not None and info.up and info.nonce == osd.nonce_before
        # The process that was checked, for long enough to be believed.
        as_before = (
            info is not None
            and info.up
            and info.nonce == osd.nonce_after
            and running is not None
            and self.same_meaning(running.value, recorded.value)
        )
        restoring = replace(
            osd,
            step=OsdStep.RESTORING,
            restart_needed=not (untouched or as_before),
            restarts_asked=0,
            flaps=0,
        )
        return replace(
            _with(state, restoring),
            direction=Direction.RECOVER,
            stage=Phase.ROLLING_BACK,
            ending=ending,
            paused_by=None,
        )

    def _recover(self, state: RolloutState, seen: Observation) -> Step:
        osd = in_flight(state)
        if osd is None:
            return Step(_ended(state, _the_ending(state)))
        if osd.step is OsdStep.RESTORING:
            who = own(osd.osd_id)
            value = state.before.entry(who)
            if seen.entries.get(who) != value:
                # An OSD that cannot start is not left alone, whatever the mode or a pause says.
                return Step(self._with_trouble(state), (_entry_action(who, value),))
            if not osd.restart_needed:
                return Step(_with(state, replace(osd, step=OsdStep.RESTORED)))
            return Step(_with(state, self._due(osd, seen)))
        if osd.step is OsdStep.RESTART_DUE:
            return self._restart_due(state, osd, seen)
        if osd.step is OsdStep.RESTARTING:
            return self._restarting(state, osd, seen)
        return self._checking_back(state, osd, seen)

    # -- everything goes back

    def _back(self, state: RolloutState, seen: Observation) -> Step:
        if state.entries_done < len(state.restoring):
            return self._restore_entries(state, seen)
        osd = in_flight(state)
        if osd is None:
            return Step(_finished(state, Phase.ROLLED_BACK, Outcome.ROLLED_BACK))
        if osd.step is OsdStep.RESTART_DUE:
            if self._runs_restored(state, osd, seen):
                return Step(_with(state, replace(osd, step=OsdStep.RESTORED)))
            return self._restart_due(state, osd, seen)
        if osd.step is OsdStep.RESTARTING:
            return self._restarting(state, osd, seen)
        if osd.step is OsdStep.CHECKING:
            return self._checking_back(state, osd, seen)
        lost = self._lost_again(state, osd, seen)
        if lost is not None:
            return lost
        unsettled = self._unsettled(state, seen)
        return unsettled or Step(_with(state, replace(osd, step=OsdStep.RESTORED)))

    def _restore_entries(self, state: RolloutState, seen: Observation) -> Step:
        done = state.entries_done
        while done < len(state.restoring):
            who = state.restoring[done]
            value = state.before.entry(who)
            if seen.entries.get(who) != value:
                break
            done += 1
        if done == len(state.restoring):
            osds = tuple(self._classified(state, osd, seen) for osd in state.osds)
            return Step(replace(state, entries_done=done, osds=osds, errors=0))
        if done > state.entries_done:
            return Step(replace(state, entries_done=done, errors=0))
        return self._write(state, seen, who, value)

    @staticmethod
    def _classified(state: RolloutState, osd: OsdProgress, seen: Observation) -> OsdProgress:
        """Whether the OSD's process may have started with what was just taken back."""
        if osd.step in _UNCHANGED:
            return osd
        info = seen.osd(osd.osd_id)
        if info is None or not state.request.restart:
            return replace(osd, step=OsdStep.RESTORED)
        same_process = info.nonce == osd.nonce_before and not osd.restart_needed
        if same_process and osd.step is OsdStep.RESTARTING:
            # The restart that was asked for is still to come, or under way.
            return replace(osd, restart_needed=True, doubtful=True)
        if same_process and osd.step in {OsdStep.SETTING, OsdStep.RESTART_DUE, OsdStep.RESTORING}:
            return replace(osd, step=OsdStep.RESTORED)
        return replace(
            osd,
            step=OsdStep.RESTART_DUE,
            nonce_before=info.nonce,
            restart_needed=True,
            doubtful=not info.up,
            restarts_asked=0,
            flaps=0,
        )

    def _runs_restored(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> bool:
        """True where no restart is needed: what was taken back meant the same."""
        info, resolved = seen.osd(osd.osd_id), seen.resolved.get(osd.osd_id)
        return (
            info is not None
            and info.up
            and resolved is not None
            and any(map(Scope.of(seen.cluster, (osd.osd_id,)).may_cover, seen.entries))
            and self.same_meaning(resolved, target(state, osd.osd_id))
        )

    def _checking_back(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        n = osd.osd_id
        lost = self._lost_again(state, osd, seen)
        if lost is not None:
            return lost
        if seen.waited_s < self.limits.report_s:
            return Step(state)
        running = seen.running.get(n)
        if running is not None and self._as_store_says(n, running, seen):
            back = state.direction is Direction.BACK
            return Step(
                _with(state, replace(osd, step=OsdStep.SETTLING if back else OsdStep.RESTORED))
            )
        if seen.waited_s < self.limits.verify_s:
            return Step(state)
        found = 'what it runs cannot be read'
        if running is not None:
            found = f'it runs {shlex.quote(running.value)} (source {running.source})'
        reason = f'osd.{n} was restarted on the way back, but {found}'
        if state.ending is not None:
            reason = f'{state.ending.reason}; {reason}'
        return Step(_ended(state, Ending(Outcome.FAILED, reason)))

    def _as_store_says(self, osd_id: int, running: RunningOption, seen: Observation) -> bool:
        """Whether a process that started after the last change runs what the store gives it."""
        started = starts_with(seen.entries, osd_id)
        if started is None and running.source == 'default':
            return True
        # An entry with a mask may reach an OSD that names its host in its ceph.conf.
        given = {seen.resolved.get(osd_id), started and started[1]} - {None}
        return running.source == 'mon' and any(
            value is not None and self.same_meaning(running.value, value) for value in given
        )

    # -- restarting, in any direction

    @staticmethod
    def _due(osd: OsdProgress, seen: Observation) -> OsdProgress:
        info = seen.osd(osd.osd_id)
        nonce = osd.nonce_before if info is None else info.nonce
        return replace(osd, step=OsdStep.RESTART_DUE, nonce_before=nonce, restarts_asked=0)

    def _restart_due(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        n = osd.osd_id
        info = seen.osd(n)
        if info is not None and info.up and info.nonce not in {osd.nonce_before, None}:
            return Step(_with(state, _came_up(osd, info)))
        forward = state.direction is Direction.FORWARD
        if info is not None and not info.up and forward:
            # It went down by itself, and what keeps it down may be its new entry.
            if seen.down_s >= self.limits.boot_s:
                return Step(self._failing(state, osd, seen, self._not_back(n)))
            return Step(_waiting(state, f'osd.{n} is down'))
        # What is down already cannot be hurt by being started.
        gated = forward or info is None or info.up
        closed = self._closed(state, n, seen) if gated else self._held(state, seen)
        if closed is not None:
            return Step(_waiting(state, closed))
        if seen.orchestrator_reason is not None:
            return Step(_waiting(state, by_hand(n, info, seen.orchestrator_reason)))
        trouble = self._trouble(state)
        waiting = state if trouble is None else _waiting(state, by_hand(n, info, trouble))
        if state.errors and seen.waited_s < self.limits.retry_s:
            return Step(waiting)
        return Step(_with(waiting, _asked(osd), errors=state.errors), (RestartOsd(n),))

    def _restarting(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        n = osd.osd_id
        info = seen.osd(n)
        if info is None:
            return Step(_waiting(state, f'osd.{n} is not in the OSD map'))
        if info.up and info.nonce not in {osd.nonce_before, None}:
            return Step(_with(state, _came_up(osd, info)))
        if not info.up:
            return self._starting(state, osd, seen)
        if seen.waited_s < self.limits.restart_s:
            return Step(state)
        forward = state.direction is Direction.FORWARD
        if forward and state.ending is not None:
            return Step(self._failing(state, osd, seen, state.ending))
        if forward and osd.restarts_asked > 1:
            ending = Ending(
                Outcome.FAILED,
                f'osd.{n} was asked to restart {osd.restarts_asked} times and did not',
            )
            return Step(self._failing(state, osd, seen, ending))
        closed = self._closed(state, n, seen)
        if closed is not None:
            return Step(_waiting(state, closed))
        return self._ask_again(state, osd, seen, f'osd.{n} was not restarted when asked')

    def _starting(self, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
        n = osd.osd_id
        forward = state.direction is Direction.FORWARD
        # It may have stopped long after it was asked, or been down for long when it was asked.
        down_s = min(seen.down_s, seen.waited_s) if forward else seen.waited_s
        if down_s < self.limits.boot_s:
            return Step(state)
        if not forward:
            return self._ask_again(state, osd, seen, f'osd.{n} did not come up again')
        if self._perhaps_never_started(state, osd, seen):
            return Step(_with(state, _asked(osd)), (RestartOsd(n),))
        return Step(self._failing(state, osd, seen, self._not_back(n)))

    def _perhaps_never_started(
        self, state: RolloutState, osd: OsdProgress, seen: Observation
    ) -> bool:
        """Whether a restart that stopped the OSD may have ended with the manager it ran in.

        That says nothing about the OSD's new entry: it is worth one more request.
        """
        return (
            not seen.asked_by_us
            and seen.orchestrator_reason is None
            and state.ending is None
            and osd.restarts_asked < self.limits.tries
            and self._held(state, seen) is None
        )

    def _ask_again(
        self, state: RolloutState, osd: OsdProgress, seen: Observation, trouble: str
    ) -> Step:
        """One more restart, or, where that was asked for often enough, the operator's hand."""
        hand = by_hand(osd.osd_id, seen.osd(osd.osd_id), seen.orchestrator_reason or trouble)
        if seen.orchestrator_reason is not None or osd.restarts_asked >= self.limits.tries:
            return Step(_waiting(state, hand))
        held = self._held(state, seen)
        if held is not None:
            return Step(_waiting(state, held))
        return Step(_with(state, _asked(osd)), (RestartOsd(osd.osd_id),))

    def _lost_again(
        self, state: RolloutState, osd: OsdProgress, seen: Observation
    ) -> Optional[Step]:
        """The process that had come up is gone; None while it is there."""
        info = seen.osd(osd.osd_id)
        if info is not None and info.up and info.nonce == osd.nonce_after:
            return None
        flapped = replace(osd, step=OsdStep.RESTARTING, flaps=osd.flaps + 1)
        if state.direction is Direction.FORWARD and flapped.flaps > self.limits.flaps:
            ending = Ending(
                Outcome.FAILED,
                f'osd.{osd.osd_id} came up and went down again {flapped.flaps} times',
            )
            return Step(self._failing(state, osd, seen, ending))
        return Step(_with(state, flapped))

    def _not_back(self, osd_id: int) -> Ending:
        return Ending(
            Outcome.FAILED, f'osd.{osd_id} did not come back up within {self.limits.boot_s:.0f} s'
        )

    # -- whether and how to act

    @staticmethod
    def _held(state: RolloutState, seen: Observation) -> Optional[str]:
        """Why nothing may be changed now, whatever it is."""
        if state.direction is Direction.RECOVER:
            return None
        if state.paused_by is not None:
            return _paused(state.paused_by)
        return None if seen.may_act else 'the mode of the module does not allow changes'

    def _closed(self, state: RolloutState, osd_id: int, seen: Observation) -> Optional[str]:
        """Why this OSD may not be restarted now."""
        return self._held(state, seen) or closed_gate(seen, osd_id)

    def _write(
        self, state: RolloutState, seen: Observation, who: str, value: Optional[str]
    ) -> Step:
        held = self._held(state, seen)
        if held is not None:
            return Step(_waiting(state, held))
        return Step(self._with_trouble(state), (_entry_action(who, value),))

    def _with_trouble(self, state: RolloutState) -> RolloutState:
        """The state, waiting with the last error once an action has failed too often."""
        trouble = self._trouble(state)
        return state if trouble is None else _waiting(state, trouble)

    def _trouble(self, state: RolloutState) -> Optional[str]:
        if state.errors < self.limits.tries:
            return None
        return f'{state.errors} attempts failed, it goes on trying: {state.last_error}'


# -- events


def needs(state: RolloutState) -> Needs:
    """What the next observation must contain, so that nothing else is asked for."""
    if state.ended:
        return Needs()
    osd = in_flight(state)
    if osd is None and soaks(state):
        return Needs()
    if osd is None:
        following = _first(state, OsdStep.PENDING)
        if state.direction is not Direction.FORWARD or following is None:
            return Needs()
        return Needs(running=(following.osd_id,), ok_to_stop=(following.osd_id,))
    n = (osd.osd_id,)
    going_back = state.direction is not Direction.FORWARD
    return {
        OsdStep.RESTART_DUE: Needs(
            ok_to_stop=n, resolved=n if going_back else (), orchestrator=True
        ),
        OsdStep.RESTARTING: Needs(ok_to_stop=n, orchestrator=True),
        OsdStep.CHECKING: Needs(running=n, resolved=n if going_back else ()),
        OsdStep.COLLAPSING: Needs(resolved=n),
    }.get(osd.step, Needs())


def wait_key(state: RolloutState) -> tuple[object, ...]:
    """What the rollout is waiting for; time limits start anew when it changes."""
    osd = in_flight(state)
    return (
        state.rollout_id,
        state.direction,
        state.entries_done,
        state.errors,
        state.suspicion,
        osd and (osd.osd_id, osd.step, osd.restarts_asked, osd.nonce_after),
    )


def in_flight(state: RolloutState) -> Optional[OsdProgress]:
    """The one OSD that something is being done to."""
    for steps in (_WATCHED, _ACTED_ON):
        for osd in state.osds:
            if osd.step in steps:
                return osd
    return None


def action_failed(state: RolloutState, action: Action, error: str, now_s: float) -> RolloutState:
    """The state after an action that the cluster refused."""
    failed = replace(state, errors=state.errors + 1, last_error=_clip(error), updated_s=now_s)
    osd = in_flight(state)
    if isinstance(action, RestartOsd) and osd is not None and osd.restarts_asked == 1:
        # Refused, as far as one can know: due again, unless the process changes all the same.
        return _with(
            failed, replace(osd, step=OsdStep.RESTART_DUE, restarts_asked=0), errors=failed.errors
        )
    return failed


def paused(state: RolloutState, actor: str, now_s: float) -> RolloutState:
    """No new action until `resumed`; an OSD that is restarting is still watched."""
    return replace(state, paused_by=actor, paused_reason=_paused(actor), updated_s=now_s)


def waits_for_operator(state: RolloutState) -> bool:
    """Whether it was paused, or has tried something as often as it does by itself."""
    return (
        state.paused_by is not None
        or state.errors > 0
        or _asked_in_vain(state) is not None
        or _undecided(state)
    )


def resumed(state: RolloutState, now_s: float) -> RolloutState:
    """No pause any more, what was tried in vain is tried again, and who waited for a verdict
    waits no more.
    """
    if _undecided(state):
        state = replace(state, promoted=True)
    osd = _asked_in_vain(state)
    if osd is not None:
        state = _with(state, replace(osd, step=OsdStep.RESTART_DUE, restarts_asked=0))
    return replace(state, paused_by=None, paused_reason=None, errors=0, updated_s=now_s)


def soaks(state: RolloutState) -> bool:
    """Whether the canary is changed, and the others wait for what is found of it."""
    return (
        state.soak.most_s > 0
        and state.request.restart
        and not state.promoted
        and state.direction is Direction.FORWARD
        and state.osds[0].step is OsdStep.VERIFIED
    )


def _undecided(state: RolloutState) -> bool:
    """Whether the soak ended without a verdict."""
    return soaks(state) and state.judgement is not None and state.paused_by is None


def _failed_verdict(state: RolloutState, judgement: Judgement) -> RolloutState:
    judged = replace(state, judgement=judgement)
    return rolled_back(judged, f'the verdict: {in_words(judgement)}', state.updated_s)


def _asked_in_vain(state: RolloutState) -> Optional[OsdProgress]:
    """The OSD that is not asked to restart any more on the way back."""
    osd = in_flight(state)
    if osd is None or osd.step is not OsdStep.RESTARTING or osd.restarts_asked < 2:
        return None
    waits = state.paused_by is None and state.paused_reason is not None
    return osd if waits and state.direction is not Direction.FORWARD else None


def aborted(state: RolloutState, actor: str, now_s: float) -> RolloutState:
    """Begin nothing more; the OSD in flight is first brought to a safe state."""
    osd = in_flight(state)
    reason = f'aborted by {actor}'
    if state.direction is Direction.RECOVER:
        first = _the_ending(state)
        reason = f'{first.reason}; {reason} before the OSD was seen as it was before'
        return _stamped(state, _ended(state, Ending(first.outcome, reason)), now_s)
    if state.direction is Direction.BACK:
        ending = Ending(Outcome.ABORTED, f'rollback {reason}')
        return _stamped(state, _ended(state, ending), now_s)
    ending = Ending(Outcome.ABORTED, reason)
    if osd is None:
        return _stamped(state, _ended(state, ending), now_s)
    return replace(state, ending=ending, paused_by=None, paused_reason=None, updated_s=now_s)


def rolled_back(state: RolloutState, actor: str, now_s: float) -> RolloutState:
    """Turn the rollout round: whatever it changed goes back."""
    told = f'{state.failure}; ' if state.failure else ''
    shared = tuple(who for who, _ in shared_entries(state.request))
    return replace(
        state,
        direction=Direction.BACK,
        stage=Phase.ROLLING_BACK,
        restoring=(
            *(shared if state.shared_touched else ()),
            *(
                own(osd.osd_id)
                for osd in state.osds
                if osd.step not in {OsdStep.PENDING, OsdStep.RESTORED}
            ),
        ),
        entries_done=0,
        ending=None,
        outcome=None,
        failure=_clip(f'{told}rolled back by {actor}'),
        paused_by=None,
        paused_reason=None,
        suspicion=None,
        errors=0,
        updated_s=now_s,
    )


def entries_in_the_way(state: RolloutState, entries: Mapping[str, str]) -> tuple[str, ...]:
    """Every `who` that a rollback would restore and that somebody changed since."""
    turned = rolled_back(state, '', state.updated_s)
    allowed = _allowed_entries(turned)
    return tuple(who for who in turned.restoring if entries.get(who) not in allowed[who])


# -- what a request says


def target(state: RolloutState, osd_id: int) -> str:
    return dict(state.request.targets)[osd_id]


def shared_entries(request: ChangeRequest) -> tuple[tuple[str, Optional[str]], ...]:
    """The final entries of masks and sections: all but those of the single OSDs."""
    owned = {own(osd_id) for osd_id in request.order}
    return tuple((who, value) for who, value in request.final_entries if who not in owned)


def end_value(request: ChangeRequest, osd_id: int) -> Optional[str]:
    """What the OSD's own entry holds at the end; None where it shall be gone."""
    return dict(request.final_entries).get(own(osd_id))


def overruled(request: ChangeRequest, osd_id: int, running: RunningOption) -> str:
    origin = {
        'file': 'its ceph.conf',
        'env': 'its environment',
        'cmdline': 'its command line',
    }.get(running.source, 'a value set in the running daemon')
    return (
        f'{request.option} of osd.{osd_id} comes from {origin}, which the config store '
        'does not override: remove it there first'
    )


def by_hand(osd_id: int, info: Optional[OsdInfo], reason: str) -> str:
    """What the operator is asked to do where no orchestrator does it."""
    verb = 'start' if info is not None and not info.up else 'restart'
    host = f' on {info.host}' if info is not None and info.host else ''
    return (
        f'{verb} osd.{osd_id} next: "systemctl {verb} ceph-osd@{osd_id}"{host}; '
        f'the rollout goes on by itself then ({reason})'
    )


# -- small changes of a state


def _is_watched(
    state: RolloutState,
    who: str,
    allowed: Mapping[str, frozenset[Optional[str]]],
    scope: Scope,
) -> bool:
    """Whether somebody else's change of this entry stops the rollout."""
    if state.direction is Direction.FORWARD:
        return who in allowed or scope.may_cover(who)
    if state.direction is Direction.BACK:
        # It writes what was recorded and nothing else: entries beside it do not matter.
        return who in allowed
    osd = in_flight(state)
    return osd is not None and who == own(osd.osd_id)


def _allowed_entries(state: RolloutState) -> dict[str, frozenset[Optional[str]]]:
    """What this rollout may find in the entries that it writes."""
    before, targets = dict(state.before.entries), dict(state.request.targets)
    final = dict(state.request.final_entries)
    shared = shared_entries(state.request)
    if state.direction is Direction.BACK:
        ours = {own(n): {before.get(own(n)), targets[n], final.get(own(n))} for n in targets}
        ours.update({who: {before.get(who), value} for who, value in shared})
        return {
            who: frozenset(ours[who] if index >= state.entries_done else {before.get(who)})
            for index, who in enumerate(state.restoring)
        }
    allowed = {
        who: _allowed_shared(state, index, before.get(who), value)
        for index, (who, value) in enumerate(shared)
    }
    for osd in state.osds:
        who = own(osd.osd_id)
        allowed[who] = _allowed_own(
            osd,
            before.get(who),
            targets[osd.osd_id] if state.request.restart else before.get(who),
            final.get(who),
            state.direction,
        )
        if osd.step is OsdStep.SHIELDING:
            allowed[who] |= {targets[osd.osd_id]}
    return allowed


def _allowed_shared(
    state: RolloutState, index: int, before: Optional[str], final: Optional[str]
) -> frozenset[Optional[str]]:
    if not state.shared_touched:
        return frozenset({before})
    return frozenset({before, final} if index >= state.entries_done else {final})


def _allowed_own(
    osd: OsdProgress,
    before: Optional[str],
    wanted: Optional[str],
    final: Optional[str],
    direction: Direction,
) -> frozenset[Optional[str]]:
    if osd.step in _UNCHANGED:
        return frozenset({before})
    if osd.step in {OsdStep.SETTING, OsdStep.RESTORING}:
        return frozenset({before, wanted})
    if osd.step in {OsdStep.COLLAPSING, OsdStep.SHIELDING}:
        return frozenset({wanted, final})
    if osd.step is OsdStep.COLLAPSED:
        return frozenset({final})
    # Restart due and after: the entry was seen in place. Only the OSD that is being recovered
    # has its old one again.
    recovering = direction is Direction.RECOVER and osd.restart_needed
    return frozenset({before if recovering else wanted})


def _with(state: RolloutState, osd: OsdProgress, errors: int = 0) -> RolloutState:
    """The state with one OSD a step further; a step further also ends a row of errors."""
    return replace(
        state,
        osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds),
        errors=errors,
        last_error=state.last_error if errors else None,
    )


def _came_up(osd: OsdProgress, info: OsdInfo) -> OsdProgress:
    if osd.doubtful:
        # It may have read its options before they were put back, and cannot be asked: see
        # `Observation.running`.
        return replace(
            osd, step=OsdStep.RESTART_DUE, nonce_before=info.nonce, restarts_asked=0, doubtful=False
        )
    return replace(osd, step=OsdStep.CHECKING, nonce_after=info.nonce)


def _asked(osd: OsdProgress) -> OsdProgress:
    """The OSD, once more asked to restart: the process that comes up then is a fresh one."""
    return replace(
        osd, step=OsdStep.RESTARTING, restarts_asked=osd.restarts_asked + 1, doubtful=False
    )


def _the_ending(state: RolloutState) -> Ending:
    """How a recovery ends: it always begins with one."""
    assert state.ending is not None
    return state.ending


def _first(state: RolloutState, step: OsdStep) -> Optional[OsdProgress]:
    return next((osd for osd in state.osds if osd.step is step), None)


def _present(seen: Observation, osd_id: int) -> OsdInfo:
    """The OSD, where a gate has already made sure that it is there."""
    info = seen.osd(osd_id)
    assert info is not None
    return info


def _entry_action(who: str, value: Optional[str]) -> Action:
    return RemoveEntry(who) if value is None else SetEntry(who, value)


def _waiting(state: RolloutState, reason: str) -> RolloutState:
    return replace(state, paused_reason=_clip(reason))


def _paused(actor: str) -> str:
    return f'paused by {actor}'


def _ended(state: RolloutState, ending: Ending) -> RolloutState:
    changed = [osd.osd_id for osd in state.osds if osd.step not in _UNCHANGED]
    reason = ending.reason
    if changed and state.direction is not Direction.BACK:
        kept = ', '.join(map(own, changed[:5])) + (' and more' if len(changed) > 5 else '')
        reason += (
            f'; the change stays on {kept}: "ceph rocksdb-tuner rollback {state.rollout_id}" '
            'takes it back'
        )
    told = _clip(f'{state.failure}; {reason}' if state.failure else reason)
    return replace(_finished(state, Phase.FAILED, ending.outcome), failure=told)


def _finished(state: RolloutState, stage: Phase, outcome: Outcome) -> RolloutState:
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        ending=None,
        suspicion=None,
        paused_by=None,
        paused_reason=None,
    )


_UNCHANGED = frozenset({OsdStep.PENDING, OsdStep.RESTORED})


def _stamped(old: RolloutState, new: RolloutState, now_s: float) -> RolloutState:
    if new.paused_by is not None and not new.ended:
        new = replace(new, paused_reason=_paused(new.paused_by))
    return new if new == old else replace(new, updated_s=now_s)


def _clip(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 3] + '...'
