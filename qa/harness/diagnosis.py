"""Information for debugging a failed cluster."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from .boot import MODULE
from .client import CephClient
from .cluster import Cluster, without_dumps
from .errors import CommandError, HarnessError

QUERY_TIMEOUT_S = 15.0
LINES = 40
#: Relevant errors in an OSD's log: who ended it, why it does not start, a crash.
OSD_LINES = 20
_ERROR = re.compile(r'\S+ \S+ +-1 ')
_QUESTIONS = (('-s',), ('health', 'detail'), ('osd', 'tree'))
_MODULE_QUESTIONS = tuple(
    ('rocksdb-tuner', *words)
    for words in (('status',), ('workload',), ('recommend',), ('operation', 'status'))
)


def dead_daemons(cluster: Cluster) -> str:
    """Each daemon that does not run, with the end of its log; '' when all do."""
    dead = [daemon.name for daemon in cluster.status().daemons if not daemon.up]
    return '\n'.join(f'{name} does not run; {cluster.log_tail(name, lines=LINES)}' for name in dead)


def osd_errors(cluster: Cluster) -> str:
    """The last errors in the log of each OSD, of those too that were started again since."""
    return '\n'.join(
        '\n'.join([f'the last errors in {path}:', *(f'    {line}' for line in found)])
        for name in cluster.record.daemons
        if name.startswith('osd.')
        for path in [cluster.host.outside(cluster.layout.log(name))]
        if (found := _errors(path))
    )


def _errors(path: Path) -> list[str]:
    try:
        lines = path.read_text(errors='replace').splitlines()
    except OSError:
        return []
    return [line for line in without_dumps(lines) if _ERROR.match(line)][-OSD_LINES:]


def report(cluster: Cluster) -> str:
    """The state of the machine and the cluster, missing daemons, and the module's messages.

    Takes two minutes at most, and raises nothing for unavailable information.
    """
    return '\n\n'.join(part for part in _parts(cluster) if part)


def _parts(cluster: Cluster) -> Iterator[str]:
    load = ' '.join(f'{value:.1f}' for value in os.getloadavg())
    yield f'cluster in {cluster.dir}: {cluster.record.state}; load of the machine: {load}'
    if cluster.dir.exists():
        free = shutil.disk_usage(cluster.dir).free
        yield f'free in its file system: {free / (1 << 30):.1f} GiB'
    yield dead_daemons(cluster)
    yield osd_errors(cluster)
    if not any(daemon.name.startswith('mon.') and daemon.up for daemon in cluster.status().daemons):
        return
    for words in _QUESTIONS + _MODULE_QUESTIONS * bool(cluster.record.spec.module):
        yield _asked(cluster.client, *words)
    for manager in cluster.record.spec.mgr_ids:
        yield cluster.log_tail(f'mgr.{manager}', MODULE)


def _asked(client: CephClient, *words: str) -> str:
    command = ' '.join(('ceph', *words))
    try:
        done = client.run('ceph', *words, timeout_s=QUERY_TIMEOUT_S, check=False)
    except CommandError as error:
        return str(error)
    except HarnessError as error:
        return f'{command}: {error}'
    return f'{command}:\n{done.stdout.rstrip() or done.stderr.rstrip()}'
