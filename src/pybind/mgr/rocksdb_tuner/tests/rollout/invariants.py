"""What must hold at every change that a rollout asks for, checked against the cluster itself."""

from __future__ import annotations

import shlex
from typing import Optional

from rocksdb_tuner.rollout.codec import decode_state
from rocksdb_tuner.rollout.gates import HOLDING_FLAGS, HOLDING_HEALTH
from rocksdb_tuner.rollout.records import Direction, OsdStep, RolloutState, Verdict
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
        #: OSDs that somebody may have restarted with a value of their own, unasked.
        self.beside_itself: set[int] = set()
        run.cluster.on_command = self.check

    def operator_sets(self, who: str, value: str) -> None:
        self.operators.add(who)
        self.run.cluster.operator_sets(who, value)

    def operator_removes(self, who: str) -> None:
        self.operators.add(who)
        self.run.cluster.operator_removes(who)

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
            self.restarted.append(osd_id)
            return
        assert cluster.osds[osd_id].up, f'{command}: it is down'
        assert cluster.down == {n for n in cluster.down if not cluster.osds[n].in_cluster}, command
        assert not HOLDING_FLAGS & cluster.flags, f'{command} with flags {cluster.flags}'
        assert not HOLDING_HEALTH & set(cluster.health_codes()), f'{command} in bad health'
        summary = cluster.pg_summary()
        assert summary.active_clean == summary.total, f'{command}: PGs not clean'
        assert cluster.ok_to_stop((osd_id,)) is None, f'{command}: not ok to stop'
        assert cluster.upgrades_to is None, f'{command}: Ceph is being upgraded'
        versions = {v for found in cluster.daemon_versions() for v in found.versions}
        assert len(versions) == 1, f'{command}: daemons run {versions}'
        assert self.run.may_act, f'{command} in spite of the mode'
        self.restarted.append(osd_id)

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
        for who in self.operators:
            entries.pop(who, None)
        expected = {who: value for who, value in before.items() if who not in self.operators}
        targets = dict(state.request.targets)
        if state.phase.value == 'done':
            assert state.soak.most_s == 0 or state.promoted
            assert state.verdict is not Verdict.FAILED
            for who, value in state.request.final_entries:
                _put(expected, who, value)
            assert entries == expected
            for n in set(targets) - self.beside_itself:
                assert cluster.runs(n) == targets[n]
        elif state.phase.value == 'rolled-back':
            assert entries == expected
        else:
            assert state.failure
            for osd in state.osds:
                who = f'osd.{osd.osd_id}'
                allowed = {before.get(who)}
                if osd.step not in {OsdStep.PENDING, OsdStep.RESTORED}:
                    allowed |= {targets[osd.osd_id], dict(state.request.final_entries).get(who)}
                assert who in self.operators or entries.get(who) in allowed


def _put(entries: dict[str, str], who: str, value: Optional[str]) -> None:
    if value is None:
        entries.pop(who, None)
    else:
        entries[who] = value
