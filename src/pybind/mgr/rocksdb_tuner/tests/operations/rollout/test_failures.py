"""Whole rollouts, of the option and its annex, with failing OSDs, monitors and operators."""

from __future__ import annotations

import errno
import re
from typing import Callable

import pytest

from rocksdb_tuner.advise.facts import why_unstartable
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.storage import CLOCK, CURRENT
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import (
    ALL,
    CLASS,
    NEW,
    OLD,
    Run,
    set_profile,
)

BAD = 'write_buffer_size=foo'
DEFAULT = DEFAULTS['pacific']


# -- an OSD


def test_osd_that_does_not_start_loses_the_entry_and_is_started_again(run: Run) -> None:
    run.start(set_profile(run.cluster, BAD))
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert state.failure == 'osd.0 did not come back up within 300 s'
    assert run.cluster.entries_of() == {}
    assert not run.cluster.down
    assert [osd.boots for osd in run.cluster.osds.values()] == [2, 1, 1]
    assert [osd.step for osd in state.osds] == [
        OsdStep.RESTORED,
        OsdStep.PENDING,
        OsdStep.PENDING,
    ]


def test_later_osd_that_does_not_start_rolls_back_everything(run: Run) -> None:
    """No part of the cluster is left with options with which an OSD did not start."""
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.osds[1].broken = True
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.cluster.osds[1].broken = False
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    assert run.cluster.entries_of() == {}
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3
    assert state.failure == (
        'osd.1 did not come back up within 300 s; rolled back by the module on all OSDs'
    )
    # It was started again once, with what it had, and not once more for the others' sake.
    assert [osd.boots for osd in run.cluster.osds.values()] == [3, 2, 1]


def test_broken_osd_is_restored_in_mode_off(run: Run) -> None:
    """Safety rule 4: what keeps an OSD from starting is taken away, and the OSD is started."""
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.may_act = False
    assert run.run_to_end().phase is Phase.FAILED
    assert not run.cluster.down
    assert run.cluster.entries_of() == {}


def test_overriding_ceph_conf_is_reported_and_left_alone(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[0].conf_file[OPTION] = DEFAULT
    state = run.run_to_end()
    assert 'of osd.0 comes from its ceph.conf' in (state.failure or '')
    assert run.cluster.entries_of() == {}
    assert run.cluster.osds[0].boots == 2


# -- monitors


def test_unreadable_config_store_stops_everything_until_readable(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.cluster.errors['config dump'] = run.refusal
    done = len(run.cluster.commands)
    for _ in range(60):
        run.tick()
    assert len(run.cluster.commands) == done
    assert run.driver.problems == ('the rollout cannot continue: read-only file system',)
    run.cluster.errors.clear()
    assert run.run_to_end().phase is Phase.DONE
    assert not run.driver.problems


# -- foreign changes


def test_no_rollback_is_offered_that_a_operator_change_would_refuse(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.operator_sets('osd.1', OLD)
    failure = run.run_to_end().failure or ''
    assert 'the change stays on osd.0, osd.1' in failure
    assert 'refuses to revert it, because osd.1 has been changed outside this rollout' in failure
    assert failure.count('outside this rollout') == 2
    with pytest.raises(OperationRefused, match='has been changed outside r1 since then'):
        run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    run.cluster.operator_sets('osd.1', NEW)
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


# -- collapsing


def test_osd_decided_by_another_source_keeps_its_own_entry(run: Run) -> None:
    """A mask that only the monitor can evaluate, there from the beginning."""
    run.cluster.operator_sets('osd/rack:r1', OLD)
    run.cluster.resolves['osd/rack:r1'] = {1}
    run.start()
    state = run.run_to_end()
    assert state.phase is Phase.DONE
    own = {f'osd.{n}': NEW for n in range(3)}
    assert run.cluster.entries_of() == {'osd/rack:r1': OLD, **own}
    assert 'osd/rack:r1' in (state.failure or '')


# -- mode off in the middle of a tick: what was decided before it is not sent after it


class Switched(Run):
    """The operator's switch is turned as soon as a state that fits is stored."""

    def __init__(self) -> None:
        self.on = True
        super().__init__()
        self.driver._changes_allowed = lambda: self.on

    def switch_off_once(self, fits: Callable[[RolloutState], bool]) -> None:
        def stored(before: object, state: RolloutState) -> None:
            if fits(state):
                self.on = False

        self.driver._announce = stored  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize('nth', range(12))
def test_nothing_is_sent_after_mode_off_between_two_effects(nth: int) -> None:
    """Whichever store it is: each of them comes right before something is sent, or does not."""
    run = Switched()
    run.start()
    run.until(lambda s: s.phase is not Phase.PLANNED)
    writes = iter(range(nth))
    sent: list[str] = []

    def count(key: str) -> None:
        if key == CURRENT and run.on and next(writes, None) is None:
            run.on = False
            sent.extend(run.cluster.commands)

    run.store.on_set = count
    for _ in range(200):
        run.tick()
    assert not run.on
    assert run.cluster.commands == sent
    run.store.on_set = lambda key: None
    run.on = True
    assert run.run_to_end().phase is Phase.DONE
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {NEW}


@pytest.mark.parametrize('counted', [False, True])
def test_failed_osd_that_is_up_is_not_restarted_after_mode_off(
    counted: bool,
) -> None:
    """It is up: its rollback can wait."""
    run = Switched()
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    # The new process does not run what it should.
    run.cluster.osds[0].stubborn = RunningOption(OLD, 'mon', ignores_mon=False)

    def asks(state: RolloutState) -> bool:
        step = state.osds[0].step
        return state.direction is Direction.RECOVER and step is OsdStep.RESTARTING

    def turn_off(key: str) -> None:
        run.on = run.on and not (key == CLOCK and asks(run.state))

    if counted:
        run.store.on_set = turn_off
    else:
        run.switch_off_once(asks)
    run.until(lambda s: not run.on)
    run.cluster.osds[0].stubborn = None
    boots = run.cluster.osds[0].boots
    for _ in range(300):
        run.tick()
    assert run.cluster.osds[0].boots == boots
    # Its next start options are the previous ones.
    assert run.cluster.entries_of() == {}
    run.store.on_set = lambda key: None
    run.driver.__dict__.pop('_announce', None)
    run.on = True
    assert run.run_to_end().phase is Phase.FAILED
    assert run.cluster.osds[0].boots == boots + 1
    assert run.cluster.runs(0) == DEFAULTS['pacific']


# -- rollback


def to_rolled_back(run: Run) -> RolloutState:
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    return state


def test_rollback_restores_masks_and_expects_no_osd_to_start_with_them(run: Run) -> None:
    run.cluster.operator_sets(CLASS, OLD)
    run.start(set_profile(run.cluster, final_entries=((CLASS, None), (ALL, NEW))))
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {ALL: NEW}
    to_rolled_back(run)
    assert run.cluster.entries_of() == {CLASS: OLD}
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_masked_entry_of_before_says_nothing_about_a_plan_of_own_entries() -> None:
    """No own entry goes, so none has to be kept; and to remove them would undo the change."""
    cluster = FakeCluster(4)
    cluster.osds[3].device_class = 'hdd'
    cluster.operator_sets(CLASS, OLD)
    run = Run(cluster)
    run.start()
    state = run.run_to_end()
    assert (state.outcome, state.failure) == (Outcome.DONE, None)
    assert {f'osd.{n}' for n in range(3)} <= set(cluster.entries_of())


def test_own_entry_stays_if_the_shared_one_is_changed_before_it_goes() -> None:
    """The OSD would start with a value that the rollout has not checked."""
    cluster = FakeCluster(3)
    run = Run(cluster)
    run.start()
    run.until(lambda state: state.stage is Phase.PROMOTING)
    cluster.errors['config rm'] = CommandError(errno.EBUSY, 'busy')
    run.until(lambda state: any(osd.step is OsdStep.COLLAPSING for osd in state.osds))
    cluster.operator_sets(ALL, 'compression=kZSTD')
    before = len(cluster.commands)
    cluster.errors.clear()
    assert run.run_to_end().ended
    assert not [c for c in cluster.commands[before:] if c.startswith('ceph config rm')]
    assert 'osd.0' in cluster.entries_of()


LZ4 = 'compression=kLZ4Compression'
ZSTD = 'compression=kZSTD'


def annexed(main: str = '', annex: str = '') -> FakeCluster:
    """A cluster of which tests mean the annex; its OSDs run with the entries for all of them."""
    cluster = FakeCluster()
    cluster.option = ANNEX
    for name, value in ((OPTION, main), (ANNEX, annex)):
        if value:
            cluster.operator_sets(ALL, value, name)
    for n in cluster.osds:
        cluster.restart_by_hand(n)
        cluster.advance(60)
    return cluster


def lz4(cluster: FakeCluster, **changes: object) -> ChangeRequest:
    return set_profile(cluster, LZ4, **{'option': ANNEX, **changes})


def in_the_middle(run: Run, osd_id: int = 1, step: OsdStep = OsdStep.RESTARTING) -> RolloutState:
    return run.until(lambda state: {o.osd_id: o.step for o in state.osds}[osd_id] is step)


def test_every_osd_runs_the_annex_from_one_entry_and_the_string_stays() -> None:
    run = Run(annexed(main=OLD))
    run.start(lz4(run.cluster))
    assert run.run_to_end().stage is Phase.DONE
    assert run.cluster.entries_of(ANNEX) == {ALL: LZ4}
    assert run.cluster.entries_of(OPTION) == {ALL: OLD}
    assert [run.cluster.runs(n, ANNEX) for n in run.cluster.osds] == [LZ4] * 3
    assert [run.cluster.runs(n, OPTION) for n in run.cluster.osds] == [OLD] * 3
    written = [line for line in run.cluster.commands if line.startswith('ceph config')]
    assert written
    assert all(line.split()[4] == ANNEX for line in written)


REFUSED = (
    'osd.{} would not start again with the configured options: first run "ceph config rm osd '
    f'{ANNEX}"'
)


def test_change_is_refused_where_osds_would_not_start_with_it_and_the_annex() -> None:
    run = Run(why_unstartable=why_unstartable)
    run.cluster.operator_sets(ALL, 'foo=1', ANNEX)
    with pytest.raises(OperationRefused, match=re.escape(REFUSED.format(0))):
        run.start()
    assert not run.cluster.commands


def test_no_osd_restarts_while_an_annex_would_keep_it_down() -> None:
    """Not even for a rollback, which does not end on a changed annex."""
    run = Run(why_unstartable=why_unstartable)
    run.start()
    run.run_to_end()
    run.cluster.operator_sets(ALL, 'foo=1', ANNEX)
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    nonces = [osd.nonce for osd in run.cluster.osds.values()]
    assert run.to_a_wait('would not start again').paused_reason == REFUSED.format(0)
    for _ in range(100):
        run.tick()
    assert [osd.nonce for osd in run.cluster.osds.values()] == nonces
    run.cluster.operator_removes(ALL, ANNEX)
    assert run.run_to_end().stage is Phase.ROLLED_BACK
    assert [osd.up for osd in run.cluster.osds.values()] == [True] * 3


@pytest.mark.parametrize(('changed', 'other'), [(ANNEX, OPTION), (OPTION, ANNEX)])
@pytest.mark.parametrize('who', [ALL, 'global', 'osd.2', 'osd/class:ssd'])
def test_foreign_change_of_the_other_option_wins(changed: str, other: str, who: str) -> None:
    cluster = FakeCluster()
    cluster.option = changed
    run = Run(cluster)
    run.start(set_profile(cluster, LZ4, option=changed))
    in_the_middle(run)
    cluster.operator_sets(who, ZSTD, other)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert f'{other} of {who} was changed outside this rollout' in (state.failure or '')
    # The OSD in flight was made safe, and no other was started after it.
    assert [osd.step for osd in state.osds] == [
        OsdStep.VERIFIED,
        OsdStep.VERIFIED,
        OsdStep.PENDING,
    ]
    assert cluster.entries_of(other) == {who: ZSTD}


def without_annex(cluster: FakeCluster, **changes: object) -> ChangeRequest:
    """A request to remove an annex that sets what OSDs run anyhow."""
    fields: dict[str, object] = {
        'kind': ChangeKind.REMOVE_OVERRIDE,
        'final_entries': ((ALL, None),),
        'restart': False,
        'strings': (f'ttl=7,{LZ4}', f'{LZ4},ttl=7'),
    }
    return lz4(cluster, **{**fields, **changes})


def test_annex_without_effect_is_removed_without_a_restart_and_restored() -> None:
    run = Run(annexed(annex=LZ4))
    nonces = {n: osd.nonce for n, osd in run.cluster.osds.items()}
    run.start(without_annex(run.cluster))
    assert run.run_to_end().outcome is Outcome.DONE
    assert run.cluster.entries_of(ANNEX) == {}
    assert run.cluster.commands == [f'ceph config rm {ALL} {ANNEX}']
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    assert run.run_to_end().stage is Phase.ROLLED_BACK
    assert run.cluster.entries_of(ANNEX) == {ALL: LZ4}
    assert {n: osd.nonce for n, osd in run.cluster.osds.items()} == nonces


@pytest.mark.parametrize(
    'changes',
    [
        {'restart': True},
        {'strings': None},
        {'strings': (f'ttl=7,{LZ4}', 'ttl=7')},
    ],
)
def test_annex_needed_by_an_osd_is_not_removed(changes: dict[str, object]) -> None:
    cluster = annexed(annex=LZ4)
    with pytest.raises(
        OperationRefused, match=f'{ANNEX} is removed only where that does not change'
    ):
        Run(cluster).start(without_annex(cluster, **changes))
    assert cluster.entries_of(ANNEX) == {ALL: LZ4}
