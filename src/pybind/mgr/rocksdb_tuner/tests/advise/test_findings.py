"""Conditions of option strings: found where they are, silent where they are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import Finding, OsdFacts, Severity
from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.observe.signals import Signals

from ..fake_cluster import DEFAULTS
from .scenes import ALL, PACIFIC, entry, facts, osd_info

ALTERNATE = profile('alternate-2019').options


def found(*osds: OsdFacts, entries: tuple[ConfigEntry, ...] = ()) -> dict[str, Finding]:
    return {f.finding_id: f for f in findings(ClusterFacts(osds, entries))}


@pytest.mark.parametrize('release', ['pacific', 'reef', 'tentacle'])
def test_a_cluster_on_its_defaults_has_nothing_to_point_out(release: str) -> None:
    default = DEFAULTS['pacific' if release == 'pacific' else 'reef']
    assert found(*(facts(osd_info(i, release), default) for i in range(3))) == {}


@pytest.mark.parametrize(
    'text', ['compression=kZSTD', 'foo=1', 'write_buffer_size=abc', 'a', PACIFIC + ',,']
)
def test_a_string_with_which_osds_would_not_start_is_an_error(text: str) -> None:
    entries = (entry('osd', text),)
    finding = found(*(facts(osd_info(i), entries=entries) for i in range(2)), entries=entries)[
        'unstartable-options'
    ]
    assert finding.severity is Severity.ERROR
    assert finding.osds == (0, 1)
    assert finding.remedy == 'ceph config rm osd bluestore_rocksdb_options'


def test_a_string_that_ceph_conf_overrules_stops_nobody() -> None:
    entries = (entry('osd', 'foo=1'),)
    assert set(found(facts(osd_info(0), PACIFIC, 'file', entries), entries=entries)) == {
        'options-outside-config-store'
    }


def test_an_overruled_entry_is_a_warning_and_ceph_conf_alone_only_worth_knowing() -> None:
    entries = (entry('osd', PACIFIC),)
    with_entry = found(facts(osd_info(0), PACIFIC, 'file', entries), entries=entries)
    without = found(facts(osd_info(0), PACIFIC, 'file'))
    assert with_entry['options-outside-config-store'].severity is Severity.WARNING
    assert without['options-outside-config-store'].severity is Severity.INFO


def test_a_configured_string_that_does_not_run_yet_is_pointed_out() -> None:
    entries = (entry(ALL, 'compression=kLZ4Compression'),)
    finding = found(facts(osd_info(0), entries=entries), entries=entries)['restart-pending']
    assert finding.osds == (0,)
    assert 'osd.0' in finding.remedy


def test_an_entry_for_a_class_is_pointed_out_because_no_osd_starts_with_it() -> None:
    entries = (entry('osd/class:ssd', ALTERNATE),)
    osds = (facts(osd_info(0), entries=entries), facts(osd_info(1, device_class='hdd')))
    finding = found(*osds, entries=entries)['class-entry-without-effect']
    assert finding.osds == (0,)
    assert 'ceph config rm osd/class:ssd' in finding.remedy
    assert 'restart-pending' not in found(*osds, entries=entries)


def test_a_removed_override_that_still_runs_is_pending() -> None:
    assert 'restart-pending' in found(facts(osd_info(0), ALTERNATE, 'mon'))


def test_the_2019_string_is_recognised_by_name() -> None:
    entries = (entry(ALL, ALTERNATE),)
    finding = found(facts(osd_info(0), ALTERNATE, 'mon', entries), entries=entries)[
        'superseded-options'
    ]
    assert finding.severity is Severity.WARNING
    assert '2019' in finding.summary


def test_the_odd_one_out_of_a_class_is_named() -> None:
    entries = (entry('osd.2', 'compression=kLZ4Compression'),)
    osds = [facts(osd_info(i)) for i in range(2)]
    osds.append(facts(osd_info(2), 'compression=kLZ4Compression', 'mon', entries))
    assert found(*osds, entries=entries)['different-options'].osds == (2,)


def test_classes_and_releases_may_differ() -> None:
    osds = (
        facts(osd_info(0)),
        facts(osd_info(1, 'reef'), DEFAULTS['reef']),
        facts(osd_info(2, device_class='hdd'), DEFAULTS['reef']),
    )
    assert 'different-options' not in found(*osds)


def test_data_on_the_slow_device_is_pointed_out_only_where_the_db_has_its_own() -> None:
    spilled = Signals(osd_id=0, slow_used_bytes=1 << 30, db_used_bytes=1 << 20)
    dedicated = replace(facts(osd_info(0, dedicated_db=True)), signals=spilled)
    shared = replace(facts(osd_info(0)), signals=spilled)
    assert found(dedicated)['spillover'].osds == (0,)
    assert found(shared) == {}


def test_the_worst_comes_first() -> None:
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


def test_an_osd_of_which_nothing_is_known_gives_no_finding() -> None:
    assert found(OsdFacts(osd_info(0), None, None, None)) == {}
