"""Single decisions of the machine, between two samples of a cluster that changed in one respect.

Complete rollouts pass through them too, but rarely isolate one: an OSD with a new process was
usually seen down before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import (
    Inconclusive,
    Judgement,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.osd_step import process_lost
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries, conflicts_in_other_option
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.operations.rollout.soak import soak, undecided
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, OLD, overridden
from .one_step import MACHINE, SOAK, canary, observed, other, rollback_of, rollout, without

UNSURE = Judgement(Verdict.INCONCLUSIVE, missing=('precision',))
NOTHING = Judgement(Verdict.NO_DATA, missing=('writes',))


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


# -- a process that is not the one that came up


def again(seen: Observation, state: RolloutState, flaps: int = 0) -> Optional[Step]:
    osd = replace(state.osds[0], flaps=flaps)
    return process_lost(MACHINE, state, osd, seen)


@pytest.mark.parametrize('direction', [Direction.FORWARD, Direction.BACK])
def test_osd_with_a_new_process_is_lost_even_if_never_seen_down(
    cluster: FakeCluster, direction: Direction
) -> None:
    state = rollout(cluster, OsdStep.CHECKING, direction=direction)
    seen = observed(cluster)
    assert again(seen, state) is None
    for lost in (
        other(seen, 0, nonce=99),
        other(seen, 0, nonce=None),
        other(seen, 0, up=False),
        without(seen, 0),
    ):
        step = again(lost, state)
        assert step is not None
        assert (step.state.osds[0].step, step.state.osds[0].flaps) == (OsdStep.RESTARTING, 1)
        assert step.actions == ()


def test_osd_fails_on_going_down_for_the_third_time(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.SETTLING)
    lost = other(observed(cluster), 0, up=False)
    second, third = again(lost, state, flaps=1), again(lost, state, flaps=2)
    assert second is not None
    assert second.state.direction is Direction.FORWARD
    assert third is not None
    assert third.state.direction is Direction.RECOVER
    assert third.state.ending == Ending(Outcome.FAILED, 'osd.0 came up and went down again 3 times')


def test_osd_is_never_given_up_for_going_down_again_during_rollback(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.SETTLING, direction=Direction.BACK)
    step = again(other(observed(cluster), 0, up=False), state, flaps=20)
    assert step is not None
    assert (step.state.direction, step.state.osds[0].flaps) == (Direction.BACK, 21)


# -- the soak


def soaked(
    state: RolloutState, seen: Observation, soaking: SoakPlan = SOAK, number: int = 0
) -> RolloutState:
    step = soak(state, planned_batch(state.request, soaking, number), seen)
    assert step.actions == ()
    return step.state


@pytest.mark.parametrize('policy', Inconclusive)
def test_missing_data_waits_whatever_the_policy(cluster: FakeCluster, policy: Inconclusive) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, after_s=600.0, judgement=NOTHING, unsampled=(0, 2))
    waits = soaked(state, seen, replace(SOAK, inconclusive=policy))
    assert (waits.judgement, waits.verdicts, waits.direction) == (NOTHING, (), Direction.FORWARD)
    reported = waits.paused_reason or ''
    assert 'missing: no current samples of OSD 0,2: it continues once they report' in reported
    assert NOTHING.missing[0] in reported
    assert undecided(waits)


def test_doubt_waits_promotes_or_rolls_back_as_configured(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, after_s=600.0, judgement=UNSURE)
    waits = soaked(state, seen)
    assert (waits.judgement, waits.verdicts) == (UNSURE, ())
    assert UNSURE.missing[0] in (waits.paused_reason or '')
    assert undecided(waits)
    promoted = soaked(state, seen, replace(SOAK, inconclusive=Inconclusive.PROMOTE))
    assert (promoted.judgement, promoted.verdicts) == (UNSURE, (UNSURE.verdict,))
    assert not undecided(promoted)
    back = soaked(state, seen, replace(SOAK, inconclusive=Inconclusive.ROLLBACK))
    assert (back.judgement, back.direction) == (UNSURE, Direction.BACK)
    assert not undecided(back)


# -- rollback


def test_paused_rollback_changes_no_entry_and_restarts_no_osd(cluster: FakeCluster) -> None:
    written = observed(cluster, entries={ALL: NEW, 'osd.0': NEW}, waited_s=1000.0)
    restored = replace(written, entries={})
    entries = rollback_of(cluster, OsdStep.VERIFIED, entries_done=0, shared_touched=True)
    due = rollback_of(cluster, OsdStep.RESTART_DUE, restoring=(), entries_done=0)
    waiting = replace(due.osds[0], nonce_before=cluster.osds[0].nonce)
    due = replace(due, osds=(waiting, *due.osds[1:]))
    for state, seen in ((entries, written), (due, restored)):
        for look in (seen, other(seen, 0, up=False)):
            held = MACHINE.step(replace(state, paused_by='client.ann'), look, 2.0)
            assert held.actions == ()
            assert held.state.osds == state.osds
            assert held.state.paused_reason == 'paused by client.ann'
            off = MACHINE.step(state, replace(look, may_act=False), 2.0)
            assert off.actions == ()
    # Only the pause holds it.
    assert MACHINE.step(entries, written, 2.0).actions == (RemoveEntry(ALL),)
    for look in (restored, other(restored, 0, up=False)):
        assert MACHINE.step(due, look, 2.0).actions == (RestartOsd(0),)


# -- a restart


def restarting(
    cluster: FakeCluster, step: OsdStep = OsdStep.RESTARTING, **changes: object
) -> RolloutState:
    """The canary, whose process is still the previous one; it was requested once."""
    state = rollout(cluster, step)
    osd = replace(
        state.osds[0], nonce_before=cluster.osds[0].nonce, nonce_after=None, restarts_asked=1
    )
    return replace(state, osds=(osd, *state.osds[1:]), **changes)  # type: ignore[arg-type]


def entries_of(state: RolloutState) -> dict[str, str]:
    return {'osd.0': dict(state.request.targets)[0]}


@pytest.mark.parametrize(
    ('changes', 'asked'),
    [
        ({}, True),
        ({'restart_is_ours': True}, False),
        ({'orchestrator_reason': 'none'}, False),
        ({'may_act': False}, False),
    ],
)
def test_osd_stopped_under_another_manager_is_started_again_before_it_fails(
    cluster: FakeCluster, changes: dict[str, object], asked: bool
) -> None:
    state = restarting(cluster)
    seen = observed(
        cluster,
        entries=entries_of(state),
        waited_s=300.0,
        down_s=300.0,
        **{'restart_is_ours': False, **changes},
    )
    down = other(seen, 0, up=False)
    step = MACHINE.step(state, down, 2.0)
    assert (step.actions == (RestartOsd(0),)) == asked
    assert (step.state.direction is Direction.RECOVER) == (not asked)
    if asked:
        often = replace(state, osds=(replace(state.osds[0], restarts_asked=3), *state.osds[1:]))
        assert MACHINE.step(often, down, 2.0).state.direction is Direction.RECOVER
        ending = replace(state, ending=Ending(Outcome.ABORTED, 'aborted by client.ann'))
        assert MACHINE.step(ending, down, 2.0).state.direction is Direction.RECOVER


def test_osd_not_restarted_after_two_requests_fails_if_no_other_is_changed(
    cluster: FakeCluster,
) -> None:
    state = restarting(cluster)
    twice = replace(state, osds=(replace(state.osds[0], restarts_asked=2), *state.osds[1:]))
    seen = observed(cluster, entries=entries_of(state), waited_s=300.0)
    failed = MACHINE.step(twice, seen, 2.0)
    assert (failed.state.direction, canary(failed).step) == (Direction.RECOVER, OsdStep.RESTORING)
    assert failed.state.ending == Ending(Outcome.FAILED, 'osd.0 did not restart after 2 requests')
    # Its process is that of before: it need not be restarted for its old entry.
    assert not canary(failed).restart_needed


# -- entries changed by others


THERE, GONE = 'write_buffer_size=1', None


@pytest.mark.parametrize(
    ('at', 'ours'),
    [
        (OsdStep.PENDING, {GONE}),
        (OsdStep.SETTING, {GONE, NEW}),
        (OsdStep.RESTART_DUE, {NEW}),
        (OsdStep.RESTARTING, {NEW}),
        (OsdStep.CHECKING, {NEW}),
        (OsdStep.SETTLING, {NEW}),
        (OsdStep.VERIFIED, {NEW}),
        (OsdStep.COLLAPSING, {NEW, GONE}),
        (OsdStep.COLLAPSED, {GONE}),
    ],
)
def test_expected_own_entry_follows_from_the_progress_of_the_osd(
    cluster: FakeCluster, at: OsdStep, ours: set[Optional[str]]
) -> None:
    state = rollout(cluster, at)
    for value in (GONE, NEW, OLD, THERE):
        entries = {} if value is None else {'osd.0': value}
        found = conflicting_entries(state, observed(cluster, entries=entries))
        assert found == (() if value in ours else ('osd.0',)), value


@pytest.mark.parametrize(
    ('touched', 'done', 'ours'),
    [(False, 0, {GONE}), (True, 0, {GONE, NEW}), (True, 1, {NEW})],
)
def test_expected_shared_entry_follows_from_its_write_and_confirmation(
    cluster: FakeCluster, touched: bool, done: int, ours: set[Optional[str]]
) -> None:
    state = rollout(cluster, shared_touched=touched, entries_done=done)
    for value in (GONE, NEW, OLD):
        entries = {} if value is None else {ALL: value}
        found = conflicting_entries(state, observed(cluster, entries=entries))
        assert found == (() if value in ours else (ALL,)), value


@pytest.mark.parametrize(
    ('who', 'forward', 'back'),
    [
        ('osd/class:ssd', True, False),
        ('osd/host:node0', True, False),
        ('global', True, False),
        ('osd/class:hdd', False, False),
        ('osd.9', False, False),
        ('mon', False, False),
        ('osd.3', True, False),
        ('osd.0', True, True),
        (ALL, True, True),
    ],
)
def test_foreign_entry_matters_if_it_may_apply_or_is_to_be_restored(
    cluster: FakeCluster, who: str, forward: bool, back: bool
) -> None:
    seen = observed(cluster, entries={who: THERE})
    assert (conflicting_entries(rollout(cluster), seen) == (who,)) == forward
    state = rollback_of(cluster, OsdStep.RESTART_DUE)
    assert (conflicting_entries(state, seen) == (who,)) == back


def test_entry_under_rollback_is_old_or_new_until_confirmed() -> None:
    cluster = overridden(ALL, osds=4)
    for done in (0, 1, 2):
        state = rollback_of(cluster, OsdStep.VERIFIED, entries_done=done)
        for shared, single in ((OLD, GONE), (NEW, GONE), (OLD, NEW), (THERE, GONE), (OLD, THERE)):
            entries = {ALL: shared, **({} if single is None else {'osd.0': single})}
            expected = [
                who
                for who, value, ours in (
                    (ALL, shared, {OLD} if done >= 1 else {OLD, NEW}),
                    ('osd.0', single, {GONE} if done >= 2 else {GONE, NEW}),
                )
                if value not in ours
            ]
            found = conflicting_entries(state, observed(cluster, entries=entries))
            assert found == tuple(expected), (done, shared, single)


def test_only_the_own_entry_matters_during_recovery(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.RESTORING, direction=Direction.RECOVER)
    for entries, expected in (
        ({}, ()),
        ({'osd.0': NEW}, ()),
        ({'osd.0': THERE}, ('osd.0',)),
        ({ALL: THERE, 'osd.1': THERE}, ()),
    ):
        assert conflicting_entries(state, observed(cluster, entries=entries)) == expected
    for needed, ours in ((True, GONE), (False, NEW)):
        due = rollout(cluster, OsdStep.RESTARTING, direction=Direction.RECOVER)
        due = replace(due, osds=(replace(due.osds[0], restart_needed=needed), *due.osds[1:]))
        for value in (GONE, NEW):
            entries = {} if value is None else {'osd.0': value}
            found = conflicting_entries(due, observed(cluster, entries=entries))
            assert found == (() if value == ours else ('osd.0',))


def test_entry_of_an_osd_left_behind_is_ignored(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.LEFT_BEHIND, OsdStep.VERIFIED)
    state = replace(state, before=replace(state.before, other_entries=(('osd.1', OLD),)))
    seen = observed(
        cluster,
        entries={'osd.0': THERE, 'osd.1': NEW},
        other_entries={'osd.0': THERE, 'osd.1': OLD},
    )
    assert (conflicting_entries(state, seen), conflicts_in_other_option(state, seen)) == ((), ())
    # Entries of the other option may change, appear or disappear.
    for entries, reported in (
        ({'osd.1': THERE}, ('osd.1',)),
        ({}, ('osd.1',)),
        ({'osd.1': OLD, 'osd.2': THERE}, ('osd.2',)),
        ({'osd.1': OLD, 'mon': THERE}, ()),
    ):
        assert conflicts_in_other_option(state, replace(seen, other_entries=entries)) == reported
    # The previous value is unknown in rollouts of older managers, and if it cannot be read now.
    unknown = replace(state, before=replace(state.before, other_entries=None))
    assert conflicts_in_other_option(unknown, replace(seen, other_entries={})) == ()
    assert conflicts_in_other_option(state, replace(seen, other_entries=None)) == ()
    back = replace(state, direction=Direction.BACK)
    assert conflicts_in_other_option(back, replace(seen, other_entries={})) == ()


def test_conflict_counts_after_two_seconds(cluster: FakeCluster) -> None:
    """A monitor may answer from just before the last change."""
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, entries={'osd.0': THERE})
    once = MACHINE.step(state, seen, 2.0)
    assert (once.state.ended, once.actions) == (False, ())
    assert 'osd.0' in (once.state.pending_conflict or '')
    early = MACHINE.step(once.state, replace(seen, waited_s=1.9), 3.0)
    assert (early.state.ended, early.actions) == (False, ())
    late = MACHINE.step(once.state, replace(seen, waited_s=2.0), 3.0)
    assert (late.state.stage, late.state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert 'was changed outside this rollout' in (late.state.failure or '')
    gone = MACHINE.step(once.state, observed(cluster, entries={'osd.0': NEW}), 3.0)
    assert (gone.state.pending_conflict, gone.state.ended) == (None, False)
    another = MACHINE.step(once.state, replace(seen, entries={'osd.0': THERE, 'osd.1': THERE}), 3.0)
    assert not another.state.ended


def test_osd_in_flight_is_made_safe_before_a_foreign_change_ends_the_rollout(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.VERIFIED, OsdStep.SETTLING)
    entries = {'osd.0': NEW, 'osd.1': NEW, 'osd.3': THERE}
    seen = observed(cluster, entries=entries)
    once = MACHINE.step(state, seen, 2.0).state
    on = MACHINE.step(once, seen, 3.0).state
    assert (on.ended, on.osds[1].step) == (False, OsdStep.VERIFIED)
    assert on.ending is not None
    assert on.ending.outcome is Outcome.ABORTED
    assert MACHINE.step(on, seen, 4.0).state.outcome is Outcome.ABORTED
    # If it is the OSD in flight itself, the operator's change takes precedence.
    its_own = replace(seen, entries={'osd.0': NEW, 'osd.1': THERE})
    once = MACHINE.step(state, its_own, 2.0).state
    assert MACHINE.step(once, its_own, 3.0).state.outcome is Outcome.ABORTED
