"""Collections of clusters as they may be, for the tests of reading, writing and judging.

Hypothesis draws names and texts; the many figures come from one seed that it draws, since to draw
each of them would take most of the time of the tests.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Optional, TypeVar

from hypothesis import strategies as st

from rocksdb_tuner.advise.facts import (
    WATCHED_IF_SET,
)
from rocksdb_tuner.collection.records import (
    Collection,
    CounterDump,
    KvStatsText,
    ModuleState,
    OsdCollection,
)
from rocksdb_tuner.mgr.crush import failure_domains
from rocksdb_tuner.mgr.records import (
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    CrushBucket,
    CrushChoice,
    CrushDraw,
    CrushMap,
    CrushRule,
    ManagerInfo,
    OsdInfo,
    PoolInfo,
    RunningOption,
)
from rocksdb_tuner.observe.counters import CounterNames
from rocksdb_tuner.observe.growth import GrowthPoints
from rocksdb_tuner.observe.pool_rates import PoolRates
from rocksdb_tuner.observe.report_interval import Reports
from rocksdb_tuner.observe.slow_events import AlertingOsd
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.workload.classifier import Memories
from rocksdb_tuner.workload.hysteresis import Memory
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

_T = TypeVar('_T')

#: As operators call hosts: no word that an option or a sentence is made of.
HOSTS = st.builds(
    'zq{}{}'.format,
    st.text(string.ascii_lowercase + string.digits, min_size=2, max_size=8),
    st.sampled_from(['', '.example.com', '-7', '-7.dc1.example.com']),
)
ADDRESSES = st.sampled_from(
    (
        '10.20.30.40',
        '192.168.0.7:6789/0',
        '203.0.113.255',
        'fd00::7',
        '[2001:db8:1:2:3:4:5:6]:6800/123',
        'v2:[fe80::1:2]:3300/0',
    )
)


class Dice:
    """Figures and choices from one seed."""

    def __init__(self, random: Random, texts: Sequence[str], hosts: Sequence[str]) -> None:
        self._random = random
        self._texts, self._hosts = texts, hosts

    def one_of(self, choices: Sequence[_T]) -> _T:
        return self._random.choice(choices)

    def maybe(self, value: _T) -> Optional[_T]:
        return value if self.flag() else None

    def flag(self) -> bool:
        return self._random.random() < 0.5

    def count(self) -> int:
        return self._random.choice((0, 1, self._random.randrange(1 << 50)))

    def share(self) -> float:
        return self._random.random()

    def time_s(self) -> float:
        return 1e9 + self._random.random() * 1e9

    def times_s(self, most: int) -> list[float]:
        return sorted({self.time_s() for _ in range(self._random.randrange(most + 1))})

    def text(self) -> str:
        return self.one_of(self._texts)

    def host(self) -> str:
        return self.one_of(self._hosts)


def osd_info(dice: Dice, osd_id: int) -> OsdInfo:
    main_rotational = dice.maybe(dice.flag())
    return OsdInfo(
        osd_id=osd_id,
        up=dice.flag(),
        in_cluster=dice.flag(),
        nonce=dice.maybe(dice.count() % (1 << 32)),
        host=dice.maybe(dice.host()),
        device_class=dice.maybe(dice.one_of(('hdd', 'ssd', 'nvme'))),
        version=dice.maybe(dice.one_of(('16.2.15', '18.2.7', '99.9.9'))),
        release=dice.maybe(dice.one_of(('pacific', 'reef', 'zz'))),
        dedicated_db=dice.maybe(dice.flag()),
        dedicated_wal=dice.maybe(dice.flag()),
        db_device_bytes=dice.maybe(dice.count()),
        objectstore=dice.maybe('bluestore'),
        wal_device_bytes=dice.maybe(dice.count()),
        main_device_bytes=dice.maybe(dice.count()),
        main_rotational=main_rotational,
        # Without a dedicated device the DB is on that of the data.
        db_rotational=None if main_rotational is None else dice.flag(),
        min_alloc_size_bytes=dice.maybe(dice.count()),
        created_version=dice.maybe('16.2.15'),
        sharding=dice.maybe('m(3) P'),
        distribution=dice.maybe('debian'),
        containerized=dice.flag(),
        pod_namespace=dice.maybe('rook-ceph'),
        devices=('sda', 'nvme0n1') if dice.flag() else (),
    )


def osd_collection(dice: Dice) -> OsdCollection:
    names = [n for n in (OPTION, ANNEX, *WATCHED_IF_SET) if dice.flag()]
    running = {
        name: RunningOption(dice.text(), dice.one_of(('default', 'mon', 'file')), dice.flag())
        for name in names
    }
    return OsdCollection(
        dumps=tuple(CounterDump(time_s, _points(dice, time_s)) for time_s in dice.times_s(3)),
        kv_stats=tuple(KvStatsText(time_s, dice.text()) for time_s in dice.times_s(2)),
        running=dice.maybe(running),
        sharded=dice.maybe(dice.flag()),
    )


def _points(dice: Dice, time_s: float) -> dict[str, CounterPoint]:
    paths = {dice.one_of(CounterNames()) for _ in range(3)}
    return {path: CounterPoint(time_s, dice.count(), dice.maybe(dice.count())) for path in paths}


def workload(dice: Dice) -> Workload:
    evidence = Evidence('write_iops', dice.share() * 1e5, 'operations/s', 30.0, 'Many.')
    return Workload(
        dice.one_of(tuple(WorkloadClass)), dice.share(), (evidence,) if dice.flag() else ()
    )


def _memory(dice: Dice) -> Memory:
    return Memory(workload(dice), dice.one_of(tuple(WorkloadClass)), dice.time_s(), dice.time_s())


def module_state(dice: Dice) -> ModuleState:
    points_s = dice.times_s(5) or [dice.time_s()]
    return ModuleState(
        taken_s=dice.time_s(),
        sampled_s=dice.time_s(),
        mode=dice.one_of(tuple(Mode)),
        manager_version='16.2.15',
        manager_release='pacific',
        managers=tuple(
            ManagerInfo(name, dice.maybe(dice.host()), dice.flag(), dice.flag())
            for name in {dice.host(), 'x'}
        ),
        interval_s=10.0,
        last_sample_age_s=dice.maybe(3.5),
        tick_ms=dice.maybe(dice.share()),
        report_interval_s=dice.maybe(60.5),
        reports=dice.maybe(Reports.OK),
        orchestrated=dice.flag(),
        rollout_under_way=dice.flag(),
        limits={'db_used_limit': dice.share()} if dice.flag() else {},
        notices=(dice.text(),),
        pending_since_s={3: dice.time_s()},
        advised_on={'ssd': workload(dice)},
        memories=Memories({3: _memory(dice), 4: _memory(dice)}, {'ssd': _memory(dice)}),
        pool_rates={7: PoolRates(*(dice.time_s() for _ in PoolRates._fields))},
        growth={
            3: GrowthPoints(
                tuple(points_s), tuple(dice.count() for _ in points_s), dice.count(), dice.count()
            )
        },
        starts={3: LastStart(dice.share(), dice.time_s(), dice.maybe(dice.flag()))},
        alerting={3: AlertingOsd(dice.maybe(dice.share()), dice.maybe(dice.time_s()))},
    )


#: The possible roots of rules, by the id of the bucket.
_ROOTS = {-1: 'default', -2: 'default~ssd', -3: 'default~hdd'}


def _crush(dice: Dice, osd_ids: Sequence[int]) -> CrushMap:
    """Racks of hosts, with a shadow of each for a device class, and three rules."""
    hosts = sorted({dice.host() for _ in range(3)})
    buckets = [
        CrushBucket(-1, 'default', 'root', (-4,)),
        CrushBucket(-2, 'default~ssd', 'root', (-5,)),
    ]
    for rack_id, shadow in ((-4, ''), (-5, '~ssd')):
        ids = tuple(10 * rack_id - n for n in range(len(hosts)))
        buckets.append(CrushBucket(rack_id, f'zqrack{shadow}', 'rack', ids))
        buckets += [
            CrushBucket(
                bucket_id,
                host + shadow,
                'host',
                tuple(i for i in osd_ids if i % len(hosts) == n and dice.flag()),
            )
            for n, (bucket_id, host) in enumerate(zip(ids, hosts))
        ]
    return CrushMap(tuple(buckets), tuple(_rule(dice, rule_id) for rule_id in range(3)))


def _rule(dice: Dice, rule_id: int) -> CrushRule:
    choices = [
        CrushChoice(op, kind)
        for op, kind in (
            ('choose_firstn', 'rack'),
            ('chooseleaf_indep', 'host'),
            ('choosemsr', 'osd'),
        )
        if dice.flag()
    ]
    roots = [root for root in _ROOTS if dice.flag()]
    return CrushRule(rule_id, tuple(CrushDraw(r, _ROOTS[r], tuple(choices)) for r in roots))


def _pool(dice: Dice, pool_id: int, crush: CrushMap) -> PoolInfo:
    rule = dice.one_of(crush.rules)
    classes = tuple(_ROOTS[d.root_id].partition('~')[2] for d in rule.draws if d.root_id < -1)
    cephfs = dice.flag()
    applications = {name for name in ('rbd', 'rgw') if dice.flag()} | (
        {'cephfs'} if cephfs else set()
    )
    return PoolInfo(
        pool_id,
        dice.text(),
        tuple(sorted(applications)),
        3,
        2,
        classes,
        'cephfs' in applications and dice.flag(),
        rule.rule_id,
    )


def _who(dice: Dice) -> str:
    return dice.one_of(('global', 'osd', 'osd.3', 'osd/class:ssd', f'osd/host:{dice.host()}'))


def _record(dice: Dice) -> HistoryRecord:
    return HistoryRecord(
        rollout_id='r1',
        time_s=dice.time_s(),
        recommendation_id='abc',
        who=_who(dice),
        options_from=dice.text(),
        options_to=dice.text(),
        actor='operator',
        outcome=dice.one_of(tuple(Outcome)),
        reason=dice.maybe(dice.text()),
        prediction=dice.maybe(dice.text()),
        measured=dice.maybe(dice.text()),
    )


_ANY_TEXTS = st.lists(st.text(max_size=12), min_size=1, max_size=3)
_HOST_LISTS = st.lists(HOSTS, min_size=1, max_size=3, unique=True)


@st.composite
def collections(
    draw: st.DrawFn,
    text_lists: st.SearchStrategy[list[str]] = _ANY_TEXTS,
    host_lists: st.SearchStrategy[list[str]] = _HOST_LISTS,
) -> Collection:
    """A collection; its operators wrote only these texts, and have only these hosts."""
    random = draw(st.randoms(use_true_random=True))
    dice = Dice(random, draw(text_lists), draw(host_lists))
    ids = sorted(draw(st.sets(st.integers(0, 9), max_size=3)))
    crush = _crush(dice, ids)
    pools = tuple(_pool(dice, i, crush) for i in range(random.randrange(3)))
    infos = tuple(osd_info(dice, i) for i in ids)
    domains = failure_domains(
        crush, [pool.crush_rule for pool in pools], {osd.osd_id: osd.host for osd in infos}
    )
    return Collection(
        cluster_map=ClusterMap(
            epoch=7,
            flags=frozenset({'sortbitwise', *(['noout'] if dice.flag() else [])}),
            require_osd_release=dice.maybe('pacific'),
            osds=tuple(replace(o, failure_domain=domains[o.osd_id]) for o in infos),
            pools=pools,
            crush=crush,
        ),
        osds={i: osd_collection(dice) for i in ids},
        entries=dice.maybe((ConfigEntry(_who(dice), OPTION, dice.text()),)),
        health_codes=dice.maybe(frozenset({'OSD_DOWN'})),
        module=dice.maybe(module_state(dice)),
        history=(_record(dice),) if dice.flag() else (),
    )
