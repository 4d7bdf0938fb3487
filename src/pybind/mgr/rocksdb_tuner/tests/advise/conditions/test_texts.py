"""The texts of each condition: every word, figure and command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.records import Finding, GroupFacts, Limit, Resource
from rocksdb_tuner.observe.details import AlertingOsd

from ..golden_texts import kept, write
from ..scenarios import Scenario, scenarios, shortened

DATA = Path(__file__).parent / 'data'
RECORDED_TEXTS = DATA / 'findings.txt'
SCENARIOS = scenarios(DATA / 'scenarios.json')


def words(found: Finding) -> str:
    named = ' '.join(str(n) for n in found.osds)
    return '\n'.join(
        (
            f'{found.severity.value} {found.finding_id} [{named}]',
            f'  {found.summary}',
            *(
                f'  {e.signal} = {e.value} {e.unit}'.rstrip()
                + ('' if e.window_s is None else f' in {e.window_s:g} s')
                for e in found.evidence
            ),
            f'  -> {found.remedy}',
            *(f'  $ {command}' for command in found.commands),
        )
    )


def findings_in(scenario: Scenario) -> list[Finding]:
    more: dict[str, Any] = dict(scenario.more)
    more['health_codes'] = frozenset(more.get('health_codes', ()))
    more['alerting'] = {int(n): AlertingOsd(*o) for n, o in more.get('alerting', {}).items()}
    more['pending_s'] = {int(n): since_s for n, since_s in more.get('pending_s', {}).items()}
    if 'limit' in more:
        resource, confidence, part = more.pop('limit')
        limit = Limit(Resource(resource), confidence, (), part)
        more['groups'] = (GroupFacts('ssd', None, scenario.osds, limit),)
    cluster = ClusterFacts(scenario.osds, scenario.entries, **more)
    return [found for found in findings(cluster) if found.finding_id in scenario.about.split()]


def reported(scenario: Scenario) -> str:
    return shortened('\n'.join(map(words, findings_in(scenario))))


@pytest.mark.parametrize('scenario', SCENARIOS, ids=[scenario.title for scenario in SCENARIOS])
def test_condition_texts_match_the_recorded_ones(scenario: Scenario) -> None:
    assert reported(scenario) == kept(RECORDED_TEXTS)[scenario.title]


def test_every_condition_has_a_recorded_text_and_no_text_is_unused() -> None:
    assert list(kept(RECORDED_TEXTS)) == [scenario.title for scenario in SCENARIOS]
    named = {found.finding_id for scenario in SCENARIOS for found in findings_in(scenario)}
    assert named == set(conditions())


if __name__ == '__main__':
    write(RECORDED_TEXTS, {scenario.title: reported(scenario) for scenario in SCENARIOS})
