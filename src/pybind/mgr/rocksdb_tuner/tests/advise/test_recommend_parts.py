"""The parts of a recommendation: what runs instead, why, at what risk, and what may be lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise import proposal, reasons, recommend
from rocksdb_tuner.advise.case import Case
from rocksdb_tuner.advise.choice import Target, default_target
from rocksdb_tuner.advise.profiles import profile, recognize
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import (
    Decision,
    Kind,
    Limit,
    OsdFacts,
    Priority,
    Recommendation,
    Resource,
    Risk,
)
from rocksdb_tuner.advise.usage import Usage
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.lsm.records import Estimate
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.grammar import in_force
from rocksdb_tuner.plan.records import Purpose
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from ..fake_cluster import DEFAULTS
from .builders import PACIFIC, UNMENDABLE, entry, facts, group, osd_info, workload
from .test_choice import LZ4, D, case, osd

MIB, GIB = 1 << 20, 1 << 30
RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
ALTERNATE = profile('alternate-2019').options
SMALL: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
TINY: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 16 * MIB}


def changing(ratio: float, off: float = 0.1) -> Estimate:
    return Estimate(ratio * (1 - off), ratio, ratio * (1 + off))


WORSE, SIMILAR, BETTER = changing(1.5), changing(1.0), changing(0.5)


@pytest.fixture
def predict(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the model predict the given effect for every change."""

    def say(change: Optional[Estimate]) -> None:
        found = () if change is None else (Usage(Resource.DB_DEVICE, change),)
        monkeypatch.setattr(proposal, 'expected_usages', lambda *_: found)

    return say


def advised(*osds: OsdFacts, does: Optional[Workload] = None, **more: Any) -> Assessment:
    return assess(group(*osds, does=does), osds, **more)


def by_no_entry(**more: Any) -> OsdFacts:
    """On the default of Pacific."""
    known = osd(**more)
    return facts(known.info)._replace(signals=known.signals, details=known.details)


def only(found: Assessment) -> Recommendation:
    (advice,) = found.recommendations
    return advice


# -- objections to the running options, without space for any other set


def test_stale_string_is_removed_even_if_no_set_fits() -> None:
    found = only(advised(osd(text=ALTERNATE, **TINY)))
    assert (found.kind, found.options_to) == (Kind.SET_PROFILE, LZ4.options)
    own = facts(osd_info(0, **TINY), ALTERNATE, 'mon', (entry('osd.0', ALTERNATE),))
    of_own = only(advised(own))
    assert (of_own.kind, of_own.options_to, of_own.who) == (
        Kind.SET_PROFILE,
        LZ4.options,
        'osd.0',
    )


def test_unfixable_set_is_replaced_if_it_does_not_fit() -> None:
    """Else it stays: what else is in it may be as good as any other set."""
    stays = advised(osd(text=UNMENDABLE))
    assert stays.recommendations == ()
    assert stays.conclusion.because.startswith('The checks warn about')
    found = only(advised(osd(text=UNMENDABLE, **SMALL)))
    assert 'max_total_wal_size=' in found.options_to
    assert any('the WAL device has 512 MiB' in r.statement for r in found.reasons)


def test_resizing_keeps_all_other_options_if_sufficient() -> None:
    kept = only(advised(osd(text=f'{PACIFIC},max_background_jobs=6', **SMALL)))
    assert 'max_background_jobs=6' in kept.options_to
    derived = only(advised(by_no_entry(**SMALL)))
    assert derived.reasons[0].statement.startswith('max_total_wal_size: ')
    assert 'max_background_jobs=4' in derived.options_to
    none = advised(by_no_entry(**TINY))
    assert none.recommendations == ()
    assert none.conclusion.do == 'Give the OSDs more space'
    assert none.conclusion.because.endswith('. No option string that passes the checks fits.')
    assert none.conclusion.because.startswith('max_total_wal_size: ')


def test_oversized_and_unsuitable_set_has_both_objections() -> None:
    """But nothing that the other set leaves as it is."""
    found = only(advised(osd(**SMALL), does=workload(RBD)))
    # No gain is needed then.
    assert found.change is not None
    assert found.change.purpose is Purpose.SAFETY
    reported = [r.statement for r in found.reasons[:2]]
    assert reported[0].startswith('max_total_wal_size: ')
    assert reported[1].startswith('The kv_sync threads are 72% busy with small writes')


# -- what runs instead


def test_repaired_set_must_suit_the_clients() -> None:
    """Else what suits them takes its place at once: one change is enough."""
    text = f'{PACIFIC},compaction_readahead_size=0'
    assert only(advised(osd(text=text))).options_to == PACIFIC
    assert only(advised(osd(text=text), does=workload(RBD))).options_to == LZ4.options


@pytest.mark.parametrize(
    ('text', 'does', 'limit', 'room', 'priority'),
    [
        # A hazard.
        (ALTERNATE, None, Resource.UNKNOWN, {}, Priority.NOW),
        (f'{PACIFIC},disableWAL=true', None, Resource.UNKNOWN, {}, Priority.NOW),
        (PACIFIC, None, Resource.UNKNOWN, SMALL, Priority.NOW),
        # It relieves what limits.
        (f'{PACIFIC},ttl=2592000', workload(RBD), Resource.KV_SYNC, {}, Priority.NOW),
        (f'{PACIFIC},ttl=2592000', workload(RGW), Resource.DB_SPACE, {}, Priority.NOW),
        # It relieves what is busy, or short.
        (f'{PACIFIC},ttl=2592000', workload(RBD), Resource.CORES, {}, Priority.PLANNED),
        (
            f'{PACIFIC},ttl=2592000',
            workload(RGW, busy=0.05),
            Resource.NONE,
            {
                'dedicated_db': True,
                'db_device_bytes': 100 * GIB,
                'signals': {'db_used_bytes': 80 * GIB, 'db_total_bytes': 100 * GIB},
            },
            Priority.PLANNED,
        ),
        (f'{PACIFIC},ttl=2592000', workload(RBD, busy=0.05), Resource.NONE, {}, Priority.OPTIONAL),
        (PACIFIC, None, Resource.UNKNOWN, {}, Priority.OPTIONAL),
    ],
)
def test_priority_follows_from_hazards_and_the_limit(
    text: str,
    does: Optional[Workload],
    limit: Resource,
    room: dict[str, Any],
    priority: Priority,
) -> None:
    known = osd(text=text, **room)
    found = assess(replace(group(known, does=does), limit=Limit(limit, 0.9)), (known,))
    assert only(found).priority is priority


# -- what is known just well enough, and whose it is


def test_custom_profile_of_an_operator_keeps_its_name() -> None:
    text = f'{PACIFIC},max_background_jobs=6'
    other = replace(D, name='other', own_releases=('pacific',))
    mine = replace(other, name='mine', options=f'{text};')
    found = advised(osd(text=text), does=workload(RBD, busy=0.9), custom_profiles=(other,))
    assert found.recommendations != ()
    large = workload(WorkloadClass.LARGE_WRITE)
    for own, reported in (
        ((other, mine), 'the custom profile mine'),
        ((other,), 'the running option'),
    ):
        found = advised(osd(text=text), does=large, custom_profiles=own)
        assert reported in found.conclusion.because


# -- reasons, prediction and risk


def test_set_refused_by_checks_is_not_recommended_unless_it_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbidden = check(f'{PACIFIC},disableWAL=true', '6.8').problems
    refused = tuple(p for p in forbidden if p.rule == 'forbidden')
    here = case(osd(text=ALTERNATE), does=workload(RBD))
    monkeypatch.setattr(proposal, 'safe_to_apply', lambda *_: refused)
    named = proposal.changed(here, (), Target(D.options, D, ()))
    assert isinstance(named, Decision)
    assert named.because.startswith(
        f'{D.title} would suit, but does not pass the checks for RocksDB 6.8: {refused[0].message}'
    )
    unnamed = proposal.changed(here, (), Target(D.options, None, ()))
    assert isinstance(unnamed, Decision)
    assert unnamed.because.startswith('The derived option string would suit')
    default = proposal.changed(here, (), default_target(here))
    assert isinstance(default, Recommendation)
    own = facts(osd_info(0), ALTERNATE, 'mon', (entry('osd.0', ALTERNATE),))
    monkeypatch.setattr(recommend, 'fixed', lambda *_: default_target(here))
    assert only(advised(own)).options_to == PACIFIC
    monkeypatch.setattr(recommend, 'fixed', lambda *_: Target(D.options, D, ()))
    assert advised(own).recommendations == ()


@pytest.mark.parametrize(
    ('to_default', 'change', 'room', 'risk'),
    [
        (True, BETTER, {}, Risk.LOW),
        (True, SIMILAR, {}, Risk.MEDIUM),
        (True, WORSE, {}, Risk.MEDIUM),
        (True, None, {}, Risk.MEDIUM),
        (True, BETTER, SMALL, Risk.MEDIUM),
        (False, BETTER, {}, Risk.MEDIUM),
        (False, SIMILAR, {}, Risk.MEDIUM),
        (False, WORSE, {}, Risk.HIGH),
        (False, None, {}, Risk.MEDIUM),
    ],
)
def test_risk_follows_from_the_model_and_the_origin_of_the_set(
    predict: Any, to_default: bool, change: Optional[Estimate], room: dict[str, Any], risk: Risk
) -> None:
    here = case(osd(text=ALTERNATE, **room), does=workload(RGW))
    target = default_target(here) if to_default else Target(D.options, D, ())
    predict(change)
    found = proposal.changed(here, (), target)
    assert isinstance(found, Recommendation)
    assert found.risk is risk
    reported = [p for p in found.predictions if p.signal == 'db_write_amp']
    assert len(reported) == (change is not None)


def test_published_result_of_the_same_change_is_a_reason_and_no_prediction() -> None:
    here = case(osd(), does=workload(RBD))
    found = proposal.changed(here, (), Target(D.options, D, ()))
    assert isinstance(found, Recommendation)
    message = [r.statement for r in found.reasons]
    assert 'Published for this change: 4 KiB random write IOPS +19.9%.' in message
    assert [p.signal for p in found.predictions] == ['kv_sync_busy', 'db_write_amp']
    # The writer is unknown.
    unknown = proposal.changed(case(osd()), (), Target(D.options, D, ()))
    assert isinstance(unknown, Recommendation)
    assert unknown.predictions == ()


@pytest.mark.parametrize(
    ('changes', 'reported'),
    [
        ({}, True),
        ({'change_percent': 0.5}, False),
        ({'unit': 'ratio'}, False),
        ({'baseline_value': None}, False),
        ({'baseline_options': {}}, False),
        ({'releases': ('reef',)}, False),
    ],
)
def test_possible_loss_is_measured_in_iops_on_this_release_against_the_running_options(
    changes: dict[str, Any], reported: bool
) -> None:
    here: Case = case(osd())
    default = recognize(PACIFIC, here.release)
    assert default is not None
    measured = next(f for f in D.evidence if f.unit == 'IOPS' and f.releases)
    fields: dict[str, Any] = {
        'change_percent': -8.6,
        'baseline_value': 1000.0,
        'value': 914.0,
        'baseline_options': {'compression': 'kNoCompression'},
        'releases': ('pacific',),
        **changes,
    }
    slower = replace(D, evidence=(replace(measured, **fields),))
    assert bool(reasons.lost(here, Target(D.options, slower, ()))) is reported
    assert reasons.lost(here, Target(D.options, None, ())) == ()


def test_annex_change_is_shown_as_parsed_by_osds() -> None:
    text = DEFAULTS['reef'].replace('kLZ4Compression', 'kNoCompression')
    known = facts(osd_info(0, 'reef', version='18.2.2'), text)
    found = only(advised(known, does=workload(RGW)))
    assert found.annex == 'compression=kLZ4Compression'
    assert found.options_to == in_force(text, found.annex)
    assert found.options_to != LZ4.options
    assert found.profile == 'lz4-2025'


def test_change_of_the_compaction_style_under_live_data_has_a_caution() -> None:
    universal = f'{PACIFIC},compaction_style=kCompactionStyleUniversal'
    for text, fires in ((universal, True), (ALTERNATE, False)):
        found = only(advised(osd(text=text)))
        assert any('compaction_style changes from' in r.statement for r in found.reasons) is fires


@pytest.mark.parametrize(
    ('slow_gib', 'remains'),
    [
        (76, 'which still exceeds it: enlarge the device too.'),
        (10, 'which fits.'),
        (0, None),
    ],
)
def test_what_lz4_leaves_of_spilled_data_is_said(slow_gib: int, remains: Optional[str]) -> None:
    """126 GiB on a device of 50 do not fit with LZ4 either."""
    spilled = by_no_entry(dedicated_db=True, db_device_bytes=50 * GIB)
    assert spilled.signals is not None
    signals = spilled.signals._replace(
        db_used_bytes=50 * GIB, db_total_bytes=50 * GIB, slow_used_bytes=slow_gib * GIB
    )
    found = only(advised(spilled._replace(signals=signals), does=workload(RGW)))
    texts = [r.statement for r in found.reasons if 'remain once' in r.statement]
    assert [text.endswith(remains or '?') for text in texts] == ([True] if remains else [])
