"""What must hold at every change that a rollout asks for, checked against the cluster itself."""

from __future__ import annotations

import shlex
from typing import Optional

from rocksdb_tuner.rollout.batches import planned_batches
from rocksdb_tuner.rollout.codec import decode_state
from rocksdb_tuner.rollout.foreign import entries_in_the_way
from rocksdb_tuner.rollout.gates import HOLDING_FLAGS, HOLDING_HEALTH
from rocksdb_tuner.rollout.records import Direction, OsdStep, Outcome, Phase, RolloutState, Verdict
from rocksdb_tuner.rollout.states import in_flight
from rocksdb_tuner.rollout.storage import CURRENT

from .conftest import Run

_STEPS_OF_WRITES = {OsdStep.SETTING, OsdStep.RESTORING, OsdStep.COLLAPSING, OsdStep.SHIELDING}


class Invariants:
    """Watches one `Run`; a violation fails the test at the command that commits it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.restarted: list[int] = []
        #: Entries that the operator wrote last.
        self.operators: set[str] = set()
        #: Entries that an operator removed as the rollout does: it may take them for its own.
        self.anybodys: set[str] = set()
        #: What entries held before an operator first set them.
        self._found: dict[str, Optional[str]] = {}
        #: OSDs that somebody may have restarted with a value of their own, unasked.
        self.beside_itself: set[int] = set()
        #: OSDs that the rollout had restarted, and that have not come back yet: how often they had
        #: booted until then.
        self._ours: dict[int, int] = {}
        #: When it asked for restarts, by the manager's clock.
        self._restarts_s: list[float] = []
        run.cluster.on_command = self.check

    def operator_sets(self, who: str, value: str) -> None:
        self._found.setdefault(who, self.run.cluster.entries_of().get(who))
        self.operators.add(who)
        self.run.cluster.operator_sets(who, value)

    def operator_removes(self, who: str) -> None:
        final = dict(self.run.state.request.final_entries)
        # An entry that the rollout removes, too, tells nobody who did.
        alike = final.get(who) is None and (who in final or who.startswith('osd.'))
        self.run.cluster.operator_removes(who)
        # Set and removed while the rollout looked elsewhere: that tells nobody, too.
        alike = alike or (who in self._found and self._found[who] is None)
        if alike:
            self.operators.discard(who)
        (self.anybodys if alike else self.operators).add(who)

    def check(self, command: str) -> None:
        # The stored state, not the driver's: another manager must find the intention there.
        state = decode_state(self.run.store.values[CURRENT])
        assert not state.ended, f'{command} after the end'
        _, verb, *words = shlex.split(command)
        if verb == 'orch':
            self._restart(state, int(words[2].partition('.')[2]), command)
        else:
            self._write(state, words[1], command)

    def _restart(self, state: RolloutState, osd_id: int, command: str) -> None:
        cluster = self.run.cluster
        progress = {osd.osd_id: osd for osd in state.osds}
        assert osd_id in progress, f'{command}: not in the request'
        assert progress[osd_id].step is OsdStep.RESTARTING, f'{command}: not stored before'
        again = state.direction is not Direction.FORWARD or progress[osd_id].restarts_asked > 1
        if again and not cluster.osds[osd_id].up:
            # Nothing is hurt by starting what is down.
            self._asked(osd_id)
            self.restarted.append(osd_id)
            return
        self._gates(osd_id, command)
        self._asked(osd_id)
        self.restarted.append(osd_id)

    def changed(self, old: Optional[RolloutState], new: RolloutState) -> None:
        """Called with each state once it is stored: no OSD is begun that may not be."""
        # After a rollback it still stands there what was said before it.
        begun_back = new.direction is Direction.BACK
        if new.ended and not begun_back and (old is None or not old.ended):
            self._told_truly(new)
        if old is None or new.direction is not Direction.FORWARD:
            return
        if len(new.verdicts) > len(old.verdicts) and old.phase is not Phase.WAITING:
            self._passed(old)
        for before, after in zip(old.osds, new.osds):
            if before.step is OsdStep.PENDING and after.step is not OsdStep.PENDING:
                self._begun(new, after.osd_id)
            if (before.step, after.step) == (OsdStep.CHECKING, OsdStep.SETTLING):
                runs = self.run.cluster.runs(after.osd_id)
                assert runs == dict(new.request.targets)[after.osd_id], f'verified with {runs}'

    def _told_truly(self, state: RolloutState) -> None:
        """A rollback is offered where it would be carried out, and only there."""
        refused = entries_in_the_way(state, self.run.cluster.entries_of())
        told = state.failure or ''
        if 'takes it back' in told and 'unless somebody else has set that' not in told:
            assert not refused, f'{state.failure}: refused for {refused}'
        if 'refuses to take it back' in told:
            assert refused, f'{state.failure}: it would not be refused'

    def _passed(self, state: RolloutState) -> None:
        """No batch passes one of whose processes is not the one that was verified."""
        batch = planned_batches(state.request, state.soak)[len(state.verdicts)]
        for osd in state.osds:
            found = self.run.cluster.osds[osd.osd_id]
            if osd.osd_id in batch.osds:
                assert found.up, f'osd.{osd.osd_id} passed while it is down'
                assert found.nonce == osd.nonce_after, f'osd.{osd.osd_id} passed after a crash'

    def _begun(self, state: RolloutState, osd_id: int) -> None:
        told = f'osd.{osd_id} is begun'
        run = self.run
        self._gates(osd_id, told)
        assert state.paused_by is None, f'{told} though paused'
        assert run.outside_window is None, f'{told} outside the window'
        assert run.deaf is None, f'{told} though nothing is heard of OSDs'
        self._restarts_s = self._of_the_last_day(self._restarts_s)
        today = len(self._restarts_s)
        assert not 0 < run.restarts_per_day <= today, f'{told} after {today} restarts'
        others = {osd.osd_id: osd.step for osd in state.osds if osd.osd_id != osd_id}
        allowed = {OsdStep.PENDING, OsdStep.VERIFIED}
        assert set(others.values()) <= allowed, f'{told} beside {others}'
        for number, batch in enumerate(planned_batches(state.request, state.soak)):
            if osd_id in batch.osds:
                domains = {run.cluster.osds[n].failure_domain for n in batch.osds}
                assert domains == {batch.domain}, f'{told} in a batch that lies in {domains}'
                break
            assert all(others[n] is OsdStep.VERIFIED for n in batch.osds), f'{told} too early'
            judged = number < len(state.verdicts)
            assert judged or not batch.watched, f'{told} before the verdict on batch {number}'

    def looked(self) -> None:
        """Called after each look: never is more than one OSD down by the rollout's hand."""
        osds = self.run.cluster.osds
        self._ours = {n: boots for n, boots in self._ours.items() if osds[n].boots == boots}
        down = {n for n in self._ours if not osds[n].up}
        assert len(down) <= 1, f'{down} are down by our hand'
        self._restarts_s = self._of_the_last_day(self._restarts_s)
        state = self.run.state
        assert state.phase is not Phase.WAITING or state.paused_reason

    def _now_s(self) -> float:
        return self.run.cluster.now_s + self.run.clients.offset_s

    def _of_the_last_day(self, times_s: list[float]) -> list[float]:
        now_s = self._now_s()
        return [min(at_s, now_s) for at_s in times_s if now_s - at_s < 86400]

    def _asked(self, osd_id: int) -> None:
        cluster = self.run.cluster
        self._restarts_s = self._of_the_last_day([*self._restarts_s, self._now_s()])
        does = cluster.orchestrator_reason is None and 'orch daemon' not in cluster.errors
        # Where it takes the wrong one, that is the orchestrator's hand.
        right = cluster.orchestrator_restarts in {None, osd_id}
        if does and right and not cluster.orchestrator_idle:
            self._ours[osd_id] = cluster.osds[osd_id].boots

    def _gates(self, osd_id: int, told: str) -> None:
        """All that must hold of the cluster itself before an OSD that is up is stopped."""
        cluster = self.run.cluster
        assert cluster.osds[osd_id].up, f'{told}: it is down'
        assert cluster.down == {n for n in cluster.down if not cluster.osds[n].in_cluster}, told
        assert not HOLDING_FLAGS & cluster.flags, f'{told} with flags {cluster.flags}'
        assert not HOLDING_HEALTH & set(cluster.health_codes()), f'{told} in bad health'
        summary = cluster.pg_summary()
        assert summary.active_clean == summary.total, f'{told}: PGs not clean'
        assert not {'osd ok-to-stop', 'versions'} & set(cluster.errors), f'{told} unasked'
        assert cluster.ok_to_stop((osd_id,)) is None, f'{told}: not ok to stop'
        assert cluster.upgrades_to is None, f'{told}: Ceph is being upgraded'
        versions = {v for found in cluster.daemon_versions() for v in found.versions}
        assert len(versions) == 1, f'{told}: daemons run {versions}'
        assert self.run.may_act, f'{told} in spite of the mode'
        assert self.run.deaf is None, f'{told} though nothing is heard of OSDs'

    def _write(self, state: RolloutState, who: str, command: str) -> None:
        assert who not in self.operators, f'{command}: the operator changed that'
        finals = dict(state.request.final_entries)
        owned = {f'osd.{osd.osd_id}': osd.step for osd in state.osds}
        assert who in finals or who in owned, f'{command}: not in the request'
        if state.direction is Direction.BACK:
            assert who in state.restoring, f'{command}: was not changed'
            assert self.run.may_act, f'{command} in spite of the mode'
        elif who in owned:
            assert owned[who] in _STEPS_OF_WRITES, f'{command}: not stored before'
            soaks = state.soak.most_s > 0 and state.direction is Direction.FORWARD
            if soaks and who != f'osd.{state.request.order[0]}':
                assert state.promoted, f'{command}: the canary was not judged'
            if state.direction is Direction.FORWARD and owned[who] is not OsdStep.SHIELDING:
                assert self.run.may_act, f'{command} in spite of the mode'

    def at_the_end(self, before: dict[str, str]) -> None:
        """What must hold once the rollout ended; ``before`` are the entries before it."""
        state, cluster = self.run.state, self.run.cluster
        assert state.ended
        entries = cluster.entries_of()
        touched = self.operators | self.anybodys
        for who in touched:
            entries.pop(who, None)
        expected = {who: value for who, value in before.items() if who not in touched}
        targets = dict(state.request.targets)
        if state.phase.value == 'done':
            assert state.soak.most_s == 0 or state.promoted
            assert state.verdict is not Verdict.FAILED
            for who, value in state.request.final_entries:
                if who not in self.anybodys:
                    _put(expected, who, value)
            assert entries == expected
            for n in set(targets) - self.beside_itself:
                assert cluster.runs(n) == targets[n]
        elif state.phase.value == 'rolled-back':
            assert entries == expected
        else:
            assert state.failure
            self._no_mixture(state)
            if state.failure.startswith('aborted by') and state.direction is Direction.FORWARD:
                flying = in_flight(state)
                # Who sets the OSD's own entry has it from there on.
                theirs = flying is not None and any(
                    who.partition('/')[0] == f'osd.{flying.osd_id}' for who in touched
                )
                assert flying is None or theirs, 'an OSD was left in flight'
            for osd in state.osds:
                who = f'osd.{osd.osd_id}'
                allowed = {before.get(who)}
                if osd.step not in {OsdStep.PENDING, OsdStep.RESTORED}:
                    allowed |= {targets[osd.osd_id], dict(state.request.final_entries).get(who)}
                assert who in touched or entries.get(who) in allowed

    def _no_mixture(self, state: RolloutState) -> None:
        """Only an operator leaves a part of the OSDs changed, and is told of which."""
        changed = [
            o.osd_id for o in state.osds if o.step not in {OsdStep.PENDING, OsdStep.RESTORED}
        ]
        failure = state.failure or ''
        by_an_operator = state.outcome is Outcome.ABORTED or 'aborted by' in failure
        # One that does not run what it had, though it was restarted with that, is no mixture.
        alone = len(changed) == 1 and 'on the way back' in failure
        assert by_an_operator or alone or len(changed) in {0, len(state.osds)}, failure
        if changed and state.direction is not Direction.BACK:
            assert f'the change stays on osd.{changed[0]}' in failure


def _put(entries: dict[str, str], who: str, value: Optional[str]) -> None:
    if value is None:
        entries.pop(who, None)
    else:
        entries[who] = value
