"""Rollouts of `bluestore_rocksdb_options_annex`, with an unchanged option string."""

from __future__ import annotations

import re

import pytest

from rocksdb_tuner.advise.facts import why_unstartable
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import FakeCluster

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
