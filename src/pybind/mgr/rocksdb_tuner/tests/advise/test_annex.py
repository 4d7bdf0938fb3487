"""A change of one or two options leaves the default of the release in place."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.advise.case import Case, Circumstances, group_case
from rocksdb_tuner.advise.choice import annex_for
from rocksdb_tuner.advise.compaction import compaction_advice
from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.facts import release_of_osd
from rocksdb_tuner.advise.proposal import change_request
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import Kind, OsdFacts, Recommendation
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.workload.records import WorkloadClass

from .builders import ALL, entry, facts, group, osd_info, workload

RGW = workload(WorkloadClass.RGW_METADATA)
LZ4 = 'compression=kLZ4Compression'
#: A release whose default differs from the best known set in its compression alone.
VERSION = '18.2.2'
RELEASE = release_of_osd(osd_info(0, 'reef', version=VERSION))
assert RELEASE is not None
DEFAULT, ROCKSDB = RELEASE.default_options, RELEASE.rocksdb_version


def osds(**options: object) -> tuple[OsdFacts, ...]:
    found = {'value': DEFAULT, **options}
    return tuple(
        facts(osd_info(n, 'reef', version=VERSION), **found)  # type: ignore[arg-type]
        for n in range(3)
    )


def advised(*members: OsdFacts, others: tuple[OsdFacts, ...] = ()) -> Assessment:
    return assess(group(*members, does=RGW), Circumstances((*members, *others)))


def only(assessment: Assessment) -> Recommendation:
    (found,) = assessment.recommendations
    return found


def cohort(**options: object) -> Case:
    members = osds(**options)
    found = group_case(group(*members), Circumstances(members))
    assert isinstance(found, Case)
    return found


@pytest.mark.parametrize(
    ('changes', 'annex'),
    [
        ('compression=kLZ4Compression', LZ4),
        ('ttl=7200', 'ttl=7200'),
        (
            'compression=kLZ4Compression,max_background_jobs=6',
            'compression=kLZ4Compression,max_background_jobs=6',
        ),
        ('compression=kLZ4Compression,max_background_jobs=6,ttl=7200', None),
        # Written otherwise, and the same.
        ('write_buffer_size=16M', None),
        # Correct with this default only: the next one may have other memtables.
        ('write_buffer_size=33554432', None),
        ('compression=kLZ4Compression,max_total_wal_size=536870912', None),
        # An OSD would not start with it.
        ('compression=kNoSuchCompression', None),
    ],
)
def test_up_to_two_applicable_options_make_an_annex(changes: str, annex: Optional[str]) -> None:
    assert annex_for(cohort(), f'{DEFAULT},{changes}') == annex


def test_osds_with_other_options_from_no_entry_get_no_annex() -> None:
    """An entry was removed, and they were not restarted: what they run is not what stays."""
    held = replace(cohort(), running=f'{DEFAULT},ttl=60')
    assert annex_for(held, f'{DEFAULT},{LZ4}') is None
    assert annex_for(replace(held, running=DEFAULT), f'{DEFAULT},{LZ4}') == LZ4


def test_compaction_is_offered_after_an_annex_change() -> None:
    """As after a change of the string: files of before are not compressed by it."""
    found = only(advised(*osds()))
    request = change_request(found, 'client.admin')
    assert request.strings is not None
    record = HistoryRecord(
        *('r1', 0.0, found.recommendation_id, request.who, *request.strings, 'client.admin'),
        outcome=Outcome.DONE,
        reason=None,
        prediction=None,
        measured=None,
        option=ANNEX,
    )
    after = osds(annex=LZ4, entries=(entry(ALL, LZ4, ANNEX),))
    compaction = compaction_advice(group(*after, does=RGW), (record,))
    assert compaction is not None
    assert compaction.kind is Kind.COMPACT


# -- an earlier annex, with a default that has its options

LATER = '18.2.7'
LATER_RELEASE = release_of_osd(osd_info(0, 'reef', version=LATER))
assert LATER_RELEASE is not None
LATER_DEFAULT = LATER_RELEASE.default_options


def upgraded(
    *entries: ConfigEntry,
    annex: str = LZ4,
    count: int = 3,
    source: str = 'default',
    **info: object,
) -> tuple[OsdFacts, ...]:
    """OSDs of a release that compresses by default, and started with their annex."""
    return tuple(
        facts(
            osd_info(n, 'reef', **{'version': LATER, **info}),
            LATER_DEFAULT,
            source,
            entries or (entry(ALL, LZ4, ANNEX),),
            annex,
        )
        for n in range(count)
    )


@pytest.mark.parametrize(
    'members',
    [
        # It sets what the default has not.
        upgraded(entry(ALL, 'ttl=7', ANNEX), annex='ttl=7'),
        upgraded(entry(ALL, f'{LZ4},ttl=7', ANNEX), annex=f'{LZ4},ttl=7'),
        # The default of this release has it not.
        osds(annex=LZ4, entries=(entry(ALL, LZ4, ANNEX),)),
        # It may be intended for a custom string.
        upgraded(entry(ALL, LZ4, ANNEX), entry(ALL, LATER_DEFAULT), source='mon'),
        # Another would take its place.
        upgraded(entry('osd.0', LZ4, ANNEX), entry(ALL, 'ttl=7', ANNEX)),
        # Whether one would is unknown.
        upgraded(entry(ALL, LZ4, ANNEX), entry('osd/rack:r1', 'ttl=7', ANNEX)),
        # OSDs did not start with it yet, or with another.
        upgraded(annex=''),
        upgraded(annex=f'{LZ4},'),
    ],
)
def test_possibly_effective_annex_stays(members: tuple[OsdFacts, ...]) -> None:
    found = advised(*members)
    assert found.recommendations == ()
    assert f'{ANNEX} is set for osd.0' in found.conclusion.because
    entries = (entry(ALL, LZ4, ANNEX), entry('osd.0', LZ4, ANNEX))
    names = {one.finding_id for one in findings(ClusterFacts(members, entries))}
    assert 'redundant-override' not in names


def test_annex_needed_by_other_osds_is_kept_and_they_are_named() -> None:
    """OSDs of an earlier release, which the same entry changes."""
    behind = facts(
        osd_info(7, 'reef', version=VERSION, device_class='hdd'),
        DEFAULT,
        entries=(entry(ALL, LZ4, ANNEX),),
        annex=LZ4,
    )
    found = advised(*upgraded(), others=(behind,))
    assert found.recommendations == ()
    assert f'The entry for {ALL} should be removed' in found.conclusion.because
    assert (
        'to osd.7, which this change would not reach: remove it manually'
        in found.conclusion.because
    )
    assert f'"ceph config rm {ALL} {ANNEX}"' in found.conclusion.because
    cluster = ClusterFacts((*upgraded(), behind), (entry(ALL, LZ4, ANNEX),))
    assert 'redundant-override' not in {one.finding_id for one in findings(cluster)}
