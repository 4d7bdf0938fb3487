"""The HTTP server of the metrics, asked over HTTP on loopback."""

from __future__ import annotations

import gc
import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse, RemoteDisconnected
from typing import Any

import mgr_module
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rocksdb_tuner import Module, StandbyModule
from rocksdb_tuner.metrics_endpoint import MAX_CONNECTIONS, Address, MetricsEndpoint
from rocksdb_tuner.metrics_text import MetricsText
from rocksdb_tuner.present.exposition import Metric
from rocksdb_tuner.present.health import METRICS_UNAVAILABLE
from rocksdb_tuner.present.render import health_checks
from rocksdb_tuner.snapshot import Snapshot

from .present import samples

TEXT = '# TYPE a gauge\na 1.0\n'


def free_address(host: str = '127.0.0.1') -> Address:
    with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return Address(host, probe.getsockname()[1])


@pytest.fixture
def endpoint() -> Iterator[MetricsEndpoint]:
    made = MetricsEndpoint(lambda: TEXT)
    yield made
    made.close()


def ask(
    address: Address, path: str = '/metrics', method: str = 'GET'
) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(address.host, address.port, timeout=20)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def refuses(address: Address) -> bool:
    try:
        ask(address)
    except ConnectionRefusedError:
        return True
    return False


def answers(address: Address) -> bool:
    try:
        return ask(address)[0].status == 200
    except (ConnectionError, RemoteDisconnected):
        return False


def test_a_scrape_gets_the_text_with_the_content_type_of_the_format(
    endpoint: MetricsEndpoint,
) -> None:
    address = free_address()
    assert endpoint.follow(address) is None
    response, body = ask(address)
    assert (response.status, body) == (200, TEXT.encode())
    assert response.headers['Content-Type'] == 'text/plain; version=0.0.4; charset=utf-8'
    assert 'Python' not in response.headers['Server']
    assert ask(address, '/metrics?x=1')[1] == TEXT.encode()


@pytest.mark.parametrize(
    ('method', 'path', 'status'),
    [
        ('HEAD', '/metrics', 200),
        ('GET', '/', 404),
        ('GET', '/metrics/../etc/passwd', 404),
        ('POST', '/metrics', 501),
        ('DELETE', '/metrics', 501),
    ],
)
def test_only_reading_one_path_is_possible(
    endpoint: MetricsEndpoint, method: str, path: str, status: int
) -> None:
    address = free_address()
    endpoint.follow(address)
    response, body = ask(address, path, method)
    assert response.status == status
    assert TEXT.encode() not in body


def test_a_request_that_is_no_http_is_refused_and_the_next_one_answered(
    endpoint: MetricsEndpoint,
) -> None:
    address = free_address()
    endpoint.follow(address)
    with socket.create_connection(address, timeout=20) as raw:
        raw.sendall(b'\x00\xff nonsense \x01\r\n\r\n')
        assert b'400' in raw.recv(4096)
    assert ask(address)[0].status == 200


def test_a_failure_of_the_text_is_503_without_its_details() -> None:
    def broken() -> str:
        raise RuntimeError('secret detail')

    endpoint, address = MetricsEndpoint(broken), free_address()
    try:
        endpoint.follow(address)
        response, body = ask(address)
        assert response.status == 503
        assert b'secret' not in body
        assert b'Traceback' not in body
    finally:
        endpoint.close()


def test_it_follows_its_address_and_frees_the_one_before(endpoint: MetricsEndpoint) -> None:
    first, second = free_address(), free_address()
    endpoint.follow(first)
    endpoint.follow(second)
    assert refuses(first)
    assert ask(second)[0].status == 200
    endpoint.follow(None)
    assert refuses(second)
    assert endpoint.follow(first) is None
    assert ask(first)[0].status == 200


def test_a_taken_port_is_a_problem_until_it_is_free(endpoint: MetricsEndpoint) -> None:
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        address = Address('127.0.0.1', other.getsockname()[1])
        problem = endpoint.follow(address)
        assert problem is not None
        assert str(address.port) in problem
        assert endpoint.follow(address) is not None
    assert endpoint.follow(address) is None
    assert ask(address)[0].status == 200


@pytest.mark.parametrize('host', ['', 'localhost', '127.0.0.1:80', '1.2.3', 'x\n'])
def test_what_is_no_ip_address_is_named_and_nothing_is_looked_up(
    endpoint: MetricsEndpoint, host: str
) -> None:
    problem = endpoint.follow(Address(host, free_address().port))
    assert problem is not None
    assert f'"{host}"' in problem
    assert '127.0.0.1' in problem


def test_all_addresses_of_the_host_are_those_of_ipv4_and_ipv6(endpoint: MetricsEndpoint) -> None:
    port = free_address('::').port
    assert endpoint.follow(Address('::', port)) is None
    assert ask(Address('127.0.0.1', port))[0].status == 200
    assert ask(Address('::1', port))[0].status == 200


def test_idle_clients_cannot_take_all_threads(endpoint: MetricsEndpoint) -> None:
    address = free_address()
    endpoint.follow(address)
    idle = [socket.create_connection(address, timeout=20) for _ in range(MAX_CONNECTIONS)]
    try:
        with socket.create_connection(address, timeout=20) as one_more:
            # Closed without an answer; the idle ones are still held.
            assert one_more.recv(100) == b''
        idle.pop().close()
        # The thread of the closed one ends in its own time.
        while not answers(address):
            pass
    finally:
        for connection in idle:
            connection.close()


def test_a_text_is_written_once_for_each_snapshot_and_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, limit = [samples.small_cluster()], [10]
    limits: list[int] = []

    def metrics(_snapshot: Snapshot, osd_limit: int) -> tuple[Metric, ...]:
        limits.append(osd_limit)
        return ()

    monkeypatch.setattr('rocksdb_tuner.metrics_text.metrics', metrics)
    text = MetricsText(lambda: shown[0], lambda: limit[0])
    text()
    text()
    assert limits == [10]
    shown[0] = replace(shown[0], taken_s=samples.NOW_S + 1)
    text()
    limit[0] = 1
    text()
    assert limits == [10, 10, 1]


@pytest.fixture
def module() -> Iterator[Any]:
    # Any: the double shows what the real mgr keeps to itself.
    made: Any = Module('rocksdb_tuner', '', '')
    yield made
    made._metrics.close()


def test_nothing_listens_unless_it_is_switched_on(module: Any) -> None:
    assert module._serve_metrics() is None
    assert module.uri == ''
    assert module._metrics._server is None


def test_the_module_serves_its_metrics_where_the_options_say_and_announces_it(module: Any) -> None:
    address = free_address()
    module.options.update(metrics=True, metrics_port=address.port)
    assert module._serve_metrics() is None
    assert module.uri == f'http://127.0.0.1:{address.port}/metrics'
    names = {f.name for f in text_string_to_metric_families(ask(address)[1].decode())}
    assert 'ceph_rocksdb_tuner_mode' in names
    module.options['metrics'] = False
    module._serve_metrics()
    assert module.uri == ''
    assert refuses(address)


@pytest.mark.parametrize(('addr', 'host'), [('0.0.0.0', '192.0.2.1'), ('::1', '[::1]')])
def test_the_announced_address_is_one_that_others_can_use(
    module: Any, addr: str, host: str
) -> None:
    port = free_address(addr).port
    module.options.update(metrics=True, metrics_addr=addr, metrics_port=port)
    assert module._serve_metrics() is None
    assert module.uri == f'http://{host}:{port}/metrics'


def test_metrics_that_cannot_be_served_are_a_health_check(module: Any) -> None:
    module.options.update(metrics=True, metrics_addr='nowhere')
    problem = module._serve_metrics()
    assert module.uri == ''
    check = health_checks(samples.empty_cluster(), problem)[METRICS_UNAVAILABLE]
    assert 'nowhere' in str(check['detail'])
    module.options['metrics_addr'] = '127.0.0.1'
    module.options['metrics_port'] = free_address().port
    assert module._serve_metrics() is None


def test_a_standby_answers_without_a_sample_and_frees_its_port_when_it_ends() -> None:
    standby: Any = StandbyModule('rocksdb_tuner', None)
    address = free_address()
    standby.options.update(metrics=True, metrics_port=address.port)
    thread = threading.Thread(target=standby.serve)
    thread.start()
    try:
        while refuses(address):
            assert thread.is_alive()
        response, body = ask(address)
        assert response.status == 200
        assert list(text_string_to_metric_families(body.decode())) == []
        assert b'standby' in body
    finally:
        standby.shutdown()
        thread.join()
    assert refuses(address)


def test_a_standby_that_is_gone_leaves_the_active_module_its_log() -> None:
    """Both live in one interpreter, and Ceph's own standby takes away the handlers of both."""
    double: Any = mgr_module  # not of the real one
    handler = double.MgrLogHandler()
    logging.getLogger().addHandler(handler)
    try:
        standby: Any = StandbyModule('rocksdb_tuner', None)
        del standby
        gc.collect()
        assert handler in logging.getLogger().handlers
    finally:
        logging.getLogger().removeHandler(handler)


def test_active_and_standby_have_the_same_options_in_lists_of_their_own() -> None:
    """The manager appends options of its own to the list of each class."""
    names = [o['name'] for o in StandbyModule.MODULE_OPTIONS]
    assert names == ['metrics', 'metrics_addr', 'metrics_port', 'metrics_osd_limit']
    assert set(names) <= {o['name'] for o in Module.MODULE_OPTIONS}
    assert not any(a is b for a in StandbyModule.MODULE_OPTIONS for b in Module.MODULE_OPTIONS)
