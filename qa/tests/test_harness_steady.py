"""What a steady client noticed, and the laboratory's copy of the module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.laboratory import Laboratory
from harness.layout import CHECKOUT
from harness.workloads.steady import Noticed, Write, noticed, parse_log

#: Of fio 3.33: Unix time in ms, latency in ns, direction, block size, offset, priority.
LOG = '1795263713250, 12500000, 1, 4096, 8192, 0\n1795263713200, 50000000, 1, 4096, 4096, 0\n'


def test_log_of_fio_becomes_writes_in_the_order_of_their_ends() -> None:
    first, second = parse_log(LOG)
    assert (first.ended_s, second.ended_s) == (1795263713.2, 1795263713.25)
    assert first.latency_s == pytest.approx(0.05)
    assert second.began_s == pytest.approx(1795263713.2375)


def test_write_that_began_before_the_fault_and_ended_after_it_was_noticed() -> None:
    writes = [Write(0.0, 0.1), Write(1.0, 9.0), Write(9.0, 9.1)]
    assert noticed(writes, 2.0, 3.0) == Noticed(8.0, 7.0)


def test_pause_is_counted_up_to_the_first_write_that_ends_after_the_fault() -> None:
    writes = [Write(1.0, 1.1), Write(1.2, 1.3), Write(4.9, 6.3)]
    found = noticed(writes, 1.0, 5.0)
    assert found.longest_pause_s == pytest.approx(5.0)
    assert found.longest_write_s == pytest.approx(1.4)


def test_without_a_write_nothing_is_known() -> None:
    assert noticed([Write(1.0, 2.0)], 3.0, 4.0) == Noticed(None, None)


@pytest.mark.parametrize('folder', ['short', 'a longer/path'])
def test_copy_of_the_module_has_the_hooks_and_the_module_itself_has_not(
    tmp_path: Path, folder: str
) -> None:
    """The copy imports, its clock jumps, and nothing of it lies in the module's own folder."""
    laboratory = Laboratory(tmp_path / folder)
    laboratory.set_clock_offset(3600)
    code = (
        'import time, rocksdb_tuner.tuner as t, rocksdb_tuner.rollout.verdict as v;'
        'from rocksdb_tuner.mgr.adapter import MgrCluster;'
        "print(round(t.Tuner.__init__.__kwdefaults__['wall_clock']() - time.time()),"
        ' v.limits().block_s, MgrCluster.remove.__name__)'
    )
    paths = os.pathsep.join([str(laboratory.module.parent), str(CHECKOUT / 'qa/doubles')])
    done = subprocess.run(
        [sys.executable, '-c', code],
        env={**os.environ, 'PYTHONPATH': paths, 'PYTHONDONTWRITEBYTECODE': '1'},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ['3600', '2', '_remove_late'], done.stderr
    installed = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner'
    assert not list(installed.glob('laboratory*'))
    own = json.loads((installed / 'knowledge/judged_signals.json').read_text())
    assert own['limits']['block_s']['value'] == 30
