"""The command lines of qa/cluster and qa/workload, where no cluster is needed."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness import ClusterSpec, layout
from harness.cli import main, parse_erasure_code, parse_setting, parse_size
from harness.layout import Record, Rgw, load_record, save_record
from harness.workload_cli import main as workload_main

RECORD = Record('running', 'fsid', 16000, '/nowhere/run', ClusterSpec(), ('mon.a', 'osd.0'))


@pytest.mark.parametrize(
    ('text', 'size'),
    [
        ('67108864', 67108864),
        ('64M', 64 << 20),
        ('64m', 64 << 20),
        ('64MiB', 64 << 20),
        ('64MB', 64 << 20),
        ('1G', 1 << 30),
        ('2T', 2 << 40),
        ('4K', 4096),
        ('0', 0),
    ],
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    """Sizes are bytes, or powers of 1024 with a suffix."""
    assert parse_size(text) == size


@pytest.mark.parametrize('text', ['', 'M', '-1', '1.5G', '64Q', '64 M M', 'ten'])
def test_wrong_sizes_are_named(text: str) -> None:
    """The message repeats the input and shows a right one."""
    with pytest.raises(argparse.ArgumentTypeError, match='128M'):
        parse_size(text)


def test_erasure_codes() -> None:
    assert parse_erasure_code('4+2') == (4, 2)
    for wrong in ('', '4', '4+', '+2', '4-2', '4+2+1'):
        with pytest.raises(argparse.ArgumentTypeError, match=r'2\+1'):
            parse_erasure_code(wrong)


def test_settings_are_parsed() -> None:
    """A setting's value may hold anything but a new line, equals signs included."""
    assert parse_setting('bluestore_rocksdb_options=a=1,b=2') == (
        'bluestore_rocksdb_options',
        'a=1,b=2',
    )
    for wrong in ('x', '=1', 'A=1', '[osd]=1', 'a=1\n[mon]\nb=2'):
        with pytest.raises(argparse.ArgumentTypeError):
            parse_setting(wrong)


def test_native_release_of_the_machine_needs_no_chroot(capsys: pytest.CaptureFixture[str]) -> None:
    """Pacific runs on the machine itself: there is no chroot to list or remove."""
    assert main(['chroot', 'rm', 'pacific']) == 2
    assert 'runs on the machine itself' in capsys.readouterr().err


def test_several_clusters_without_a_choice_are_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --dir the only cluster is meant; of several, none is."""
    monkeypatch.delenv('QA_CLUSTER_DIR', raising=False)
    monkeypatch.setattr(layout, 'default_dir', tmp_path.joinpath)
    for name in ('reef', 'tentacle'):
        (tmp_path / name).mkdir()
        record = layout.Record('kept', 'f', 16000, '/tmp', layout.ClusterSpec(release=name), ())
        layout.save_record(tmp_path / name, record)
        expected = 0 if name == 'reef' else 2
        assert main(['status']) == expected
    captured = capsys.readouterr()
    assert '"release": "reef"' in captured.out
    assert f'{tmp_path / "reef"}, {tmp_path / "tentacle"}' in captured.err


def test_osd_older_than_its_cluster_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before anything is made: such an OSD would wait for ever at the monitors' door."""
    options = ['--release', 'reef', '--osd-releases', 'reef,pacific', '--dir', str(tmp_path / 'c')]
    assert main(['up', *options]) == 2
    assert 'an OSD of pacific cannot join a cluster that reef has made' in capsys.readouterr().err
    assert not (tmp_path / 'c').exists()


def test_unknown_release_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelled release is an error that names what there is."""
    assert main(['up', '--release', 'pasific']) == 2
    assert 'pacific, reef, tentacle' in capsys.readouterr().err


@pytest.mark.parametrize('command', ['status', 'env', 'exec -- true'])
def test_no_cluster_is_a_clear_error(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a cluster the message names the folder and how to create one."""
    first, *rest = command.split()
    assert main([first, '--dir', str(tmp_path), *rest]) == 1
    captured = capsys.readouterr()
    assert f'no cluster in {tmp_path}' in captured.err
    assert 'qa/cluster up' in captured.err
    assert captured.out == ''


def test_down_without_a_cluster_succeeds(tmp_path: Path) -> None:
    """Taking down what is not there succeeds, and leaves the folder alone."""
    (tmp_path / 'mine').touch()
    assert main(['down', '--dir', str(tmp_path)]) == 0
    assert (tmp_path / 'mine').exists()


def test_exec_without_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`exec` alone is a usage error."""
    assert main(['exec', '--dir', str(tmp_path), '--']) == 2
    assert 'no command given' in capsys.readouterr().err


def test_exec_in_a_dead_cluster_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its ports may be another cluster's by now."""
    save_record(tmp_path, RECORD)
    assert main(['exec', '--dir', str(tmp_path), '--', 'true']) == 1
    assert 'is not running' in capsys.readouterr().err


def test_up_refuses_a_folder_of_another_user(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A folder with anything in it that this harness did not make stays as it is."""
    (tmp_path / 'thesis.tex').write_text('x')
    assert main(['up', '--dir', str(tmp_path)]) == 1
    assert 'not empty' in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ['thesis.tex']


def test_up_refuses_to_overwrite_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Data kept by `down --keep` is not replaced by the next `up`."""
    save_record(tmp_path, replace(RECORD, state='kept'))
    assert main(['up', '--dir', str(tmp_path)]) == 1
    assert 'kept data' in capsys.readouterr().err
    assert load_record(tmp_path) is not None


def test_down_removes_leftovers_of_a_dead_cluster(tmp_path: Path) -> None:
    """After a crash of the machine `down` still clears the folder away."""
    folder = tmp_path / 'c'
    (folder / 'osd/0').mkdir(parents=True)
    (folder / 'osd/0/block').touch()
    save_record(folder, RECORD)
    assert main(['down', '--dir', str(folder)]) == 0
    assert not folder.exists()


def test_status_of_a_dead_cluster(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Daemons that do not run have no pid: null, not 0."""
    save_record(tmp_path, RECORD)
    assert main(['status', '--dir', str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        'release': 'pacific',
        'dir': str(tmp_path),
        'daemons': [
            {'name': 'mon.a', 'release': 'pacific', 'pid': None, 'up': False},
            {'name': 'osd.0', 'release': 'pacific', 'pid': None, 'up': False},
        ],
    }


def test_env_is_quoted_for_a_shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Values with characters that a shell takes for its own come through `eval`."""
    folder = tmp_path / "it's"
    folder.mkdir()
    save_record(folder, replace(RECORD, rgw=Rgw('rgw.a', 'http://127.0.0.1:1', 'A', 'b/$x')))
    assert main(['env', '--dir', str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "export AWS_SECRET_ACCESS_KEY='b/$x'" in lines
    assert 'export RGW_URL=http://127.0.0.1:1' in lines
    assert lines[0].startswith('export CEPH_CONF=')


def test_dir_comes_from_the_environment(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QA_CLUSTER_DIR names the folder where --dir does not."""
    monkeypatch.setenv('QA_CLUSTER_DIR', str(tmp_path))
    assert main(['status']) == 1
    assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['nope', '--seconds', '1'], 'unknown workload .nope.: choose one of rbd-randwrite'),
        (['s3-put', '--seconds', '0'], 'seconds must be above 0'),
        (['s3-put', '--seconds', 'nan'], 'seconds must be above 0'),
        (['s3-put', '--seconds', '1', '--iodepth', '4'], 's3-put takes no iodepth: it takes thr'),
        (['rbd-randwrite', '--seconds', '1', '--iodepth', '0'], 'iodepth must be positive, not 0'),
    ],
)
def test_wrong_workloads_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An invalid workload is refused before any cluster is queried, with exit status 2."""
    assert workload_main([*arguments, '--dir', str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert re.search(message, captured.err)


def test_workload_without_a_cluster(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A valid workload without a cluster reports where it searched."""
    assert workload_main(['s3-put', '--seconds', '1', '--dir', str(tmp_path)]) == 1
    assert f'no cluster in {tmp_path}' in capsys.readouterr().err
