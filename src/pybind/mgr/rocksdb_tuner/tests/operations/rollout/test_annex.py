"""Rollouts of `bluestore_rocksdb_options_annex`, with an unchanged option string."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rocksdb_tuner.advise.cohort import why_unstartable
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.history import record_of
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.plan.commands import commands, forward_actions, undo_actions
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeOsd

from .conftest import ALL, OLD, Run, set_profile

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


def test_printed_commands_are_those_executed() -> None:
    run = Run(annexed(annex=ZSTD))
    request = lz4(run.cluster)
    run.start(request)
    run.run_to_end()
    printed = commands(forward_actions(request), option=ANNEX)
    assert [line for line in printed if ' show ' not in line] == run.cluster.commands
    assert [line for line in printed if ' show ' in line] == [
        f'ceph config show osd.{n} {ANNEX}' for n in request.order
    ]
    undo = commands(undo_actions(request, {ALL: ZSTD}), option=ANNEX)
    assert undo[0] == f"ceph config set {ALL} {ANNEX} '{ZSTD}'"


@pytest.mark.parametrize('before', ['', ZSTD])
def test_rollback_restores_only_the_previous_annex(before: str) -> None:
    run = Run(annexed(main=OLD, annex=before))
    entries = dict(run.cluster.store)
    run.start(lz4(run.cluster))
    run.run_to_end()
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    assert run.run_to_end().stage is Phase.ROLLED_BACK
    assert run.cluster.store == entries
    assert [run.cluster.runs(n, ANNEX) for n in run.cluster.osds] == [before] * 3
    assert [run.cluster.runs(n, OPTION) for n in run.cluster.osds] == [OLD] * 3


def test_osd_that_does_not_start_with_the_annex_loses_it_and_starts() -> None:
    run = Run(annexed())
    run.start(set_profile(run.cluster, 'foo=1', option=ANNEX))
    state = run.run_to_end()
    assert (state.stage, state.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert run.cluster.entries_of(ANNEX) == {}
    assert not run.cluster.down


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


def test_annex_is_refused_where_osds_would_not_start_with_it_and_the_string() -> None:
    run = Run(annexed(), why_unstartable)
    run.cluster.operator_sets(ALL, 'enable_pipelined_write=true', OPTION)
    request = set_profile(run.cluster, 'unordered_write=true', option=ANNEX)
    with pytest.raises(OperationRefused, match='would not start again'):
        run.start(request)


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


def test_osd_with_another_annex_after_its_restart_is_restored() -> None:
    run = Run(annexed())
    run.cluster.osds[0].stubborn = RunningOption(ZSTD, 'mon', ignores_mon=False)
    run.start(lz4(run.cluster))
    state = run.run_to_end()
    assert state.stage is Phase.FAILED
    assert 'without effect' in (state.failure or '')
    assert run.cluster.entries_of(ANNEX) == {}


def test_annex_in_a_ceph_conf_is_not_fought() -> None:
    cluster = FakeCluster()
    cluster.option = ANNEX
    cluster.add_osd(FakeOsd(3, 'node3', conf_file={ANNEX: ZSTD}))
    with pytest.raises(OperationRefused, match=f'{ANNEX} of osd.3 comes from its ceph.conf'):
        Run(cluster).start(lz4(cluster))


def test_string_in_a_ceph_conf_does_not_prevent_an_annex() -> None:
    cluster = annexed()
    cluster.osds[1].conf_file[OPTION] = OLD
    cluster.restart_by_hand(1)
    cluster.advance(60)
    run = Run(cluster)
    run.start(lz4(cluster))
    assert run.run_to_end().stage is Phase.DONE


def test_manager_taking_over_continues_with_the_annex() -> None:
    run = Run(annexed(main=OLD))
    run.start(lz4(run.cluster))
    in_the_middle(run)
    run.fail_over()
    assert run.run_to_end().stage is Phase.DONE
    assert run.cluster.entries_of(ANNEX) == {ALL: LZ4}
    assert run.cluster.entries_of(OPTION) == {ALL: OLD}


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


def test_removed_entry_of_the_other_option_is_a_conflict() -> None:
    run = Run(annexed(main=OLD))
    run.start(lz4(run.cluster))
    in_the_middle(run)
    run.cluster.operator_removes(ALL, OPTION)
    assert f'{OPTION} of {ALL} was changed' in (run.run_to_end().failure or '')


def test_other_option_of_unrelated_osds_is_ignored() -> None:
    cluster = FakeCluster()
    cluster.option = ANNEX
    cluster.add_osd(FakeOsd(3, 'node3', device_class='hdd'))
    run = Run(cluster)
    run.start(lz4(cluster))
    in_the_middle(run)
    for who in ('osd.3', 'osd/class:hdd'):
        cluster.operator_sets(who, ZSTD, OPTION)
    assert run.run_to_end().stage is Phase.DONE


def test_rollback_does_not_depend_on_the_other_option() -> None:
    run = Run(annexed())
    run.start(lz4(run.cluster))
    run.run_to_end()
    run.cluster.operator_sets(ALL, OLD, OPTION)
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    assert run.run_to_end().stage is Phase.ROLLED_BACK
    assert run.cluster.store == {(ALL, OPTION): OLD}


def test_later_annex_change_conflicts_with_the_rollback() -> None:
    run = Run(annexed())
    run.start(lz4(run.cluster))
    run.run_to_end()
    run.cluster.operator_sets(ALL, ZSTD)
    with pytest.raises(OperationRefused, match=f'{ANNEX} of {ALL} has been changed outside r1'):
        run.driver.rollback(None, 'client.admin', run.cluster.now_s)


def test_canary_slowed_down_by_the_annex_is_rolled_back() -> None:
    run = Run(annexed())
    run.clients.slower_with = LZ4
    run.clients.factor = 2.0
    run.start(lz4(run.cluster), SoakPlan(0.0, 600.0))
    assert run.run_to_end().stage is Phase.ROLLED_BACK
    assert run.cluster.entries_of(ANNEX) == {}


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


def test_annexes_of_single_osds_are_removed_one_by_one() -> None:
    cluster = annexed()
    for n in cluster.osds:
        cluster.operator_sets(f'osd.{n}', LZ4)
        cluster.restart_by_hand(n)
        cluster.advance(60)
    run = Run(cluster)
    run.start(without_annex(cluster, final_entries=tuple((f'osd.{n}', None) for n in cluster.osds)))
    assert run.run_to_end().outcome is Outcome.DONE
    assert cluster.entries_of(ANNEX) == {}


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


def test_annex_stays_if_an_osd_was_not_restarted_or_a_neighbor_needs_it() -> None:
    cluster = annexed(annex=LZ4)
    cluster.operator_sets(ALL, ZSTD)
    cluster.restart_by_hand(1)
    cluster.advance(60)
    with pytest.raises(OperationRefused, match=r'osd\.1 must be restarted first'):
        Run(cluster).start(without_annex(cluster))
    other = annexed(annex=LZ4)
    some = without_annex(other, targets=((0, LZ4), (1, LZ4)), order=(0, 1), controls=(1,))
    with pytest.raises(OperationRefused, match=r'osd\.2 is not among the OSDs to change'):
        Run(other).start(some)


def test_masked_annex_entry_conflicts_like_one_of_the_string() -> None:
    cluster = annexed()
    cluster.operator_sets('osd/class:ssd', ZSTD)
    with pytest.raises(OperationRefused, match=f'ceph config rm osd/class:ssd {ANNEX}'):
        Run(cluster).start(lz4(cluster))


def test_history_has_the_running_value_of_both_options() -> None:
    run = Run(annexed(main=OLD))
    both = OLD, f'{OLD},{LZ4}'
    state = run.start(lz4(run.cluster, strings=both))
    record = record_of(state)
    assert (record.option, record.options_from, record.options_to) == (ANNEX, *both)
    plain = record_of(replace(state, request=set_profile(run.cluster)))
    assert plain.option == OPTION
