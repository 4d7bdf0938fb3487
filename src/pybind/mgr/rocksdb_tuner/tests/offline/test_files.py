"""Folders as they come: files missing, broken, foreign; and the command line that takes them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.collection.report import UnreadableError
from rocksdb_tuner.offline.cli import main
from rocksdb_tuner.offline.folder import read_files
from rocksdb_tuner.offline.judge import judge
from rocksdb_tuner.present import views

DATA = Path(__file__).parent / 'data/pacific'
MAPS = Path(__file__).parents[1] / 'mgr/data/pacific'
KV_STATS = Path(__file__).parents[1] / 'observe/data/pacific/extended.txt'
BEFORE, AFTER = 'osd.0.perf_dump.1795217000.json', 'osd.0.perf_dump.1795217600.json'
OPTION = 'bluestore_rocksdb_options'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All files of one OSD of Pacific."""
    return fill(tmp_path / 'files')


def fill(path: Path) -> Path:
    path.mkdir()
    for name in (BEFORE, AFTER):
        shutil.copy(DATA / name, path)
    shutil.copy(MAPS / 'osd_map.json', path / 'osd_dump.json')
    shutil.copy(MAPS / 'osd_map_crush.json', path / 'osd_crush_dump.json')
    (path / 'osd_metadata.json').write_text(json.dumps(metadata()))
    files: dict[str, Any] = {
        'config_dump.json': [],
        'health.json': {'checks': {}},
        'osd.0.config_show.json': [{'name': 'osd_data', 'value': '/x', 'source': 'file'}],
        'osd.0.bluefs_files.json': [{'name': 'sharding/def'}],
    }
    for name, content in files.items():
        (path / name).write_text(json.dumps(content))
    for time_s in (1795217000, 1795217600):
        shutil.copy(KV_STATS, path / f'osd.0.kv_stats.{time_s}.txt')
    return path


def metadata() -> list[dict[str, Any]]:
    """As the command prints it: a list, with the number of the OSD in each."""
    found = json.loads((MAPS / 'osd_metadata.json').read_text())
    return [{'id': int(osd_id), **of_osd} for osd_id, of_osd in found.items()]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def document(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> Any:
    status, out, err = run(capsys, folder, *words, '--format', 'json')
    assert status == 0, err
    return json.loads(out)


def test_full_folder_is_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (osd,) = document(capsys, folder, 'osd')
    assert (osd['osd'], osd['up'], osd['device_class']) == (0, True, 'hdd')
    # 24213 writes in 600 s, by the two dumps.
    assert osd['write_iops'] == pytest.approx(24213 / 600, rel=1e-4)
    assert osd['kv_sync_ms'] == pytest.approx((17.707198619 - 0.03592621) * 1e3 / 18602, rel=1e-4)
    assert osd['options'] == {
        'profile': 'bluestore-default-pacific',
        'pending_restart': False,
        'source': 'default',
    }
    detail = document(capsys, folder, 'osd', 'osd.0')
    assert detail['sharded'] is True
    assert detail['deep']['totals']['flush_write_bytes'] > 0
    assert detail['forecast'] is None
    status = document(capsys, folder, 'status')
    assert status['time'] == '2026-11-20T23:33:20Z'
    assert status['sampling']['interval_s'] is None


@pytest.mark.parametrize(
    ('versions', 'release'),
    [
        (('16.2.15',), 'pacific'),
        (('18.2.1', '18.2.7'), 'reef'),
        (('18.2.7', '16.2.15'), 'reef'),
        # One newer than the module knows, whose manager must be as new.
        (('18.2.7', '99.2.0'), None),
    ],
)
def test_release_without_a_manager_is_that_of_the_osds(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    versions: tuple[str, ...],
    release: Optional[str],
) -> None:
    (known,) = metadata()
    dump = json.loads((folder / 'osd_dump.json').read_text())
    dump['osds'] = [{**dump['osds'][0], 'osd': number} for number in range(len(versions))]
    named = [
        {**known, 'id': number, 'ceph_version_short': version, 'ceph_release': 'named'}
        for number, version in enumerate(versions)
    ]
    (folder / 'osd_dump.json').write_text(json.dumps(dump))
    (folder / 'osd_metadata.json').write_text(json.dumps(named))
    assert document(capsys, folder, 'status')['release'] == release
    shown = run(capsys, folder, 'status')[1]
    assert ('unknown to this module' in shown) is (release is None)


def test_without_a_command_five_are_answered(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = document(capsys, folder)
    assert all(answer == document(capsys, folder, name) for name, answer in whole.items())
    assert [f'== {name}' in run(capsys, folder)[1] for name in whole] == [True] * 5


@pytest.mark.parametrize(('seconds', 'found'), [(10, 'unknown'), (30, 'mixed')])
def test_workload_is_classified_if_the_dumps_are_far_enough_apart(
    folder: Path, capsys: pytest.CaptureFixture[str], seconds: int, found: str
) -> None:
    """As by the module, a workload has to last: here from one dump to the other."""
    before, after = (json.loads((folder / BEFORE).read_text()) for _ in range(2))
    per_s = {'op': 400, 'op_r': 280, 'op_w': 120, 'op_w_in_bytes': 120 * 4096, 'op_rw': 0}
    for name, rate in per_s.items():
        after['osd'][name] = before['osd'][name] + rate * seconds
    (folder / AFTER).unlink()
    (folder / f'osd.0.perf_dump.{1795217000 + seconds}.json').write_text(json.dumps(after))
    dump = json.loads((folder / 'osd_dump.json').read_text())
    dump['pools'] = [{**dump['pools'][-1], 'pool': 1, 'application_metadata': {'rbd': {}}}]
    (folder / 'osd_dump.json').write_text(json.dumps(dump))
    (group,) = document(capsys, folder, 'workload')['groups']
    assert group['workload']['class'] == found
    answer = run(capsys, folder, 'recommend')[1]
    assert ('no workload has lasted long enough' in answer) is (found == 'unknown')


@pytest.mark.parametrize(
    ('name', 'message', 'consequence'),
    [
        ('osd_metadata.json', 'ceph osd metadata', 'release'),
        ('osd_crush_dump.json', 'ceph osd crush dump', 'device classes'),
        ('config_dump.json', 'ceph config dump', 'nothing is recommended'),
        ('health.json', 'ceph health', 'no findings'),
        ('osd.0.config_show.json', 'ceph config show', 'nothing is recommended'),
        ('osd.0.bluefs_files.json', 'bluefs files list', 'sharded'),
        (BEFORE, 'perf dumps of osd.0 give no rates', 'a second one'),
    ],
)
def test_missing_files_are_reported_with_their_purpose(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, message: str, consequence: str
) -> None:
    (folder / name).unlink()
    status, _, err = run(capsys, folder)
    assert status == 0
    (line,) = [line for line in err.splitlines() if message in line]
    assert consequence in line
    notices = document(capsys, folder, 'status')['notices']
    assert line.removeprefix('note: ') in notices


def test_unknowable_values_are_null(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ('osd_metadata.json', 'osd_crush_dump.json', 'config_dump.json', BEFORE):
        (folder / name).unlink()
    (osd,) = document(capsys, folder, 'osd')
    assert (osd['host'], osd['device_class'], osd['write_iops']) == (None, None, None)
    assert osd['options']['pending_restart'] is None
    assert osd['db_used_bytes'] > 0
    assert document(capsys, folder, 'recommend') == []
    assert document(capsys, folder, 'workload')['groups'] == []


def test_dumps_inconsistent_with_the_times_in_their_names_give_no_rates(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / AFTER).rename(folder / 'osd.0.perf_dump.1795217005.json')
    (osd,) = document(capsys, folder, 'osd')
    assert osd['write_iops'] is None
    assert 'times of the dumps are wrong' in run(capsys, folder)[2]


def test_decreased_counters_give_no_rates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = json.loads((folder / AFTER).read_text())
    dump['osd']['op_w'] = 0
    dump['bluefs']['bytes_written_wal'] = 0
    (folder / AFTER).write_text(json.dumps(dump))
    assert document(capsys, folder, 'osd')[0]['write_iops'] is None
    assert 'counters decreased' in run(capsys, folder)[2]


def _write_latin_1(path: Path) -> None:
    path.write_bytes(b'ab\xff')


@pytest.mark.parametrize(
    ('make', 'reason'),
    [
        (Path.mkdir, 'is not a file'),
        (os.mkfifo, 'is not a file'),
        (_write_latin_1, 'is not text: byte 2 is not UTF-8'),
    ],
)
def test_what_is_no_text_file_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None], reason: str
) -> None:
    for name in ('health.json', 'osd.0.kv_stats.1795217000.txt'):
        (folder / name).unlink()
        make(folder / name)
    status, out, err = run(capsys, folder)
    assert (status, out) == (1, '')
    assert f'health.json: {reason}' in err
    assert f'osd.0.kv_stats.1795217000.txt: {reason}' in err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('/nonexistent/x',), 'No such file'),
        (('.', 'osd', '7'), 'osd.7'),
        (('.', 'recommend', 'nope'), '"nope"'),
        (('.', 'findings', 'nope'), 'there is no finding "nope"'),
    ],
)
def test_missing_objects_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    status, out, err = run(capsys, *(folder if word == '.' else word for word in words))
    assert (status, out) == (1, '')
    assert message in err


@pytest.mark.parametrize(
    'words',
    [
        (),
        ('.', 'nope'),
        ('.', 'osd', 'x'),
        ('.', 'status', '3'),
        ('.', 'findings', '--all'),
        ('.', 'recommend', 'nope', '--all'),
        ('.', '--format', 'xml'),
    ],
)
def test_wrong_command_line_exits_with_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as exit_status:
        run(capsys, *[folder if word == '.' else word for word in words])
    assert exit_status.value.code == 2
    assert 'usage:' in capsys.readouterr().err


def test_empty_folder_is_named_with_the_required_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, tmp_path)
    assert (status, 'ceph osd dump --format json' in err) == (1, True)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'{', 'truncated'),
        (b'{"format": "x", "version": 1, "collection": {}}', 'ceph-rocksdb-tuner-report'),
        (b'{"format": "ceph-rocksdb-tuner-report", "version": 9, "collection": {}}', 'version 9'),
        (b'{"format": "ceph-rocksdb-tuner-report", "version": 1}', '"collection" is null'),
        (b'[]', 'is not the output of "ceph rocksdb-tuner report"'),
    ],
)
def test_invalid_document_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    path = tmp_path / 'ticket.json'
    path.write_bytes(content)
    status, out, err = run(capsys, path)
    assert (status, out) == (1, '')
    assert 'ticket.json: ' in err
    assert message in err


ODD: list[Any] = [None, [], {}, '9' * 5000, 1e308]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Each place in a document, once for all items of a list and all names that are numbers."""
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _places(item, (*path, name))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*path, 0))


def _with(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: _with(value[path[0]], path[1:], new)}
    return [_with(value[0], path[1:], new), *value[1:]]


@pytest.mark.parametrize(
    'name', ['osd_dump.json', 'osd_crush_dump.json', 'osd_metadata.json', 'config_dump.json']
)
def test_unexpected_value_anywhere_gives_an_answer_or_names_the_file(
    folder: Path, name: str
) -> None:
    """Also in what other fields of the same map lead to: "buckets" of CRUSH may be null."""
    entry = {'section': 'osd', 'mask': '', 'name': OPTION, 'value': 'compression=kLZ4Compression'}
    (folder / 'config_dump.json').write_text(json.dumps([entry]))
    whole = {p.name: p.read_text() for p in folder.iterdir() if not p.name.startswith('osd.')}
    document = json.loads(whole[name])
    tried = 0
    for path in _places(document):
        for odd in ODD:
            changed = {**whole, name: json.dumps(_with(document, path, odd))}
            tried += 1
            with contextlib.suppress(UnreadableError):
                files = {file: partial(str, text) for file, text in changed.items()}
                snapshot = judge(read_files(files)).snapshot
                views.show('status', snapshot)
                views.show('findings', snapshot, 'plain')
    assert tried > 100 or name == 'config_dump.json'


def test_program_runs_without_ceph_and_without_the_module(folder: Path) -> None:
    """In a process of its own, where no mgr_module is."""
    done = _run_elsewhere(folder, 'sys.modules["ceph_module"] = None;')
    assert done.returncode == 0, done.stderr
    assert 'from files' in done.stdout


def test_program_runs_beside_the_files_of_a_manager(folder: Path, tmp_path: Path) -> None:
    """A host with managers has an mgr_module, which needs a ceph-mgr."""
    (tmp_path / 'mgr_module.py').write_text('import ceph_module\n')
    done = _run_elsewhere(folder, f'sys.path.insert(0, {str(tmp_path)!r});')
    assert done.returncode == 0, done.stderr


def _run_elsewhere(
    folder: Path, prelude: str = '', *, closed: bool = False
) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, without the doubles of the tests."""
    code = (
        f'import sys, runpy; {prelude} sys.path.insert(0, sys.argv.pop(1));'
        'runpy.run_module("rocksdb_tuner.offline", run_name="__main__")'
    )
    argv = [sys.executable, '-c', code, str(Path(__file__).parents[3]), str(folder)]
    environment = {'PATH': os.environ['PATH']}
    if not closed:
        return subprocess.run(
            argv, capture_output=True, text=True, check=False, cwd=folder.parent, env=environment
        )
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, 'w') as pipe:
        return subprocess.run(
            argv,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=folder.parent,
            env=environment,
        )


def test_missing_prettytable_is_reported(folder: Path) -> None:
    done = _run_elsewhere(folder, 'sys.modules["prettytable"] = None;')
    assert done.returncode == 1
    assert 'prettytable' in done.stderr
    assert 'Traceback' not in done.stderr


def test_closed_pipe_is_no_visible_error(folder: Path) -> None:
    done = _run_elsewhere(folder, closed=True)
    assert 'Traceback' not in done.stderr
    assert 'BrokenPipe' not in done.stderr
