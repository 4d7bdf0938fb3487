"""Operators: their changes win, mode off and pauses hold, and they are called in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.judge.records import Judgement, Verdict
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import why_waiting
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries
from rocksdb_tuner.operations.rollout.storage import CLOCK, CURRENT
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD, Run, set_profile
from .one_step import (
    BACK,
    CHECKING,
    COLLAPSED,
    COLLAPSING,
    DIRECTIONS,
    DUE,
    PENDING,
    RECOVER,
    RESTARTING,
    RESTORING,
    SETTING,
    SETTLING,
    VERIFIED,
    at,
    case,
    decides,
    rollback_of,
    rollout,
    sampled,
    table,
)

THERE = 'write_buffer_size=1'
DEFAULT = DEFAULTS['pacific']
CHANGED = 'bluestore_rocksdb_options of {} was changed outside this rollout'


# -- which entries were changed by others


def entries(**values: Optional[str]) -> dict[str, str]:
    """``osd_0=NEW`` and so on; None: there is none."""
    return {who.replace('_', '.'): value for who, value in values.items() if value is not None}


def conflicts(state: RolloutState, found: Mapping[str, str]) -> tuple[str, ...]:
    return conflicting_entries(state, sampled(state, entries=found))


@pytest.mark.parametrize(
    ('state', 'who', 'ours'),
    [
        # An own entry follows from the progress of its OSD.
        *(
            (rollout(step), 'osd.0', ours)
            for step, ours in (
                (PENDING, {None}),
                (SETTING, {None, NEW}),
                *((step, {NEW}) for step in (DUE, RESTARTING, CHECKING, SETTLING, VERIFIED)),
                (COLLAPSING, {NEW, None}),
                (COLLAPSED, {None}),
            )
        ),
        (rollout(VERIFIED, request={'restart': False}, before={'osd.0': OLD}), 'osd.0', {OLD}),
        # A shared one from its write and confirmation.
        (rollout(), ALL, {None}),
        (rollout(shared_touched=True), ALL, {None, NEW}),
        (rollout(shared_touched=True, entries_done=1), ALL, {NEW}),
        # In a recovery only that of the OSD, which is confirmed before its restart.
        (at(RESTORING, RECOVER), 'osd.0', {None, NEW}),
        (at(RESTARTING, RECOVER), 'osd.0', {None}),
        (at(RESTARTING, RECOVER, restart_needed=False), 'osd.0', {NEW}),
        (at(RESTORING, RECOVER), ALL, {None, NEW, OLD, THERE}),
        (at(RESTORING, RECOVER), 'osd.1', {None, NEW, OLD, THERE}),
        # In a rollback it is old or new until it is confirmed.
        *(
            (rollback_of(VERIFIED, entries_done=done, before={ALL: OLD}), who, ours)
            for done, shared, own in (
                (0, {OLD, NEW}, {None, NEW}),
                (1, {OLD}, {None, NEW}),
                (2, {OLD}, {None}),
            )
            for who, ours in ((ALL, shared), ('osd.0', own))
        ),
    ],
)
def test_expected_entry_follows_from_the_progress(
    state: RolloutState, who: str, ours: set[Optional[str]]
) -> None:
    others = {ALL: OLD} if state.direction is BACK else {}
    for value in (None, NEW, OLD, THERE):
        found = {**others, who: value} if value is not None else dict(others)
        if value is None and who == ALL:
            found = {}
        assert (who in conflicts(state, found)) is (value not in ours), value


@pytest.mark.parametrize(
    ('who', 'forward', 'back'),
    [
        *((who, True, False) for who in ('osd/class:ssd', 'osd/host:node0', 'global', 'osd.3')),
        *((who, False, False) for who in ('osd/class:hdd', 'osd.9', 'mon')),
        *((who, True, True) for who in ('osd.0', ALL)),
    ],
)
def test_foreign_entry_matters_if_it_may_apply_or_is_to_be_restored(
    who: str, forward: bool, back: bool
) -> None:
    assert (conflicts(rollout(), {who: THERE}) == (who,)) == forward
    assert (conflicts(rollback_of(DUE), {who: THERE}) == (who,)) == back


# -- what follows from that


def test_conflict_counts_after_two_seconds() -> None:
    """A monitor may answer from just before the last change."""
    theirs = {'entries': {'osd.0': THERE}}
    state = rollout(VERIFIED)
    once = decides(
        state, theirs, {'ended': False, 'pending_conflict': CHANGED.format('osd.0')}
    ).state
    decides(once, {**theirs, 'waited_s': 1.9}, {'ended': False, 'same': True})
    ends = {'stage': Phase.FAILED, 'outcome': Outcome.ABORTED}
    late = decides(once, {**theirs, 'waited_s': 2.0}, ends).state
    assert 'was changed outside this rollout' in (late.failure or '')
    gone = {'entries': {'osd.0': NEW}, 'running': {}}
    decides(once, gone, {'pending_conflict': None, 'ended': False})
    another = {'entries': {'osd.0': THERE, 'osd.1': THERE}}
    decides(once, another, {'ended': False})


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_foreign_change_of_affected_entries_ends_the_rollout(direction: Direction) -> None:
    text = CHANGED.format('osd.0')
    state = at(CHECKING, direction, pending_conflict=text, restoring=('osd.0',), entries_done=1)
    theirs = {'entries': {'osd.0': THERE}}
    early = decides(state, {**theirs, 'waited_s': 1.9}, {'ended': False}).state
    assert early == replace(state, updated_s=early.updated_s)
    late = decides(state, {**theirs, 'waited_s': 2.0}, {'outcome': Outcome.ABORTED}).state
    failure = late.failure or ''
    assert failure.startswith(f'it failed; {text}' if direction is RECOVER else text)
    assert failure.count(text) == 1


def test_osd_in_flight_is_made_safe_before_a_foreign_change_ends_the_rollout() -> None:
    state = rollout(VERIFIED, SETTLING)
    seen = {'entries': {'osd.0': NEW, 'osd.1': NEW, 'osd.3': THERE}}
    once = decides(state, seen, {'ended': False}).state
    on = decides(once, seen, {'ended': False, 'of': 1, 'step': VERIFIED}).state
    assert on.ending is not None
    assert on.ending.outcome is Outcome.ABORTED
    decides(on, seen, {'outcome': Outcome.ABORTED})
    # If it is the OSD in flight itself, the operator's change takes precedence.
    its_own = {'entries': {'osd.0': NEW, 'osd.1': THERE}}
    decides(decides(state, its_own, {}).state, its_own, {'outcome': Outcome.ABORTED})


def in_the_middle(run: Run, osd_id: int = 1, step: OsdStep = RESTARTING) -> RolloutState:
    return run.until(lambda state: state.by_id[osd_id].step is step)


def test_no_rollback_is_offered_that_an_operator_change_would_refuse(run: Run) -> None:
    run.start()
    in_the_middle(run)
    run.cluster.operator_sets('osd.1', OLD)
    failure = run.run_to_end().failure or ''
    assert 'the change stays on osd.0, osd.1' in failure
    assert 'refuses to revert it, because osd.1 has been changed outside this rollout' in failure
    assert failure.count('outside this rollout') == 2
    with pytest.raises(OperationRefused, match='has been changed outside r1 since then'):
        run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    run.cluster.operator_sets('osd.1', NEW)
    run.roll_back()


@pytest.mark.parametrize(('changed', 'other'), [(ANNEX, OPTION), (OPTION, ANNEX)])
@pytest.mark.parametrize('who', [ALL, 'global', 'osd.2', 'osd/class:ssd'])
def test_foreign_change_of_the_other_option_wins(changed: str, other: str, who: str) -> None:
    cluster = FakeCluster()
    cluster.option = changed
    run = Run(cluster)
    run.start(set_profile(cluster, 'compression=kLZ4Compression', option=changed))
    in_the_middle(run)
    cluster.operator_sets(who, 'compression=kZSTD', other)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert f'{other} of {who} was changed outside this rollout' in (state.failure or '')
    # The OSD in flight was made safe, and no other was started after it.
    assert [one.step for one in state.osds] == [VERIFIED, VERIFIED, PENDING]
    assert cluster.entries_of(other) == {who: 'compression=kZSTD'}


# -- mode off in the middle of a tick: what was decided before it is not sent after it


class Switched(Run):
    """The operator's switch may be turned while a state is stored."""

    def __init__(self) -> None:
        self.on = True
        super().__init__()
        self.driver._changes_allowed = lambda: self.on

    def switch_off(self, fits: Callable[[str], bool]) -> None:
        """At the first write of a key that fits."""

        def on_set(key: str) -> None:
            self.on = self.on and not fits(key)

        self.store.on_set = on_set


@pytest.mark.parametrize('nth', range(12))
def test_nothing_is_sent_after_mode_off_between_two_effects(nth: int) -> None:
    """Whichever store it is: each of them comes right before something is sent, or does not."""
    run = Switched()
    run.start()
    run.until(lambda s: s.phase is not Phase.PLANNED)
    writes, sent = iter(range(nth)), list[str]()

    def is_nth(key: str) -> bool:
        found = key == CURRENT and run.on and next(writes, None) is None
        sent.extend(run.cluster.commands if found else ())
        return found

    run.switch_off(is_nth)
    run.ticks(200)
    assert not run.on
    assert run.cluster.commands == sent
    run.switch_off(lambda _: False)
    run.on = True
    assert run.run_to_end().phase is Phase.DONE
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {NEW}


@pytest.mark.parametrize(('key', 'step'), [(CURRENT, DUE), (CLOCK, RESTARTING)])
def test_failed_osd_that_is_up_is_not_restarted_after_mode_off(key: str, step: OsdStep) -> None:
    """Its rollback can wait; whether the switch is turned as its state or its count is stored."""
    run = Switched()
    run.start()
    run.until(lambda s: s.osds[0].step is RESTARTING)
    # The new process does not run what it should.
    osd = run.cluster.osds[0]
    osd.stubborn = RunningOption(OLD, 'mon', ignores_mon=False)

    def is_time(stored: str) -> bool:
        asks = run.state.direction is RECOVER and run.state.osds[0].step is step
        return stored == key and asks

    run.switch_off(is_time)
    run.until(lambda s: not run.on)
    osd.stubborn, boots = None, osd.boots
    run.ticks(300)
    assert osd.boots == boots
    # Its next start options are the previous ones.
    assert run.cluster.entries_of() == {}
    run.switch_off(lambda _: False)
    run.on = True
    assert run.run_to_end().phase is Phase.FAILED
    assert (osd.boots, run.cluster.runs(0)) == (boots + 1, DEFAULT)


# -- waits that raise an alarm


@table(
    case('not at once', at(RESTARTING), {'waited_s': 599.9}, alarm=None),
    case('of an OSD in flight', at(RESTARTING), {'waited_s': 600.0}, alarm='it waits'),
    case(
        'of a gate', at(PENDING), {'waited_s': 1800.0},
        alarm='it waits; "ceph rocksdb-tuner operation abort" ends the rollout',
    ),
    case('not earlier', at(PENDING), {'waited_s': 1799.9}, alarm=None),
    case('of errors', at(PENDING, errors=1), {'waited_s': 0.0}, alarm='it waits'),
    case(
        'of a decision', at(VERIFIED, judgement=Judgement(Verdict.INCONCLUSIVE)),
        {'waited_s': 0.0}, alarm='it waits',
    ),
    case('not of a pause', at(RESTARTING, paused_by='client.ann'), {'waited_s': 1e6}, alarm=None),
    case(
        'of a recovery in a pause', at(RESTARTING, RECOVER, paused_by='client.ann'),
        {'waited_s': 600.0}, alarm='it waits',
    ),
    *(
        case('only of a wait', at(step, errors=errors), {'waited_s': 1e6, 'why': None}, alarm=None)
        for step, errors in ((RESTARTING, 1), (PENDING, 0))
    ),
    case(
        'not after the end', at(RESTARTING, stage=Phase.FAILED, errors=1), {'waited_s': 1e6},
        alarm=None,
    ),
)  # fmt: skip
def test_wait_for_the_operator_raises_an_alarm(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    assert announce.ACTION_AFTER_S == 600.0
    waits = replace(state, paused_reason=seen.get('why', 'it waits'))
    assert why_waiting(waits, seen['waited_s']) == expected['alarm']


def alarm_after(run: Run, seconds: float, step_s: float = 2.0) -> Optional[str]:
    """The alarm of a manager that has seen it for so long."""
    for _ in range(int(seconds / step_s)):
        run.tick(step_s)
    return run.driver.why_waiting()


def test_alarm_uses_the_uptime_of_the_manager_and_not_the_clock(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    assert alarm_after(run, 1700) is None
    run.cluster.now_s += 86400
    assert alarm_after(run, 4) is None
    run.fail_over()
    assert alarm_after(run, 1700) is None
    assert 'noout' in str(alarm_after(run, 120))
    run.cluster.flags.discard('noout')
    assert alarm_after(run, 4) is None


def test_wait_that_an_operator_chose_is_not_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announce, 'GATE_ALARM_AFTER_S', 60.0)

    def reported() -> str:
        return alarm_after(run, 120, 30.0) or ''

    run.cluster.flags.add('noout')
    run.start()
    assert 'noout' in reported()
    run.fail_over()
    assert run.driver.why_waiting() is None
    run.cluster.flags.clear()
    run.outside_window = 'outside the maintenance window'
    assert reported() == ''
    run.outside_window, run.may_act = None, False
    assert reported() == ''
    run.may_act = True
    run.driver.pause('client.ann', run.cluster.now_s)
    assert reported() == ''
    run.driver.resume(run.cluster.now_s)
    run.cluster.flags.add('noout')
    assert 'noout' in reported()
