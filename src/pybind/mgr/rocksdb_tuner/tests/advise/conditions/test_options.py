"""Conditions of option strings: found where they are, silent where they are not."""

from __future__ import annotations

import pytest

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.conditions.declaration import Condition, conditions
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import Finding, OsdFacts, Setting, Severity
from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.plan.records import ANNEX

from ...fake_cluster import DEFAULTS
from ..builders import ALL, PACIFIC, entry, facts, osd_info

LZ4 = profile('lz4-2025').options


def found(*osds: OsdFacts, entries: tuple[ConfigEntry, ...] = ()) -> dict[str, Finding]:
    return {f.finding_id: f for f in findings(ClusterFacts(osds, entries))}


@pytest.mark.parametrize('release', ['pacific', 'reef', 'tentacle'])
def test_cluster_on_defaults_has_no_findings(release: str) -> None:
    default = DEFAULTS['pacific' if release == 'pacific' else 'reef']
    assert found(*(facts(osd_info(i, release), default) for i in range(3))) == {}


def test_osd_that_went_down_with_a_bad_string_is_still_reported() -> None:
    """While it runs its options are known; when it bites it is down and they are not."""
    entries = (entry('osd.1', 'foo=1'),)
    down = OsdFacts(osd_info(1, up=False), None, None, None)
    finding = found(facts(osd_info(0)), down, entries=entries)['unstartable-options']
    assert finding.osds == (1,)
    assert 'cannot start' in finding.summary
    assert 'unstartable-options' not in found(down)
    assert 'unstartable-options' not in found(down, entries=(entry('osd.1', PACIFIC),))
    assert 'unstartable-options' not in found(down, entries=(entry('osd/rack:r1', 'foo=1'),))


@pytest.mark.parametrize(
    'entries',
    [
        (entry('osd.1', PACIFIC),),
        (entry('osd.1', PACIFIC), entry('osd', PACIFIC)),
        (entry('osd.1', PACIFIC), entry('osd/host:elsewhere', LZ4)),
        (entry('osd.1', PACIFIC), entry('osd/class:hdd', LZ4)),
        (entry('osd.7', PACIFIC), entry('osd', LZ4)),
        (entry('osd', LZ4),),
    ],
)
def test_entry_that_hides_nothing_is_not_reported(entries: tuple[ConfigEntry, ...]) -> None:
    assert 'own-entry-shadows' not in found(facts(osd_info(1)), entries=entries)


@pytest.mark.parametrize(
    ('entries', 'value'),
    [
        ((entry('osd', LZ4),), LZ4),
        # Without it another one would decide.
        ((entry('osd.0', PACIFIC), entry('osd', LZ4)), PACIFIC),
        ((entry('osd', PACIFIC), entry('global', LZ4)), PACIFIC),
        # Whether it would is unknown.
        ((entry('osd', PACIFIC), entry('osd/rack:r1', LZ4)), PACIFIC),
    ],
)
def test_effective_override_stays(entries: tuple[ConfigEntry, ...], value: str) -> None:
    osd = facts(osd_info(0), value, 'mon', entries)
    assert 'redundant-override' not in found(osd, entries=entries)


def test_redundant_override_stays_if_a_new_entry_could_take_effect_without_it() -> None:
    """It was added after the OSD was queried: its coverage is unknown."""
    before = (entry('osd', PACIFIC),)
    osd = facts(osd_info(0), PACIFIC, 'mon', before)
    assert 'redundant-override' in found(osd, entries=before)
    now = (*before, entry('osd/rack:r1', LZ4))
    assert 'redundant-override' not in found(osd, entries=now)


def test_worst_comes_first() -> None:
    entries = (entry('osd.0', 'foo=1'), entry('osd.1', PACIFIC))
    osds = (
        facts(osd_info(0), entries=entries),
        facts(osd_info(1), PACIFIC, 'file', entries),
        facts(osd_info(2), 'compression=kLZ4Compression', 'file', entries),
    )
    severities = [f.severity for f in findings(ClusterFacts(osds, entries))]
    assert severities == sorted(severities, key=list(Severity).index)
    assert Severity.ERROR in severities
    assert Severity.INFO in severities


def annexed(text: str, who: str = 'osd') -> ConfigEntry:
    return entry(who, text, ANNEX)


@pytest.mark.parametrize('up', [True, False])
def test_annex_that_prevents_a_start_is_an_error_and_nothing_says_restart(up: bool) -> None:
    entries = (annexed('no_such_option=1'),)
    down = OsdFacts(osd_info(0, up=False), None, None, None)
    names = found(facts(osd_info(0), entries=entries) if up else down, entries=entries)
    assert names.keys() == {'unstartable-options'}
    finding = names['unstartable-options']
    assert finding.commands == ('ceph config rm osd bluestore_rocksdb_options_annex',)
    assert finding.osds == (0,)
    assert (finding.do_not or '').startswith('Do not restart')


@pytest.mark.parametrize(
    ('entries', 'removed'),
    [
        ((entry('osd', 'foo=1'), annexed('ttl=60')), ['osd bluestore_rocksdb_options']),
        ((entry('osd', LZ4), annexed('foo=1')), ['osd bluestore_rocksdb_options_annex']),
        (
            (entry('osd', 'foo=1'), annexed('bar=1')),
            ['osd bluestore_rocksdb_options_annex', 'osd bluestore_rocksdb_options'],
        ),
        # Each alone is accepted.
        (
            (entry('osd', 'unordered_write=true'), annexed('enable_pipelined_write=true')),
            ['osd bluestore_rocksdb_options_annex'],
        ),
        ((entry('osd', f'{LZ4};'), annexed('ttl=60')), ['osd bluestore_rocksdb_options_annex']),
        # Without the first one the second one would be in force, which is no better.
        (
            (annexed('foo=1', 'osd.0'), annexed('bar=1')),
            ['osd.0 bluestore_rocksdb_options_annex'],
        ),
        # What the annex overrides does not matter.
        ((entry('osd', 'compression=kZSTD'), annexed('compression=kLZ4Compression')), []),
    ],
)
def test_string_and_annex_are_judged_as_one(
    entries: tuple[ConfigEntry, ...], removed: list[str]
) -> None:
    osd = facts(osd_info(0), entries=entries)
    reported = [
        f for f in findings(ClusterFacts((osd,), entries)) if f.finding_id == 'unstartable-options'
    ]
    assert [f.commands for f in reported] == [(f'ceph config rm {what}',) for what in removed]


def test_running_options_that_the_catalog_refuses_are_unknown_if_no_entry_sets_them() -> None:
    """The OSD did start with them; only ceph.conf could be corrected."""
    osd = facts(osd_info(0), 'foo=1', 'file')
    assert osd.options is not None
    assert osd.options.starts is None
    assert found(osd).keys() == {'options-outside-config-store'}


@pytest.mark.parametrize(
    ('annex', 'finding_id'),
    [
        ('disableWAL=true', 'dangerous-options'),
        ('max_total_wal_size=0', 'dangerous-options'),
        ('ttl=21600', 'periodic-rewrites'),
        ('max_background_compactions=31', 'too-many-compactions'),
    ],
)
@pytest.mark.parametrize('main', ['default', 'mon'])
def test_running_annex_is_checked_like_a_string(main: str, annex: str, finding_id: str) -> None:
    reef = DEFAULTS['reef']
    entries = (annexed(annex), *([entry('osd.0', reef)] if main == 'mon' else []))
    osd = facts(osd_info(0, 'reef'), reef, main, entries, annex=annex)
    finding = found(osd, entries=entries)[finding_id]
    named = f'{finding.remedy} {finding.commands}'
    if 'ceph config' in named:
        assert 'ceph config rm osd bluestore_rocksdb_options_annex' in named


def test_remedies_wait_until_osds_would_start() -> None:
    """A restart for another reason is as harmful as one for the pending options."""
    entries = (entry('osd', f'{PACIFIC},disableWAL=true'), annexed('foo=1'))
    text = f'{PACIFIC},disableWAL=true'
    names = found(facts(osd_info(0), text, 'mon', entries), entries=entries)
    finding = names['dangerous-options']
    assert finding.remedy == (
        'osd.0 would not start again. Remove the cause first, see "ceph rocksdb-tuner findings '
        'unstartable-options".'
    )
    assert (finding.commands, finding.do_not) == ((), None)
    others = [f for f in names.values() if f.finding_id != 'unstartable-options']
    assert others
    assert not [f for f in others if 'estart' in f'{f.remedy} {f.commands} {f.do_not}']


def test_remedies_that_stop_no_osd_stay_where_osds_would_not_start() -> None:
    """Whatever words they contain: "no restart is needed", osd_compact_on_start."""
    entries = (
        entry('osd', 'foo=1'),
        entry('osd/class:ssd', PACIFIC),
    )
    settings = {
        'osd_compact_on_start': Setting('true', 'osd'),
        'bluestore_cache_autotune': Setting('false', 'osd'),
    }
    osd = facts(osd_info(0), entries=entries)._replace(settings=settings)
    names = found(osd, entries=entries)
    assert names['compact-on-start'].commands == ('ceph config rm osd osd_compact_on_start',)
    assert names['class-entry-without-effect'].commands == (
        'ceph config rm osd/class:ssd bluestore_rocksdb_options',
    )
    assert names['unstartable-options'].commands == (
        'ceph config rm osd bluestore_rocksdb_options',
    )
    assert names['cache-autotune-off'].commands == ()


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_remedy_that_stops_no_osd_names_no_restart(known: Condition) -> None:
    text = f'{known.remedies} {known.commands}'.replace('no restart is needed', '')
    stops = ('restart', 'stopped', 'redeploy', 'daemon stop', 'upgrade to', 'ceph-bluestore-tool')
    assert known.stops_osds or not [word for word in stops if word in text.lower()]


def test_osds_that_other_options_keep_from_starting_are_not_to_be_restarted() -> None:
    entries = (entry(ALL, LZ4),)
    settings = {'bluestore_cache_meta_ratio': Setting('2', 'osd')}
    osd = facts(osd_info(0), entries=entries)._replace(settings=settings)
    names = found(osd, entries=entries)
    assert 'findings cache-ratios' in names['restart-pending'].remedy
    assert names['restart-pending'].commands == ()
    assert 'ceph config rm osd bluestore_cache_meta_ratio' in names['cache-ratios'].commands


def test_restart_is_not_pending_while_it_is_unknown_whether_osds_would_start() -> None:
    entries = (annexed('{ttl=60},ttl=90'),)
    osd = facts(osd_info(0, 'reef'), DEFAULTS['reef'], entries=entries)
    assert found(osd, entries=entries).keys() == {'unjudged-options'}
