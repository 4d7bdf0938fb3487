"""The texts of advice, and of its absence: every word, figure and command."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from rocksdb_tuner.advise.case import Circumstances
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import Kind, Limit, Recommendation, Resource
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.advise.whatif.derive import Derivation, derive
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.lsm.records import Devices
from rocksdb_tuner.options.checks import safe_to_apply
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.workload.records import WorkloadClass

from ..fake_cluster import DEFAULTS
from .builders import group
from .golden_texts import kept, write
from .scenarios import Scenario, scenarios, shortened

DATA = Path(__file__).parent / 'data'
ADVISED, DERIVED = DATA / 'advised.txt', DATA / 'derived.txt'
SCENARIOS = scenarios(DATA / 'scenarios.json')
GIB, MIB = 1 << 30, 1 << 20
RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA

# -- advice for a group


def words(advice: Recommendation, whole: bool) -> str:
    expected = [
        f'  expect {p.metric} {p.low_percent:.1f} to {p.high_percent:.1f}%: {p.basis}'
        for p in advice.predictions
    ]
    change = advice.change
    assert change is not None
    how = f'{advice.priority.value}, for {change.purpose.value}, {advice.risk.value} risk'
    sure = '' if advice.confidence is None else f', confidence {advice.confidence}'
    return '\n'.join(
        (
            f'{advice.kind.value} {advice.who} [{" ".join(map(str, advice.osds))}]',
            f'  {how}, restart {advice.restart_required}{sure}',
            f'  from {advice.options_from}',
            f'  to {advice.profile}: {advice.options_to}',
            *(f'  because {r.statement} ({r.source})' for r in advice.reasons),
            *expected,
            f'  controls {change.controls}, batches {change.batches}',
            *(f'  = {who}: {value}' for who, value in advice.final_entries),
            *([f'  in {ANNEX}'] if advice.option == ANNEX else []),
            *(f'  $ {command}' for command in advice.commands if whole),
            *(f'  undo $ {command}' for command in advice.undo_commands if whole),
        )
    )


def assessed(scenario: Scenario) -> Assessment:
    more = dict(scenario.more)
    members = replace(
        group(*scenario.osds, does=scenario.does), device_class=more.pop('device_class', 'ssd')
    )
    if 'limit' in more:
        resource, confidence = more.pop('limit')
        members = replace(members, limit=Limit(Resource(resource), confidence))
    under_way = more.pop('rollout_under_way', False)
    known = Circumstances((*scenario.osds, *scenario.others), **more)
    found = assess(members, known, rollout_under_way=under_way)
    assert found.who == members.who
    return found


def reported(scenario: Scenario) -> str:
    found = assessed(scenario)
    return shortened(
        '\n'.join(
            (
                *(
                    f'{k}: {v}'
                    for k, v in asdict(found.conclusion).items()
                    if v and k not in {'who', 'limit', 'waits'}
                ),
                *(words(a, scenario.whole) for a in found.recommendations),
            )
        )
    )


@pytest.mark.parametrize('scenario', SCENARIOS, ids=[scenario.title for scenario in SCENARIOS])
def test_advice_texts_match_the_recorded_ones(scenario: Scenario) -> None:
    assert reported(scenario) == kept(ADVISED)[scenario.title]


def test_whatever_is_recommended_is_safe_and_for_no_device_class() -> None:
    """No OSD starts with an entry for its class, and an equal string needs no restart."""
    advised = [a for scenario in SCENARIOS for a in assessed(scenario).recommendations]
    assert len(advised) > 40
    for advice in advised:
        assert not [who for who, _ in advice.final_entries if 'class:' in who]
        assert not [c for c in (*advice.commands, *advice.undo_commands) if 'class:' in c]
        assert advice.restart_required or advice.kind is Kind.REMOVE_OVERRIDE
        if advice.kind is Kind.SET_PROFILE and advice.options_to not in DEFAULTS.values():
            assert safe_to_apply(advice.options_to, '6.8') == ()


# -- what is derived from the published goals


def on(version: str, **changes: object) -> Situation:
    release = release_of(version, None)
    assert release is not None
    return replace(Situation(release), **changes)  # type: ignore[arg-type]


SITUATIONS = {
    'Pacific, of which nothing is known': on('16.2.15'),
    'Pacific, small writes': on('16.2.15', workload=RBD),
    'Pacific, metadata': on('16.2.15', workload=RGW),
    'Pacific, files': on('16.2.15', workload=WorkloadClass.CEPHFS_METADATA),
    'Pacific, unknown work': on('16.2.15', workload=WorkloadClass.UNKNOWN),
    'Reef': on('18.2.7'),
    'Reef before its default was compressed': on('18.2.2', workload=RBD),
    'Reef, two cores': on('18.2.7', cores=2),
    'Reef, two cores and less memory': on('18.2.7', cores=2, memory_target_bytes=2 * GIB),
    'Reef, one core': on('18.2.7', cores=1),
    'Reef, three cores': on('18.2.7', cores=3),
    'Reef, four cores': on('18.2.7', cores=4),
    'Reef, 2 GiB of memory': on('18.2.7', memory_target_bytes=2 * GIB),
    'Reef, less memory than the least WAL takes': on('18.2.7', memory_target_bytes=100 * MIB),
    'Pacific, small writes, less memory': on(
        '16.2.15', workload=RBD, memory_target_bytes=896 * MIB
    ),
    'Reef, a WAL device that holds it': on(
        '18.2.7', devices=Devices(dedicated_wal=True, wal_bytes=2 * GIB)
    ),
    'Reef, a WAL device that does not': on(
        '18.2.7', devices=Devices(dedicated_wal=True, wal_bytes=1800 * MIB)
    ),
    'Reef, a WAL device before a DB device': on(
        '18.2.7',
        devices=Devices(dedicated_wal=True, wal_bytes=900 * MIB, dedicated_db=True, db_bytes=GIB),
    ),
    'Reef, a WAL device of unknown size, and a DB device': on(
        '18.2.7', devices=Devices(dedicated_wal=True, dedicated_db=True, db_bytes=2 * GIB)
    ),
    'Reef, a DB device that holds it': on(
        '18.2.7', devices=Devices(dedicated_db=True, db_bytes=4 * GIB)
    ),
    'Reef, a DB device that does not': on(
        '18.2.7', devices=Devices(dedicated_db=True, db_bytes=4 * GIB - 1)
    ),
    'Reef, a DB device beside the data': on(
        '18.2.7', devices=Devices(dedicated_db=False, db_bytes=GIB, wal_bytes=GIB)
    ),
}


def derived_text(found: Derivation) -> str:
    return '\n'.join(
        (
            f'{found.equals or "like"} {found.nearest}',
            *(f'  {c.option}={c.value}: {c.why} ({c.source})' for c in found.choices),
            *(f'  ~ {d.option}: {d.value_from} -> {d.value_to}' for d in found.differences),
        )
    )


def derived(title: str) -> str:
    situation = SITUATIONS[title]
    return derived_text(derive(situation))


@pytest.mark.parametrize('title', list(SITUATIONS))
def test_derived_strings_are_explained_with_reasons(title: str) -> None:
    assert derived(title) == kept(DERIVED)[title]


def test_no_recorded_text_is_unused() -> None:
    assert list(kept(ADVISED)) == [scenario.title for scenario in SCENARIOS]
    assert list(kept(DERIVED)) == list(SITUATIONS)


if __name__ == '__main__':
    write(ADVISED, {scenario.title: reported(scenario) for scenario in SCENARIOS})
    write(DERIVED, {title: derived(title) for title in SITUATIONS})
