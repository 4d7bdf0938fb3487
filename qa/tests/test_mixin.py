"""The Grafana dashboard and the alert rules: made of their source, of metrics that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import mixin
import pytest

from manual.pages import REFERENCES, pages
from rocksdb_tuner.advise.conditions.registry import conditions
from rocksdb_tuner.advise.records import GroupFacts
from rocksdb_tuner.metrics.making import PREFIX
from rocksdb_tuner.metrics.series import metrics
from rocksdb_tuner.observe.growth import Forecast, Outlook
from rocksdb_tuner.tests.present import samples

DASHBOARD = 'dashboards_out/rocksdb-tuner.json'
ALERTS = 'prometheus_alerts.yml'
#: What Prometheus replaces by the id of a finding.
FINDING = '{{ $labels.finding }}'


def labels_by_metric() -> dict[str, set[str]]:
    """Every metric that there can be, with its labels."""
    signals = samples.signals(0)._replace(db_total_bytes=4_000_000_000)
    filling = Forecast(Outlook.FILLING, samples.NOW_S, 9e4, 49, 1.0, 1.0, 1.0, 1e5, 5e4, 2e5)
    osds = (samples.facts(0)._replace(signals=signals, forecast=filling),)
    groups = (GroupFacts('ssd', samples.SMALL_WRITES, osds),)
    snapshot = replace(samples.small_cluster(), osds=osds, groups=groups)
    return {
        metric.name: {label for sample in metric.samples for label, _ in sample.labels}
        for metric in metrics(snapshot, osd_limit=1)
    }


def test_the_committed_files_are_current() -> None:
    """Written anew by `make mixin` after an edit of the source."""
    for name, text in mixin.results().items():
        assert (mixin.FOLDER / name).read_text(encoding='utf-8') == text


@pytest.mark.parametrize('name', [DASHBOARD, ALERTS])
def test_only_metrics_and_labels_that_there_are_stand_in_it(name: str) -> None:
    known = labels_by_metric()
    text = mixin.results()[name]
    named = re.findall(rf'({PREFIX}\w+)(?:\{{([^}}]*)\}})?', text.replace('\\"', '"'))
    assert named
    # What Prometheus or the operator adds to every series.
    added = {'cluster', 'instance'}
    for metric, matchers in named:
        assert metric in known
        assert set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', matchers)) <= known[metric] | added


def test_each_alert_names_a_section_of_the_manual() -> None:
    """A heading that is renamed there would break this silently."""
    alerts = mixin.results()[ALERTS]
    named = re.findall(r'Manual of the RocksDB Tuner, section \\?"([^"\\]+)', alerts)
    assert len(named) == alerts.count('alert: ')
    known = {heading for page in pages() for heading in headings(page)}
    assert set(named) - {FINDING} <= known
    # A link to nothing on the network
    assert 'http' not in alerts


def test_alerts_link_to_a_manual_that_an_operator_serves() -> None:
    served = mixin.alerts('https://manual.example.com')
    linked = set(re.findall(r'https://manual\.example\.com/([\w-]+)/#([^"]+)"', served))
    assert served.count('https://manual.example.com/') == served.count('alert: ')
    for page, anchor in linked:
        if anchor == FINDING:
            assert set(conditions()) <= anchors(page)
        else:
            assert anchor in anchors(page)


def anchors(page: str) -> set[str]:
    """Of the headings of a page of the manual, as Sphinx writes them."""
    return {re.sub(r'[^a-z0-9]+', '-', heading.lower()) for heading in headings(page)}


def headings(page: str) -> list[str]:
    text = pages()[page]
    for name, reference in REFERENCES.items():
        if f'.. include:: {name}\n' in text:
            text += reference()
    return re.findall(r'^(.+)\n(?:=+|-+)$', text, re.MULTILINE)


@pytest.fixture(scope='module')
def dashboard() -> Any:
    return json.loads(mixin.results()[DASHBOARD])


def test_panels_lie_side_by_side_in_a_grid_of_24(dashboard: Any) -> None:
    places = [panel['gridPos'] for panel in dashboard['panels']]
    for place in places:
        assert place['x'] + place['w'] <= 24
    for a, b in combinations(places, 2):
        beside = a['x'] + a['w'] <= b['x'] or b['x'] + b['w'] <= a['x']
        below = a['y'] + a['h'] <= b['y'] or b['y'] + b['h'] <= a['y']
        assert beside or below
    ids = [panel['id'] for panel in dashboard['panels']]
    assert len(ids) == len(set(ids))


def panels(dashboard: Any) -> Iterator[Any]:
    return (panel for panel in dashboard['panels'] if panel['type'] != 'row')


def test_every_panel_says_what_it_shows_and_in_which_unit(dashboard: Any) -> None:
    for panel in panels(dashboard):
        assert panel['title']
        assert panel['description'].endswith('.')
        assert panel['fieldConfig']['defaults']['unit']


def test_no_graph_has_a_line_for_every_osd(dashboard: Any) -> None:
    """A query of single OSDs is one for the ten highest or lowest."""
    for panel in panels(dashboard):
        for target in panel['targets']:
            if f'{PREFIX}osd_' in target['expr']:
                assert re.match(r'(topk|bottomk)\(10, ', target['expr'])
