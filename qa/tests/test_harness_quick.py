"""Commands that one process runs for many: doubles play Ceph's libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from harness import quick
from harness.client import CephClient
from harness.errors import CommandError
from harness.host import Host
from harness.quick import QuickCeph

RADOS = """
class Rados:
    def __init__(self, **options):
        pass
    def connect(self):
        pass
"""
#: Knows each word of its signatures; "hang" never answers, "die" ends the process.
ARGPARSE = """
import json, os, time
known, asked = ['osd stat', 'hang', 'die', 'refuse', 'raise'], []

def json_command(cluster, target, argdict=None, prefix=None, inbuf=b'', timeout=0):
    if prefix:
        asked.append(prefix)
        if len(asked) > 1:
            known.append('new')
        return 0, json.dumps(known).encode(), ''
    if argdict['prefix'] == 'hang':
        time.sleep(60)
    if argdict['prefix'] == 'die':
        os._exit(3)
    if argdict['prefix'] == 'refuse':
        return -16, b'', 'busy'
    if argdict['prefix'] == 'raise':
        raise RuntimeError('no monitor')
    print('libraries may print')
    return 0, json.dumps({'asked': len(asked), **argdict}).encode(), ''

def parse_json_funcsigs(text, consumer):
    return json.loads(text)

def validate_command(signatures, words):
    return {'prefix': ' '.join(words)} if ' '.join(words) in signatures else {}
"""


class Doubles(CephClient):
    """Runs this Python with doubles on its path, in place of a cluster's."""

    def __init__(self, folder: Path) -> None:
        (folder / 'rados.py').write_text(RADOS)
        (folder / 'ceph_argparse.py').write_text(ARGPARSE)
        self.host = Host()
        self.folder = folder
        self.started: list[tuple[str, ...]] = []

    @property
    def environment(self) -> dict[str, str]:
        return {'CEPH_CONF': '/c', 'PYTHONPATH': str(self.folder)}

    def ceph(self, *arguments: str, stdin: str = '', timeout_s: float = 60.0) -> str:
        self.started.append((*arguments, stdin, str(timeout_s)))
        return 'by the program'


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doubles:
    monkeypatch.setattr(quick, 'PYTHON', sys.executable)
    return Doubles(tmp_path)


def test_one_process_answers_commands_and_reads_the_command_list_once(client: Doubles) -> None:
    ceph = QuickCeph(client)
    try:
        first, second = (json.loads(ceph.ceph('osd', 'stat', '--format', 'json')) for _ in 'ab')
    finally:
        ceph.close()
    assert first == second == {'asked': 1, 'prefix': 'osd stat', 'format': 'json'}
    assert client.started == []


def test_new_command_is_looked_up_and_unknown_one_is_refused(
    client: Doubles,
) -> None:
    ceph = QuickCeph(client)
    try:
        assert json.loads(ceph.ceph('osd', 'stat'))['asked'] == 1
        assert json.loads(ceph.ceph('new'))['asked'] == 2
        with pytest.raises(CommandError) as error:
            ceph.ceph('nonsense')
    finally:
        ceph.close()
    assert error.value.returncode == 22
    assert 'invalid command' in str(error.value)


@pytest.mark.parametrize(
    ('word', 'code', 'message'),
    [('refuse', 16, 'busy'), ('raise', 5, 'no monitor'), ('die', None, 'its process ended')],
)
def test_error_is_reported_and_the_next_command_is_answered(
    client: Doubles, word: str, code: int | None, message: str
) -> None:
    ceph = QuickCeph(client)
    try:
        with pytest.raises(CommandError) as error:
            ceph.ceph(word)
        assert error.value.returncode == code
        assert message in str(error.value)
        assert 'osd stat' in ceph.ceph('osd', 'stat')
    finally:
        ceph.close()


def test_hanging_command_ends_at_its_limit_and_leaves_no_process(client: Doubles) -> None:
    ceph = QuickCeph(client)
    ceph.ceph('osd', 'stat')
    process = cast('subprocess.Popen[str]', ceph._process)  # to see that it ends
    with pytest.raises(CommandError, match='no end after'):
        ceph.ceph('hang', timeout_s=0.5)
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_commands_only_the_cli_can_run_are_left_to_it(client: Doubles) -> None:
    ceph = QuickCeph(client)
    ceph.ceph('tell', 'osd.*', 'version')
    ceph.ceph('config-key', 'set', 'k', '-i', '-', stdin='text', timeout_s=5.0)
    assert [words[0] for words in client.started] == ['tell', 'config-key']
