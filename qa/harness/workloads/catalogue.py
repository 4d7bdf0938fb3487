"""The workloads by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from .. import space
from ..diagnosis import dead_daemons
from ..errors import HarnessError, UsageError
from ..ports import held_name
from . import rbd
from .python_client import run_client
from .result import WorkloadResult

if TYPE_CHECKING:
    from ..cluster import Cluster

# No random write run on a machine like this one reaches it, so no block is written twice
_RANDWRITE_MAX_IOPS = 10_000
_MIN_IMAGE_BYTES = 1 << 30
# A client of the object gateway deletes fewer than this
_DELETES_PER_S = 400
MAX_SECONDS = 86400

#: By name; each workload takes some of them and has its own defaults.
Parameters = Mapping[str, int]
#: What `qa/workload` asks for and says of each; those in bytes end in "_bytes".
PARAMETERS: dict[str, tuple[str, str]] = {
    'iodepth': ('N', 'RBD: requests in flight'),
    'size_bytes': ('BYTES', 'RBD: size of the image'),
    'block_size_bytes': ('BYTES', 'RBD: size of a request'),
    'rate_iops': ('N', 'RBD: no more per second; 0: no limit'),
    'read_percent': ('N', 'RBD: share of the requests that read'),
    'threads': ('N', 'S3, CephFS: parallel clients'),
    'object_size_bytes': ('BYTES', 'S3: size of an object'),
    'objects': ('N', 'S3: number of objects'),
}


@dataclass(frozen=True)
class Workload:
    """A client program. `defaults` gives its parameters for a run of so many seconds."""

    run: Callable[[Cluster, float, Parameters], WorkloadResult]
    defaults: Callable[[float], Parameters]
    help: str


def _s3(workload: str, cluster: Cluster, seconds: float, parameters: Parameters) -> WorkloadResult:
    cluster.install('s3-client')
    rgw = cluster.ensure_rgw()
    environment = {
        'RGW_URL': rgw.url,
        'AWS_ACCESS_KEY_ID': rgw.access_key,
        'AWS_SECRET_ACCESS_KEY': rgw.secret_key,
    }
    return run_client(
        cluster, 's3_client.py', workload, seconds, parameters=parameters, environment=environment
    )


def _cephfs(cluster: Cluster, seconds: float, parameters: Parameters) -> WorkloadResult:
    cluster.install('cephfs-client')
    cluster.ensure_mds()
    return run_client(
        cluster, 'cephfs_client.py', 'cephfs-metadata', seconds, parameters=parameters
    )


def _fixed(**values: int) -> Callable[[float], Parameters]:
    return lambda _seconds: values


def _randwrite_defaults(seconds: float) -> Parameters:
    blocks = math.ceil(seconds * _RANDWRITE_MAX_IOPS)
    size_mib = max(_MIN_IMAGE_BYTES >> 20, math.ceil(blocks * 4096 / (1 << 20)))
    size_bytes = size_mib << 20
    return {'iodepth': 16, 'size_bytes': size_bytes, 'block_size_bytes': 4096, 'rate_iops': 0}


def _delete_defaults(seconds: float) -> Parameters:
    objects = max(100, int(seconds * _DELETES_PER_S))
    return {'threads': 8, 'object_size_bytes': 4096, 'objects': objects}


WORKLOADS: dict[str, Workload] = {
    'rbd-randwrite': Workload(rbd.randwrite, _randwrite_defaults, 'fio, librbd, 4 KiB writes'),
    'rbd-seqwrite': Workload(
        rbd.seqwrite,
        _fixed(iodepth=8, size_bytes=1 << 30, block_size_bytes=1 << 20, rate_iops=0),
        'fio, librbd, 1 MiB writes in order',
    ),
    'rbd-randread': Workload(
        rbd.randread,
        _fixed(iodepth=16, size_bytes=512 << 20, block_size_bytes=4096, rate_iops=0),
        'fio, librbd, 4 KiB reads',
    ),
    'rbd-randrw': Workload(
        rbd.randrw,
        _fixed(
            iodepth=16, size_bytes=512 << 20, block_size_bytes=4096, rate_iops=0, read_percent=50
        ),
        'fio, librbd, 4 KiB reads and writes',
    ),
    's3-put': Workload(
        partial(_s3, 's3-put'), _fixed(threads=8, object_size_bytes=4096), 'small new objects'
    ),
    's3-list': Workload(
        partial(_s3, 's3-list'),
        _fixed(threads=4, object_size_bytes=16, objects=2000),
        'pages of 1000 keys of a bucket',
    ),
    's3-delete': Workload(partial(_s3, 's3-delete'), _delete_defaults, 'objects one by one'),
    's3-large-put': Workload(
        partial(_s3, 's3-large-put'),
        _fixed(threads=4, object_size_bytes=8 << 20, objects=32),
        'objects of 8 MiB, over each other',
    ),
    'cephfs-metadata': Workload(_cephfs, _fixed(threads=4), 'creates, renames and unlinks'),
}


def complete(name: str, seconds: float, given: Mapping[str, int]) -> Parameters:
    """The parameters of a run; UsageError for a name, a duration or a parameter that cannot be."""
    workload = WORKLOADS.get(name)
    if workload is None:
        raise UsageError(f'unknown workload {name!r}: choose one of {", ".join(WORKLOADS)}')
    if not 0 < seconds <= MAX_SECONDS:
        raise UsageError(f'seconds must be above 0 and at most {MAX_SECONDS}, not {seconds:g}')
    known = workload.defaults(seconds)
    for parameter, value in given.items():
        if parameter not in known:
            raise UsageError(f'workload {name} takes no {parameter}: it takes {", ".join(known)}')
        if value < (parameter != 'rate_iops'):
            raise UsageError(f'{parameter} must be positive, not {value}')
    return {**known, **given}


def run_workload(cluster: Cluster, name: str, seconds: float, **parameters: int) -> WorkloadResult:
    """Run a workload on a running cluster; `parameters` are those of PARAMETERS.

    Errors of the client's requests are in the result (see `ok`); HarnessError when it could not
    run at all, UsageError for what it does not know. Different workloads may run side by side, but
    two runs of one would write over each other's image or objects.
    """
    chosen = complete(name, seconds, parameters)
    cluster.require_running()
    with held_name(f'workload-{name}-{cluster.record.fsid}') as alone:
        if not alone:
            raise HarnessError(f'another {name} is running on the cluster in {cluster.dir}')
        try:
            with space.watched(cluster.dir, cluster.hosts.cancel, cluster.hosts.resume):
                result = WORKLOADS[name].run(cluster, seconds, chosen)
        except HarnessError as error:
            # Without them many a client waits for ever and does not know what for
            dead = dead_daemons(cluster)
            if dead:
                raise HarnessError(f'{error}\n{dead}') from error
            raise
        if not result.ok:
            for line in dead_daemons(cluster).splitlines():
                cluster.progress.say(line)
        return result
