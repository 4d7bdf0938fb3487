"""An HTTP server for one text, on an address that may change while it runs.

One thread serves all connections, and none of them can block it: each is read and written only when
ready and has a time limit for request and response together, and if too many are open, the oldest
is closed in favor of the newest. It shares nothing with the servers of other modules, which on
Tentacle share one CherryPy engine and one interpreter.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import Any, Callable, NamedTuple, Optional
from urllib.parse import urlsplit

from .exposition import CONTENT_TYPE

log = logging.getLogger(__name__)

PATH = '/metrics'
#: One Prometheus needs one, a redundant pair two.
MAX_CONNECTIONS = 64
#: From the first byte of a request to the last of its response; the timeout of Prometheus itself.
REQUEST_TIMEOUT_S = 10.0
#: Prometheus sends less than 1000.
MAX_REQUEST_BYTES = 16384
#: Maximum bytes sent at once; the rest follows after the other connections.
_SENT_AT_ONCE_BYTES = 1 << 18
_WAITING_CONNECTIONS = 128
#: If the process has no more file descriptors, the next connection waits for one.
_PAUSE_S = 0.1
_CLOSE_TIMEOUT_S = 10.0


class Address(NamedTuple):
    host: str
    port: int


class MetricsEndpoint:
    """Listens at the configured address, or nowhere; used from one thread.

    ``text`` is called in the server's thread, once for every scrape.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._server: Optional[_Server] = None
        self._address: Optional[Address] = None

    def follow(self, wanted: Optional[Address]) -> Optional[str]:
        """Listen on ``wanted``; None: do not listen.

        Returns the reason for a failure, None on success. A failure is retried at the next call.
        """
        if wanted == self._address and (self._server is None or self._server.running):
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
            server = _Server(_listening(wanted), self._text)
            server.start()
        except (OSError, OverflowError, RuntimeError) as error:
            return f'cannot listen on {wanted.host} port {wanted.port}: {error}'
        self._server, self._address = server, wanted
        log.info('metrics are served on %s port %d', *wanted)
        return None

    def close(self) -> None:
        """Stop listening; a response under way is sent completely."""
        if self._server is not None:
            self._server.stop()
        self._server = self._address = None


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ':' in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # "::" means all addresses, independent of the operator's sysctl.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(_WAITING_CONNECTIONS)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


class _Connection:
    """One client: its request so far, then the unsent part of the response."""

    def __init__(self, client: socket.socket, ends_s: float) -> None:
        self.socket = client
        self.ends_s = ends_s
        self.request = b''
        self.unsent: list[memoryview] = []
        self.answered = False

    def is_complete(self, received: bytes) -> bool:
        """Whether the request is complete with ``received``."""
        self.request += received
        return (
            not received
            or b'\r\n\r\n' in self.request
            or b'\n\n' in self.request
            or len(self.request) > MAX_REQUEST_BYTES
        )

    def answer(self, *parts: bytes) -> None:
        self.answered = True
        self.unsent = [memoryview(part) for part in parts if part]

    def send(self) -> bool:
        """Send what the client accepts now; True once everything is sent."""
        while self.unsent:
            part = self.unsent[0]
            sent = self.socket.send(part[:_SENT_AT_ONCE_BYTES])
            self.unsent[0] = part[sent:]
            if sent < len(part):
                return False
            del self.unsent[0]
        return True


class _Server:
    def __init__(self, listener: socket.socket, text: Callable[[], str]) -> None:
        self._listener = listener
        self._text = text
        #: The latest text and its bytes, shared by all slow readers.
        self._written = ('', b'')
        #: The oldest first.
        self._connections: dict[socket.socket, _Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._stopping = False
        self._deaf = threading.Event()
        self._thread = threading.Thread(target=self._run, name='rocksdb_tuner-metrics', daemon=True)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Raises RuntimeError if there are too many threads; then nothing listens."""
        try:
            self._thread.start()
        except RuntimeError:
            self.stop()
            raise

    def stop(self) -> None:
        """Returns once nothing listens any more."""
        self._stopping = True
        if self.running:
            self._waker.send(b'x')
            self._deaf.wait(_CLOSE_TIMEOUT_S)
        else:
            self._stop_listening()
        if self._deaf.is_set():
            self._woken.close()
            self._waker.close()

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._look()
            self._stop_listening()
            while self._connections:
                self._look()
        except Exception:
            log.exception('metrics are no longer served')
        finally:
            self._stop_listening()
            for connection in tuple(self._connections.values()):
                self._drop(connection)
            self._selector.close()

    def _stop_listening(self) -> None:
        if self._deaf.is_set():
            return
        for waiting in (self._listener, self._woken):
            self._selector.unregister(waiting)
        self._listener.close()
        for connection in tuple(self._connections.values()):
            if not connection.answered:
                self._drop(connection)
        self._deaf.set()

    def _look(self) -> None:
        ends_s = next((c.ends_s for c in self._connections.values()), None)
        wait_s = None if ends_s is None else max(0.0, ends_s - time.monotonic())
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is not self._woken:
                connection = self._connections.get(key.fileobj)  # type: ignore[call-overload]
                # An earlier connection of this round may have taken its place.
                if connection is not None:
                    self._serve(connection)
        now_s = time.monotonic()
        for connection in [c for c in self._connections.values() if c.ends_s <= now_s]:
            self._drop(connection)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            log.debug('cannot accept a connection for metrics: %s', error)
            time.sleep(_PAUSE_S)
            return
        if len(self._connections) >= MAX_CONNECTIONS:
            known = list(self._connections.values())
            asking = [c for c in known if not c.answered]
            self._drop((asking or known)[0])
        client.setblocking(False)
        connection = _Connection(client, time.monotonic() + REQUEST_TIMEOUT_S)
        self._connections[client] = connection
        self._selector.register(client, selectors.EVENT_READ)
        # A scraper's request has usually arrived by now; it need not wait for another round.
        self._serve(connection)

    def _serve(self, connection: _Connection) -> None:
        try:
            if not connection.answered:
                if not connection.is_complete(connection.socket.recv(MAX_REQUEST_BYTES)):
                    return
                connection.answer(*self._answer(connection.request))
                self._selector.modify(connection.socket, selectors.EVENT_WRITE)
            if connection.send():
                self._drop(connection)
        except (BlockingIOError, InterruptedError):
            return
        except Exception as error:  # noqa: BLE001 - a client that went away ends nothing else
            log.debug('a metrics client failed: %s', error)
            self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        del self._connections[connection.socket]
        self._selector.unregister(connection.socket)
        with contextlib.suppress(OSError):
            connection.socket.shutdown(socket.SHUT_WR)
        connection.socket.close()

    def _answer(self, request: bytes) -> Iterator[bytes]:
        if not request:
            return
        handler = _Handler(request, self._body)
        yield handler.head.getvalue()
        yield handler.body

    def _body(self) -> bytes:
        text = self._text()
        if text is not self._written[0]:
            self._written = text, text.encode('utf-8', 'replace')
        return self._written[1]


class _Handler(BaseHTTPRequestHandler):
    """Parses one complete request; ``head`` and ``body`` are the response."""

    def __init__(self, request: bytes, text: Callable[[], bytes]) -> None:
        # Not the base class's, which would block reading from a socket.
        self.client_address = ('', 0)
        self.close_connection = True
        self.rfile: Any = BytesIO(request)
        self.wfile = self.head = BytesIO()
        self.body = b''
        self._text = text
        if len(request) > MAX_REQUEST_BYTES:
            self.requestline, self.request_version, self.command = '', 'HTTP/1.0', ''
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        else:
            self.handle_one_request()

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
            body = self._text()
        except Exception:
            log.exception('cannot write the metrics')
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, 'See the log of the manager')
            return
        self.send_response(HTTPStatus.OK)
        self.send_header('Content-Type', CONTENT_TYPE)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if with_body:
            self.body = body
