"""A client that overwrites blocks at a steady rate while a test injects a fault.

It also reads, and compares each block with the version that was acknowledged last; at the end it
reads them all (`clients/overwrite_client.py`). librbd never gives up a request: a fault costs time,
or causes a loss. The result has how long the client was affected.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ..errors import HarnessError
from .limits import STUCK_S
from .python_client import PYTHON, text_of
from .rbd import POOL, new_image, prepare, remove_image
from .result import Verified

if TYPE_CHECKING:
    from ..cluster import Cluster

PROGRAM = 'overwrite_client.py'
#: So few that each is overwritten some times in a minute.
BLOCKS = 4096
IMAGE_BYTES = 64 << 20
DEPTH = 16
MAX_SECONDS = 3600
#: Until the first write is under way.
START_S = 60.0
DESCRIPTION = 'every block read: the version of it that was acknowledged last'


@dataclass(frozen=True)
class Write:
    """One write. Unix times, in seconds."""

    began_s: float
    ended_s: float

    @property
    def latency_s(self) -> float:
        return self.ended_s - self.began_s


@dataclass(frozen=True)
class Noticed:
    """The effects on a client in a span of time, in seconds; None: it wrote nothing."""

    longest_write_s: float | None
    #: Between two writes that completed.
    longest_pause_s: float | None


@dataclass(frozen=True)
class Written:
    """All results of a client: its writes, and the errors found in blocks it read."""

    writes: tuple[Write, ...]
    #: Writes to blocks that it had written before.
    overwrites: int
    errors: int
    messages: str
    verified: Verified

    def noticed(self, since_s: float, until_s: float) -> Noticed:
        """The effects on the client in this span (Unix times)."""
        return noticed(self.writes, since_s, until_s)


def noticed(writes: Iterable[Write], since_s: float, until_s: float) -> Noticed:
    """The longest write that overlaps the span, and the longest time in it in which none ended."""
    inside = [w for w in writes if w.ended_s >= since_s and w.began_s <= until_s]
    if not inside:
        return Noticed(None, None)
    # The first end after the span closes the last pause in it
    ends = sorted({since_s, *(w.ended_s for w in inside)})
    pauses = [after - before for before, after in zip(ends, ends[1:])]
    return Noticed(max(w.latency_s for w in inside), max(pauses, default=None))


def written_from(answer: dict[str, Any]) -> Written:
    """The answer of the client program."""
    writes = sorted((Write(*write) for write in answer['writes']), key=lambda w: w.ended_s)
    return Written(
        tuple(writes),
        int(answer['overwrites']),
        int(answer['errors']),
        '\n'.join(answer['messages']),
        Verified(DESCRIPTION, int(answer['checked']), int(answer['failed'])),
    )


class Overwriter:
    """A client of so many writes and reads of 4 KiB per second, on its own image."""

    def __init__(
        self,
        cluster: Cluster,
        writes_per_s: int,
        reads_per_s: int,
        max_seconds: int = MAX_SECONDS,
    ) -> None:
        """``max_seconds``: when the client ends, if nothing else ends it."""
        self._cluster, self._max_seconds = cluster, max_seconds
        self._rates = {'writes_per_s': writes_per_s, 'reads_per_s': reads_per_s}
        # Never one that a client that was killed still holds
        self._image = f'qa-overwrite-{time.time():.0f}'
        self._process: subprocess.Popen[str] | None = None
        self._output: list[list[str]] = [[], []]
        self._readers: list[threading.Thread] = []

    def start(self) -> None:
        """Return once the image is there and the client writes."""
        cluster = self._cluster
        prepare(cluster)
        cluster.install('rbd-python-client')
        new_image(cluster, self._image, IMAGE_BYTES)
        ready = cluster.layout.clients / 'overwriting'
        outside = cluster.host.outside(ready)
        outside.unlink(missing_ok=True)
        order = {
            'image': self._image,
            'pool': POOL,
            'blocks': BLOCKS,
            'depth': DEPTH,
            'seconds': self._max_seconds,
            'stuck_s': STUCK_S,
            'ready': str(ready),
            **self._rates,
        }
        self._process = process = subprocess.Popen(
            cluster.host.command([PYTHON, '-B', '-', json.dumps(order)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors='replace',
            env=cluster.host.environment(cluster.client.environment),
            cwd='/',
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(text_of(PROGRAM))
        process.stdin.close()
        self._readers = [
            self._reader(stream, message)
            for stream, message in zip((process.stdout, process.stderr), self._output)
            if stream is not None
        ]
        deadline_s = time.monotonic() + START_S
        while not outside.exists():
            if process.poll() is not None or time.monotonic() > deadline_s:
                self.kill()
                raise HarnessError(f'the client has written nothing: {self._text(1)}')
            time.sleep(0.3)

    def stop(self) -> Written:
        """Let the client finish its operations, and read back everything it has written."""
        process = self._process
        assert process is not None
        # Its own process alone: in a chroot, the shells before it have become it
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=3 * STUCK_S)
        except subprocess.TimeoutExpired as error:
            raise HarnessError('the client does not end: requests are stuck') from error
        finally:
            self.kill()
        try:
            written = written_from(json.loads(self._text(0)))
        except ValueError as error:
            raise HarnessError(f'the client failed: {self._text(1)[-2000:]}') from error
        if written.verified.failed == 0:
            remove_image(self._cluster, self._image)
        return written

    def kill(self) -> None:
        """End the client at once, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for reader in self._readers:
                reader.join()

    def _reader(self, stream: IO[str], message: list[str]) -> threading.Thread:
        """A pipe without a reader would block the client."""
        thread = threading.Thread(target=lambda: message.append(stream.read()), daemon=True)
        thread.start()
        return thread

    def _text(self, stream: int) -> str:
        return ''.join(self._output[stream])
