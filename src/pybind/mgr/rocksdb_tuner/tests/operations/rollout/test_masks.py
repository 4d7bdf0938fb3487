"""Entries with a mask, with which no OSD starts but one that names its host in its ceph.conf."""

from __future__ import annotations

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.osd_step import drive
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.rules import Observation, Rules
from rocksdb_tuner.plan.commands import SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import (
    ALL,
    CLASS,
    NEW,
    OLD,
    Run,
    overridden,
    remove_override,
    same_meaning,
    set_profile,
)

MASKS = (CLASS, 'osd/host:node1', 'osd/rack:r1', 'global/class:ssd')


def masked(mask: str, osd_entry: bool) -> FakeCluster:
    """A cluster with the new string in a masked entry, which applies to no OSD."""
    cluster = overridden(ALL) if osd_entry else FakeCluster(3)
    cluster.resolves[mask] = set(cluster.osds) if mask == 'osd/rack:r1' else set()
    cluster.operator_sets(mask, NEW)
    return cluster


@pytest.mark.parametrize('osd_entry', [True, False])
@pytest.mark.parametrize('mask', MASKS)
def test_rollback_reaches_every_osd_whatever_a_mask_has(mask: str, osd_entry: bool) -> None:
    cluster = masked(mask, osd_entry)
    run = Run(cluster)
    before = cluster.entries_of()
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    assert {cluster.runs(n) for n in cluster.osds} == {NEW}
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert cluster.entries_of() == before
    old = OLD if osd_entry else DEFAULTS['pacific']
    assert [cluster.runs(n) for n in cluster.osds] == [old] * 3


def test_removed_override_is_restored_whatever_a_mask_has() -> None:
    cluster = overridden(ALL)
    cluster.operator_sets(CLASS, DEFAULTS['pacific'])
    run = Run(cluster)
    run.start(remove_override(cluster))
    assert run.run_to_end().phase is Phase.DONE
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert [cluster.runs(n) for n in cluster.osds] == [OLD] * 3


def test_osd_keeping_the_new_string_by_a_mask_is_not_called_restored() -> None:
    cluster = masked(CLASS, osd_entry=True)
    run = Run(cluster)
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    cluster.osds[1].stubborn = RunningOption(NEW, 'mon', ignores_mon=False)
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    state = run.to_a_wait('osd.1 was restarted during the rollback, but it runs')
    assert state.osds[1].step is not OsdStep.RESTORED


def test_osd_that_starts_with_its_host_mask_is_restored_by_it() -> None:
    """It names its host in its ceph.conf."""
    cluster = FakeCluster(3)
    cluster.osds[0].names_host = True
    cluster.operator_sets('osd/host:node0', OLD)
    cluster.restart_by_hand(0)
    cluster.advance(60)
    assert cluster.runs(0) == OLD
    run = Run(cluster)
    run.start(set_profile(cluster, final_entries=(('osd/host:node0', None), (ALL, NEW))))
    assert run.run_to_end().phase is Phase.DONE
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert [cluster.runs(n) for n in cluster.osds] == [OLD, *[DEFAULTS['pacific']] * 2]


def test_osd_that_ran_the_new_string_by_its_host_mask_runs_it_again() -> None:
    cluster = FakeCluster(3)
    cluster.osds[0].names_host = True
    cluster.operator_sets('osd/host:node0', NEW)
    cluster.restart_by_hand(0)
    cluster.advance(60)
    run = Run(cluster)
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert [cluster.runs(n) for n in cluster.osds] == [NEW, *[DEFAULTS['pacific']] * 2]


def test_no_restart_is_skipped_if_a_host_mask_may_apply() -> None:
    """The entry for all OSDs meant the same before, but this one starts with another one."""
    cluster = overridden(ALL)
    cluster.osds[0].names_host = True
    run = Run(cluster)
    same = ';'.join(reversed(OLD.split(',')))
    cluster.operator_sets('osd/host:node0', NEW)
    cluster.restart_by_hand(0)
    cluster.advance(60)
    assert cluster.runs(0) == NEW
    run.start(set_profile(cluster, same, final_entries=(('osd/host:node0', None), (ALL, same))))
    assert run.run_to_end().phase is Phase.DONE
    assert cluster.runs(0) == same
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert cluster.runs(0) == NEW


@pytest.mark.parametrize('entries', [{CLASS: NEW}, {CLASS: NEW, ALL: OLD}])
def test_osd_keeps_its_own_entry_if_only_a_mask_has_the_new_string(
    one_step_a_tick: None, run: Run, entries: dict[str, str]
) -> None:
    """The monitor answers with the masked entry, with which the OSD would not start."""
    run.start()
    state = run.until(lambda s: s.osds[0].step is OsdStep.COLLAPSING)
    seen = Observation(
        cluster=run.cluster.cluster_map(),
        pgs=run.cluster.pg_summary(),
        health=frozenset(),
        entries=entries,
        resolved={0: NEW},
        waited_s=60.0,
    )
    step = drive(Rules(same_meaning), state, state.osds[0], seen)
    assert step.actions == (SetEntry('osd.0', NEW),)
    assert step.state.osds[0].step is OsdStep.REPINNING


@pytest.mark.parametrize('entries', [{}, {CLASS: DEFAULTS['pacific']}])
def test_default_applies_without_an_entry_if_it_is_the_target(
    one_step_a_tick: None, entries: dict[str, str]
) -> None:
    run = Run(overridden(ALL))
    run.start(remove_override(run.cluster))
    state = run.until(lambda s: s.osds[0].step is OsdStep.COLLAPSING)
    seen = Observation(
        cluster=run.cluster.cluster_map(),
        pgs=run.cluster.pg_summary(),
        health=frozenset(),
        entries=entries,
        resolved={0: entries.get(CLASS, DEFAULTS['reef'])},
        waited_s=60.0,
    )
    step = drive(Rules(same_meaning), state, state.osds[0], seen)
    assert step.state.osds[0].step is OsdStep.COLLAPSED
