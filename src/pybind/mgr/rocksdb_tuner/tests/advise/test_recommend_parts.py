"""The parts of a recommendation: what runs instead, why, at what risk, and what may be lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise import proposal, recommend
from rocksdb_tuner.advise.case import Case, Circumstances
from rocksdb_tuner.advise.choice import Target, default_target
from rocksdb_tuner.advise.decision import decide, nothing
from rocksdb_tuner.advise.limit import DISK_FLUSH
from rocksdb_tuner.advise.profiles import profile, recognize
from rocksdb_tuner.advise.proposal import predicted_signal
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import (
    Decision,
    Limit,
    OsdFacts,
    Prediction,
    Recommendation,
    Resource,
    Risk,
)
from rocksdb_tuner.advise.weighing import Assessment, Usage
from rocksdb_tuner.lsm.records import Estimate
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.plan.records import Purpose
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from .builders import PACIFIC, entry, facts, group, osd_info, workload
from .conditions.builders import example
from .test_choice import D, case, osd

MIB, GIB = 1 << 20, 1 << 30
RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
ALTERNATE = profile('alternate-2019').options
SMALL: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}


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
    under_way = more.pop('rollout_under_way', False)
    known = Circumstances(osds, **more)
    return assess(group(*osds, does=does), known, rollout_under_way=under_way)


def by_no_entry(**more: Any) -> OsdFacts:
    """On the default of Pacific."""
    known = osd(**more)
    return facts(known.info)._replace(signals=known.signals, details=known.details)


def only(found: Assessment) -> Recommendation:
    (advice,) = found.recommendations
    return advice


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


def test_published_result_of_the_same_change_is_a_reason() -> None:
    found = proposal.changed(case(osd(), does=workload(RBD)), (), Target(D.options, D, ()))
    assert isinstance(found, Recommendation)
    said = [reason.statement for reason in found.reasons]
    assert 'Published for this change: 4 KiB random write IOPS +19.9%.' in said


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
    assert bool(proposal.lost(here, Target(D.options, slower, ()))) is reported
    assert proposal.lost(here, Target(D.options, None, ())) == ()


# -- what limits, outside the options


@pytest.mark.parametrize(
    ('limit', 'findings', 'do', 'next_command'),
    [
        (Limit(Resource.MEMORY, 0.7), [], 'Provide more memory for each OSD', 'osd'),
        (
            Limit(Resource.MEMORY, 0.7),
            ['onode-cache-misses', 'kv-sync-bound'],
            'Provide more memory for each OSD',
            'findings onode-cache-misses',
        ),
        (
            Limit(Resource.DATA_DEVICE, 0.8, (), DISK_FLUSH),
            [],
            'Provide DB devices on flash',
            'findings slow-flush',
        ),
        (Limit(Resource.KV_SYNC, 0.6, (), 'osd.7', None, 0.0), [], 'Look at osd.7', 'osd 7'),
        (Limit(Resource.KV_SYNC, 0.6), [], 'Nothing to change', None),
    ],
)
def test_a_limit_outside_the_options_is_relieved_by_the_command_that_explains_it(
    limit: Limit, findings: list[str], do: str, next_command: Optional[str]
) -> None:
    members = replace(group(osd(0)), limit=limit)
    concluded = Assessment(members.who, nothing(members.who, '', limit), ())
    found = decide(members, [example(name, 0) for name in findings], concluded)
    assert found.do == do
    command = None if next_command is None else f'ceph rocksdb-tuner {next_command}'
    assert found.next_command == command


# -- what a canary must show


IOPS, WRITES = '4 KiB random write IOPS', 'DB writes'
KV_SYNC = 'kv_sync thread time per write'


def predicted(metric: str, signal: str, low: float, value: float, high: float) -> Prediction:
    return Prediction(metric, signal, value, low, high, 'published')


FASTER = predicted(IOPS, 'write_iops', 0.0, 17.0, 17.0)
SLOWER = predicted(IOPS, 'write_iops', -9.0, -9.0, 0.0)
FEWER = predicted(WRITES, 'db_write_amp', -40.0, -30.0, -20.0)
MORE = predicted(WRITES, 'db_write_amp', 20.0, 30.0, 40.0)
PERHAPS_FEWER = predicted(WRITES, 'db_write_amp', -10.0, -2.0, 6.0)
LESS_LOADED = predicted(KV_SYNC, 'kv_sync_busy', -30.0, -20.0, -10.0)
THROUGHPUT = predicted('S3 throughput', 'rw_iops', 0.0, 8.0, 8.0)
SPACE = predicted('BlueFS db_used_bytes', 'db_used_bytes', -50.0, -50.0, 0.0)


@pytest.mark.parametrize(
    ('predictions', 'purpose', 'promised'),
    [
        ((), Purpose.SAFETY, None),
        ((FASTER,), Purpose.GAIN, 'op_w_latency_ms'),
        ((SLOWER,), Purpose.SAFETY, None),
        ((FEWER, FASTER), Purpose.GAIN, 'db_bytes_per_txn'),
        ((MORE,), Purpose.SAFETY, None),
        # A possible loss is no expected gain.
        ((PERHAPS_FEWER,), Purpose.SAFETY, None),
        ((MORE, LESS_LOADED), Purpose.GAIN, 'kv_sync_ms_per_txn'),
        # No judged signal shows these.
        ((THROUGHPUT,), Purpose.GAIN, None),
        ((SPACE,), Purpose.GAIN, None),
    ],
)
def test_prediction_without_a_loss_is_an_expected_gain(
    predictions: tuple[Prediction, ...], purpose: Purpose, promised: Optional[str]
) -> None:
    assert any(p.is_gain for p in predictions) == (purpose is Purpose.GAIN)
    assert predicted_signal(predictions) == promised
