"""Queries the admin socket of a daemon, without a command line tool in between."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cluster import Cluster

TIMEOUT_S = 10.0


def osd_socket(cluster: Cluster, osd: int) -> Path:
    """As seen from outside of the cluster's chroot."""
    return cluster.host.outside(cluster.layout.run_dir / f'osd.{osd}.asok')


def ask(path: Path, prefix: str, **arguments: Any) -> Any:
    """The answer to a command such as "perf dump"; raises OSError without one."""
    return json.loads(query_text(path, prefix, **arguments))


def query_text(path: Path, prefix: str, **arguments: Any) -> str:
    """The same for an answer that is not one document, as RocksDB's statistics."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(path))
        command = {'prefix': prefix, 'format': 'json', **arguments}
        connection.sendall(json.dumps(command).encode() + b'\0')
        answer = b''.join(iter(lambda: connection.recv(1 << 16), b''))
    # The length, big-endian, then the document
    (length,) = struct.unpack('>I', answer[:4])
    return answer[4 : 4 + length].decode()
