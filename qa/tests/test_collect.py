"""contrib/collect: what it gathers from a `ceph` that answers, does not answer, or has secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.layout import CHECKOUT
from rocksdb_tuner.advise.facts import WATCHED_IF_SET
from rocksdb_tuner.offline.folder import read_folder
from rocksdb_tuner.offline.judge import judge
from rocksdb_tuner.plan.records import ANNEX, OPTION

COLLECT = CHECKOUT / 'contrib/collect'
TESTS = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/tests'
KV_STATS = TESTS / 'observe/data/pacific/extended.txt'
DUMP = TESTS / 'offline/data/pacific/osd.0.perf_dump.1795217000.json'
#: As a monitor prints them, with what must not leave the cluster.
ENTRIES = [
    {'section': 'osd', 'mask': '', 'name': OPTION, 'value': 'a={b=1;c="}"},write_buffer_size=1'},
    {'section': 'mgr', 'mask': '', 'name': 'mgr/dashboard/PWD', 'value': 'hunter2'},
    {'section': 'global', 'mask': '', 'name': 'rgw_keystone_admin_password', 'value': '\\"}{'},
    {'section': 'osd', 'mask': 'class:ssd', 'name': 'osd_memory_target', 'value': '4294967296'},
]
SHOWN = [
    {'name': 'keyring', 'value': '/etc/ceph/keyring', 'source': 'file'},
    {'name': OPTION, 'value': 'write_buffer_size=1', 'source': 'mon', 'ignores': 'default'},
]
#: Answers by the words of the command; a file is printed.
FAKE = """#!/bin/sh
folder=$(dirname "$0")
name=$(printf '%s' "$*" | tr ' /' '__')
echo "$*" >> "$folder/asked"
[ -f "$folder/answers/$name" ] || { echo "Error EINVAL: no $*" >&2; exit 22; }
cat "$folder/answers/$name"
"""


@pytest.fixture
def ceph(tmp_path: Path) -> Path:
    """A `ceph` with two OSDs, of which one is up."""
    answers = tmp_path / 'bin/answers'
    answers.mkdir(parents=True)
    osd_map = json.loads((TESTS / 'mgr/data/pacific/osd_map.json').read_text())
    osd_map['osds'] = [{**osd_map['osds'][0], 'osd': n, 'up': int(n == 0)} for n in (0, 1)]
    metadata = json.loads((TESTS / 'mgr/data/pacific/osd_metadata.json').read_text())
    json_answers: Mapping[str, Any] = {
        'osd_dump': osd_map,
        'osd_metadata': [{'id': 0, **metadata['0']}],
        'osd_crush_dump': json.loads((TESTS / 'mgr/data/pacific/osd_map_crush.json').read_text()),
        'config_dump': ENTRIES,
        'health_detail': {'status': 'HEALTH_OK', 'checks': {}},
        'config_show_osd.0': SHOWN,
    }
    for name, answer in json_answers.items():
        (answers / f'{name}_--format_json').write_text(json.dumps(answer))
    (answers / 'fsid').write_text('an fsid')
    (answers / 'tell_osd.0_bluefs_files_list').write_text('[{"name": "sharding/def"}]')
    shutil.copy(DUMP, answers / 'tell_osd.0_perf_dump')
    shutil.copy(KV_STATS, answers / 'tell_osd.0_dump_objectstore_kv_stats')
    program = tmp_path / 'bin/ceph'
    program.write_text(FAKE)
    program.chmod(0o755)
    return answers


def collect(ceph: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it with that `ceph` only."""
    return subprocess.run(
        ['/bin/sh', str(COLLECT), '--interval', '1', '--out', 'out', *words],
        cwd=ceph.parents[1],
        env={'PATH': f'{ceph.parent}:/usr/bin:/bin'},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_script_collects_the_input_of_offline(ceph: Path) -> None:
    done = collect(ceph)
    assert done.returncode == 0, done.stderr
    folder = ceph.parents[1] / 'out'
    names = sorted(re.sub(r'\.\d{9,}\.', '.TIME.', path.name) for path in folder.iterdir())
    assert names == [
        'config_dump.json',
        'health.json',
        'osd.0.bluefs_files.json',
        'osd.0.config_show.json',
        *['osd.0.kv_stats.TIME.txt'] * 2,
        *['osd.0.perf_dump.TIME.json'] * 2,
        'osd_crush_dump.json',
        'osd_dump.json',
        'osd_metadata.json',
    ]
    judgement = judge(read_folder(folder))
    assert judgement.snapshot.osds[0].options is not None
    assert judgement.snapshot.osds[0].options.next_start == ENTRIES[0]['value']
    with tarfile.open(f'{folder}.tar.gz') as archive:
        assert {Path(name).name for name in archive.getnames()} >= {'osd_dump.json'}
    # Other users of the host cannot read it.
    assert folder.stat().st_mode & 0o077 == 0


def test_only_read_commands_are_run(ceph: Path) -> None:
    collect(ceph)
    asked = (ceph.parent / 'asked').read_text().splitlines()
    assert {words.replace(' ', '_') for words in asked} == {path.name for path in ceph.iterdir()}


def test_only_osd_options_of_the_configuration_are_collected(ceph: Path) -> None:
    collect(ceph)
    folder = ceph.parents[1] / 'out'
    assert json.loads((folder / 'config_dump.json').read_text()) == [ENTRIES[0], ENTRIES[3]]
    assert json.loads((folder / 'osd.0.config_show.json').read_text()) == [SHOWN[1]]
    assert b'hunter2' not in b''.join(path.read_bytes() for path in folder.iterdir())


def test_every_option_used_is_collected() -> None:
    (prefixes,) = re.findall(r'"\(([a-z|]+)\)_\[a-z0-9_\]\*"/', COLLECT.read_text())
    kept = re.compile(rf'({prefixes})_[a-z0-9_]*')
    assert [name for name in (OPTION, ANNEX, *WATCHED_IF_SET) if not kept.fullmatch(name)] == []


@pytest.mark.parametrize(
    'secret',
    [
        'AQDOCDlpAAAAABAAtcIYkJmwYlKPOHbgHyPWBg==',
        '-----BEGIN RSA PRIVATE KEY-----',
        '{"admin_password": "hunter2"}',
    ],
)
def test_possible_secrets_are_not_packed(ceph: Path, secret: str) -> None:
    health = ceph / 'health_detail_--format_json'
    health.write_text(json.dumps({'checks': {}, 'muted': secret})[:-1])
    with health.open('a') as file:
        file.write(f', "more": {secret}}}' if secret.startswith('{') else '}')
    done = collect(ceph)
    assert done.returncode == 4
    assert './health.json' in done.stderr
    assert not (ceph.parents[1] / 'out.tar.gz').exists()


def test_unresponsive_osd_is_reported_and_the_rest_collected(ceph: Path) -> None:
    (ceph / 'tell_osd.0_perf_dump').unlink()
    done = collect(ceph)
    assert done.returncode == 3
    assert 'missing: osd.0.perf_dump.' in done.stderr
    assert 'Error EINVAL: no tell osd.0 perf dump' in done.stderr
    assert (ceph.parents[1] / 'out.tar.gz').exists()


def test_disabled_statistics_are_no_missing_answer(ceph: Path) -> None:
    """The command succeeds and prints nothing; no answer in JSON does (16.2.15 sometimes did)."""
    (ceph / 'tell_osd.0_dump_objectstore_kv_stats').write_text('')
    assert collect(ceph).returncode == 0
    (ceph / 'health_detail_--format_json').write_text('')
    shutil.rmtree(ceph.parents[1] / 'out')
    done = collect(ceph)
    assert (done.returncode, 'missing: health.json' in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ('words', 'status', 'text'),
    [
        (['--osds', '0,1'], 2, 'invalid OSDs "0,1"'),
        (['--interval', 'x'], 2, 'invalid interval "x"'),
        (['--what'], 2, 'unknown argument "--what"'),
        (['--out'], 2, '--out requires a value'),
        (['--ceph', 'false'], 1, '"false fsid" fails'),
    ],
)
def test_wrong_command_line_is_named(ceph: Path, words: list[str], status: int, text: str) -> None:
    done = collect(ceph, *words)
    assert (done.returncode, (ceph.parents[1] / 'out').exists()) == (status, False)
    assert text in done.stderr


@pytest.mark.parametrize('program', ['cephadm', 'kubectl'])
def test_containerized_ceph_is_queried_inside_the_containers(ceph: Path, program: str) -> None:
    """The words after the "--" are those of the command."""
    wrapper = ceph.parent / program
    wrapper.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift 2\n'
                       f'exec {ceph.parent}/real "$@"\n')  # fmt: skip
    wrapper.chmod(0o755)
    (ceph.parent / 'ceph').rename(ceph.parent / 'real')
    done = collect(ceph)
    assert done.returncode == 0, done.stderr
    assert f'using: {program} ' in done.stderr


def test_script_is_posix_sh() -> None:
    """By the shell's own reader; shellcheck reads it where it is installed."""
    subprocess.run(['sh', '-n', str(COLLECT)], check=True)
    assert os.access(COLLECT, os.X_OK)
    checker = shutil.which('shellcheck')
    if checker is not None:
        done = subprocess.run([checker, str(COLLECT)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, '')
