"""Block device workloads: fio on librbd, with fio's own verification of the data.

Random writes run on a new image and write no block twice, so that a write which was acknowledged
and lost shows as a block without a header: fio itself cannot distinguish the last of several writes
to a block from an earlier one in a time-based run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..boot import EC_POOL
from ..errors import HarnessError
from ..services import make_pools
from .fio_output import FioRun, read_run
from .limits import limit_s
from .result import Verified, WorkloadResult

if TYPE_CHECKING:
    from ..cluster import Cluster
    from .catalogue import Parameters

POOL = 'rbd'
PG_NUM = 32
FILLED = 'qa_filled'
FILL_BLOCK_BYTES = 1 << 20
REMOVE_TIMEOUT_S = 600.0

Job = Mapping[str, str]


@dataclass(frozen=True)
class Fio:
    """fio on one image of a cluster."""

    cluster: Cluster
    image: str

    def run(self, name: str, job: Job, timeout_s: float, direction: str) -> tuple[FioRun, str]:
        """Run one job; returns what it did and what it printed besides."""
        (run,), messages = self._run(name, job, timeout_s, (direction,))
        return run, messages

    def run_both(self, name: str, job: Job, timeout_s: float) -> tuple[tuple[FioRun, FioRun], str]:
        """Run one job that reads and writes; returns (reads, writes) and what it printed."""
        (reads, writes), messages = self._run(name, job, timeout_s, ('read', 'write'))
        return (reads, writes), messages

    def _run(
        self, name: str, job: Job, timeout_s: float, directions: Sequence[str]
    ) -> tuple[tuple[FioRun, ...], str]:
        folder = self.cluster.layout.clients
        options = {
            'ioengine': 'rbd',
            'clientname': 'admin',
            'pool': POOL,
            'rbdname': self.image,
            'thread': '1',
            'randseed': '42',
            'verify_state_save': '0',
            **job,
        }
        lines = [f'[{name}]', *(f'{key}={value}' for key, value in options.items())]
        jobfile, output = folder / f'{name}.fio', folder / f'{name}.json'
        outside = self.cluster.host.outside
        outside(jobfile).write_text('\n'.join(lines) + '\n')
        outside(output).unlink(missing_ok=True)
        argv = ['fio', '--output-format=json', f'--output={output}', str(jobfile)]
        done = self.cluster.client.run(*argv, timeout_s=timeout_s, check=False)
        messages = f'{done.stdout}\n{done.stderr}'.strip()
        text = _read(outside(output))
        if done.returncode != 0 and '"jobs"' not in text:
            raise HarnessError(f'fio ended with status {done.returncode}: {messages or text}')
        ended_s = time.time()
        runs = tuple(
            replace(run, began_s=round(ended_s - run.seconds, 3))
            for run in (read_run(text, direction) for direction in directions)
        )
        if done.returncode != 0 and runs[0].error == 0:
            raise HarnessError(f'fio ended with status {done.returncode}: {messages}')
        # Lines that fio prints before its JSON, among them what the verification found
        return runs, f'{messages}\n{text.partition("{")[0]}'.strip()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors='replace')
    except FileNotFoundError:
        return ''


def prepare(cluster: Cluster) -> None:
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=PG_NUM)


def data_pool(cluster: Cluster) -> str:
    """The pool that an image's data lie in: the erasure-coded one where there is such a pool."""
    return EC_POOL if cluster.record.spec.erasure_code else POOL


def remove_image(cluster: Cluster, image: str) -> None:
    if image in cluster.client.run('rbd', 'ls', POOL).stdout.split():
        cluster.client.run(
            'rbd', 'rm', '--no-progress', f'{POOL}/{image}', timeout_s=REMOVE_TIMEOUT_S
        )


def new_image(cluster: Cluster, image: str, size_bytes: int) -> None:
    """An empty image. Without an object map, whose updates would be additional writes."""
    remove_image(cluster, image)
    size_mib = -(-size_bytes >> 20)
    pool = data_pool(cluster)
    cluster.client.run(
        'rbd', 'create', f'{POOL}/{image}', '--size', str(size_mib), '--image-feature', 'layering',
        *(('--data-pool', pool) if pool != POOL else ()),
    )  # fmt: skip


def _result(
    workload: str, run: FioRun, text: str, verified: Verified, parameters: Parameters
) -> WorkloadResult:
    return WorkloadResult(
        workload=workload,
        seconds=round(run.seconds, 3),
        ops=run.ops,
        ops_per_s=round(run.ops / run.seconds, 1) if run.seconds else 0.0,
        bytes=run.bytes,
        latency_ms=run.latency_ms,
        errors=int(run.error != 0),
        error_messages=tuple(text.splitlines()[-10:]) if run.error else (),
        verified=verified,
        parameters=dict(parameters),
        began_s=run.began_s,
    )


def verdict(what: str, expected: int, run: FioRun, text: str) -> tuple[Verified, str]:
    """fio stops at the first bad block: what it did not reach counts as failed too."""
    failed = 0 if run.error == 0 and run.ops == expected else max(1, expected - run.ops)
    return Verified(what, checked=expected, failed=failed), text if failed else ''


def _job(parameters: Parameters, **options: str) -> dict[str, str]:
    """A job with the block size, the queue depth and the rate that are wanted."""
    rate = parameters['rate_iops']
    return {
        'bs': str(parameters['block_size_bytes']),
        'iodepth': str(parameters['iodepth']),
        **({'rate_iops': str(rate)} if rate else {}),
        **options,
    }


_CHECKED = {'verify': 'crc32c', 'verify_fatal': '1'}


def randwrite(cluster: Cluster, seconds: float, parameters: Parameters) -> WorkloadResult:
    """Random writes, each block at most once, then every written block is read and checked."""
    fio = _on_an_empty_image(cluster, 'qa-randwrite', parameters)
    size = str(parameters['size_bytes'])
    job = _job(parameters, rw='randwrite', size=size, **_CHECKED)
    with cluster.progress.step(f'random writes for {seconds:g} s'):
        timed = {'do_verify': '0', 'runtime': f'{seconds:g}'}
        run, text = fio.run('randwrite', {**job, **timed}, limit_s(seconds=seconds), 'write')
    if run.error == 0 and run.seconds < 0.9 * seconds:
        cluster.progress.say(f'the image was full after {run.seconds:g} s: give a larger --size')
    what = 'every written block: header, offset and crc32c'
    job = {**job, 'verify_only': '1', 'number_ios': str(run.ops)}
    verified, complaint = _read_back(fio, 'randwrite', what, job, run.ops, limit_s(ops=run.ops))
    return _result('rbd-randwrite', run, f'{text}\n{complaint}', verified, parameters)


def seqwrite(cluster: Cluster, seconds: float, parameters: Parameters) -> WorkloadResult:
    """Repeated sequential writes over the image, then the data is verified."""
    fio = _on_an_empty_image(cluster, 'qa-seqwrite', parameters)
    block, size = parameters['block_size_bytes'], parameters['size_bytes']
    job = _job(parameters, **_CHECKED)
    with cluster.progress.step(f'sequential writes for {seconds:g} s'):
        timed = {'time_based': '1', 'runtime': f'{seconds:g}', 'do_verify': '0'}
        run, text = fio.run(
            'seqwrite',
            {**job, **timed, 'rw': 'write', 'size': str(size)},
            limit_s(seconds=seconds),
            'write',
        )
    blocks = min(run.ops, size // block)
    what = 'every block of the last pass: header, offset and crc32c'
    job = {**job, 'rw': 'read', 'size': str(blocks * block)}
    limit = limit_s(size_bytes=blocks * block)
    verified, complaint = _read_back(fio, 'seqwrite', what, job, blocks, limit)
    return _result('rbd-seqwrite', run, f'{text}\n{complaint}', verified, parameters)


def _on_an_empty_image(cluster: Cluster, image: str, parameters: Parameters) -> Fio:
    prepare(cluster)
    with cluster.progress.step('make an empty image'):
        new_image(cluster, image, parameters['size_bytes'])
    return Fio(cluster, image)


def _read_back(
    fio: Fio, name: str, what: str, job: Job, blocks: int, timeout_s: float
) -> tuple[Verified, str]:
    """Read what was written and check it: see `verdict`."""
    if blocks == 0:
        return Verified(what, 0, 0), ''
    # Reading has no limit of its rate
    job = {key: value for key, value in job.items() if key != 'rate_iops'}
    with fio.cluster.progress.step(f'read back and check {blocks} blocks'):
        check, text = fio.run(f'{name}-verify', job, timeout_s, 'read')
    return verdict(what, blocks, check, text)


def randread(cluster: Cluster, seconds: float, parameters: Parameters) -> WorkloadResult:
    """Random reads of an image that was filled before; each block that is read is checked."""
    fio, verify = _on_a_full_image(cluster, 'qa-randread', parameters)
    with cluster.progress.step(f'random reads for {seconds:g} s'):
        job = _timed(parameters, seconds, rw='randread', **verify)
        run, text = fio.run('randread', job, limit_s(seconds=seconds), 'read')
    what = 'every read block: header, offset and crc32c'
    verified = Verified(what, checked=run.ops, failed=int(run.error != 0))
    return _result('rbd-randread', run, text, verified, parameters)


def randrw(cluster: Cluster, seconds: float, parameters: Parameters) -> WorkloadResult:
    """Random reads and writes of an image that was filled before.

    What is read is not checked: fio cannot check a block that another request writes over.
    """
    fio, _ = _on_a_full_image(cluster, 'qa-randrw', parameters)
    with cluster.progress.step(f'random reads and writes for {seconds:g} s'):
        share = str(parameters['read_percent'])
        job = _timed(parameters, seconds, rw='randrw', rwmixread=share)
        (reads, writes), text = fio.run_both('randrw', job, limit_s(seconds=seconds))
    both = reads.ops + writes.ops
    verified = Verified('that every request succeeded', both, failed=int(reads.error != 0))
    run = replace(
        reads,
        ops=both,
        bytes=reads.bytes + writes.bytes,
        seconds=max(reads.seconds, writes.seconds),
        latency_ms=writes.latency_ms,
    )
    return _result('rbd-randrw', run, text, verified, parameters)


def _timed(parameters: Parameters, seconds: float, **options: str) -> dict[str, str]:
    size = str(parameters['size_bytes'])
    return _job(parameters, time_based='1', runtime=f'{seconds:g}', size=size, **options)


def _on_a_full_image(
    cluster: Cluster, image: str, parameters: Parameters
) -> tuple[Fio, dict[str, str]]:
    """An image with checkable blocks, filled unless a run before has done it; how to check them."""
    prepare(cluster)
    fio, name = Fio(cluster, image), f'{POOL}/{image}'
    size, block = parameters['size_bytes'], parameters['block_size_bytes']
    verify, wanted = {**_CHECKED, 'verify_interval': str(block)}, f'{size}/{block}'
    known = cluster.client.run('rbd', 'image-meta', 'get', name, FILLED, check=False)
    if known.returncode == 0 and known.stdout.strip() == wanted:
        return fio, verify
    new_image(cluster, image, size)
    with cluster.progress.step(f'fill an image of {size} bytes'):
        job = {'rw': 'write', 'bs': str(max(block, FILL_BLOCK_BYTES)), 'iodepth': '8'}
        run, text = fio.run(
            'fill',
            {**job, **verify, 'do_verify': '0', 'size': str(size)},
            limit_s(size_bytes=size),
            'write',
        )
    if run.error:
        raise HarnessError(f'fio could not fill the image: {text}')
    cluster.client.run('rbd', 'image-meta', 'set', name, FILLED, wanted)
    return fio, verify
