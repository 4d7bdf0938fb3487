"""The command lines of qa/cluster and qa/workload, where no cluster is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import ClusterSpec
from harness.cli import main
from harness.layout import Record, Rgw, load_record, save_record

RECORD = Record('running', 'fsid', 16000, '/nowhere/run', ClusterSpec(), ('mon.a', 'osd.0'))


def test_osd_older_than_its_cluster_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before anything is made: such an OSD would wait for ever at the monitors' door."""
    options = ['--release', 'reef', '--osd-releases', 'reef,pacific', '--dir', str(tmp_path / 'c')]
    assert main(['up', *options]) == 2
    assert 'an OSD of pacific cannot join a cluster that reef has made' in capsys.readouterr().err
    assert not (tmp_path / 'c').exists()


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
