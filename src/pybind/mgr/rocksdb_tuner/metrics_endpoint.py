"""An HTTP server for one text, on an address that may change while it runs.

The standard library's server, in threads of its own: it shares nothing with the servers of other
modules, which on Tentacle share one CherryPy engine and one interpreter.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Callable, NamedTuple, Optional
from urllib.parse import urlsplit

from .present.exposition import CONTENT_TYPE

log = logging.getLogger(__name__)

PATH = '/metrics'
#: One Prometheus, or a pair of them, needs one or two; what comes beyond is closed at once.
MAX_CONNECTIONS = 16
#: A client that says nothing, or does not read, holds a thread this long.
CLIENT_TIMEOUT_S = 10


class Address(NamedTuple):
    host: str
    port: int


class MetricsEndpoint:
    """Listens where it is told to, or nowhere; used from one thread.

    ``text`` is called in threads of the server, one at a time, once for every scrape.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._server: Optional[_Server] = None
        self._address: Optional[Address] = None

    def follow(self, wanted: Optional[Address]) -> Optional[str]:
        """Listen on ``wanted``, or on nothing for None.

        Returns why that is not possible, None if all is well. A failure is tried again by the
        next call.
        """
        if wanted == self._address:
            return None
        self.close()
        if wanted is None:
            return None
        try:
            ipaddress.ip_address(wanted.host)
        except ValueError:
            # A name would have to be looked up, by the thread that drives rollouts.
            return (
                f'metrics_addr is "{wanted.host}", which is no IP address: give one of this host, '
                'as in "127.0.0.1", or "::" for all'
            )
        try:
            server = _Server(wanted, self._text)
        except (OSError, OverflowError) as error:
            return f'cannot listen on {wanted.host} port {wanted.port}: {error}'
        self._server, self._address = server, wanted
        threading.Thread(
            target=server.serve_forever, name='rocksdb_tuner-metrics', daemon=True
        ).start()
        log.info('metrics are served on %s port %d', *wanted)
        return None

    def close(self) -> None:
        """Stop listening; a scrape under way may end."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._server = self._address = None


class _Server(ThreadingMixIn, TCPServer):
    # TCPServer and not HTTPServer, which looks up the host's name when it binds.
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: Address, text: Callable[[], str]) -> None:
        if ':' in address.host:
            self.address_family = socket.AF_INET6
        self._text = text
        self._one_at_a_time = threading.Lock()
        self._connections = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((address.host, address.port), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            # "::" means all addresses, of whatever the operator's sysctl says.
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def text(self) -> str:
        with self._one_at_a_time:
            return self._text()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._connections.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        # A client that went away. The base class prints to the standard error of the mgr.
        log.debug('a client of the metrics failed: %s', sys.exc_info()[1])


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = CLIENT_TIMEOUT_S

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def version_string(self) -> str:
        return 'rocksdb_tuner'

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class' name
        log.debug(format, *args)

    def _reply(self, *, with_body: bool) -> None:
        if urlsplit(self.path).path != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f'Only {PATH} is served here')
            return
        try:
            body = self.server.text().encode('utf-8', 'replace')
        except Exception:
            log.exception('the metrics could not be written')
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, 'See the log of the manager')
            return
        self.send_response(HTTPStatus.OK)
        self.send_header('Content-Type', CONTENT_TYPE)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)
