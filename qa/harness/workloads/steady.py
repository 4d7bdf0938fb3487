"""A client that writes at a steady pace while a test does something to the cluster.

fio on librbd writes each block once until it is told to stop; then every block is read back and
checked. Its log has every single write, so that it can be told how long the client noticed what
happened in between. librbd never gives up a request: what a fault costs is time, or it is a loss.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import HarnessError
from .fio_output import read_run
from .limits import STUCK_S, limit_s
from .rbd import POOL, Fio, Job, new_image, prepare, remove_image, verdict
from .result import Verified

if TYPE_CHECKING:
    from pathlib import Path

    from ..cluster import Cluster

BLOCK_BYTES = 4096
IMAGE_BYTES = 1 << 30
MAX_SECONDS = 3600
#: Until the first write is under way.
START_S = 60.0


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
    """What a client noticed in a span of time, in seconds; None: it wrote nothing."""

    longest_write_s: float | None
    #: Between two writes that completed.
    longest_pause_s: float | None


@dataclass(frozen=True)
class Written:
    """All that a client did: every write of it, and what was found when it was read back."""

    writes: tuple[Write, ...]
    errors: int
    messages: str
    verified: Verified

    def noticed(self, since_s: float, until_s: float) -> Noticed:
        """What the client noticed in this span (Unix times)."""
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


def parse_log(text: str) -> tuple[Write, ...]:
    """fio's log of latencies: Unix time of the end in ms, latency in ns, and columns of no use."""
    writes = []
    for line in text.splitlines():
        ended_ms, latency_ns = (int(field) for field in line.split(',')[:2])
        writes.append(Write(ended_ms / 1e3 - latency_ns / 1e9, ended_ms / 1e3))
    return tuple(sorted(writes, key=lambda write: write.ended_s))


class SteadyWriter:
    """A writer of `iops` blocks of 4 KiB a second on an image of its own."""

    def __init__(self, cluster: Cluster, iops: int) -> None:
        self._cluster = cluster
        self._iops = iops
        # Never one that a client that was killed still holds
        self._fio = Fio(cluster, f'qa-steady-{time.time():.0f}')
        self._process: subprocess.Popen[str] | None = None

    @property
    def _job(self) -> Job:
        return {
            'rw': 'randwrite',
            'bs': str(BLOCK_BYTES),
            'iodepth': '16',
            'size': str(IMAGE_BYTES),
            'verify': 'crc32c',
            'verify_fatal': '1',
        }

    def start(self) -> None:
        """Return once the image is there and the client writes."""
        cluster, folder = self._cluster, self._cluster.layout.clients
        prepare(cluster)
        new_image(cluster, self._fio.image, IMAGE_BYTES)
        for path in self._logs():
            path.unlink()
        options = {
            'ioengine': 'rbd',
            'clientname': 'admin',
            'pool': POOL,
            'rbdname': self._fio.image,
            'thread': '1',
            'randseed': '42',
            'verify_state_save': '0',
            **self._job,
            'do_verify': '0',
            'runtime': str(MAX_SECONDS),
            'rate_iops': str(self._iops),
            'write_lat_log': str(folder / 'steady'),
            'log_unix_epoch': '1',
            'disable_slat': '1',
        }
        lines = ['[steady]', *(f'{key}={value}' for key, value in options.items())]
        jobfile, output = folder / 'steady.fio', folder / 'steady.json'
        host = cluster.host
        host.outside(jobfile).write_text('\n'.join(lines) + '\n')
        host.outside(output).unlink(missing_ok=True)
        argv = ['fio', '--output-format=json', f'--output={output}', str(jobfile)]
        self._process = subprocess.Popen(
            host.command(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env=host.environment(cluster.client.environment),
            cwd='/',
            start_new_session=True,
        )
        self._wait_for_objects()

    def stop(self) -> Written:
        """Let the client finish what it began, and read back all that it has written."""
        process = self._process
        assert process is not None
        # Its own process alone: in a chroot, the shells before it have become it
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=2 * STUCK_S)
        except subprocess.TimeoutExpired as error:
            raise HarnessError('the client does not end: writes are stuck') from error
        finally:
            self.kill()
        cluster = self._cluster
        text = cluster.host.outside(cluster.layout.clients / 'steady.json').read_text()
        run = read_run(text, 'write')
        writes = tuple(
            write for path in self._logs('_lat') for write in parse_log(path.read_text())
        )
        what = 'every written block: header, offset and crc32c'
        if run.ops == 0:
            return Written(writes, run.error, said, Verified(what, 0, 0))
        check, complaint = self._fio.run(
            'steady-verify',
            {**self._job, 'verify_only': '1', 'number_ios': str(run.ops)},
            limit_s(ops=run.ops),
            'read',
        )
        verified, complaint = verdict(what, run.ops, check, complaint)
        if verified.failed == 0:
            remove_image(cluster, self._fio.image)
        return Written(writes, run.error, f'{said}\n{complaint}'.strip(), verified)

    def kill(self) -> None:
        """End the client at once, if it runs."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def _wait_for_objects(self) -> None:
        deadline_s = time.monotonic() + START_S
        while not any('rbd_data' in line for line in self._objects()):
            assert self._process is not None
            if self._process.poll() is not None:
                said, _ = self._process.communicate()
                raise HarnessError(f'the client ended at once: {said}')
            if time.monotonic() > deadline_s:
                self.kill()
                raise HarnessError(f'the client has written nothing in {START_S:g} s')
            time.sleep(0.5)

    def _objects(self) -> list[str]:
        return self._cluster.client.run('rados', '-p', POOL, 'ls').stdout.splitlines()

    def _logs(self, kind: str = '') -> Iterator[Path]:
        folder = self._cluster.host.outside(self._cluster.layout.clients)
        return folder.glob(f'steady{kind}.*log' if kind else 'steady_*.log')
