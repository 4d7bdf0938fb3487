"""Which option sets are weighed, against what, and what rules one out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.advise.candidates import infeasible, successor_of, weighing
from rocksdb_tuner.advise.records import Resource
from rocksdb_tuner.advise.weighing import Origin, Weighed, Weighing, comparable
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Estimate, TreeModel
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.workload.records import WorkloadClass

from .builders import PACIFIC, release, workload
from .test_choice import LZ4, RBD, D, case, osd

GIB, MIB = 1 << 30, 1 << 20

#: As Pacific's default, with a WAL of 256 MiB.
SMALL_WAL = PACIFIC.replace('=1073741824', '=268435456')

KV, SPACE = Resource.KV_SYNC, Resource.DB_SPACE


def named(found: Weighing, name: str) -> Weighed:
    return next(w for w in found.weighed if w.name == name)


def test_running_default_later_default_published_and_derived_sets_are_weighed() -> None:
    """Each once, under any name, and a dozen at most."""
    small: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
    here = case(osd(text=f'{PACIFIC},ttl=60', **small), does=workload(RBD))
    found = weighing(here)
    origins = [w.origin for w in found.weighed]
    assert origins[0] is Origin.RUNNING
    assert set(origins) == set(Origin)
    assert [origins.count(o) for o in (Origin.SUCCESSOR, Origin.DEFAULT)] == [1, 1]
    assert len({w.options for w in found.weighed}) == len(found.weighed) <= 12
    on_d = weighing(case(osd(text=D.options), does=workload(RBD)))
    assert [w.name for w in on_d.weighed].count(D.name) == 1


def test_default_of_later_releases_is_weighed_where_it_may_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for known in known_releases():
        assert case(osd()).alike(successor_of(known), LZ4.options)
    pacific = release('16.2.15')
    future = replace(pacific, default_options='an_option_of_the_future=1')
    monkeypatch.setattr('rocksdb_tuner.advise.candidates.known_releases', lambda: (pacific, future))
    assert successor_of(pacific) == pacific.default_options


ROOM_10_GIB: dict[str, Any] = {
    'dedicated_db': True,
    'db_device_bytes': 10 * GIB,
    'signals': {'db_used_bytes': 8 * GIB, 'db_total_bytes': 10 * GIB},
}


@pytest.mark.parametrize(
    ('room', 'name', 'why'),
    [
        ({}, 'alternate-2019', 'it predates column families'),
        (ROOM_10_GIB, D.name, 'A level that is on the DB device now would no longer fit.'),
        (
            {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB, 'text': SMALL_WAL},
            D.name,
            'WAL',
        ),
    ],
)
def test_excluded_candidates_have_a_reason_and_no_figures(
    room: dict[str, Any], name: str, why: str
) -> None:
    found = named(weighing(case(osd(**room), does=workload(RBD))), name)
    assert why in ' '.join(found.infeasible)
    assert (found.usages, found.short) == ((), None)


@pytest.mark.parametrize(
    'room',
    [
        {'memory_bytes': GIB},
        {'memory_bytes': 2 * GIB},
        {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB},
    ],
)
def test_bound_that_is_broken_already_rules_out_only_what_makes_it_worse(
    room: dict[str, Any],
) -> None:
    """OSDs with a target of 1 GiB run a WAL of 1 GiB: no reason to keep their memtables."""
    here = case(osd(**room), does=workload(RBD))
    assert infeasible(here, LZ4.options, PACIFIC) == ()
    larger = LZ4.options.replace(
        'max_total_wal_size=1073741824', 'max_total_wal_size=2147483648'
    ).replace('max_bytes_for_level_base=1073741824', 'max_bytes_for_level_base=17179869184')
    assert infeasible(here, larger, PACIFIC)


def test_set_that_cannot_be_modeled_is_ruled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('rocksdb_tuner.advise.candidates.trees', lambda *_: (None, None))
    assert infeasible(case(osd()), LZ4.options, PACIFIC) == ('It cannot be modeled.',)


def test_levels_that_are_as_large_now_rule_nothing_out() -> None:
    """The checks do not count them under dynamic level bytes, which BlueStore's paths disable."""
    dynamic = f'{LZ4.options},level_compaction_dynamic_level_bytes=true'
    here = case(osd(text=dynamic, dedicated_db=True, db_device_bytes=2 * GIB), does=workload(RBD))
    assert 'levels-beyond-device' in here.broken(LZ4.options)
    assert 'levels-beyond-device' not in here.broken(dynamic)
    assert not [why for why in infeasible(here, LZ4.options, dynamic) if 'levels 0 and 1' in why]


def test_short_space_excludes_sets_that_need_more() -> None:
    short = {'slow_used_bytes': 1, 'db_used_bytes': 30 * GIB, 'db_total_bytes': 100 * GIB}
    room = {'dedicated_db': True, 'db_device_bytes': 100 * GIB, 'signals': short}
    found = weighing(case(osd(**room), does=workload(RBD)))  # type: ignore[arg-type]
    assert 'spilled over' in named(found, D.name).infeasible[0]
    assert found.chosen is not None
    assert 'compression=kLZ4Compression' in found.chosen.options


def test_each_set_is_modeled_once_per_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independent of the precision of the working set and the number of calls."""
    asked: list[TreeInputs] = []

    def counted(inputs: TreeInputs) -> TreeModel:
        asked.append(inputs)
        return model(inputs)

    monkeypatch.setattr('rocksdb_tuner.advise.whatif.tree.model', counted)
    seen = {
        'db_used_bytes': 37 * GIB,
        'wal_bytes_per_s': 2e6,
        'db_write_amp': 2.3,
        'db_write_amp_window_s': 86400.0,
    }
    measured = osd(signals=seen)._replace(workload=workload(RBD))
    here = case(measured, does=workload(RBD))
    assert here.situation.objects is not None
    found = weighing(here)
    assert found.best is not None
    assert 5 < len(asked) == len({inputs.options for inputs in asked})


def test_workload_without_a_model_follows_publications() -> None:
    files = workload(WorkloadClass.CEPHFS_METADATA)
    found = weighing(case(osd(), does=files))
    assert found.chosen is not None
    assert found.chosen.name == LZ4.name
    assert weighing(case(osd(text=LZ4.options), does=files)).chosen is None


def test_small_changes_between_ticks_keep_the_cached_answer() -> None:
    """The number of written objects is fitted at each tick."""
    asked = case(osd(), does=workload(RBD)).situation
    ends = Estimate(90.0, 100.0, 110.0)
    near = Estimate(91.0, 101.0, 111.0)
    far = Estimate(900.0, 1000.0, 1100.0)

    def with_objects(found: Estimate) -> Situation:
        load = replace(asked.load, objects=found.value, wal_bytes_per_s=found.low)
        return comparable(replace(asked, objects=found, load=load))

    assert with_objects(ends) == with_objects(near)
    assert with_objects(ends) != with_objects(far)
    # Without a measurement there is nothing to round.
    assert comparable(asked).objects is None
