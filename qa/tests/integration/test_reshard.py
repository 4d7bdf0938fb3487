"""OSDs of Pacific under Reef: old column families are found, and the printed steps renew them."""

from __future__ import annotations

import json
import re
import shlex
import statistics
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from shared_cluster import new_cluster

from harness import ClusterSpec
from harness.layout import DEFAULT_MEMORY
from harness.releases import get_release
from module_client import OPTION, ModuleClient
from real_workload import ended, run_workload

pytestmark = [pytest.mark.integration, pytest.mark.advice, pytest.mark.from_pacific]

#: So small that the PG log fills what is flushed together within minutes, before and after.
MEMTABLE_BYTES = 1 << 19
LOAD_S = 90


@pytest.fixture(scope='module')
def tuner() -> Iterator[ModuleClient]:
    with new_cluster(ClusterSpec(release='pacific', osds=3, osd_conf=DEFAULT_MEMORY)) as client:
        client.cluster.upgrade(get_release('reef'), ['mon', 'mgr', 'osd'])
        yield client


def full_flushes(family: str, lines: Iterable[str], since_micros: int) -> list[int]:
    """Memory of the memtables of each flush because one was full, from RocksDB's log.

    The event of a flush does not name its column family, the line before it does.
    """
    family_of: dict[int, str] = {}
    sizes = []
    for line in lines:
        if begun := re.search(r'\[([^\]]+)\] \[JOB (\d+)\] Flushing memtable', line):
            family_of[int(begun[2])] = begun[1]
        elif found := re.search(r'EVENT_LOG_v1 (\{.*"flush_started".*\})\s*$', line):
            event = json.loads(found[1])
            full = event['flush_reason'] == 'Write Buffer Full'
            # After a restart job numbers begin again
            of_family = family_of.pop(event['job'], None) == family
            if full and of_family and event['time_micros'] >= since_micros:
                sizes.append(event['memory_usage'])
    return sizes


def flush_of_pg_log(tuner: ModuleClient) -> float:
    """Memory of the memtables of P that osd.0 flushes together while clients write, in bytes."""
    since_micros = int(time.time() * 1e6)
    assert ended(run_workload(tuner.cluster, 'rbd-randwrite', LOAD_S))['errors'] == 0
    log = tuner.cluster.hosts.of('osd.0').outside(tuner.cluster.layout.log('osd.0'))
    with log.open(errors='replace') as lines:
        sizes = full_flushes('P', lines, since_micros)
    print(f'full flushes of P: {sizes}')
    assert sizes, 'P was not filled'
    return statistics.median(sizes)


def carried_out(tuner: ModuleClient, commands: list[str]) -> list[str]:
    """The output of each printed command, with the folder of the OSD in this cluster."""
    cluster = tuner.cluster
    folder, host = str(cluster.layout.data('osd.0')), cluster.hosts.of('osd.0')
    message = []
    for command in commands:
        words = shlex.split(command.replace('/var/lib/ceph/osd/ceph-0', folder))
        message.append(
            host.run(words, environment=cluster.client.environment, timeout_s=300).stdout
        )
        if words[:4] == ['ceph', 'orch', 'daemon', 'stop']:
            tuner.wait_for(lambda: not tuner.osd_up(0), 60, 'osd.0 stopped')
        if words[:4] == ['ceph', 'orch', 'daemon', 'start']:
            tuner.wait_for(lambda: tuner.osd_up(0), 60, 'osd.0 started')
    return message


def evidence(finding: Any, signal: str) -> Any:
    return next(e['value'] for e in finding['evidence'] if e['signal'] == signal)


def test_outdated_column_families_are_found_and_resharded_by_the_printed_steps(
    tuner: ModuleClient,
) -> None:
    default = tuner.running(0)[0]
    options = re.sub(r'write_buffer_size=\d+', f'write_buffer_size={MEMTABLE_BYTES}', default)
    tuner.cluster.ceph('config', 'set', 'osd', OPTION, options)
    tuner.restart_all()

    def found() -> Any:
        # OSDs of which the new options are not known yet are in a finding of their own.
        findings = tuner.json('findings', schema='findings')
        return next(
            (f for f in findings if f['id'] == 'outdated-sharding' and f['osds'] == [0, 1, 2]), None
        )

    finding = tuner.wait_for(found, 90, 'outdated column families found')
    assert finding['severity'] == 'info'
    assert evidence(finding, 'flush of P then') == 32 * MEMTABLE_BYTES
    assert evidence(finding, 'ceph_version_when_created').startswith('16.2.')
    before = flush_of_pg_log(tuner)
    tuner.wait_for_clean()
    message = carried_out(tuner, finding['commands'])
    definitions = [text for text in message if 'O(3,0-13)' in text]
    assert evidence(finding, 'column families') in definitions[0]
    assert evidence(finding, 'default of the release') in definitions[-1]
    tuner.wait_for_clean()
    after = flush_of_pg_log(tuner)
    print(f'flush of P: {before:.0f} bytes before, {after:.0f} after')
    assert before == pytest.approx(evidence(finding, 'flush of P'), rel=0.2)
    assert after == pytest.approx(evidence(finding, 'flush of P then'), rel=0.2)
