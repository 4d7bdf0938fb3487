"""The queries of the machine, its evaluation of a sample, and its predicates."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Judgement, Verdict
from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations.announce import ACTION_AFTER_S
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import why_failed, why_waiting
from rocksdb_tuner.operations.rollout.machine import (
    aborted,
    action_failed,
)
from rocksdb_tuner.operations.rollout.observer import Liveness
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    Ending,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rollback import (
    describe_leftovers,
)
from rocksdb_tuner.operations.rollout.rules import (
    Limits,
    Needs,
    Rules,
    entry,
    why_held,
)
from rocksdb_tuner.plan.commands import RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import NEW, same_meaning
from .one_step import MACHINE, observed, rollback_of, rollout

FORWARD, BACK, RECOVER = Direction.FORWARD, Direction.BACK, Direction.RECOVER
FAILED = Ending(Outcome.FAILED, 'it failed')
ABORTED = Ending(Outcome.ABORTED, 'aborted by client.ann')
VERIFIED = OsdStep.VERIFIED
THERE = 'write_buffer_size=1'


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


def at(cluster: FakeCluster, step: OsdStep, **changes: object) -> RolloutState:
    """The second OSD is there, and the canary was decided upon."""
    fields: dict[str, object] = {'verdicts': (Verdict.NO_WORSE,), **changes}
    return rollout(cluster, VERIFIED, step, **fields)


# -- what is to be seen


STOP = Needs(ok_to_stop=(1,), orchestrator=True, described=(1,))


@pytest.mark.parametrize(
    ('step', 'direction', 'expected'),
    [
        # The next OSD to start, and none without a decision.
        (OsdStep.PENDING, FORWARD, Needs(running=(1,), ok_to_stop=(1,))),
        (OsdStep.PENDING, BACK, Needs()),
        (OsdStep.PENDING, RECOVER, Needs()),
        (OsdStep.SETTING, FORWARD, Needs()),
        (OsdStep.RESTART_DUE, FORWARD, STOP),
        (OsdStep.RESTART_DUE, BACK, STOP),
        (OsdStep.RESTARTING, FORWARD, STOP),
        (OsdStep.RESTARTING, RECOVER, STOP),
        (OsdStep.CHECKING, FORWARD, Needs(running=(1,))),
        (OsdStep.SETTLING, FORWARD, Needs()),
        (OsdStep.COLLAPSING, FORWARD, Needs()),
        (OsdStep.RESTORING, RECOVER, Needs()),
        # It waits for a verdict on the second one.
        (VERIFIED, FORWARD, Needs(running=(2,), ok_to_stop=(2,))),
    ],
)
def test_sample_requests_only_the_data_of_the_next_decision(
    cluster: FakeCluster, step: OsdStep, direction: Direction, expected: Needs
) -> None:
    state = at(cluster, step, direction=direction)
    assert MACHINE.needs(state, 1000.0) == expected
    # A request for another OSD is tracked concurrently.
    other_asked = replace(state, asked=AskedRestart(3))
    described = (3, *expected.described)
    found = MACHINE.needs(other_asked, 1000.0)
    assert replace(found, described=tuple(sorted(found.described, reverse=True))) == replace(
        expected, described=described
    )
    same = replace(state, asked=AskedRestart(1))
    assert MACHINE.needs(same, 1000.0) == replace(expected, described=(1,))


# -- a sample


@pytest.mark.parametrize(('watched_s', 'acts'), [(9.9, False), (10.0, True)])
def test_new_active_manager_observes_for_ten_seconds(
    cluster: FakeCluster, watched_s: float, acts: bool
) -> None:
    state = rollout(cluster, OsdStep.SETTING)
    step = MACHINE.step(state, observed(cluster, entries={}, watched_s=watched_s), 2.0)
    assert step.actions == ((SetEntry('osd.0', NEW),) if acts else ())
    reported = 'this manager has just become active and samples first'
    assert step.state.paused_reason == (None if acts else reported)
    assert step.state.updated_s == (1.0 if acts else 2.0)


@pytest.mark.parametrize(('waited_s', 'ends'), [(1.9, False), (2.0, True)])
@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
def test_foreign_change_of_affected_entries_ends_the_rollout(
    cluster: FakeCluster, waited_s: float, ends: bool, direction: Direction
) -> None:
    reported = 'bluestore_rocksdb_options of osd.0 was changed outside this rollout'
    state = rollout(cluster, OsdStep.CHECKING, direction=direction, pending_conflict=reported)
    state = replace(state, restoring=('osd.0',), entries_done=1)
    if direction is RECOVER:
        state = replace(state, ending=FAILED)
    seen = observed(cluster, entries={'osd.0': THERE}, waited_s=waited_s)
    found = MACHINE.step(state, seen, 2.0).state
    assert found.ended == ends
    if ends:
        assert found.outcome is Outcome.ABORTED
        begin = f'it failed; {reported}' if direction is RECOVER else reported
        assert (found.failure or '').startswith(begin)
        assert (found.failure or '').count(reported) == 1
    else:
        assert found == replace(state, updated_s=found.updated_s)


# -- reports of the orchestrator


def reported(running: Optional[bool], started: str, refreshed: Optional[str]) -> OrchestratedDaemon:
    return OrchestratedDaemon(running, started, refreshed)


def test_process_lives_if_two_samples_since_down_found_the_same() -> None:
    signs = Liveness()
    for key, daemon, lives in (
        (1, None, None),
        (1, reported(True, 's1', 'r1'), None),
        (1, reported(True, 's1', None), None),
        (1, reported(True, 's1', 'r2'), True),
        # Found dead, it is no more the same one though it has the same name.
        (1, reported(False, 's1', 'r3'), False),
        (1, reported(True, 's1', 'r4'), None),
        (1, reported(True, 's1', 'r4'), None),
        (1, reported(True, 's1', 'r5'), True),
        (1, reported(True, 's2', 'r6'), None),
        (1, reported(True, 's2', 'r7'), True),
        # Another time that it is down: what was found before is old.
        (2, reported(True, 's2', 'r7'), None),
        (2, reported(True, 's2', 'r8'), None),
        (2, reported(True, 's2', 'r9'), True),
        (3, reported(False, 's2', 'r9'), None),
        (3, reported(False, 's2', 'r10'), False),
    ):
        assert signs.update(key, daemon) is lives


# -- acts


def test_abort_reports_its_progress(cluster: FakeCluster) -> None:
    stays = '; the change stays on osd.0: "ceph rocksdb-tuner rollback r1" '
    state = rollout(cluster, VERIFIED)
    known = aborted(state, 'client.ann', 9.0, {'osd.0': NEW}, ())
    assert known.failure == f'aborted by client.ann{stays}reverts it'
    unknown = aborted(state, 'client.ann', 9.0, None, ())
    assert unknown.failure == f'{known.failure}, unless it has been changed since'
    blocked = aborted(state, 'client.ann', 9.0, {'osd.0': THERE}, ())
    assert blocked.failure == (
        f'aborted by client.ann{stays}refuses to revert it, because osd.0 has been '
        'changed outside this rollout: correct bluestore_rocksdb_options by hand'
    )
    back = aborted(rollback_of(cluster, VERIFIED), 'client.ann', 9.0, {}, ())
    assert (back.failure, back.updated_s) == ('rollback aborted by client.ann', 9.0)


def test_refusal_counts_and_only_for_the_restart_in_flight(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, VERIFIED, errors=1)
    failed = action_failed(state, RestartOsd(0), 'x' * 700, 9.0)
    assert (failed.errors, failed.last_error, failed.updated_s) == (2, 'x' * 597 + '...', 9.0)
    assert (failed.osds, failed.asked) == (state.osds, None)
    flying = rollout(cluster, OsdStep.RESTARTING)
    for asked_times, step in ((0, OsdStep.RESTARTING), (1, OsdStep.RESTART_DUE)):
        osd = replace(flying.osds[0], restarts_asked=asked_times)
        tried = replace(flying, osds=(osd, *flying.osds[1:]))
        found = action_failed(tried, RestartOsd(0), 'EBUSY', 9.0)
        assert (found.osds[0].step, found.osds[0].restarts_asked) == (step, 0)
        assert (found.errors, found.last_error) == (1, 'EBUSY')
        assert action_failed(tried, SetEntry('osd.0', NEW), 'EBUSY', 9.0).osds == tried.osds


# -- alarms


@pytest.mark.parametrize(
    ('stage', 'outcome', 'verdict', 'failure', 'changed', 'reported'),
    [
        (Phase.FAILED, Outcome.FAILED, None, 'it crashed', False, 'it crashed'),
        (Phase.FAILED, Outcome.FAILED, None, None, False, 'no reason was recorded'),
        (Phase.FAILED, Outcome.ABORTED, None, 'aborted', False, None),
        (Phase.FAILED, Outcome.ABORTED, None, 'aborted', True, 'aborted'),
        (
            Phase.ROLLED_BACK,
            Outcome.ROLLED_BACK,
            Verdict.WORSE,
            'it is worse',
            False,
            'it is worse',
        ),
        (
            Phase.ROLLED_BACK,
            Outcome.ROLLED_BACK,
            Verdict.WORSE,
            None,
            False,
            'rolled back by the verdict',
        ),
        (Phase.ROLLED_BACK, Outcome.ROLLED_BACK, Verdict.NO_WORSE, 'x', False, None),
        (Phase.ROLLED_BACK, Outcome.ROLLED_BACK, None, 'x', False, None),
        (Phase.DONE, Outcome.DONE, Verdict.WORSE, 'x', True, None),
        (Phase.ROLLING_BACK, None, Verdict.WORSE, 'x', True, None),
    ],
)
def test_failure_is_an_unrequested_or_partly_aborted_end(
    cluster: FakeCluster,
    stage: Phase,
    outcome: Optional[Outcome],
    verdict: Optional[Verdict],
    failure: Optional[str],
    changed: bool,
    reported: Optional[str],
) -> None:
    state = rollout(cluster, VERIFIED if changed else OsdStep.LEFT_BEHIND, outcome=outcome)
    judgement = None if verdict is None else Judgement(verdict)
    state = replace(state, stage=stage, judgement=judgement, failure=failure)
    assert why_failed(state) == reported


@pytest.mark.parametrize(
    ('changes', 'waited_s', 'reported'),
    [
        ({}, 599.9, None),
        ({}, 600.0, 'it waits'),
        ({'step': OsdStep.PENDING}, 1800.0, 'it waits; '),
        ({'step': OsdStep.PENDING}, 1799.9, None),
        ({'step': OsdStep.PENDING, 'errors': 1}, 0.0, 'it waits'),
        ({'step': VERIFIED, 'judgement': Judgement(Verdict.INCONCLUSIVE)}, 0.0, 'it waits'),
        ({'paused_by': 'client.ann'}, 1e6, None),
        ({'paused_by': 'client.ann', 'direction': RECOVER}, 600.0, 'it waits'),
        ({'paused_reason': None, 'errors': 1}, 1e6, None),
        ({'paused_reason': None, 'step': OsdStep.PENDING}, 1e6, None),
        ({'stage': Phase.FAILED, 'errors': 1}, 1e6, None),
    ],
)
def test_wait_for_the_operator_raises_an_alarm(
    cluster: FakeCluster,
    changes: dict[str, object],
    waited_s: float,
    reported: Optional[str],
) -> None:
    assert ACTION_AFTER_S == 600.0
    changes = dict(changes)
    state = rollout(cluster, changes.pop('step', OsdStep.RESTARTING))  # type: ignore[arg-type]
    state = replace(state, **{'paused_reason': 'it waits', **changes})  # type: ignore[arg-type]
    found = why_waiting(state, waited_s)
    if reported is None or not reported.endswith('; '):
        assert found == reported
    else:
        assert found == f'{reported}"ceph rocksdb-tuner operation abort" ends the rollout'


# -- foreign entries


@pytest.mark.parametrize(
    ('stage', 'direction', 'changed', 'tells'),
    [
        (Phase.FAILED, FORWARD, 1, True),
        (Phase.FAILED, RECOVER, 1, True),
        (Phase.FAILED, BACK, 1, False),
        (Phase.FAILED, FORWARD, 0, False),
        (Phase.DONE, FORWARD, 1, False),
    ],
)
def test_leftovers_of_an_unfinished_rollout_are_reported(
    cluster: FakeCluster, stage: Phase, direction: Direction, changed: int, tells: bool
) -> None:
    state = rollout(cluster, *[VERIFIED] * changed, direction=direction, failure=None)
    state = replace(state, stage=stage)
    found = describe_leftovers(state, {'osd.0': NEW})
    reported = 'the change stays on osd.0: "ceph rocksdb-tuner rollback r1" reverts it'
    assert found.failure == (reported if tells else None)


# -- common rules of a rollout: its timeouts, and its blockers

RULES = Rules(same_meaning)


def test_timeouts_match_the_manual() -> None:
    limits = Limits()
    assert (limits.observe_first_s, limits.confirm_s) == (10.0, 2.0)
    assert (limits.restart_s, limits.boot_s, limits.boot_most_s) == (300.0, 300.0, 3600.0)
    assert (limits.report_s, limits.verify_s) == (5.0, 60.0)
    assert (limits.retry_s, limits.tries, limits.flaps) == (30.0, 3, 2)


@pytest.mark.parametrize(
    ('direction', 'paused_by', 'may_act', 'held'),
    [
        (Direction.FORWARD, None, True, None),
        (Direction.FORWARD, None, False, 'mode'),
        (Direction.FORWARD, 'client.ann', True, 'paused by client.ann'),
        (Direction.FORWARD, 'client.ann', False, 'paused by client.ann'),
        (Direction.BACK, None, False, 'mode'),
        (Direction.BACK, 'client.ann', True, 'paused by client.ann'),
        # A failed OSD gets its entry back despite any pause.
        (Direction.RECOVER, 'client.ann', False, None),
    ],
)
def test_pause_and_mode_off_hold_everything_except_recovery(
    direction: Direction, paused_by: Optional[str], may_act: bool, held: Optional[str]
) -> None:
    cluster = FakeCluster()
    state = rollout(cluster, direction=direction, paused_by=paused_by)
    seen = observed(cluster, may_act=may_act)
    why = why_held(state, seen)
    assert (why is None) is (held is None)
    assert (held or '') in (why or '')
    step = entry(RULES, state, seen, 'osd.0', 'ttl=1')
    assert step is not None
    assert step.state.paused_reason == why
    assert step.actions == ((SetEntry('osd.0', 'ttl=1'),) if why is None else ())
