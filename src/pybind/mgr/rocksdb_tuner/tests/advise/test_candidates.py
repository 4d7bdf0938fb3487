"""Which option sets are weighed, against what, and what rules one out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.advise.candidates import (
    expected_usages,
    objectives,
    resource_of_writer,
    weighed_for,
    weighing,
)
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import Limit, Resource
from rocksdb_tuner.advise.usage import at_most, comparable
from rocksdb_tuner.advise.weighing import Origin, Weighed, Weighing
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Estimate, TreeModel
from rocksdb_tuner.lsm.working_set import WorkingSet
from rocksdb_tuner.workload.records import WorkloadClass

from .builders import PACIFIC, workload
from .test_choice import LZ4, RBD, RGW, D, case, osd

GIB, MIB = 1 << 30, 1 << 20

ALTERNATE = profile('alternate-2019').options
UNCOMPRESSED = LZ4.options.replace('kLZ4Compression', 'kNoCompression')

KV, SPACE = Resource.KV_SYNC, Resource.DB_SPACE


def named(found: Weighing, name: str) -> Weighed:
    return next(w for w in found.weighed if w.candidate.name == name)


def test_running_default_published_derived_and_neighbor_sets_are_weighed() -> None:
    """Each once, under any name, and a few dozen at most."""
    found = weighing(case(osd(text=D.options, memory_bytes=2 * GIB), does=workload(RBD)), KV)
    origins = [w.candidate.origin for w in found.weighed]
    assert origins[0] is Origin.RUNNING
    assert origins.count(Origin.DEFAULT) == 1
    assert set(origins) == {Origin.RUNNING, Origin.DEFAULT, Origin.PROFILE, Origin.DERIVED} | (
        {Origin.NEIGHBOR} if found.best else set()
    )
    assert len({w.candidate.options for w in found.weighed}) == len(found.weighed) < 50
    # The running set is variant D.
    assert [w.candidate.name for w in found.weighed].count(D.name) == 1


def test_neighbors_of_the_best_are_for_experiments_only() -> None:
    found = weighing(case(osd(), does=workload(RBD)), KV)
    assert found.best is not None
    beside = [w.candidate for w in found.weighed if w.candidate.origin is Origin.NEIGHBOR]
    assert beside
    assert all(candidate.untried for candidate in beside)


def test_custom_sets_are_also_weighed_with_other_compression() -> None:
    text = f'{PACIFIC},max_background_jobs=6'
    found = weighing(case(osd(text=text), does=workload(RGW)), SPACE)
    assert found.chosen is not None
    assert found.chosen.candidate.only_compression
    assert 'max_background_jobs=6' in found.chosen.candidate.options


@pytest.mark.parametrize(
    ('room', 'name', 'why'),
    [
        ({}, 'alternate-2019', 'it predates column families'),
        ({'memory_bytes': 2 * GIB}, D.name, 'exceeds the 512 MiB available on these OSDs'),
        (
            {
                'dedicated_db': True,
                'db_device_bytes': 10 * GIB,
                'signals': {'db_used_bytes': 8 * GIB, 'db_total_bytes': 10 * GIB},
            },
            D.name,
            'A level that is on the DB device now would no longer fit.',
        ),
        ({'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}, D.name, 'WAL'),
    ],
)
def test_excluded_candidates_have_a_reason_and_no_figures(
    room: dict[str, object], name: str, why: str
) -> None:
    found = named(weighing(case(osd(**room), does=workload(RBD)), KV), name)  # type: ignore[arg-type]
    assert why in ' '.join(found.infeasible)
    assert (found.usages, found.short) == ((), None)


def test_short_space_excludes_sets_that_need_more() -> None:
    short = {'slow_used_bytes': 1, 'db_used_bytes': 30 * GIB, 'db_total_bytes': 100 * GIB}
    room = {'dedicated_db': True, 'db_device_bytes': 100 * GIB, 'signals': short}
    found = weighing(case(osd(**room), does=workload(RBD)), KV)  # type: ignore[arg-type]
    assert 'spilled over' in named(found, D.name).infeasible[0]
    assert found.chosen is not None
    assert 'compression=kLZ4Compression' in found.chosen.candidate.options


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
    assert here.situation.working_set is not None
    assert here.situation.working_set.fitted is not None
    found = weighing(here, KV)
    assert found.best is not None
    assert 5 < len(asked) == len({inputs.options for inputs in asked})


def test_published_result_of_the_same_change_counts_as_another_measurement() -> None:
    here = case(osd(), does=workload(RBD))
    published = {u.resource: u.ratio for u in expected_usages(here, D.options)}[KV]
    of_another = case(osd(release='quincy', version='17.2.7'), does=workload(WorkloadClass.IDLE))
    modeled = {u.resource: u.ratio for u in expected_usages(of_another, D.options)}
    assert KV not in modeled or modeled[KV] != published
    alone = {u.resource: u.ratio for u in weighing(here, KV).weighed[0].usages}
    assert alone == {}
    # 19.9% more operations: 0.834 of the time for each.
    assert 0.8 < published.value < 0.86
    assert published.high / published.low < 1.2


@pytest.mark.parametrize(
    ('work', 'limit', 'wanted'),
    [
        (workload(RBD), Resource.KV_SYNC, (KV,)),
        (workload(RBD), Resource.DB_DEVICE, (Resource.DB_DEVICE, KV)),
        (workload(RBD, busy=0.05), Resource.CORES, (Resource.CORES,)),
        (workload(RGW), Resource.CORES, (Resource.CORES, SPACE)),
        (workload(RBD), Resource.DATA_DEVICE, ()),
        (workload(RBD), Resource.NETWORK, ()),
        (workload(RBD, busy=0.05), Resource.NONE, ()),
        (workload(RGW), Resource.KV_SYNC, (KV, SPACE)),
        (workload(RGW, busy=0.05), Resource.NONE, (SPACE,)),
        (workload(WorkloadClass.LARGE_WRITE), Resource.KV_SYNC, ()),
    ],
)
def test_current_limit_comes_first_and_objections_second(
    work: object, limit: Resource, wanted: tuple[Resource, ...]
) -> None:
    here = case(osd(), does=work, limit=Limit(limit, 0.9))  # type: ignore[arg-type]
    assert objectives(here) == wanted


def test_next_resource_is_weighed_if_the_limit_cannot_be_relieved() -> None:
    here = case(osd(text=D.options), does=workload(RGW))
    assert objectives(here) == (KV, SPACE)
    found = weighed_for(here, objectives(here))
    assert found is not None
    assert found.resource is SPACE
    assert found.chosen is not None
    assert weighed_for(here, ()) is None


def test_dominant_resource_follows_from_the_written_data() -> None:
    assert resource_of_writer(case(osd(), does=workload(RBD))) is KV
    assert resource_of_writer(case(osd(), does=workload(RGW))) is SPACE
    assert resource_of_writer(case(osd())) is None


def test_compressed_set_is_not_replaced_by_one_that_grows() -> None:
    text = f'{ALTERNATE},compression=kLZ4Compression'
    here = case(osd(text=text), does=workload(RBD))
    against_default = weighing(here, KV, PACIFIC)
    assert named(against_default, D.name).infeasible == (
        'The running data is compressed, and would grow without compression.',
    )


def test_cached_answer_is_valid_until_the_input_changes() -> None:
    first = weighing(case(osd(), does=workload(RBD)), KV)
    assert weighing(case(osd(), does=workload(RBD)), KV) is first
    # A little more data is no other question, twice as much is.
    little = {'db_used_bytes': int(30.2 * GIB)}
    assert weighing(case(osd(signals=little), does=workload(RBD)), KV) is first
    for other in (
        case(osd(signals={'db_used_bytes': 60 * GIB}), does=workload(RBD)),
        case(osd(memory_bytes=2 * GIB), does=workload(RBD)),
        case(osd(), does=workload(RBD), cores=8),
        case(osd(text=LZ4.options), does=workload(RBD)),
    ):
        assert weighing(other, KV) is not first


def test_small_changes_between_ticks_keep_the_cached_answer() -> None:
    """The number of written objects is fitted at each tick."""
    asked = case(osd(), does=workload(RBD)).situation
    ends = Estimate(90.0, 100.0, 110.0)
    near = Estimate(91.0, 101.0, 111.0)
    far = Estimate(900.0, 1000.0, 1100.0)

    def with_objects(found: Estimate) -> Situation:
        load = replace(asked.load, objects=found.value, wal_bytes_per_s=found.low)
        return comparable(replace(asked, working_set=WorkingSet(found, found), load=load))

    assert with_objects(ends) == with_objects(near)
    assert with_objects(ends) != with_objects(far)
    # Without a measurement there is nothing to round.
    assert comparable(asked).working_set is None


def test_cores_exclude_a_set_only_if_their_number_is_known() -> None:
    """LZ4 costs CPU that most OSDs have; no daemon reports it."""
    plain = osd(text=UNCOMPRESSED)
    unknown = named(weighing(case(plain, does=workload(RGW)), SPACE), LZ4.name)
    known = named(weighing(case(plain, does=workload(RGW), cores=8), SPACE), LZ4.name)
    costs = unknown.of(Resource.CORES)
    assert costs is not None
    assert at_most(costs) > 1.05
    assert unknown.short is None or 'CPU' not in unknown.short
    assert 'RocksDB CPU time' in (known.short or '')


def test_cores_that_limit_clients_exclude_sets_that_cost_cpu() -> None:
    """LZ4 saves space, which clients would not notice as much as the CPU that it takes."""
    plain = osd(text=UNCOMPRESSED)
    short = case(plain, does=workload(RGW), limit=Limit(Resource.CORES, 0.6))
    assert 'RocksDB CPU time' in (named(weighing(short, SPACE), LZ4.name).short or '')
    found = weighing(short, Resource.CORES)
    assert found.resource is Resource.CORES
    compressed = named(found, LZ4.name).of(Resource.CORES)
    assert compressed is not None
    assert compressed.value > 1
    assert named(found, LZ4.name).short is not None
