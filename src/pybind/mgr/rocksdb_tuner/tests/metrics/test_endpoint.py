"""The HTTP server of the metrics, queried over HTTP on loopback."""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from typing import Any, Callable

import mgr_module
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rocksdb_tuner import Module, StandbyModule
from rocksdb_tuner.metrics.endpoint import (
    MAX_CONNECTIONS,
    MAX_THREADS,
    REQUEST_TIMEOUT_S,
    Address,
    MetricsEndpoint,
    _Server,
)
from rocksdb_tuner.metrics.exposition import Metric
from rocksdb_tuner.metrics.series import MetricsText
from rocksdb_tuner.present.health import METRICS_UNAVAILABLE, health_checks
from rocksdb_tuner.snapshot import Snapshot

from ..present import samples

#: A scrape takes milliseconds; the machine may be busy.
SOON_S = 2.0
TEXT = b'# TYPE a gauge\na 1.0\n'


def free_address(host: str = '127.0.0.1') -> Address:
    with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return Address(host, probe.getsockname()[1])


@pytest.fixture
def endpoint() -> Iterator[MetricsEndpoint]:
    made = MetricsEndpoint(lambda: TEXT)
    yield made
    made.close()


@pytest.fixture
def address(endpoint: MetricsEndpoint) -> Address:
    """Where it listens."""
    found = free_address()
    endpoint.follow(found)
    return found


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


def test_scrape_gets_the_text_with_the_content_type_of_the_format(
    endpoint: MetricsEndpoint,
) -> None:
    address = free_address()
    assert endpoint.follow(address) is None
    response, body = ask(address)
    assert (response.status, body) == (200, TEXT)
    assert response.headers['Content-Type'] == 'text/plain; version=0.0.4; charset=utf-8'
    assert 'Python' not in response.headers['Server']
    assert ask(address, '/metrics?x=1')[1] == TEXT


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
def test_only_get_of_one_path_is_allowed(
    address: Address, method: str, path: str, status: int
) -> None:
    response, body = ask(address, path, method)
    assert response.status == status
    assert TEXT not in body


def test_invalid_http_request_is_refused_and_the_next_one_answered(address: Address) -> None:
    with socket.create_connection(address, timeout=20) as raw:
        raw.sendall(b'\x00\xff nonsense \x01\r\n\r\n')
        assert b'400' in raw.recv(4096)
    assert ask(address)[0].status == 200


def test_failed_rendering_is_503_without_details() -> None:
    def broken() -> bytes:
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


def test_address_change_frees_the_previous_one(endpoint: MetricsEndpoint) -> None:
    first, second = free_address(), free_address()
    endpoint.follow(first)
    endpoint.follow(second)
    assert refuses(first)
    assert ask(second)[0].status == 200
    endpoint.follow(None)
    assert refuses(second)
    assert endpoint.follow(first) is None
    assert ask(first)[0].status == 200


def test_taken_port_is_a_problem_until_it_is_free(endpoint: MetricsEndpoint) -> None:
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
def test_invalid_ip_address_is_named_without_a_lookup(endpoint: MetricsEndpoint, host: str) -> None:
    problem = endpoint.follow(Address(host, free_address().port))
    assert problem is not None
    assert f'"{host}"' in problem
    assert '127.0.0.1' in problem


def test_all_addresses_include_ipv4_and_ipv6(endpoint: MetricsEndpoint) -> None:
    port = free_address('::').port
    assert endpoint.follow(Address('::', port)) is None
    assert ask(Address('127.0.0.1', port))[0].status == 200
    assert ask(Address('::1', port))[0].status == 200


@pytest.fixture
def sockets() -> Iterator[Callable[[Address], socket.socket]]:
    """Connections that are closed at the end."""
    made: list[socket.socket] = []

    def connect(address: Address) -> socket.socket:
        made.append(socket.create_connection(address, timeout=20))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closed it, without an answer."""
    try:
        return connection.recv(100) == b''
    except ConnectionError:
        return True


def seconds(work: Callable[[], object]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s


def test_thirty_two_slow_clients_do_not_block_a_scraper(
    address: Address, sockets: Callable[[Address], socket.socket]
) -> None:
    """A byte each every now and then, for ever, and never a whole request."""
    tricklers = [sockets(address) for _ in range(32)]
    ended = threading.Event()

    def trickle() -> None:
        for byte in itertools.cycle(b'GET /metrics HTTP/1.1 X: '):
            for connection in tricklers:
                with contextlib.suppress(OSError):
                    connection.send(bytes([byte]))
            if ended.wait(0.05):
                return

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        for _ in range(5):
            assert seconds(lambda: ask(address)) < SOON_S
    finally:
        ended.set()
        thread.join()


def test_stalled_readers_do_not_block_a_scraper(
    sockets: Callable[[Address], socket.socket],
) -> None:
    """More than there are places, each with an answer that no socket takes at once."""
    text = b'# TYPE a gauge\n' + b'a 1.0\n' * 1_000_000
    endpoint, address = MetricsEndpoint(lambda: text), free_address()
    try:
        endpoint.follow(address)
        for _ in range(MAX_CONNECTIONS + 8):
            sockets(address).sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
        began_s = time.monotonic()
        response, body = ask(address)
        assert (response.status, len(body)) == (200, len(text))
        # Before any of them is cut off
        assert time.monotonic() - began_s < REQUEST_TIMEOUT_S
    finally:
        endpoint.close()


def test_newest_connection_replaces_the_oldest_at_the_limit(
    address: Address, sockets: Callable[[Address], socket.socket]
) -> None:
    idle = [sockets(address) for _ in range(MAX_CONNECTIONS)]
    assert ask(address)[0].status == 200
    assert is_closed(idle[0])
    for other in idle[1:]:
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(1)


def test_request_and_response_have_time_limits(
    endpoint: MetricsEndpoint,
    sockets: Callable[[Address], socket.socket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In total: a client that sends something occasionally gets no additional time."""
    monkeypatch.setattr('rocksdb_tuner.metrics.endpoint.REQUEST_TIMEOUT_S', 1.0)
    address = free_address()
    endpoint.follow(address)
    connection = sockets(address)
    began_s = time.monotonic()
    while not is_readable(connection, 0.1):
        connection.send(b'G')
        assert time.monotonic() - began_s < 20
    assert is_closed(connection)
    assert time.monotonic() - began_s > 0.9


def is_readable(connection: socket.socket, wait_s: float) -> bool:
    return bool(select.select([connection], [], [], wait_s)[0])


@pytest.mark.parametrize('header_bytes', [1 << 10, 1 << 16])
def test_endless_request_is_refused_by_its_size(
    address: Address, sockets: Callable[[Address], socket.socket], header_bytes: int
) -> None:
    """Whether it is one header or a hundred."""
    connection = sockets(address)
    headers = (b'X: ' + b'x' * header_bytes + b'\r\n') * ((1 << 17) // header_bytes)
    with contextlib.suppress(OSError):
        connection.sendall(b'GET /metrics HTTP/1.0\r\n' + headers)
    assert b' 431 ' in connection.recv(4096)


def test_threads_are_limited_while_the_text_is_written(
    sockets: Callable[[Address], socket.socket],
) -> None:
    """A closed connection's thread waits for the text, too."""
    written, address = threading.Event(), free_address()
    before = threading.active_count()
    slow = MetricsEndpoint(lambda: TEXT if written.wait(30) else b'')
    slow.follow(address)
    try:
        for _ in range(MAX_THREADS + 50):
            with contextlib.suppress(OSError):
                sockets(address).sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
        assert threading.active_count() <= before + 1 + MAX_THREADS
        written.set()
        until_s = time.monotonic() + 30
        while threading.active_count() > before + 1 and time.monotonic() < until_s:
            time.sleep(0.05)
        assert ask(address)[0].status == 200
    finally:
        written.set()
        slow.close()


@pytest.mark.parametrize(
    ('request_line', 'status'),
    [(b'GET http://[ HTTP/1.0', b' 400 '), (b'GET ' + b'/' * 12000 + b' HTTP/1.0', b' 404 ')],
)
def test_invalid_path_is_refused(
    address: Address,
    sockets: Callable[[Address], socket.socket],
    request_line: bytes,
    status: bytes,
) -> None:
    connection = sockets(address)
    connection.sendall(request_line + b'\r\n\r\n')
    assert status in connection.recv(4096)


def test_closed_endpoint_finishes_responses_and_leaves_no_thread(
    sockets: Callable[[Address], socket.socket],
) -> None:
    text = b'a 1.0\n' * 2_000_000
    endpoint, address = MetricsEndpoint(lambda: text), free_address()
    endpoint.follow(address)
    reader, idle = sockets(address), sockets(address)
    reader.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
    first = reader.recv(100)
    endpoint.close()
    assert refuses(address)
    assert is_closed(idle)
    rest = b''.join(iter(lambda: reader.recv(1 << 20), b''))
    assert len(first + rest) > len(text)
    deadline_s = time.monotonic() + 10
    while any(t.name == 'rocksdb_tuner-metrics' for t in threading.enumerate()):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_endpoint_whose_thread_ended_is_started_again(
    endpoint: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither reported as running nor does closing it wait."""
    address = free_address()
    with monkeypatch.context() as broken:
        broken.setattr(_Server, 'service_actions', lambda _: 1 / 0)
        assert endpoint.follow(address) is None
        while any(thread.name == 'rocksdb_tuner-metrics' for thread in threading.enumerate()):
            time.sleep(0.01)
    with pytest.raises(ConnectionRefusedError):
        ask(address)
    assert endpoint.follow(address) is None
    assert ask(address)[1] == TEXT


def test_thread_that_cannot_start_is_a_problem_and_blocks_nothing(
    endpoint: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = free_address()

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(threading.Thread, 'start', refused)
        begin_s = time.monotonic()
        reason = endpoint.follow(address)
        endpoint.close()
    assert time.monotonic() - begin_s < SOON_S
    assert "can't start new thread" in (reason or '')
    with pytest.raises(ConnectionRefusedError):
        ask(address)
    assert endpoint.follow(address) is None
    assert ask(address)[1] == TEXT


def test_text_is_rendered_once_per_snapshot_and_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, limit = [samples.small_cluster()], [10]
    limits: list[int] = []

    def metrics(_snapshot: Snapshot, osd_limit: int) -> tuple[Metric, ...]:
        limits.append(osd_limit)
        return ()

    monkeypatch.setattr('rocksdb_tuner.metrics.series.metrics', metrics)
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


def test_nothing_listens_unless_enabled(module: Any) -> None:
    assert module._serve_metrics() is None
    assert module.uri == ''
    assert module._metrics._server is None


def test_metrics_are_served_as_configured_and_announced(module: Any) -> None:
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
def test_announced_address_is_reachable_by_others(module: Any, addr: str, host: str) -> None:
    port = free_address(addr).port
    module.options.update(metrics=True, metrics_addr=addr, metrics_port=port)
    assert module._serve_metrics() is None
    assert module.uri == f'http://{host}:{port}/metrics'


def test_unservable_metrics_are_a_health_check(module: Any) -> None:
    module.options.update(metrics=True, metrics_addr='nowhere')
    problem = module._serve_metrics()
    assert module.uri == ''
    check = health_checks(samples.empty_cluster(), problem)[METRICS_UNAVAILABLE]
    assert 'nowhere' in str(check['detail'])
    module.options['metrics_addr'] = '127.0.0.1'
    module.options['metrics_port'] = free_address().port
    assert module._serve_metrics() is None


def test_standby_answers_without_samples_and_frees_its_port() -> None:
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


def test_stopped_standby_leaves_the_log_to_the_active_module() -> None:
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


def test_active_and_standby_have_equal_but_separate_option_lists() -> None:
    """The manager appends options of its own to the list of each class."""
    names = [o['name'] for o in StandbyModule.MODULE_OPTIONS]
    assert names == ['metrics', 'metrics_addr', 'metrics_port', 'metrics_osd_limit']
    assert set(names) <= {o['name'] for o in Module.MODULE_OPTIONS}
    assert not any(a is b for a in StandbyModule.MODULE_OPTIONS for b in Module.MODULE_OPTIONS)
