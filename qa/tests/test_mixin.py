"""The Grafana dashboards and the alert rules: made of their source, of metrics that there are."""

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
from rocksdb_tuner.tests.present import experiment_samples as experiments
from rocksdb_tuner.tests.present import samples

DASHBOARD = 'dashboards_out/rocksdb-tuner.json'
OSD_DASHBOARD = 'dashboards_out/rocksdb-tuner-osd.json'
ALERTS = 'prometheus_alerts.yml'
HEALTH_CHECK_ALERTS = 'prometheus_alerts_health_checks.yml'
FILES = (DASHBOARD, OSD_DASHBOARD, ALERTS, HEALTH_CHECK_ALERTS)
#: What Prometheus replaces by the id of a finding.
FINDING = '{{ $labels.finding }}'


def labels_by_metric() -> dict[str, set[str]]:
    """Every metric that there can be, with its labels."""
    signals = samples.signals(0)._replace(db_total_bytes=4_000_000_000)
    filling = Forecast(Outlook.FILLING, samples.NOW_S, 9e4, 49, 1.0, 1.0, 1.0, 1e5, 5e4, 2e5)
    osds = (samples.facts(0)._replace(signals=signals, forecast=filling),)
    groups = (GroupFacts('ssd', samples.SMALL_WRITES, osds),)
    snapshot = replace(
        samples.small_cluster(), osds=osds, groups=groups, experiment=experiments.measuring()
    )
    return {
        metric.name: {label for sample in metric.samples for label, _ in sample.labels}
        for metric in metrics(snapshot, osd_limit=1)
    }


def test_committed_files_are_current() -> None:
    """Written anew by `make mixin` after an edit of the source."""
    for name, text in mixin.results().items():
        assert (mixin.FOLDER / name).read_text(encoding='utf-8') == text


@pytest.mark.parametrize('name', FILES)
def test_only_existing_metrics_and_labels_are_used(name: str) -> None:
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
    alerts = mixin.alerts(healthCheckAlerts=True)
    named = re.findall(r'Manual of the RocksDB Tuner, section \\?"([^"\\]+)', alerts)
    assert len(named) == alerts.count('alert: ')
    known = {heading for page in pages() for heading in headings(page)}
    assert set(named) - {FINDING} <= known
    # A link to nothing on the network
    assert 'http' not in alerts


def test_alerts_link_to_the_configured_manual() -> None:
    served = mixin.alerts(documentation='https://manual.example.com', healthCheckAlerts=True)
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


def names(alerts: str) -> list[str]:
    return re.findall(r'alert: "(\w+)"', alerts)


def test_alerts_that_repeat_health_checks_are_loaded_only_on_request() -> None:
    own, repeated = names(mixin.results()[ALERTS]), names(mixin.results()[HEALTH_CHECK_ALERTS])
    assert 'CephRocksDBTunerAbsent' in own
    assert 'CephRocksDBTunerRolloutFailed' in repeated
    assert names(mixin.alerts(healthCheckAlerts=True)) == [*own, *repeated]
    assert not set(own) & set(repeated)


def test_critical_alerts_have_unique_snmp_oids() -> None:
    """As those of Ceph; Alertmanager, as cephadm configures it, withholds any other."""
    alerts = mixin.alerts(healthCheckAlerts=True)
    oids = re.findall('oid: "(.+)"', alerts)
    assert len(oids) == len(set(oids)) == alerts.count('severity: "critical"')
    assert all(oid.startswith('1.3.6.1.4.1.50495.1.2.1.') for oid in oids)
    assert 'oid' not in mixin.alerts(oid='')


def test_cluster_selector_is_hidden_with_a_single_cluster() -> None:
    alerts = mixin.alerts(showMultiCluster=False, healthCheckAlerts=True)
    assert '(cluster' in mixin.alerts(healthCheckAlerts=True)
    assert '(cluster' not in alerts
    assert '$labels.cluster' not in alerts
    for made in mixin.dashboards(showMultiCluster=False).values():
        asked = [target['expr'] for panel in panels(made) for target in panel['targets']]
        asked += [annotation.get('expr', '') for annotation in made['annotations']['list']]
        assert not [text for text in asked if '$cluster' in text or '(cluster' in text]
        (variable,) = [v for v in made['templating']['list'] if v['name'] == 'cluster']
        assert variable['hide'] == 2


@pytest.mark.parametrize('name', [DASHBOARD, OSD_DASHBOARD])
def test_every_dashboard_query_selects_the_cluster(name: str) -> None:
    made = load(name)
    asked = [target['expr'] for panel in panels(made) for target in panel['targets']]
    asked += [
        v['query'] for v in made['templating']['list'] if v['name'] in ('osd', 'device_class')
    ]
    asked += [a['expr'] for a in made['annotations']['list'] if not a['builtIn']]
    for text in asked:
        named = re.findall(rf'{PREFIX}\w+(.{{23}})', text)
        assert named
        assert set(named) == {'{cluster=~"$cluster|", '}


def test_dashboards_mark_start_and_end_of_operations() -> None:
    marks = [a for a in load(DASHBOARD)['annotations']['list'] if not a['builtIn']]
    assert [mark['name'] for mark in marks] == [
        'Rollout started', 'Rollout ended', 'Experiment started', 'Experiment ended',
    ]  # fmt: skip
    # In milliseconds, as Grafana takes values for times
    assert all(mark['useValueForTime'] and mark['expr'].endswith('* 1000') for mark in marks)


def test_every_series_of_an_osd_links_to_its_dashboard(dashboard: Any) -> None:
    target = load(OSD_DASHBOARD)
    assert 'osd' in {variable['name'] for variable in target['templating']['list']}
    drills = 0
    for panel in panels(dashboard):
        if f'{PREFIX}osd_' in panel['targets'][0]['expr']:
            (link,) = panel['fieldConfig']['defaults']['links']
            assert link['url'].startswith(f'/d/{target["uid"]}?var-osd=$')
            drills += 1
    assert drills > 5


@pytest.fixture(scope='module')
def dashboard() -> Any:
    return load(DASHBOARD)


def load(name: str) -> Any:
    return json.loads(mixin.results()[name])


@pytest.mark.parametrize('name', [DASHBOARD, OSD_DASHBOARD])
def test_panels_are_aligned_in_a_grid_of_24(name: str) -> None:
    dashboard = load(name)
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


@pytest.mark.parametrize('name', [DASHBOARD, OSD_DASHBOARD])
def test_every_panel_has_a_description_and_a_unit(name: str) -> None:
    for panel in panels(load(name)):
        assert panel['title']
        assert panel['description'].endswith('.')
        assert panel['fieldConfig']['defaults']['unit']


def test_no_graph_has_a_line_per_osd(dashboard: Any) -> None:
    """A query of single OSDs is one for the ten highest or lowest."""
    for panel in panels(dashboard):
        for target in panel['targets']:
            if f'{PREFIX}osd_' in target['expr']:
                assert re.match(r'(topk|bottomk)\(10, ', target['expr'])
