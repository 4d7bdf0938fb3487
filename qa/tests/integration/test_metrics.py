"""Metrics of a real manager, read by Prometheus itself with the alert rules loaded."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness import Cluster, Progress
from harness.host import Host
from harness.packages import install
from harness.ports import PortBlock
from module_client import CHECKOUT, ModuleClient
from rocksdb_tuner.metrics.exposition import exposition
from rocksdb_tuner.metrics.series import metrics
from rocksdb_tuner.tests.present import samples

pytestmark = pytest.mark.integration

MIXIN = CHECKOUT / 'monitoring/ceph-mixin/rocksdb_tuner'
RULES = [MIXIN / 'prometheus_alerts.yml', MIXIN / 'prometheus_alerts_health_checks.yml']
OPTION = 'mgr/rocksdb_tuner'


@dataclass(frozen=True)
class Server:
    """An HTTP server on loopback."""

    port: int

    @property
    def address(self) -> str:
        return f'127.0.0.1:{self.port}'

    def get(self, path: str) -> str:
        with urlopen(f'http://{self.address}{path}', timeout=20) as answer:
            text: str = answer.read().decode()
            return text

    def answers(self, path: str) -> bool:
        try:
            self.get(path)
        except (URLError, ConnectionError):
            return False
        return True

    def series(self) -> dict[str, list[dict[str, str]]]:
        """The labels of all series of a scrape, by the name of the metric."""
        families = text_string_to_metric_families(self.get('/metrics'))
        return {f.name: [dict(sample.labels) for sample in f.samples] for f in families}


class Prometheus(Server):
    """A real one."""

    def data(self, path: str, **query: str) -> Any:
        answer = json.loads(self.get(f'/api/v1/{path}?{urlencode(query)}'))
        assert answer['status'] == 'success'
        return answer['data']

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.data('query', query=expression)['result']
        return found


@pytest.fixture(scope='module')
def promtool() -> str:
    """Of the machine's packages, whose service is not started."""
    install(Host(), ['prometheus'], Progress())
    return 'promtool'


def test_promtool_accepts_the_metrics_of_every_state(promtool: str) -> None:
    for snapshot in samples.all_snapshots().values():
        text = exposition(metrics(snapshot, osd_limit=1000))
        checked = subprocess.run(
            [promtool, 'check', 'metrics'], input=text, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, '', '')


def test_promtool_accepts_the_alert_rules_and_their_tests_pass(promtool: str) -> None:
    for words in (['check', 'rules', *map(str, RULES)], ['test', 'rules', 'test_alerts.yml']):
        subprocess.run([promtool, *words], cwd=MIXIN / 'tests_alerts', check=True)


@pytest.fixture(scope='module')
def ports(cluster: Cluster) -> PortBlock:
    return PortBlock(cluster.record.port_base)


@pytest.fixture(scope='module')
def managers(cluster: Cluster, ports: PortBlock) -> dict[str, Server]:
    """Where each manager serves its metrics; both are on this machine, so on a port each."""
    names = manager_names(cluster)
    found = {name: Server(ports.beside(rank)) for rank, name in enumerate(names)}
    for name, server in found.items():
        cluster.ceph('config', 'set', 'mgr', f'{OPTION}/{name}/metrics_port', str(server.port))
    return found


def manager_names(cluster: Cluster) -> list[str]:
    daemons = [daemon.name for daemon in cluster.status().daemons]
    return [name.removeprefix('mgr.') for name in daemons if name.startswith('mgr.')]


def standby(tuner: ModuleClient) -> str:
    (name,) = set(manager_names(tuner.cluster)) - {tuner.active_manager()}
    return name


def announced(cluster: Cluster) -> str | None:
    found: str | None = cluster.ceph_json('mgr', 'services').get('rocksdb_tuner')
    return found


def switch_on(cluster: Cluster, tuner: ModuleClient, managers: dict[str, Server]) -> None:
    cluster.ceph('config', 'set', 'mgr', f'{OPTION}/metrics', 'true')
    for server in managers.values():
        tuner.wait_for(partial(server.answers, '/metrics'), 60, f'metrics on {server.address}')


def test_nothing_listens_until_metrics_are_enabled(
    cluster: Cluster, managers: dict[str, Server]
) -> None:
    assert announced(cluster) is None
    assert not any(server.answers('/metrics') for server in managers.values())


def test_active_manager_serves_and_announces_metrics_and_standby_has_none(
    cluster: Cluster, tuner: ModuleClient, managers: dict[str, Server]
) -> None:
    switch_on(cluster, tuner, managers)
    server = managers[tuner.active_manager()]
    wanted = f'http://{server.address}/metrics'
    tuner.wait_for(lambda: announced(cluster) == wanted, 30, 'announced in mgr services')
    osds = tuner.wait_for(
        lambda: server.series().get('ceph_rocksdb_tuner_osd_db_used_bytes'), 60, 'series of OSDs'
    )
    assert sorted(labels['ceph_daemon'] for labels in osds) == ['osd.0', 'osd.1', 'osd.2']
    assert managers[standby(tuner)].series() == {}


def test_metrics_and_json_agree(
    cluster: Cluster, tuner: ModuleClient, managers: dict[str, Server]
) -> None:
    status = tuner.status()
    found = managers[tuner.active_manager()].series()
    assert {g['who'] for g in status['groups']} == {
        f'osd/class:{labels["device_class"]}'
        for labels in found['ceph_rocksdb_tuner_device_class_info']
    }
    profiles = {osd['options']['profile'] or '' for osd in tuner.osds()}
    assert {labels['profile'] for labels in found['ceph_rocksdb_tuner_osd_info']} == profiles


def test_taken_port_is_a_health_check_until_it_is_free(
    cluster: Cluster, tuner: ModuleClient, managers: dict[str, Server], ports: PortBlock
) -> None:
    name = tuner.active_manager()
    port_option = f'{OPTION}/{name}/metrics_port'

    def raised() -> Any:
        checks = cluster.ceph_json('health', 'detail')['checks']
        return checks.get('ROCKSDB_TUNER_METRICS_UNAVAILABLE')

    with socket.socket() as other:
        other.bind(('127.0.0.1', ports.beside(8)))
        other.listen()
        taken = str(ports.beside(8))
        cluster.ceph('config', 'set', 'mgr', port_option, taken)
        check = tuner.wait_for(raised, 60, 'the health check')
        assert taken in json.dumps(check)
        assert tuner.status()['mode'] == 'recommend'
    cluster.ceph('config', 'set', 'mgr', port_option, str(managers[name].port))
    tuner.wait_for(lambda: not raised(), 60, 'no health check')
    tuner.wait_for(
        # A failover may have happened on a busy machine
        lambda: managers[tuner.active_manager()].answers('/metrics'),
        60,
        'metrics on the port of before',
    )


@pytest.fixture(scope='module')
def prometheus(
    promtool: str,
    ports: PortBlock,
    managers: dict[str, Server],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Prometheus]:
    folder: Path = tmp_path_factory.mktemp('prometheus')
    config = {
        'global': {'scrape_interval': '2s', 'evaluation_interval': '2s'},
        'rule_files': [str(path) for path in RULES],
        'scrape_configs': [
            {
                'job_name': 'rocksdb-tuner',
                'static_configs': [{'targets': [s.address for s in managers.values()]}],
            }
        ],
    }
    # JSON is YAML.
    (folder / 'prometheus.yml').write_text(json.dumps(config))
    server = Prometheus(ports.beside(9))
    with (folder / 'log').open('w') as log:
        process = subprocess.Popen(
            [
                'prometheus',
                f'--config.file={folder}/prometheus.yml',
                f'--storage.tsdb.path={folder}/data',
                f'--web.listen-address={server.address}',
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield server
    finally:
        process.terminate()
        process.wait(30)


def test_prometheus_scrapes_both_managers_and_loads_every_rule(
    cluster: Cluster, tuner: ModuleClient, prometheus: Prometheus, managers: dict[str, Server]
) -> None:
    switch_on(cluster, tuner, managers)
    tuner.wait_for(lambda: prometheus.answers('/-/ready'), 60, 'Prometheus ready')
    tuner.wait_for(lambda: len(prometheus.query('up == 1')) == 2, 60, 'both targets up')
    assert len(prometheus.query('ceph_rocksdb_tuner_osd_info')) == 3

    def rules() -> list[Any]:
        return [rule for group in prometheus.data('rules')['groups'] for rule in group['rules']]

    assert len(rules()) == sum(path.read_text().count('- alert:') for path in RULES)
    tuner.wait_for(
        lambda: all(rule['health'] == 'ok' for rule in rules()), 30, 'all rules evaluated'
    )
    tuner.wait_for(
        # Pending, where the rules were evaluated before the first scrape.
        lambda: prometheus.query('ALERTS{alertname="CephRocksDBTunerAbsent"}') == [],
        30,
        'metrics not absent',
    )


def test_prometheus_accepts_every_query_of_the_dashboards(
    cluster: Cluster, tuner: ModuleClient, prometheus: Prometheus, managers: dict[str, Server]
) -> None:
    """And those on what every cluster has find something."""
    switch_on(cluster, tuner, managers)
    found = {}
    for path in (MIXIN / 'dashboards_out').iterdir():
        dashboard = json.loads(path.read_text())
        asked = {
            mark['name']: mark['expr']
            for mark in dashboard['annotations']['list']
            if not mark['builtIn']
        }
        for panel in dashboard['panels']:
            for number, target in enumerate(panel.get('targets', ())):
                asked[panel['title'] + '+' * number] = target['expr']
        for title, expression in asked.items():
            chosen = expression.replace('$cluster', '').replace('$osd', 'osd.0')
            found[title] = len(prometheus.query(chosen.replace('$device_class', '.*')))
    assert found['Mode'] == 1
    assert found['Workload and options'] == 1
    assert found['DB used'] == 1
    assert found['DB device'] == 1
    assert found['Workload'] == 1
    assert found['Rollout started'] == 0


def test_other_manager_has_every_series_once_after_a_failover(
    cluster: Cluster, tuner: ModuleClient, prometheus: Prometheus, managers: dict[str, Server]
) -> None:
    switch_on(cluster, tuner, managers)
    before, after = tuner.active_manager(), standby(tuner)
    cluster.ceph('mgr', 'fail', before)
    tuner.wait_for_takeover(before)
    address = managers[after].address
    tuner.wait_for(lambda: announced(cluster) == f'http://{address}/metrics', 60, 'announced')
    infos = tuner.wait_for(
        lambda: len(f := prometheus.query('ceph_rocksdb_tuner_osd_info')) == 3 and f,
        90,
        'series of the new manager',
    )
    assert {info['metric']['instance'] for info in infos} == {address}
    tuner.wait_for(lambda: len(prometheus.query('up == 1')) == 2, 60, 'both targets up')
    assert managers[before].series() == {}
