"""An HTTP server for one text, on an address that may change while it runs.

It shares nothing with the servers of other modules, which on Tentacle share one CherryPy engine and
one interpreter. No client can keep another from an answer: each has a thread and a time limit, and
if too many are connected, the oldest is closed in favor of the newest.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, BinaryIO, Callable, NamedTuple, Optional
from urllib.parse import urlsplit

from .exposition import CONTENT_TYPE

log = logging.getLogger(__name__)

PATH = '/metrics'
#: One Prometheus needs one, a redundant pair two.
MAX_CONNECTIONS = 32
#: With those that were closed and whose threads still wait for the text.
MAX_THREADS = 4 * MAX_CONNECTIONS
#: Prometheus sends some hundred bytes.
MAX_REQUEST_BYTES = 1 << 14
#: For the request, and again for the response; the timeout of Prometheus itself.
REQUEST_TIMEOUT_S = 10.0
#: If the process has no more file descriptors, the next connection waits for one.
_PAUSE_S = 0.1
_CLOSE_TIMEOUT_S = 10.0


class Address(NamedTuple):
    host: str
    port: int


class MetricsEndpoint:
    """Listens at the configured address, or nowhere; used from one thread.

    ``text`` is called in the server's threads, one at a time, once for every scrape.
    """

    def __init__(self, text: Callable[[], bytes]) -> None:
        self._text = text
        self._server: Optional[_Server] = None
        self._address: Optional[Address] = None

    def follow(self, wanted: Optional[Address]) -> Optional[str]:
        """Listen on ``wanted``; None: do not listen.

        Returns the reason for a failure, None on success. A failure is retried at the next call.
        """
        if wanted == self._address and (self._server is None or self._server.thread.is_alive()):
            return None
        # Another address, or its thread ended.
        self.close()
        if wanted is None:
            return None
        try:
            ipaddress.ip_address(wanted.host)
        except ValueError:
            # A host name would need a lookup, which blocks the thread that drives rollouts.
            return (
                f'invalid metrics_addr "{wanted.host}": use an IP address of this host, as in '
                '"127.0.0.1", or "::" for all addresses'
            )
        try:
            self._server = _Server(wanted, self._text)
        except (OSError, OverflowError, RuntimeError) as error:
            return f'cannot listen on {wanted.host} port {wanted.port}: {error}'
        self._address = wanted
        log.info('metrics are served on %s port %d', *wanted)
        return None

    def close(self) -> None:
        """Stop listening; a response under way is sent completely."""
        if self._server is not None:
            self._server.stop()
        self._server = self._address = None


class _Server(ThreadingMixIn, TCPServer):
    allow_reuse_address = True
    request_queue_size = 128
    daemon_threads = True
    # Closing does not wait for the clients.
    block_on_close = False

    def __init__(self, address: Address, text: Callable[[], bytes]) -> None:
        """Raises OSError, and RuntimeError if there are too many threads; then nothing listens."""
        self.address_family = socket.AF_INET6 if ':' in address.host else socket.AF_INET
        self._text = text
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        #: Until when each may send its request, the oldest first; None: it gets its response.
        self._ends_s: dict[socket.socket, Optional[float]] = {}
        self._with_threads: set[socket.socket] = set()
        super().__init__(address, _Handler)
        self.thread = threading.Thread(target=self._run, name='rocksdb_tuner-metrics', daemon=True)
        try:
            self.thread.start()
        except RuntimeError:
            self.server_close()
            raise

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            # "::" means all addresses, independent of the operator's sysctl.
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def stop(self) -> None:
        """Returns once nothing listens any more."""
        if self.thread.is_alive():
            self.shutdown()
            self.thread.join(_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        try:
            self.serve_forever()
        except Exception:
            log.exception('metrics are no longer served')
        finally:
            self.server_close()
            self._cut(float('inf'))

    def service_actions(self) -> None:
        """Called twice a second."""
        self._cut(time.monotonic())

    def _cut(self, now_s: float) -> None:
        """Close the connections whose request is late by then."""
        with self._lock:
            for client, ends_s in self._ends_s.items():
                if ends_s is not None and ends_s <= now_s:
                    _close(client)

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError:
            time.sleep(_PAUSE_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            crowded = len(self._with_threads) >= MAX_THREADS
        if crowded:
            self.shutdown_request(request)
            return
        with self._lock:
            self._with_threads.add(request)
            if len(self._ends_s) >= MAX_CONNECTIONS:
                asking = [c for c, ends_s in self._ends_s.items() if ends_s is not None]
                oldest = (asking or list(self._ends_s))[0]
                del self._ends_s[oldest]
                _close(oldest)
            self._ends_s[request] = time.monotonic() + REQUEST_TIMEOUT_S
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._ends_s.pop(request, None)
            self._with_threads.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class'
        log.debug('a metrics client failed: %s', sys.exc_info()[1])

    def body(self, client: socket.socket) -> bytes:
        """The response to a complete request."""
        with self._lock:
            if client in self._ends_s:
                self._ends_s[client] = None
        with self._writing:
            return self._text()


def _close(client: socket.socket) -> None:
    """End what its thread waits for."""
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


class _Limited:
    """A request that is refused by its size: the base class takes a hundred headers of 64 KiB."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._left = stream, MAX_REQUEST_BYTES
        self.close = stream.close

    def readline(self, most: int) -> bytes:
        if not self._left:
            raise LineTooLong('request')
        line = self._stream.readline(min(most, self._left))
        self._left -= len(line)
        return line


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    #: Of one read, and of sending a whole response.
    timeout = REQUEST_TIMEOUT_S

    def setup(self) -> None:
        super().setup()
        self.rfile = _Limited(self.rfile)  # type: ignore[assignment,arg-type]

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def version_string(self) -> str:
        return 'rocksdb_tuner'

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class' name
        log.debug(format, *args)

    def _reply(self, *, with_body: bool) -> None:
        try:
            path = urlsplit(self.path).path
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        if path != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f'Only {PATH} is served here')
            return
        try:
            body = self.server.body(self.connection)
        except Exception:
            log.exception('cannot write the metrics')
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, 'See the log of the manager')
            return
        self.send_response(HTTPStatus.OK)
        self.send_header('Content-Type', CONTENT_TYPE)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)
