"""The command `compact` in a module over a cluster in memory."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.commands import Context
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.snapshot import Mode

from ..query_command import ask
from ..test_experiment_commands import OPTIONS, Commanded
from ..test_tuner import World

MB = 10**6
GIB = 1 << 30


class Compacting(Commanded):
    """Each of the OSDs has a DB of 100 MB on 1 GiB."""

    def __init__(self, osds: int = 3, manager_version: str = '16.2.15') -> None:
        world = World(osds, manager_version)
        super().__init__(world)
        self.context = Context(
            lambda: world.tuner,
            self.context.profiles,
            lambda name: world.settings.mode.value if name == 'mode' else OPTIONS[name],
            lambda _: None,
            lambda: None,
        )
        world.load_ops_per_s = 100
        world.cluster.compactions.used_bytes = dict.fromkeys(world.cluster.osds, 100 * MB)
        for osd in world.cluster.osds.values():
            osd.main_device_bytes = GIB
        world.run(90)

    def plan(self, *who: str) -> Any:
        code, found = self.ask('compact', *who, dry_run=True)
        assert code == 0, found
        return found

    def guards(self, *who: str) -> dict[str, Any]:
        return {g['guard']: g['reason'] for g in self.plan(*who)['guards'] if g['open'] is not True}

    def requested(self) -> list[int]:
        return self.world.cluster.compactions.requested

    def state(self) -> Any:
        return self.ask('operation_status')[1]


@pytest.fixture
def module() -> Compacting:
    return Compacting()


WATCHED = {'placement group reports', 'client write latency'}


def test_dry_run_says_what_it_would_take_and_changes_nothing(module: Compacting) -> None:
    plan = module.plan()
    assert (plan['who'], plan['recommendation']) == ('osd', None)
    assert plan['bytes'] == 300 * MB
    least_s, most_s = plan['duration_s']
    assert 60 + 3 * 30 < least_s < most_s < 600
    assert [(o['osd'], o['bytes'], o['skipped']) for o in plan['osds']] == [
        (n, 100 * MB, None) for n in range(3)
    ]
    assert {o['free_bytes'] for o in plan['osds']} == {GIB - 100 * MB}
    assert set(module.guards()) == WATCHED
    module.world.run(300)
    assert module.requested() == []
    assert module.state() is None


def test_dry_run_names_skipped_osds_closed_guards_and_missing_samples(module: Compacting) -> None:
    cluster = module.world.cluster
    cluster.osds[1].main_device_bytes = 150 * MB
    cluster.flags.add('noout')
    module.world.not_reporting = {2}
    module.world.run(400)
    plan = module.plan()
    assert [o['skipped'] for o in plan['osds']] == [
        None, 'its DB device has no room for a second copy of the compacted data', None
    ]  # fmt: skip
    assert plan['osds'][1]['free_bytes'] == 50 * MB
    assert plan['osds'][2]['bytes'] is None
    assert (plan['bytes'], plan['duration_s']) == (None, None)
    closed = module.guards()
    assert closed['flags and health'] == 'flags set on the cluster: noout'
    assert 'no current sample of its DB use and size' in closed['DB use and size']
    assert 'no current sample of client writes on osd.2' in closed['client writes']
    plain = ask_plain(module, dry_run=True)
    assert 'CLOSED    flags and health: flags set on the cluster: noout' in plain
    assert len(plain.splitlines()) <= 40


def test_osd_that_is_down_and_out_would_be_skipped(module: Compacting) -> None:
    module.world.cluster.osds[1].up = module.world.cluster.osds[1].in_cluster = False
    module.world.run(60)
    plan = module.plan()
    assert [o['skipped'] for o in plan['osds']] == [None, 'it is down and out', None]
    assert plan['bytes'] == 200 * MB


def ask_plain(module: Compacting, **arguments: Any) -> str:
    module.world.tuner.requests.submit = lambda work: work()  # type: ignore[method-assign]
    return str(ask(module, 'compact', **arguments).stdout)


def test_plan_of_many_osds_fits_a_screen(module: Compacting) -> None:
    many = Compacting(60)
    plain = ask_plain(many, dry_run=True)
    assert '... 50 more: --format json' in plain
    assert len(plain.splitlines()) <= 40


def test_all_osds_are_compacted_one_after_the_other_and_recorded(module: Compacting) -> None:
    code, started = module.ask('compact')
    assert (code, started['kind'], started['who']) == (0, 'compaction', 'osd')
    assert started['recommendation'] is None
    assert set(module.guards()) == {*WATCHED, 'operations'}
    assert module.guards()['operations'] == 'a compaction campaign is under way'
    module.world.run(600)
    assert module.requested() == [0, 1, 2]
    assert module.world.cluster.compactions.most_at_once == 1
    state = module.state()
    assert (state['phase'], state['outcome']) == ('done', 'done')
    assert [(o['osd'], o['phase'], o['before_bytes'], o['after_bytes']) for o in state['osds']] == [
        (n, 'done', 100 * MB, 60 * MB) for n in range(3)
    ]
    (record,) = module.ask('history')[1]
    assert (record['id'], record['who'], record['outcome']) == ('c1', 'osd', 'done')


@pytest.mark.parametrize(
    ('who', 'mask', 'osds'),
    [
        ('osd.1', 'osd.1', [1]),
        ('2', 'osd.2', [2]),
        ('osd/class:ssd', 'osd/class:ssd', [0, 1, 2]),
        ('osd/host:node1', 'osd/host:node1', [1]),
        ('osd', 'osd', [0, 1, 2]),
    ],
)
def test_a_group_a_host_or_one_osd_is_compacted(
    module: Compacting, who: str, mask: str, osds: list[int]
) -> None:
    plan = module.plan(who)
    assert (plan['who'], [o['osd'] for o in plan['osds']]) == (mask, osds)


@pytest.mark.parametrize(
    ('who', 'code', 'text'),
    [
        ('osd.9', errno.ENOENT, 'no OSD matches "osd.9"'),
        ('osd/class:hdd', errno.ENOENT, 'no OSD matches "osd/class:hdd"; groups: osd/class:ssd'),
        ('all', errno.ENOENT, 'no OSD matches "all"; groups: osd/class:ssd'),
        ('osd.x', errno.ENOENT, 'no OSD matches "osd.x"'),
        ('mon', errno.ENOENT, 'no OSD matches "mon"'),
        # A variable of a shell that is not set, for example
        ('', errno.ENOENT, 'no OSD matches ""'),
    ],
)
def test_unknown_osds_and_empty_groups_are_refused(
    module: Compacting, who: str, code: int, text: str
) -> None:
    for arguments in ({}, {'dry_run': True}):
        found, error = module.ask('compact', who, **arguments)
        assert found == code
        assert text in error
    assert module.state() is None


def test_second_operation_is_refused(module: Compacting) -> None:
    module.ask('compact', 'osd.0')
    code, error = module.ask('compact', 'osd.1')
    assert (code, error) == (
        errno.EBUSY,
        'compaction campaign c1 is under way: wait for it, or abort it',
    )


def test_nothing_is_compacted_in_mode_off_or_without_bluestore(module: Compacting) -> None:
    for osd in module.world.cluster.osds.values():
        osd.objectstore = 'filestore'
    module.world.run(60)
    code, error = module.ask('compact')
    assert (code, error) == (errno.EOPNOTSUPP, 'no OSD of "osd" runs BlueStore')
    module.world.settings = replace(module.world.settings, mode=Mode.OFF)
    code, error = module.ask('compact')
    assert code == errno.EPERM
    assert 'the mode is off' in error


def test_nothing_is_compacted_by_an_unknown_manager_or_before_the_first_tick() -> None:
    module = Compacting(manager_version='99.1.0')
    code, error = module.ask('compact')
    assert code == errno.EOPNOTSUPP
    assert 'unknown release' in error
    module.world.takeover()
    assert module.ask('compact')[0] == errno.EAGAIN


def test_closed_guard_holds_it_and_the_next_manager_carries_on(module: Compacting) -> None:
    cluster = module.world.cluster
    cluster.flags.add('noout')
    module.ask('compact')
    module.world.run(300)
    assert module.requested() == []
    state = module.state()
    assert (state['phase'], state['paused_reason']) == (
        'waiting', 'flags set on the cluster: noout'
    )  # fmt: skip
    cluster.flags.clear()
    while not module.requested():
        module.world.run(2)
    module.world.takeover()
    module.world.run(900)
    assert module.requested() == [0, 1, 2]
    assert module.state()['outcome'] == 'done'


def test_it_is_paused_resumed_and_aborted(module: Compacting) -> None:
    module.ask('compact')
    while not module.requested():
        module.world.run(2)
    assert module.ask('operation_pause')[0] == 0
    module.world.run(300)
    assert module.requested() == [0]
    assert module.state()['phase'] == 'waiting'
    assert module.ask('operation_resume')[0] == 0
    while len(module.requested()) < 2:
        module.world.run(2)
    assert module.ask('operation_abort')[0] == 0
    module.world.run(300)
    state = module.world.tuner.operations.campaign.state
    assert state is not None
    assert (state.outcome, module.requested()) == (Outcome.ABORTED, [0, 1])


def test_compaction_of_recommended_osds_fulfills_the_recommendation(module: Compacting) -> None:
    recommended = module.world.changed_compression()
    plan = module.plan('osd/class:ssd')
    assert plan['recommendation'] == recommended
    assert module.ask('apply', recommended, dry_run=True) == (0, plan)
    (shown,) = module.world.tuner.snapshot.recommendations
    assert shown.commands == ('ceph rocksdb-tuner compact osd/class:ssd',)
    module.ask('compact')
    module.world.run(600)
    assert module.state()['outcome'] == 'done'
    assert module.world.tuner.snapshot.recommendations == ()
