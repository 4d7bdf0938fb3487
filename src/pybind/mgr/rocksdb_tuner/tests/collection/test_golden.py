"""A report, and what is left of names in it, to the letter: `data/` holds what is written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest

from rocksdb_tuner.collection import vocabulary
from rocksdb_tuner.collection.anonymous import Replacement, anonymous
from rocksdb_tuner.collection.collect import collect
from rocksdb_tuner.collection.counters import MEMTABLE_TIME
from rocksdb_tuner.collection.names import OF_AN_OSD, TIMED, Kind, file_name
from rocksdb_tuner.collection.read import read, unpack
from rocksdb_tuner.collection.records import (
    Collection,
    CounterDump,
    KvStatsText,
    OsdCollection,
)
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.collection.vocabulary import ceph_words, words
from rocksdb_tuner.collection.write import files
from rocksdb_tuner.kinds import fields_of
from rocksdb_tuner.mgr.records import (
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    CrushBucket,
    CrushDraw,
    CrushMap,
    CrushRule,
    FailureDomain,
    ManagerInfo,
    OsdInfo,
)
from rocksdb_tuner.observe.deep import Answers, KeptAnswers, KvAnswer, MemtableTime
from rocksdb_tuner.observe.details import DetailSample
from rocksdb_tuner.observe.history import MAX_GAP_S, Anchor
from rocksdb_tuner.observe.kv_stats import KvStats, format_kv_stats
from rocksdb_tuner.observe.observer import Evidence, Kept
from rocksdb_tuner.observe.option_watch import KnownOptions
from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.observe.sharding import KeptFiles
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.present.answers.report import ReportFiles
from rocksdb_tuner.present.json_schema import matching
from rocksdb_tuner.present.to_json import json_name
from rocksdb_tuner.version import VERSION

from ..observe.samples import osd_info
from ..observe.samples import sample as sample_at
from ..present import experiment_samples
from .test_anonymous import Planter
from .whole import GOLDEN, texts, whole

EMPTY = Collection(ClusterMap(1, frozenset(), None, (), ()))


@pytest.mark.parametrize('name', ['report', 'anonymous'])
def test_report_is_written_as_recorded(name: str) -> None:
    """A file a line, so that a difference shows in which file it is."""
    written = report(whole(), anonymous=name == 'anonymous')
    golden = (GOLDEN / f'{name}.json').read_text(encoding='utf-8').rstrip('\n')
    assert written == golden.replace('"module_version":"?"', f'"module_version":"{VERSION}"')
    pretty = report(whole(), anonymous=name == 'anonymous', pretty=True)
    assert pretty == json.dumps(json.loads(written), indent=4)


@pytest.mark.parametrize('kind', Kind)
def test_every_file_is_declared_under_its_name(kind: Kind) -> None:
    """Schema and types of the report know each file that is written, by the name that it gets."""
    (field,) = (field for field in fields_of(ReportFiles) if field.name == kind.value)
    regex = matching(field)
    of_an_osd = file_name(kind, 7, 1795217600.25 if kind in TIMED else None)
    if kind in OF_AN_OSD:
        assert regex is not None
        assert re.search(regex, of_an_osd)
    else:
        assert regex is None
        assert json_name(field) == file_name(kind)


def test_each_text_is_replaced_as_recorded() -> None:
    """Of hosts, places, pools, users, addresses, and undefined words."""
    assert texts() == json.loads((GOLDEN / 'texts.json').read_text(encoding='utf-8'))


def test_parsed_report_is_written_back_unchanged() -> None:
    text = report(whole(), anonymous=False)
    found = read(unpack('x', text.encode()))
    document = json.loads(text)['files']
    again = json.loads(json.dumps(dict(files(found.collection))))
    # Changes are not interpreted, and entries of other daemons are ignored.
    assert again.pop('history.json') == []
    assert len(document.pop('history.json')) == 4
    entries = document.pop('config_dump.json')
    assert again.pop('config_dump.json') == entries
    assert again == document
    assert found.collection.health_codes == whole().health_codes
    assert found.collection.orchestrated is False
    assert found.kinds == {
        *(Kind.OSD_DUMP, Kind.OSD_METADATA, Kind.CRUSH_DUMP, Kind.CONFIG_DUMP, Kind.HEALTH),
        *(Kind.MODULE, Kind.HISTORY, Kind.OPERATION),
    }
    assert (found.ignored, found.times_of_files, found.classes_guessed) == ((), frozenset(), False)


def test_missing_data_gives_no_file() -> None:
    assert [name for name, _ in files(EMPTY)] == [
        *('osd_dump.json', 'osd_crush_dump.json', 'osd_metadata.json'),
    ]
    some = replace(EMPTY, entries=(), health_codes=frozenset(), osds={5: whole().osds[3]})
    assert [name for name, _ in files(some)][3:] == [
        *('config_dump.json', 'health.json', 'osd.5.bluefs_files.json'),
    ]


# -- names


def test_new_names_have_enough_digits() -> None:
    """They sort as the old ones do."""
    osds = tuple(replace(osd_info(i), host=f'h{i:03}', failure_domain=None) for i in range(100))
    cluster_map = replace(EMPTY.cluster_map, osds=osds)
    hosts = [
        osd.host for osd in anonymous(replace(EMPTY, cluster_map=cluster_map)).cluster_map.osds
    ]
    assert (hosts[0], hosts[9], hosts[99]) == ('host-001', 'host-010', 'host-100')


@pytest.mark.parametrize(
    ('host', 'text', 'shown'),
    [
        # Names defined by Ceph stay, whatever hosts are called.
        ('ssd', 'a ssd', 'a ssd'),
        ('noout', 'noout', 'noout'),
        # A word of the module's own is the host here.
        ('restart', 'restart of it', 'host-1 of it'),
        ('7', 'at 7', 'at 7'),
        ('7.example', 'at 7.example', 'at host-1'),
        ('a b', 'on a b', 'on host-1'),
        # Nothing is called by blanks.
        (' ', '- -', '- -'),
    ],
)
def test_host_may_be_named_like_a_word(host: str, text: str, shown: str) -> None:
    entries = (ConfigEntry(f'osd/host:{host}', OPTION, ''),)
    assert Replacement(replace(EMPTY, entries=entries)).text(text) == shown


def test_full_host_name_is_replaced_before_the_short_name_of_another() -> None:
    entries = tuple(ConfigEntry(f'osd/host:{h}', OPTION, '') for h in ('ZQ.example', 'zq'))
    assert Replacement(replace(EMPTY, entries=entries)).text('zq, zq.example') == 'host-2, host-1'


def test_place_named_like_a_host_is_distinct_and_hosts_of_other_clusters_are_unknown() -> None:
    entries = (ConfigEntry('osd/host:zq/rack:zq', OPTION, ''),)
    replacement = Replacement(replace(EMPTY, entries=entries))
    assert replacement.of('osd/host:zq/rack:zq') == 'osd/host:host-1/rack:other-rack-1'
    assert replacement.of('osd/host:zqother') == 'osd/host:other-host-1'


def test_unused_counters_are_dropped() -> None:
    points = {name: CounterPoint(1.0, 5) for name in ('osd.op_w', 'rgw.of_alice')}
    osds = {0: OsdCollection(dumps=(CounterDump(1.0, points),))}
    (dump,) = anonymous(replace(EMPTY, osds=osds)).osds[0].dumps
    assert dump.points == {'osd.op_w': CounterPoint(1.0, 5)}


def test_names_in_a_rollout_are_replaced_as_everywhere() -> None:
    names = iter(f'zq{number}' for number in range(1000))
    state: RolloutState = Planter(lambda: next(names), 'name').make(RolloutState)
    state = replace(
        state,
        restoring=('osd/host:zqhost', 'osd/rack:zqrack', 'osd/class:zqclass', 'osd.3'),
        paused_by='dashboard:zqalice',
        request=replace(state.request, who='osd/host:zqother', actor='zqbob'),
        failure='zqbob, zqalice, zqhost, zqother, zqrack, zqclass',
    )
    shown = anonymous(replace(EMPTY, rollout=state)).rollout
    assert shown is not None
    host, rack, device_class, osd = shown.restoring
    assert (osd, shown.request.actor[:5]) == ('osd.3', 'user-')
    assert shown.paused_by is not None
    assert shown.failure == ', '.join(
        [
            *(shown.request.actor, shown.paused_by.partition(':')[2], host.partition(':')[2]),
            *(shown.request.who.partition(':')[2], rack.partition(':')[2]),
            device_class.partition(':')[2],
        ]
    )
    assert host.partition(':')[2] < shown.request.who.partition(':')[2]
    # A host found too late would become a separate place.
    assert 'other-host' not in repr(shown)
    assert rack.startswith('osd/rack:other-rack-')
    assert device_class.startswith('osd/class:class-')


@pytest.mark.parametrize(
    ('actor', 'shown'),
    [
        ('operator', 'operator'),
        ('zqalice', 'user-1'),
        ('dashboard:zqalice', 'dashboard:user-1'),
        ('zqa:zqb', 'name2:user-1'),
        ('dashboard:', 'dashboard:'),
        ('', ''),
    ],
)
def test_actors_are_anonymized(actor: str, shown: str) -> None:
    record = replace(whole().history[0], actor=actor)
    assert anonymous(replace(EMPTY, history=(record,))).history[0].actor == shown


def test_class_names_are_collected_everywhere_before_any_is_replaced() -> None:
    """In the order of their names, and not of the places: so advice does not depend on them."""
    module, pool = whole().module, whole().cluster_map.pools[0]
    assert module is not None
    memory = module.memories.groups['gold']
    collection = replace(
        EMPTY,
        cluster_map=replace(
            EMPTY.cluster_map,
            osds=(
                replace(osd_info(0), device_class='zq7'),
                replace(osd_info(1), device_class='ssd'),
            ),
            pools=(replace(pool, device_classes=('zq6',)),),
            crush=CrushMap(
                (CrushBucket(-1, 'default~zq5', 'root', ()),),
                (CrushRule(0, (CrushDraw(-9, 'default~zq4', ()),)),),
            ),
        ),
        entries=(ConfigEntry('osd/class:zq3', OPTION, ''),),
        module=replace(
            module,
            advised_on={'zq2': module.advised_on['ssd']},
            memories=module.memories._replace(groups={'zq1': memory}),
        ),
    )
    shown = anonymous(collection)
    assert shown.module is not None
    assert shown.entries is not None
    assert [
        *shown.module.memories.groups,
        *shown.module.advised_on,
        shown.entries[0].who,
        shown.cluster_map.crush.rules[0].draws[0].root_name,
        shown.cluster_map.crush.buckets[0].name,
        *shown.cluster_map.pools[0].device_classes,
        *(osd.device_class for osd in shown.cluster_map.osds),
    ] == [
        *('class-1', 'class-2', 'osd/class:class-3', 'default~class-4', 'default~class-5'),
        *('class-6', 'class-7', 'ssd'),
    ]


def test_host_and_rack_names_are_collected_everywhere_before_any_is_replaced() -> None:
    module = whole().module
    assert module is not None
    osds = (
        replace(osd_info(0), host='zq6', failure_domain=FailureDomain('rack', 'zqr3')),
        replace(osd_info(1), host=None, failure_domain=FailureDomain('host', 'zq5')),
        replace(osd_info(2), host=None, failure_domain=FailureDomain('osd', 'osd.2')),
    )
    buckets = (
        CrushBucket(-2, 'zq4', 'host', ()),
        CrushBucket(-3, 'zqr2~ssd', 'rack', ()),
        CrushBucket(-4, '~ssd', 'rack', ()),
    )
    draws = (CrushDraw(-3, 'zqr1', ()), CrushDraw(-9, 'zqroot', ()), CrushDraw(-8, 'default', ()))
    shown = anonymous(
        replace(
            EMPTY,
            cluster_map=replace(
                EMPTY.cluster_map, osds=osds, crush=CrushMap(buckets, (CrushRule(0, draws),))
            ),
            entries=(ConfigEntry('osd/host:zq2/rack:zqr0', OPTION, ''),),
            history=(replace(whole().history[0], who='osd/host:zq1'),),
            module=replace(module, managers=(ManagerInfo('zq', 'zq3', True, True),), notices=()),
        )
    )
    assert shown.module is not None
    assert shown.entries is not None
    assert (shown.history[0].who, shown.entries[0].who) == (
        *('osd/host:host-1', 'osd/host:host-2/rack:other-rack-1'),
    )
    assert shown.module.managers[0].host == 'host-3'
    crush = shown.cluster_map.crush
    assert [bucket.name for bucket in crush.buckets] == ['host-4', 'other-rack-3~ssd', '~ssd']
    assert [draw.root_name for draw in crush.rules[0].draws] == [
        *('other-rack-2', 'other-root-1', 'default'),
    ]
    assert [(osd.host, osd.failure_domain) for osd in shown.cluster_map.osds] == [
        ('host-6', ('rack', 'other-rack-4')),
        (None, ('host', 'host-5')),
        (None, ('osd', 'osd.2')),
    ]


_CODE = """'''Zqmodule.'''
X = 'zqx zqhttp://zqurl'
class A:
    '''Zqclass.'''
    member = ('zqmember', ('Zqinner:zqpart/zqother!',))
    def method(self):
        '''Zqmethod.'''
        return [f'{a} zqformat' for a in self if a in {'zqset', 'zqanother'}]
class B:
    member = 'zqplain'
def function():
    return any('zqgenerator' in text for text in 'zqtext')
"""


def test_messages_of_the_code_are_words_and_docstrings_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither text of tests, nor a file that is being replaced."""
    monkeypatch.setattr(vocabulary, '_PACKAGE', tmp_path)
    (tmp_path / 'inner').mkdir()
    (tmp_path / 'tests').mkdir()
    (tmp_path / 'inner/code.py').write_text(_CODE)
    (tmp_path / 'tests/test_it.py').write_text("X = 'zqtest'")
    (tmp_path / 'broken.py').write_text("X = 'zqbroken")
    with caplog.at_level('DEBUG'):
        found = {word for word in words.__wrapped__() if word.startswith('zq')}
    assert found == {
        *('zqmember', 'zqinner:zqpart/zqother', 'zqinner:zqpart/zqother!'),
        *('zqinner', 'zqpart', 'zqother', 'zqformat', 'zqset', 'zqanother', 'zqplain'),
        *('zqgenerator', 'zqtext'),
    }
    assert 'no words of broken.py' in caplog.text


def test_words_are_those_of_the_knowledge_and_of_messages_in_the_code() -> None:
    known = words()
    # Of both, in lower case, with and without the surrounding text.
    assert {'write_buffer_size', 'bluestore_rocksdb_options', 'hdd', 'noout', 'pacific'} <= known
    assert {'klz4compression', 'ceph-rocksdb-tuner-report', 'osd_dump', 'json'} <= known
    assert {'kLZ4Compression', '', 'zeus'} & known == set()
    assert ceph_words() <= known
    assert {'compactionstyle', 'restart'} & ceph_words() == set()
    # URLs in the knowledge, and docstrings, are no sentences.
    assert not [word for word in known if '://' in word]
    assert not {'alice', 'node7'} & known


# -- what the module keeps


STATS = KvStats(1, 2, 3, 4, 5)
NOTHING = Evidence(7, (), (), (), Answers((), ()))


def collected(evidence: Optional[Evidence], osd: OsdInfo) -> OsdCollection:
    """The collection of the one OSD of a cluster, whose process 7 is known to be sharded."""

    class Keeping(Kept):
        def evidence(self, osd_id: int) -> Optional[Evidence]:
            return evidence if osd_id == osd.osd_id else None

        def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
            return True if (osd_id, nonce) == (osd.osd_id, 7) else None

    module = whole().module
    assert module is not None
    entries = (ConfigEntry('osd', OPTION, 'x'),)
    found = collect(
        replace(EMPTY.cluster_map, osds=(osd,)),
        Keeping({}, {}, KeptAnswers({}, {}), KeptFiles({})),
        KnownOptions(entries),
        module,
        health_codes=frozenset({'OSD_DOWN'}),
        history=whole().history,
        rollout=None,
        experiment=None,
    )
    assert (found.entries, found.module, found.history) == (entries, module, whole().history)
    assert (found.health_codes, found.orchestrated) == (frozenset({'OSD_DOWN'}), True)
    return found.osds[osd.osd_id]


def test_osd_without_signals_has_only_the_report_of_its_process() -> None:
    assert collected(None, osd_info(4)) == OsdCollection(sharded=True)
    assert collected(None, osd_info(4, nonce=8)) == OsdCollection()


def test_counters_of_a_dead_process_are_not_collected() -> None:
    seen = NOTHING._replace(
        samples=(sample_at(100.0, 1),),
        deep=Answers((KvAnswer(90.0, STATS),), ()),
    )
    assert [dump.time_s for dump in collected(seen, osd_info(0)).dumps] == [100.0]
    gone = collected(seen, osd_info(0, nonce=8))
    assert gone.dumps == ()
    assert gone.kv_stats == (KvStatsText(90.0, format_kv_stats(STATS)),)


def test_dump_has_all_data_kept_of_its_time() -> None:
    """An anchor, a detailed sample and a sample, each under the names of the OSD's release."""
    look = DetailSample(
        **dict.fromkeys(DetailSample._fields)  # type: ignore[arg-type]
    )._replace(
        time_s=100.0,
        nonce=7,
        op_w_latency=(6, 2),
        commit=(8, 4),
        memory_mapped_bytes=9,
        kv_queued=(1, 1),
    )
    empty = Sample(**dict.fromkeys(Sample._fields))  # type: ignore[arg-type]
    seen = Evidence(
        7,
        (empty._replace(time_s=200.0, nonce=7, op_w=5, kv_sync=(30, 3)),),
        (Anchor(100.0, 11, 12),),
        (look,),
        Answers((KvAnswer(150.0, STATS),), (MemtableTime(1.25, 40),)),
    )
    dumps = collected(seen, osd_info(0)).dumps
    assert dumps == (
        CounterDump(
            100.0,
            {
                'bluefs.bytes_written_wal': CounterPoint(100.0, 11, None),
                'bluefs.bytes_written_sst': CounterPoint(100.0, 12, None),
                'osd.op_w_latency': CounterPoint(100.0, 6, 2),
                # Pacific's own name for it.
                'bluestore.commit_lat': CounterPoint(100.0, 8, 4),
                'bluestore-pricache.mapped_bytes': CounterPoint(100.0, 9, None),
            },
        ),
        CounterDump(150.0, {MEMTABLE_TIME: CounterPoint(150.0, 1_250_000_000, 40)}),
        CounterDump(
            200.0,
            {
                'osd.op_w': CounterPoint(200.0, 5, None),
                'bluestore.kv_sync_lat': CounterPoint(200.0, 30, 3),
            },
        ),
    )


def test_memtable_times_belong_to_the_newest_answers() -> None:
    """There may be fewer of them, and more."""
    kv = (KvAnswer(10.0, STATS), KvAnswer(20.0, STATS))
    times = (MemtableTime(1.0, 1), MemtableTime(2.0, 2), MemtableTime(3.0, 3))
    for answers, memtable, expected in (
        (kv, times[:1], {20.0: 1}),
        (kv, times[:2], {10.0: 1, 20.0: 2}),
        (kv[1:], times, {20.0: 3}),
    ):
        seen = NOTHING._replace(deep=Answers(answers, memtable))
        found = collected(seen, osd_info(0))
        assert {d.time_s: d.points[MEMTABLE_TIME].avgcount for d in found.dumps} == expected
        assert [answer.time_s for answer in found.kv_stats] == [a.time_s for a in answers]


@pytest.mark.parametrize(
    ('times_s', 'kept_s'),
    [
        ([0.0], [0.0]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([0.0, 1.0, 2.0], [0.0, 2.0]),
        ([1e9, 1e9 + 1, 1e9 + 2], [1e9, 1e9 + 2]),
        # The next one would be further away than half the gap.
        ([0.0, 10.0, MAX_GAP_S / 2, MAX_GAP_S / 2 + 1], [0.0, MAX_GAP_S / 2, MAX_GAP_S / 2 + 1]),
        ([0.0, 10.0, 20.0, MAX_GAP_S / 2 + 20.0], [0.0, 20.0, MAX_GAP_S / 2 + 20.0]),
        ([5.0, MAX_GAP_S / 2 + 5, MAX_GAP_S / 2 + 6], [5.0, MAX_GAP_S / 2 + 5, MAX_GAP_S / 2 + 6]),
    ],
)
def test_fewest_anchors_that_bridge_all_gaps_are_collected(
    times_s: list[float], kept_s: list[float]
) -> None:
    seen = NOTHING._replace(anchors=tuple(Anchor(time_s, 1, 2) for time_s in times_s))
    assert [dump.time_s for dump in collected(seen, osd_info(0)).dumps] == kept_s


def test_names_in_an_experiment_are_replaced_as_everywhere() -> None:
    """Also those that only the change of its OSDs has."""
    names = iter(f'zq{number}' for number in range(1000))
    leg: RolloutState = Planter(lambda: next(names), 'name').make(RolloutState)
    measuring = experiment_samples.measuring()
    state = replace(
        measuring,
        experiment_id='E7',
        request=replace(measuring.request, who='osd/host:zqhost', actor='client.zqalice'),
        paused_by='dashboard:zqbob',
        leg=replace(leg, restoring=('osd/rack:zqrack',)),
        failure='zqhost, zqrack, zqbob',
    )
    shown = anonymous(replace(EMPTY, experiment=state)).experiment
    assert shown is not None
    assert shown.experiment_id == 'E7'
    best, other = (arm.name for arm in shown.request.arms[:2])
    assert {gain.name for point in shown.trace for gain in point.arms} == {best, other}
    assert shown.leg is not None
    assert shown.paused_by is not None
    assert shown.failure == ', '.join(
        [
            shown.request.who.partition(':')[2],
            shown.leg.restoring[0].partition(':')[2],
            shown.paused_by.partition(':')[2],
        ]
    )
    assert 'other-host' not in repr(shown)
    assert 'zq' not in repr(shown)
    whole_of = replace(whole(), experiment=state)
    written = json.loads(report(whole_of, anonymous=True))['files']['operation.json']
    assert [arm['verdict'] for arm in written['arms'][:2]] == ['unclear', 'worse']
