"""The permanent records of a rollout: it can be rolled back after refused or lost writes."""

from __future__ import annotations

import pytest

from rocksdb_tuner.deep.reader import DeepStatsReader, OsdOverrides
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.storage import ARCHIVE, CURRENT, HISTORY
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster, FakeStore
from rocksdb_tuner.tests.operations.rollout.conftest import (
    NEW,
    OLD,
    Run,
    overridden,
    refusing,
    remove_override,
    set_profile,
)
from rocksdb_tuner.tests.operations.rollout.test_driver import refused
from rocksdb_tuner.tests.store.as_text import as_text

DEFAULT = DEFAULTS['pacific']


def refuse(run: Run, prefix: str) -> None:
    """The monitors refuse to store keys under ``prefix``."""

    def on_set(key: str) -> None:
        if key.startswith(prefix):
            raise refusing('no space')

    run.store.on_set = on_set


def rolled_back(run: Run, name: str | None) -> None:
    run.driver.rollback(name, 'client.ann', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_archive_refused_once_is_written_before_the_next_rollout() -> None:
    run = Run(overridden('osd'))
    refuse(run, ARCHIVE)
    run.start()
    run.run_to_end()
    run.store.on_set = lambda key: None
    run.start(remove_override(run.cluster))
    run.run_to_end()
    rolled_back(run, 'r2')
    rolled_back(run, 'r1')
    assert run.cluster.entries_of() == {'osd': OLD}
    run.fail_over()
    assert [r.outcome for r in run.driver.history] == [Outcome.ROLLED_BACK] * 2


def test_no_rollout_starts_while_the_last_end_cannot_be_stored(run: Run) -> None:
    refuse(run, ARCHIVE)
    run.start()
    run.run_to_end()
    with refused(5, 'cannot store the end of r1: no space; try again'):
        run.start(set_profile(run.cluster, OLD, recommendation_id='other'))
    assert run.state.rollout_id == 'r1'
    assert run.driver.history[0].outcome is Outcome.WAITING


@pytest.mark.parametrize('step', list(OsdStep)[1:6])
@pytest.mark.parametrize('name', [None, 'r1'])
def test_rollout_with_lost_state_is_rolled_back_from_the_archive(
    one_step_a_tick: None, run: Run, step: OsdStep, name: str | None
) -> None:
    """How far it came is not known then: each OSD is taken for changed."""
    run.start()
    run.until(lambda s: s.osds[1].step is step)
    del run.store.values[CURRENT]
    run.fail_over()
    run.cluster.advance(60)
    for _ in range(10):
        run.tick()
    rolled_back(run, name)
    assert run.cluster.entries_of() == {}
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3


def test_history_keeps_its_order_over_rollbacks_and_failovers(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.start(set_profile(run.cluster, OLD, recommendation_id='other'))
    run.run_to_end()
    rolled_back(run, 'r2')
    rolled_back(run, 'r1')
    before = [r.rollout_id for r in run.driver.history]
    run.fail_over()
    assert [r.rollout_id for r in run.driver.history] == before == ['r1', 'r2']


def test_history_of_a_very_large_rollout_is_stored() -> None:
    """Its state takes most of what fits under one key, and stays in the archive."""
    cluster = FakeCluster(600, per_host=10)
    for n, osd in cluster.osds.items():
        osd.nonce = n * 2654435761 % 2**32
    run = Run(cluster)
    state = run.start()
    assert len(run.store.values[HISTORY + state.rollout_id]) < 65536
    assert run.driver.history[0].rollout_id == state.rollout_id
    assert NEW in run.driver.history[0].options_to


def test_refused_write_during_load_keeps_deep_query_notes() -> None:
    store = FakeStore()
    notes = {f'deep/osd.{n}': as_text(OsdOverrides(n, 7, 1.0, ())) for n in (1, 2)}
    store.values.update({'deep/osd.0': 'no JSON', **notes})
    store.error = CommandError(28, 'no space')
    reader = DeepStatsReader(FakeCluster(3), store)
    reader.load()
    noted = reader.unfinished
    store.error = None
    reader.restore(FakeCluster(3).cluster_map(), 1000.0)
    assert (noted, reader.unfinished) == (True, False)
    assert sorted(store.values) == ['deep/osd.0']
