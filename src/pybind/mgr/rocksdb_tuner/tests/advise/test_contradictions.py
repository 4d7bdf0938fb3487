"""Findings, check, model, derive, recommend and comparisons never contradict each other.

The name of each test states a contradiction, for the same string and the same facts. An OSD is
named, and runs the string that `check` is called with for that OSD. Severities are compared by
their meaning: an error means that OSDs would not start, or that data is in danger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rocksdb_tuner.advise.case import Circumstances
from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.limit import with_limit
from rocksdb_tuner.advise.profiles import profiles, recognize
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import Finding, GroupFacts, OsdFacts, Severity
from rocksdb_tuner.advise.whatif.compare import hardware_of_osd
from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.advise.whatif.situation import situation_of_osd
from rocksdb_tuner.lsm.levels import NotModeledError
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.options.checks import CheckResult, check
from rocksdb_tuner.options.grammar import diff, same_meaning
from rocksdb_tuner.options.releases import KnownRelease, known_releases
from rocksdb_tuner.options.syntax import OptionSyntaxError, parse
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from ..fake_cluster import DEFAULTS
from .builders import entry, facts, model_in, osd_info, workload

MIB, GIB = 1 << 20, 1 << 30
RELEASES = [r for r in known_releases() if r.name in ('pacific', 'reef', 'tentacle')]
VERSIONS = {'pacific': '16.2.15', 'reef': '18.2.7', 'tentacle': '20.2.4'}
PIECES = (
    *('write_buffer_size=64M', 'write_buffer_size=8M', 'write_buffer_size=4.5G'),
    *('max_write_buffer_number=16', 'min_write_buffer_number_to_merge=2', 'ttl=21600', 'ttl=1'),
    *('max_total_wal_size=0', 'max_total_wal_size=256M', 'max_total_wal_size=4G'),
    *('compaction_readahead_size=0', 'level0_slowdown_writes_trigger=4', 'foo=1', 'ttl=x'),
    *('block_based_table_factory={block_cache=1M}', 'disableWAL=true', 'recycle_log_file_num=4'),
    *('max_background_jobs=32', 'max_bytes_for_level_base=64M', 'compression=kZSTD', 'x,,'),
    *('memtable_factory={id=x;a=b}', 'db_write_buffer_size=64M', 'periodic_compaction_seconds=60'),
)
BASES = tuple(dict.fromkeys(['', *(p.options for p in profiles())]))
#: Where each warning of `check` is reported, where it is not `unwise-options`. The latter also
#: reports what a published string does to the hardware; the string itself is reported as a whole.
REPORTED = {
    'no-wal-limit': 'unlimited-wal',
    'many-threads': 'too-many-compactions',
    'periodic-rewrites': 'periodic-rewrites',
    'memtables-beyond-memory': 'memtables-exceed-memory',
    'wal-beyond-device': 'wal-device-small',
    **dict.fromkeys(
        (
            *('clamped', 'duplicate', 'jobs-switched-off', 'lenient-number', 'no-effect'),
            'removed-option',
        ),
        'options-without-effect',
    ),
}
OF_HARDWARE = {'memtables-beyond-memory', 'wal-beyond-device'}


@st.composite
def strings(draw: st.DrawFn) -> str:
    base = draw(st.sampled_from(BASES))
    more = draw(st.lists(st.sampled_from(PIECES), max_size=3))
    return ','.join([piece for piece in (base, *more) if piece])


@st.composite
def osds(draw: st.DrawFn, text: st.SearchStrategy[str] = strings()) -> OsdFacts:  # noqa: B008
    """An OSD that runs a configured string."""
    release = draw(st.sampled_from(RELEASES))
    dedicated_db, dedicated_wal = draw(st.booleans()), draw(st.booleans())
    sizes = st.sampled_from([512 * MIB, GIB, 2 * GIB, 8 * GIB, 60 * GIB])
    info = osd_info(
        0,
        release.name,
        version=VERSIONS[release.name],
        dedicated_db=dedicated_db,
        dedicated_wal=dedicated_wal,
        db_device_bytes=draw(sizes) if dedicated_db else None,
        wal_device_bytes=draw(sizes) if dedicated_wal else None,
        main_device_bytes=4000 * GIB,
    )
    memory = draw(st.sampled_from([GIB, 2 * GIB, 4 * GIB, 8 * GIB]))
    value = draw(text)
    osd = facts(info, value, 'mon', (entry('osd', value),))
    return osd._replace(
        details=Details(0.0, None, None, None, None, memory),
        sharded=draw(st.sampled_from([True, False])),
        settings={},
    )


def release_of(osd: OsdFacts) -> KnownRelease:
    return next(r for r in reversed(RELEASES) if r.name == osd.info.release)


def running(osd: OsdFacts) -> str:
    assert osd.options is not None
    return osd.options.running


def checked(osd: OsdFacts) -> CheckResult:
    version = release_of(osd).rocksdb_version
    return check(running(osd), version, hardware_of_osd(osd))


def found(osd: OsdFacts) -> dict[str, list[Finding]]:
    by_id: dict[str, list[Finding]] = {}
    for finding in findings(ClusterFacts((osd,), (entry('osd', running(osd)),))):
        by_id.setdefault(finding.finding_id, []).append(finding)
    return by_id


@given(osds())
def test_a_finding_says_would_not_start_where_check_says_refused_and_nowhere_else(
    osd: OsdFacts,
) -> None:
    accepted = checked(osd).accepted
    names = found(osd)
    assert ('unstartable-options' in names) is (accepted is False)
    assert ('unjudged-options' in names) is (accepted is None)
    if accepted is not True:
        assert not {'redundant-override', 'published-options', 'superseded-options'} & set(names)
    if accepted is None:
        assert all(f.severity is not Severity.ERROR for of_id in names.values() for f in of_id)


@given(osds())
def test_an_error_of_check_is_an_error_or_warning_of_the_findings(osd: OsdFacts) -> None:
    result = checked(osd)
    errors = [problem for problem in result.problems if problem.severity == 'error']
    names = found(osd)
    if result.accepted:
        assert ('dangerous-options' in names) is bool(errors)
    elif errors:
        assert result.accepted is False or 'unjudged-options' in names


@given(osds())
def test_what_check_warns_of_is_a_finding_and_no_finding_warns_of_what_check_does_not(
    osd: OsdFacts,
) -> None:
    result = checked(osd)
    assume(result.accepted)
    names = found(osd)
    warned = {p.rule for p in result.problems if p.severity == 'warning'}
    published = recognize(running(osd), release_of(osd)) is not None
    for rule in warned:
        expected = REPORTED.get(rule, 'unwise-options')
        if rule in OF_HARDWARE or not published:
            assert expected in names, rule
    for rule_of, condition in (
        (r, c) for r, c in REPORTED.items() if c != 'options-without-effect'
    ):
        if condition in names:
            assert rule_of in warned, condition
    if 'unwise-options' in names:
        assert warned - set(REPORTED)


@given(osds())
def test_check_and_findings_say_of_memory_the_same_whatever_runs(osd: OsdFacts) -> None:
    result = checked(osd)
    assume(result.accepted)
    rules = {problem.rule for problem in result.problems}
    assert ('memory-target-small' in rules) is ('memory-target-small' in found(osd))
    assert len(rules & {'memory-target-small', 'memtables-beyond-memory'}) <= 1


@given(osds())
@example(
    facts(
        osd_info(0, dedicated_wal=True, wal_device_bytes=GIB),
        profiles()[2].options,
        'mon',
    )._replace(settings={}, sharded=True)
)
def test_a_wal_that_does_not_fit_by_the_model_fits_by_nothing_else(osd: OsdFacts) -> None:
    result = checked(osd)
    assume(result.accepted)
    try:
        tree = model_in(situation_of_osd(osd, release_of(osd)), running(osd))
    except NotModeledError:
        return
    if tree.wal.fits_device is None:
        return
    rules = {problem.rule for problem in result.problems}
    assert ('wal-beyond-device' in rules) is (not tree.wal.fits_device)
    assert ('wal-device-small' in found(osd)) is (not tree.wal.fits_device)


@given(strings(), strings(), st.sampled_from(RELEASES))
def test_no_difference_means_equal_and_equal_means_the_same_judgment(
    a: str, b: str, release: KnownRelease
) -> None:
    version = release.rocksdb_version
    try:
        differs: Optional[bool] = bool(diff(parse(a), parse(b)))
    except OptionSyntaxError:
        differs = None
    if differs is False:
        assert same_meaning(a, b, version)
    if same_meaning(a, b, version):
        assert check(a, version).accepted == check(b, version).accepted
        assert check(a, version).effective == check(b, version).effective


@given(osds(text=st.just('compression=kLZ4Compression')))
def test_a_derived_string_has_no_warning_against_it_for_the_same_facts(osd: OsdFacts) -> None:
    release = release_of(osd)
    derived = derive(situation_of_osd(osd, release)).options
    hardware = replace(hardware_of_osd(osd), related_options=())
    problems = check(derived, release.rocksdb_version, hardware).problems
    assert [p for p in problems if p.severity != 'info'] == []


#: Findings that object to the running options, so that recommend has an alternative, or a reason
#: for none.
AGAINST = {'dangerous-options', 'superseded-options', 'wal-device-small', 'memtables-exceed-memory'}
WORK = (None, *(workload(work) for work in WorkloadClass))


TOO_LARGE = facts(
    osd_info(0, 'reef', version='18.2.7', main_device_bytes=4000 * GIB),
    f'{DEFAULTS["reef"]},write_buffer_size=64M,max_total_wal_size=4G',
    'mon',
    (entry('osd', f'{DEFAULTS["reef"]},write_buffer_size=64M,max_total_wal_size=4G'),),
)._replace(
    details=Details(0.0, None, None, None, None, 4 * GIB),
    sharded=False,
    settings={},
)


#: With a level 1 of the default that alone takes half of the device.
ON_SMALL_DB = facts(
    osd_info(0, dedicated_db=True, db_device_bytes=512 * MIB),
    '',
    'mon',
    (entry('osd', ''),),
)._replace(details=Details(0.0, None, None, None, None, GIB), sharded=True, settings={})


@given(osds(), st.sampled_from(WORK))
@example(
    facts(osd_info(0, dedicated_wal=True, wal_device_bytes=512 * MIB))._replace(settings={}),
    None,
)
@example(TOO_LARGE, None)
@example(ON_SMALL_DB, None)
def test_what_is_recommended_is_what_findings_check_and_model_have_nothing_against(
    osd: OsdFacts, work: Optional[Workload]
) -> None:
    answer = assess(with_limit(GroupFacts('ssd', work, (osd,))), Circumstances((osd,)))
    before = {f.finding_id for of_id in found(osd).values() for f in of_id}
    if not answer.recommendations and before & AGAINST:
        assert 'Nothing to change' not in answer.conclusion.because
    for advice in answer.recommendations:
        new = advice.options_to
        after = facts(osd.info, new, 'mon', (entry('osd', new),))._replace(
            details=osd.details, sharded=osd.sharded, settings={}
        )
        result = checked(after)
        assert result.accepted
        assert 'error' not in {problem.severity for problem in result.problems}
        # What nothing fits, not even the smallest set, fits no better before.
        worse = set(found(after)) & (AGAINST | {'unwise-options', 'unlimited-wal'})
        assert not worse - set(before), worse
        if 'wal-device-small' in before:
            assert 'wal-device-small' not in found(after)
            fits = model_in(situation_of_osd(after, release_of(after)), new).wal.fits_device
            assert fits is not False
        again = assess(with_limit(GroupFacts('ssd', work, (after,))), Circumstances((after,)))
        # Without the entry what runs is the same: that changes no OSD.
        assert all(not further.restart_required for further in again.recommendations)


@pytest.mark.parametrize('release', RELEASES, ids=lambda release: release.since)
def test_every_check_warning_has_an_existing_finding(release: KnownRelease) -> None:
    assert {*REPORTED.values(), 'unwise-options', 'unjudged-options'} <= set(conditions())
    assert check(release.default_options, release.rocksdb_version).accepted
