"""Whole rollouts and rollbacks, of the option string and of its annex, as an operator sees them."""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.advise.facts import why_unstartable
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.storage import ARCHIVE, CURRENT
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, refused, refusing, remove_override, set_profile
from .one_step import COLLAPSING, SETTLING

DEFAULT = DEFAULTS['pacific']
LZ4 = 'compression=kLZ4Compression'


def test_unreadable_config_store_stops_everything_until_readable(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is SETTLING)
    run.cluster.errors['config dump'] = run.refusal
    done = len(run.cluster.commands)
    run.ticks(60)
    assert len(run.cluster.commands) == done
    assert run.driver.problems == ('the rollout cannot continue: read-only file system',)
    run.cluster.errors.clear()
    assert run.run_to_end().phase is Phase.DONE
    assert not run.driver.problems


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


def test_own_entry_stays_if_the_shared_one_is_changed_before_it_goes(run: Run) -> None:
    """The OSD would start with a value that the rollout has not checked."""
    cluster = run.cluster
    run.start()
    run.until(lambda state: state.stage is Phase.PROMOTING)
    cluster.errors['config rm'] = CommandError(errno.EBUSY, 'busy')
    run.until(lambda state: any(osd.step is COLLAPSING for osd in state.osds))
    cluster.operator_sets(ALL, 'compression=kZSTD')
    before = len(cluster.commands)
    cluster.errors.clear()
    assert run.run_to_end().ended
    assert not [c for c in cluster.commands[before:] if c.startswith('ceph config rm')]
    assert 'osd.0' in cluster.entries_of()


# -- rollback


def test_rollback_restores_masks_and_expects_no_osd_to_start_with_them(run: Run) -> None:
    run.cluster.operator_sets(CLASS, OLD)
    run.start(set_profile(run.cluster, final_entries=((CLASS, None), (ALL, NEW))))
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {ALL: NEW}
    run.roll_back()
    assert run.cluster.entries_of() == {CLASS: OLD}
    assert run.running == [DEFAULT] * 3


def test_nothing_is_rolled_back_twice_or_by_an_unknown_name(run: Run) -> None:
    run.start()
    run.run_to_end()
    now_s = run.cluster.now_s
    with refused(errno.ENOENT, 'there is no rollout "r9" to roll back; the last are r1'):
        run.driver.rollback('r9', 'client.ann', now_s)
    run.driver.rollback('r1', 'client.ann', now_s)
    with refused(errno.EALREADY, 'r1 is being rolled back'):
        run.driver.rollback('r1', 'client.ann', now_s)
    run.run_to_end()
    with refused(errno.EALREADY, 'r1 has already been rolled back'):
        run.driver.rollback('ssd-lz4', 'client.ann', now_s)


def test_preparation_of_a_rollback_runs_once_nothing_refuses_it(run: Run) -> None:
    """It ends what else is under way."""
    called: list[bool] = []

    def roll_back() -> None:
        prepare = lambda: called.append(True)  # noqa: E731
        run.driver.rollback(None, 'client.ann', run.cluster.now_s, prepare)

    run.start()
    run.run_to_end()
    run.cluster.operator_sets('osd', 'write_buffer_size=1')
    with refused(errno.EBUSY, 'has been changed outside r1 since then'):
        roll_back()
    assert called == []
    run.cluster.operator_sets('osd', NEW)
    roll_back()
    assert called == [True]


def test_earlier_rollout_is_rolled_back_if_unchanged_since(run: Run) -> None:
    hdd = run.cluster.osds[2]
    hdd.device_class = 'hdd'
    run.start(set_profile(run.cluster))
    run.run_to_end()
    fields = {'targets': ((2, OLD),), 'order': (2,), 'final_entries': (('osd.2', OLD),)}
    run.start(set_profile(run.cluster, recommendation_id='hdd', who='osd.2', **fields))  # type: ignore[arg-type]
    run.run_to_end()
    assert run.roll_back('ssd-lz4').rollout_id == 'r1'
    assert (run.cluster.entries_of(), hdd.boots) == ({'osd.2': OLD}, 2)
    assert [(r.rollout_id, r.outcome) for r in run.driver.history] == [
        ('r1', Outcome.ROLLED_BACK),
        ('r2', Outcome.DONE),
    ]


def test_rollback_does_not_wait_for_storing_the_end_it_reverts(run: Run) -> None:
    def refuse(key: str) -> None:
        if key.startswith(ARCHIVE):
            raise refusing('no space')

    run.store.on_set = refuse
    run.start()
    run.run_to_end()
    run.tick()
    assert 'no space' in run.driver.problems[0]
    # Another one would take its place.
    with refused(5, 'cannot store the end of r1: no space; try again'):
        run.start(set_profile(run.cluster, OLD))
    assert run.roll_back().rollout_id == 'r1'


# -- requests that fail


@pytest.mark.parametrize('command', ['start', 'rollback', 'pause', 'abort', 'resume'])
def test_command_that_cannot_be_stored_is_refused_and_dropped(run: Run, command: str) -> None:
    driver, now_s = run.driver, run.cluster.now_s
    if command != 'start':
        run.start()
    if command == 'resume':
        driver.pause('client.ann', now_s)
    state = driver.state
    run.store.error = CommandError(errno.EROFS, 'read-only file system')
    commands: dict[str, Callable[[], object]] = {
        'start': run.start,
        'rollback': lambda: driver.rollback(None, 'client.ann', now_s),
        'pause': lambda: driver.pause('client.ann', now_s),
        'resume': lambda: driver.resume(now_s),
        'abort': run.ask_abort,
    }
    with refused(errno.EROFS, 'cannot store the request: read-only file system; try again'):
        commands[command]()
    assert driver.state == state


def test_unreadable_config_store_refuses_a_start_and_a_rollback(run: Run) -> None:
    error = {'config dump': CommandError(errno.EIO, 'no')}
    for begins in (run.start, run.roll_back):
        run.cluster.errors.update(error)
        with refused(errno.EIO, 'cannot read the config store: no; try again'):
            begins()
        run.cluster.errors.clear()
        if run.driver.state is None:
            run.start()


def test_sample_without_a_change_stores_nothing(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    written: list[str] = []
    run.store.on_set = lambda key: written.append(key) if key.startswith(CURRENT) else None
    run.ticks(5)
    assert written == []


def test_write_whose_answer_was_lost_is_repeated(run: Run) -> None:
    """Whether it is stored is not known, though the state in memory already is what is to be."""
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    write = run.store.set

    def answer_lost(key: str, value: Optional[str]) -> None:
        write(key, value)
        raise run.refusal

    run.store.set = answer_lost  # type: ignore[method-assign]
    with refused(5, 'cannot store the request: read-only file system; try again'):
        run.driver.pause('client.ann', run.cluster.now_s)
    run.store.set = write  # type: ignore[method-assign]
    run.tick()
    run.fail_over()
    assert run.state.paused_by is None


def test_operators_control_only_a_rollout_under_way(run: Run) -> None:
    now_s = run.cluster.now_s

    def resume() -> object:
        return run.driver.resume(now_s)

    def pause() -> object:
        return run.driver.pause('client.ann', now_s)

    for request in (pause, resume, run.ask_abort):
        with refused(errno.ENOENT, 'no rollout is under way'):
            request()
    run.start()
    with refused(errno.EINVAL, 'the rollout is not paused; it is running'):
        resume()
    with refused(errno.EBUSY, 'rollout r1 is under way: wait for it, or abort it'):
        run.start()
    pause()
    run.driver.name_actor('r9', 'client.zoe')
    assert run.state.request.actor == 'client.admin'
    run.driver.name_actor('r1', 'client.zoe')
    assert (run.state.request.actor, run.state.paused_by) == ('client.zoe', 'client.ann')
    resume()
    run.ask_abort()
    assert run.driver.history[-1].actor == 'client.zoe'
    with refused(errno.ENOENT, 'no rollout is under way'):
        run.ask_abort()


def test_end_that_could_not_be_recorded_is_recorded_by_the_next_manager(run: Run) -> None:
    def refuse(key: str) -> None:
        if key.startswith(ARCHIVE):
            raise refusing('no space')

    run.start()
    run.store.on_set = refuse
    run.run_to_end()
    run.tick()
    run.store.on_set = lambda key: None
    run.fail_over()
    run.tick()
    (record,) = run.driver.history
    assert record.outcome is Outcome.DONE


def test_tick_ends_after_ten_steps() -> None:
    """Other work waits for it."""
    cluster = FakeCluster(30)
    for n in cluster.osds:
        cluster.operator_sets(f'osd.{n}', DEFAULT)
        cluster.restart_by_hand(n)
    cluster.advance(120)
    run = Run(cluster)
    gone = tuple((f'osd.{n}', None) for n in cluster.osds)
    run.start(replace(remove_override(cluster), final_entries=gone, restart=False))
    run.ticks(2)
    assert 0 < len(cluster.commands) <= 20
    assert run.run_to_end().phase is Phase.DONE
    assert cluster.entries_of() == {}


# -- the annex


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


def lz4(cluster: FakeCluster, **changes: Any) -> ChangeRequest:
    return set_profile(cluster, LZ4, **{'option': ANNEX, **changes})


def test_every_osd_runs_the_annex_from_one_entry_and_the_string_stays() -> None:
    run = Run(annexed(main=OLD))
    run.start(lz4(run.cluster))
    assert run.run_to_end().stage is Phase.DONE
    assert run.cluster.entries_of(ANNEX) == {ALL: LZ4}
    assert run.cluster.entries_of(OPTION) == {ALL: OLD}
    for option, value in ((ANNEX, LZ4), (OPTION, OLD)):
        assert {run.cluster.runs(n, option) for n in run.cluster.osds} == {value}
    written = [line for line in run.cluster.commands if line.startswith('ceph config')]
    assert written
    assert all(line.split()[4] == ANNEX for line in written)


REFUSED = (
    'osd.0 would not start again with the configured options: first run "ceph config rm osd '
    f'{ANNEX}"'
)


def test_change_is_refused_where_osds_would_not_start_with_it_and_the_annex() -> None:
    run = Run(why_unstartable=why_unstartable)
    run.cluster.operator_sets(ALL, 'foo=1', ANNEX)
    with pytest.raises(OperationRefused, match=re.escape(REFUSED)):
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
    assert run.to_a_wait('would not start again').paused_reason == REFUSED
    run.ticks(100)
    assert [osd.nonce for osd in run.cluster.osds.values()] == nonces
    run.cluster.operator_removes(ALL, ANNEX)
    assert run.run_to_end().stage is Phase.ROLLED_BACK
    assert not run.cluster.down


def without_annex(cluster: FakeCluster, **changes: Any) -> ChangeRequest:
    """A request to remove an annex that sets what OSDs run anyhow."""
    fields = {
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
    run.roll_back()
    assert run.cluster.entries_of(ANNEX) == {ALL: LZ4}
    assert {n: osd.nonce for n, osd in run.cluster.osds.items()} == nonces


@pytest.mark.parametrize(
    'changes', [{'restart': True}, {'strings': None}, {'strings': (f'ttl=7,{LZ4}', 'ttl=7')}]
)
def test_annex_needed_by_an_osd_is_not_removed(changes: dict[str, object]) -> None:
    cluster = annexed(annex=LZ4)
    with refused(errno.EINVAL, f'{ANNEX} is removed only where that does not change'):
        Run(cluster).start(without_annex(cluster, **changes))
    assert cluster.entries_of(ANNEX) == {ALL: LZ4}
