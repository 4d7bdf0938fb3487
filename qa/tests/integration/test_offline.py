"""The same answers without the cluster: from a report, and from what Ceph's own commands print."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import pytest

from harness import Cluster
from harness.errors import HarnessError
from module_client import ALTERNATE_2019, CHECKOUT, OPTION, SCHEMAS, ModuleClient
from real_workload import run_workload

pytestmark = pytest.mark.integration

Answers = TypeVar('Answers')

#: Ticks are then further apart than the commands of a test.
SLOW_S = '300'


@pytest.fixture(scope='module')
def folder(tuner: ModuleClient) -> Iterator[Path]:
    """The input of a support engineer: the output of Ceph's commands, under load."""
    with tempfile.TemporaryDirectory(prefix='tuner-files-') as name:
        client = run_workload(tuner.cluster, 'rbd-randwrite', 600)
        try:
            tuner.wait_for(
                lambda: any((osd['write_iops'] or 0) > 50 for osd in tuner.osds()),
                40,
                'writes measured',
            )
            # Both are to know of a restart that is pending.
            tuner.cluster.ceph('config', 'set', 'osd.1', OPTION, ALTERNATE_2019)
            collect(tuner.cluster, Path(name), of_cluster=True)
            # A brief load is no reason for advice.
            time.sleep(30)
            collect(tuner.cluster, Path(name), of_cluster=False)
            tuner.cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/sample_interval', SLOW_S)
            tuner.wait_for(
                lambda: tuner.status()['sampling']['interval_s'] == float(SLOW_S),
                30,
                'the last sample',
            )
        finally:
            client.terminate()
            client.wait(30)
        yield Path(name)


def tell(cluster: Cluster, osd: int, *words: str) -> str:
    """Retried: on a busy machine one answer in hundreds was lost."""
    try:
        return cluster.ceph('tell', f'osd.{osd}', *words, timeout_s=15)
    except HarnessError:
        return cluster.ceph('tell', f'osd.{osd}', *words)


def collect(cluster: Cluster, folder: Path, *, of_cluster: bool) -> None:
    """As described in the manual."""
    if of_cluster:
        for name, words in {
            'osd_dump': ('osd', 'dump'),
            'osd_metadata': ('osd', 'metadata'),
            'osd_crush_dump': ('osd', 'crush', 'dump'),
            'config_dump': ('config', 'dump'),
            'health': ('health',),
        }.items():
            text = cluster.ceph(*words, '--format', 'json')
            (folder / f'{name}.json').write_text(text)
    for osd in range(3):
        dump = tell(cluster, osd, 'perf', 'dump')
        (folder / f'osd.{osd}.perf_dump.{int(time.time())}.json').write_text(dump)
        if of_cluster:
            files = tell(cluster, osd, 'bluefs', 'files', 'list')
            (folder / f'osd.{osd}.bluefs_files.json').write_text(files)
            shown = cluster.ceph('config', 'show', f'osd.{osd}', '--format', 'json')
            (folder / f'osd.{osd}.config_show.json').write_text(shown)


def offline(path: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ['/usr/bin/python3', '-m', 'rocksdb_tuner.offline', str(path), *words],
        env={'PATH': os.environ['PATH'], 'PYTHONPATH': str(CHECKOUT / 'src/pybind/mgr')},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    assert 'Traceback' not in done.stderr
    return done


def judged(path: Path, *words: str, schema: str) -> Any:
    document = json.loads(offline(path, *words, '--format', 'json').stdout)
    jsonschema.validate(document, json.loads((SCHEMAS / f'{schema}.schema.json').read_text()))
    return document


#: The facts known about an OSD besides measurements.
FACTS = ('osd', 'host', 'device_class', 'up', 'db_device_shared', 'options')

#: Samples that may come between a report and the answers compared with it.
LOOKS = 6


def of_one_sample(
    tuner: ModuleClient, ask: Callable[[], Answers], *words: str
) -> tuple[str, Answers]:
    """The text of a report, and the answers of ``ask`` from the same sample of the cluster.

    Between two ticks a change of the cluster (a removed pool) triggers another sample.
    """
    for _ in range(LOOKS):
        before, answers, after = report(tuner, *words), ask(), report(tuner, *words)
        if taken_s(before) == taken_s(after):
            return before, answers
    raise AssertionError(f'the module sampled the cluster {LOOKS} times in a row')


def report(tuner: ModuleClient, *words: str) -> str:
    return tuner.cluster.ceph('rocksdb-tuner', 'report', *words)


def taken_s(text: str) -> float:
    document = json.loads(text)
    jsonschema.validate(document, json.loads((SCHEMAS / 'report.schema.json').read_text()))
    return float(document['collection']['taken_s'])


def test_report_gives_the_same_json_as_the_module(
    tuner: ModuleClient, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / 'report.json'
    text, there = of_one_sample(
        tuner,
        lambda: {
            command: tuner.json(*command.split(), schema=schema_of(command))
            for command in ('workload', 'findings', 'recommend', 'recommend --all', 'history')
        },
    )
    path.write_text(text)
    assert {
        command: judged(path, *command.split(), schema=schema_of(command)) for command in there
    } == there
    assert there['findings'] != []
    assert there['workload']['groups'][0]['workload']['class'] == 'rbd-small-write'


def test_report_shows_each_osd_as_the_module_does(
    tuner: ModuleClient, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / 'report.json'
    text, there = of_one_sample(
        tuner, lambda: [tuner.json('osd', str(osd), schema='osd-detail') for osd in range(3)]
    )
    path.write_text(text)
    assert [judged(path, 'osd', str(osd), schema='osd-detail') for osd in range(3)] == there


def test_report_gives_the_same_tables_as_the_module(
    tuner: ModuleClient, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / 'report.json'
    commands = [['workload'], ['findings'], ['recommend'], ['recommend', '--all'], ['osd']]
    text, there = of_one_sample(tuner, lambda: [tuner.plain(*words) for words in commands])
    path.write_text(text)
    # The module keeps sections apart by a blank: the ceph command leaves out empty lines.
    assert [with_text(offline(path, *words).stdout) for words in commands] == [
        with_text(table) for table in there
    ]


def schema_of(command: str) -> str:
    return command.replace(' --', '-')


def with_text(table: str) -> list[str]:
    return [line for line in table.splitlines() if line.strip()]


def test_anonymized_report_differs_only_in_names(
    tuner: ModuleClient, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / 'report.json'
    text, there = of_one_sample(
        tuner,
        lambda: {
            command: tuner.json(command, schema=command) for command in ('findings', 'recommend')
        },
        '--anonymous',
    )
    path.write_text(text)
    host = tuner.osds()[0]['host']
    assert f'"{host}"' not in text
    assert '127.0.0.1' not in text
    for command, answer in there.items():
        here = json.dumps(judged(path, command, schema=command))
        assert here == json.dumps(answer).replace(host, 'host-1')
    assert {osd['host'] for osd in judged(path, 'osd', schema='osd')} == {'host-1'}


def test_output_of_ceph_commands_gives_the_same_findings_workload_and_options(
    tuner: ModuleClient, folder: Path
) -> None:
    found = judged(folder, 'workload', schema='workload')['groups'][0]['workload']
    assert found['class'] == 'rbd-small-write'
    for findings in (
        judged(folder, 'findings', schema='findings'),
        tuner.json('findings', schema='findings'),
    ):
        assert {'memory-target-small', 'restart-pending'} <= {f['id'] for f in findings}
    # Other findings and the advice follow from the load, and these are the loads of two times: that
    # equal measures give equal answers, the tests of reports prove.
    facts, available_facts = (
        {osd['osd']: {name: osd[name] for name in FACTS} for osd in osds}
        for osds in (judged(folder, 'osd', schema='osd'), tuner.osds())
    )
    assert facts == available_facts
    for osd in judged(folder, 'osd', schema='osd'):
        assert osd['kv_sync_ms'] > 0
        assert osd['wal_bytes_per_s'] > 0
    assert 'module' in offline(folder, 'status').stderr


def test_truncated_files_are_named(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    cut = tmp_path / 'config_dump.json'
    cut.write_bytes(cut.read_bytes()[:-20])
    assert 'config_dump.json' in offline(tmp_path, status=1).stderr
