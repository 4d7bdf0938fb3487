"""The runner of Ceph's qa/tasks: what its stand-ins ask of a cluster, and what they answer."""

from __future__ import annotations

import errno
import json
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.host import Completed
from upstream import lab_stand_ins
from upstream.cluster_tests import cases, load, main
from upstream.lab_stand_ins import CommandFailedError, Daemon, context

#: In the form of Ceph's, with what it asks of teuthology.
FILES = {
    'tasks/__init__.py': '',
    'tasks/cephfs/__init__.py': '',
    'tasks/mgr/__init__.py': '',
    'tasks/cephfs/filesystem.py': """
from gevent import Greenlet
from teuthology import misc, contextutil
from teuthology.nuke import clear_firewall
from teuthology.parallel import parallel
from tasks.ceph_manager import CephManager, write_conf

class CephClusterBase:
    def __init__(self, ctx):
        self.mon_manager = ctx.managers['ceph']
        first = misc.get_first_mon(ctx, None)
        (self.admin_remote,) = ctx.cluster.only(first).remotes.keys()
""",
    'tasks/mgr/mgr_test_case.py': """
import unittest
from teuthology import misc
from tasks.ceph_manager import CephManager
from tasks.cephfs.filesystem import CephClusterBase

class MgrClusterBase(CephClusterBase):
    def __init__(self, ctx):
        super().__init__(ctx)
        self.mgr_ids = list(misc.all_roles_of_type(ctx.cluster, 'mgr'))
        self.mgr_daemons = {i: ctx.daemons.get_daemon('mgr', i) for i in self.mgr_ids}

class MgrTestCase(unittest.TestCase):
    ctx = ceph_cluster = mgr_cluster = None

    def setUp(self):
        self.mon_manager = CephManager(self.ceph_cluster.admin_remote, ctx=self.ctx, logger=None)

    def tearDown(self):
        self.mon_manager.raw_cluster_cmd('config', 'reset', str(self.ctx.conf_epoch))
""",
    'tasks/mgr/test_made.py': """
from teuthology.exceptions import CommandFailedError
from .mgr_test_case import MgrTestCase

class TestMade(MgrTestCase):
    def test_managers_restart(self):
        for daemon in self.mgr_cluster.mgr_daemons.values():
            daemon.stop()
            daemon.restart()

    def test_errors_have_their_errno(self):
        with self.assertRaises(CommandFailedError) as refused:
            self.mon_manager.raw_cluster_cmd('rocksdb-tuner', 'apply', 'none')
        self.assertEqual(refused.exception.exitstatus, 2)
""",
}


class FakeLab:
    """A cluster with two managers, which records what is asked of it."""

    def __init__(self) -> None:
        self.client = self
        self.asked: list[tuple[str, ...]] = []
        self.pids: dict[str, int | None] = {'mon.a': 1, 'mgr.x': 2, 'mgr.y': None}

    def run(
        self, *argv: str, stdin: str = '', timeout_s: float = 0, check: bool = True
    ) -> Completed:
        assert not check
        self.asked.append(argv)
        if argv[1:3] == ('config', 'log'):
            return Completed(argv, 0, json.dumps([{'version': 17}]), '')
        refused = 'rocksdb-tuner' in argv
        return Completed(argv, errno.ENOENT * refused, stdin, '')

    def status(self) -> SimpleNamespace:
        daemons = [SimpleNamespace(name=name) for name in self.pids]
        return SimpleNamespace(daemons=daemons, pid=self.pids.__getitem__)

    def stop_daemon(self, name: str) -> None:
        assert self.pids[name] is not None
        self.pids[name] = None

    def start_daemon(self, name: str) -> None:
        assert self.pids[name] is None
        self.pids[name] = 99


@pytest.fixture
def qa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding='utf-8')
    monkeypatch.setattr(sys, 'path', [*sys.path])
    before = {**sys.modules}
    yield tmp_path
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]


def test_tests_of_a_tree_run_on_the_cluster_that_they_are_given(qa: Path) -> None:
    lab = FakeLab()
    suite = load(qa, ['tasks.mgr.test_made'], lab)
    assert len(list(cases(suite))) == 2
    done = suite.run(unittest.TestResult())
    assert done is not None
    assert not [*done.errors, *done.failures]
    # Each ends with the configuration that the first began with.
    assert lab.asked.count(('ceph', 'config', 'reset', '17')) == 2
    assert lab.pids == {'mon.a': 1, 'mgr.x': 99, 'mgr.y': 99}


def test_every_name_that_is_taken_from_teuthology_is_there(qa: Path) -> None:
    """What no test of managers needs says so when it is used."""
    load(qa, [], FakeLab())
    with pytest.raises(NotImplementedError):
        sys.modules['teuthology.nuke'].clear_firewall(None)


def test_output_input_and_status_are_those_of_the_command() -> None:
    manager = context(FakeLab()).managers['ceph']
    assert manager.raw_cluster_cmd(args=['status'], stdin='given') == 'given'
    assert manager.raw_cluster_cmd_result('rocksdb-tuner', 'status') == errno.ENOENT
    assert manager.run_cluster_cmd('osd tree', check_status=False).returncode == 0
    with pytest.raises(CommandFailedError, match=r'rocksdb-tuner status.*status 2'):
        manager.run_cluster_cmd('rocksdb-tuner status')


def test_a_daemon_that_does_not_run_is_started_and_not_stopped() -> None:
    lab = FakeLab()
    daemon = Daemon(lab, 'mgr.y')
    daemon.stop()
    assert not daemon.running()
    daemon.restart()
    assert daemon.running()


def test_stand_ins_take_no_place_before_they_are_installed() -> None:
    assert not set(lab_stand_ins.modules()) & sys.modules.keys()


@pytest.mark.parametrize(
    ('arguments', 'status', 'said'),
    [
        (['tree'], 2, 'usage:'),
        (['.', '.', 'tasks.mgr.test_made'], 1, 'is not a source tree of Ceph'),
    ],
)
def test_bad_arguments_are_named(
    arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == status
    assert said in capsys.readouterr().err
