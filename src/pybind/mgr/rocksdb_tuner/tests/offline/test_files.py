"""Folders as they come: files missing, broken, foreign; and the command line that takes them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.collection.report import UnreadableError
from rocksdb_tuner.offline.cli import main
from rocksdb_tuner.offline.files import SourceFile
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
    (folder / 'osd_dump.json').write_text(json.dumps(dump))
    (folder / 'osd_metadata.json').write_text(
        json.dumps(
            [
                {**known, 'id': number, 'ceph_version_short': version, 'ceph_release': 'named'}
                for number, version in enumerate(versions)
            ]
        )
    )
    assert document(capsys, folder, 'status')['release'] == release
    shown = run(capsys, folder, 'status')[1]
    assert ('unknown to this module' in shown) is (release is None)


def test_all_prints_the_output_of_each_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = document(capsys, folder)
    for name, answer in whole.items():
        assert answer == document(capsys, folder, name)
    status, text, _ = run(capsys, folder)
    assert status == 0
    assert [f'== {name}' in text for name in whole] == [True] * 5


def _work(folder: Path, seconds: int, rates: dict[str, int], applications: Sequence[str]) -> None:
    """Two dumps, between which clients did ``rates`` per second."""
    before = json.loads((folder / BEFORE).read_text())
    after = json.loads((folder / BEFORE).read_text())
    (folder / AFTER).unlink()
    for name, per_s in rates.items():
        after['osd'][name] = before['osd'][name] + per_s * seconds
    (folder / f'osd.0.perf_dump.{1795217000 + seconds}.json').write_text(json.dumps(after))
    _serve_pools(folder, applications)


def _serve_pools(folder: Path, applications: Sequence[str]) -> None:
    dump = json.loads((folder / 'osd_dump.json').read_text())
    dump['pools'] = [
        {**dump['pools'][-1], 'pool': i, 'application_metadata': {name: {}}}
        for i, name in enumerate(applications, start=1)
    ]
    (folder / 'osd_dump.json').write_text(json.dumps(dump))


#: Operations per second, KiB of each write, applications of the pools.
MIXED = {
    '70/30': ((280, 120, 0), 4, ('rbd',)),
    'RBD with S3': ((40, 200, 50), 30, ('rbd', 'rgw')),
    '32 KiB': ((0, 200, 0), 32, ('rbd',)),
}


@pytest.mark.parametrize('name', MIXED)
@pytest.mark.parametrize(('seconds', 'found'), [(10, 'unknown'), (30, 'mixed'), (300, 'mixed')])
def test_mixed_workload_is_classified_if_the_dumps_are_far_enough_apart(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, seconds: int, found: str
) -> None:
    """As by the module, a workload has to last: here from one dump to the other."""
    (reads, writes, class_calls), kib, applications = MIXED[name]
    rates = {
        'op': reads + writes + class_calls,
        'op_r': reads,
        'op_w': writes,
        'op_w_in_bytes': writes * kib * 1024,
        'op_rw': class_calls,
    }
    _work(folder, seconds, rates, applications)
    (group,) = document(capsys, folder, 'workload')['groups']
    assert group['workload']['class'] == found
    answer = run(capsys, folder, 'recommend')[1]
    assert ('no workload has lasted long enough' in answer) is (found == 'unknown')


@pytest.mark.parametrize(
    ('grown', 'reported'),
    [(1, 'osd.0 slow within the last 10m'), (0, 'osd.0 latched'), (None, 'not watched for 10m')],
)
def test_alert_for_slow_operations_is_explained_from_files(
    folder: Path, capsys: pytest.CaptureFixture[str], grown: Optional[int], reported: str
) -> None:
    """By "ceph health detail" and the counters of both dumps, which are 1000s apart."""
    code, message = 'BLUESTORE_SLOW_OP_ALERT', 'osd.0 observed slow operation indications'
    checks = {code: {'detail': [{'message': message}]}}
    (folder / 'health.json').write_text(json.dumps({'checks': checks}))
    (folder / AFTER).rename(folder / 'osd.0.perf_dump.1795218000.json')
    if grown is not None:
        for path, count in ((BEFORE, 4), ('osd.0.perf_dump.1795218000.json', 4 + grown)):
            dump = json.loads((folder / path).read_text())
            dump['bluestore']['slow_aio_wait_count'] = count
            (folder / path).write_text(json.dumps(dump))
    (found,) = (f for f in document(capsys, folder, 'findings') if f['id'] == 'slow-op-alert')
    assert reported in found['summary']


@pytest.mark.parametrize(
    ('name', 'message', 'consequence'),
    [
        ('osd_metadata.json', 'ceph osd metadata', 'release'),
        ('osd_crush_dump.json', 'ceph osd crush dump', 'detected at creation'),
        ('config_dump.json', 'ceph config dump', 'no recommendations'),
        ('health.json', 'ceph health', 'no findings based on them'),
        ('osd.0.config_show.json', 'ceph config show', 'ceph.conf'),
        ('osd.0.bluefs_files.json', 'bluefs files list', 'sharded'),
        (BEFORE, 'only one perf dump of osd.0', 'rates'),
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


def test_only_options_of_the_config_store_are_assumed_running(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / 'osd.0.config_show.json').unlink()
    entry = {'section': 'osd', 'mask': '', 'name': OPTION, 'value': 'compression=kLZ4Compression'}
    (folder / 'config_dump.json').write_text(json.dumps([entry]))
    detail = document(capsys, folder, 'osd', '0')
    assert detail['options']['running'] == 'compression=kLZ4Compression'
    assert detail['options']['pending_restart'] is None


def test_file_times_are_used_if_names_have_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / BEFORE).rename(folder / 'osd.0.perf_dump.before.json')
    (folder / AFTER).rename(folder / 'osd.0.perf_dump.json')
    os.utime(folder / 'osd.0.perf_dump.before.json', (1e9, 1e9))
    os.utime(folder / 'osd.0.perf_dump.json', (1e9 + 600, 1e9 + 600))
    (osd,) = document(capsys, folder, 'osd')
    assert osd['write_iops'] == pytest.approx(24213 / 600, rel=1e-4)
    assert 'modification times are used' in run(capsys, folder)[2]
    # Copied one after the other.
    os.utime(folder / 'osd.0.perf_dump.json', (1e9 + 1, 1e9 + 1))
    assert document(capsys, folder, 'osd')[0]['write_iops'] is None
    assert 'as after copying' in run(capsys, folder)[2]


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


@pytest.mark.parametrize('make', [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None]
) -> None:
    (folder / 'health.json').unlink()
    make(folder / 'health.json')
    status, out, err = run(capsys, folder)
    assert (status, out) == (1, '')
    assert 'health.json: is not a file' in err


@pytest.mark.parametrize(
    ('words', 'status', 'message'),
    [
        (('/nonexistent/x',), 1, 'No such file'),
        (('.', 'osd', '7'), 1, 'osd.7'),
        (('.', 'recommend', 'nope'), 1, '"nope"'),
        (('.', 'findings', 'nope'), 1, 'there is no finding "nope"'),
    ],
)
def test_missing_objects_are_named(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    status: int,
    message: str,
) -> None:
    where = [folder if word == '.' else word for word in words]
    found, out, err = run(capsys, *where)
    assert (found, out) == (status, '')
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


def test_empty_folder_lists_the_required_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, tmp_path)
    assert (status, 'is empty' in err) == (1, True)
    (tmp_path / 'notes.txt').write_text('hello')
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


def _sources(folder: Path) -> list[SourceFile]:
    return [SourceFile(p.name, p.read_bytes(), 1e9) for p in sorted(folder.iterdir())]


ODD: list[Any] = [None, [], {}, '', 'x' * 5000, '9' * 5000, -1, 1 << 63, 1e308, True, [None]]


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
    whole = [source for source in _sources(folder) if not source.name.startswith('osd.')]
    index = next(i for i, source in enumerate(whole) if source.name == name)
    content = whole[index].content
    assert isinstance(content, bytes)
    document = json.loads(content)
    tried = 0
    for path in _places(document):
        for odd in ODD:
            changed = [*whole]
            changed[index] = SourceFile(name, json.dumps(_with(document, path, odd)).encode(), 1e9)
            tried += 1
            with contextlib.suppress(UnreadableError):
                snapshot = judge(read_files(changed)).snapshot
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
