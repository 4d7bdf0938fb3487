"""The results of an overwriting client, and the copy of the module with fault injection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_annex import copy_with_lz4_alone

from harness.fault_injection import FaultInjection
from harness.layout import CHECKOUT
from harness.workloads.overwriter import Noticed, Write, Written, noticed, written_from
from harness.workloads.python_client import text_of

#: In memory; the fault that the test orders happens to one write of the block with this number.
RBD = """
import os, threading, time

class Completion:
    def __init__(self, value):
        self._value = value
    def get_return_value(self):
        return self._value

class Image:
    def __init__(self, ioctx, name):
        self.data, self.seen = bytearray(64 << 12), 0
    def aio_write(self, data, offset, done):
        fault = os.environ['FAULT']
        self.seen += offset == 3 << 12
        hit = offset == 3 << 12 and self.seen == 3
        if hit and fault == 'refused':
            self.stop()
            return threading.Thread(target=done, args=(Completion(-5),)).start()
        if hit and fault == 'damaged':
            data = data[:-1] + b'?'
        if hit and fault == 'elsewhere':
            offset += 4096
        if not (hit and fault == 'lost'):
            self.data[offset:offset + len(data)] = data
        if not (hit and fault == 'stuck'):
            threading.Thread(target=done, args=(Completion(len(data)),)).start()
        if self.seen == 3:
            self.stop()
    def stop(self):
        # Nothing overwrites what was done: the client is told before it goes on
        self.seen = 4
        os.kill(os.getpid(), 2)
        time.sleep(1)
    def aio_read(self, offset, length, done):
        found = bytes(self.data[offset:offset + length])
        threading.Thread(target=done, args=(Completion(length), found)).start()
    def close(self):
        pass
"""
RADOS = """
class Rados:
    def __init__(self, **options):
        pass
    def connect(self):
        pass
    def open_ioctx(self, pool):
        return self
    def close(self):
        pass
    shutdown = close
"""


def overwritten(tmp_path: Path, fault: str) -> subprocess.CompletedProcess[str]:
    """The client, with a fault in the third version of its block 3, after which it is stopped."""
    (tmp_path / 'rbd.py').write_text(RBD)
    (tmp_path / 'rados.py').write_text(RADOS)
    order = {
        'image': 'i', 'pool': 'p', 'blocks': 6, 'writes_per_s': 900, 'reads_per_s': 100, 'depth': 2,
        'seconds': 30, 'stuck_s': 3, 'ready': str(tmp_path / 'ready'),
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, '-B', '-', json.dumps(order)],
        input=text_of('overwrite_client.py'),
        env={**os.environ, 'PYTHONPATH': str(tmp_path), 'FAULT': fault, 'CEPH_CONF': '/c'},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def outcome(tmp_path: Path, fault: str) -> Written:
    done = overwritten(tmp_path, fault)
    assert done.returncode == 0, done.stderr
    return written_from(json.loads(done.stdout))


def test_overwriting_client_finds_no_errors_in_a_healthy_image(tmp_path: Path) -> None:
    found = outcome(tmp_path, 'none')
    assert (found.errors, found.verified.failed, found.messages) == (0, 0, '')
    assert found.overwrites >= 2
    assert found.verified.checked >= 1
    assert [w.ended_s for w in found.writes] == sorted(w.ended_s for w in found.writes)


@pytest.mark.parametrize(
    ('fault', 'message'),
    [
        ('lost', 'block 3 holds version 2 of block 3; version 3 of it was acknowledged'),
        ('damaged', 'block 3 holds a damaged version 3 of block 3'),
        ('elsewhere', 'version 3 of block 3; version'),
    ],
)
def test_lost_acknowledged_overwrite_is_found(tmp_path: Path, fault: str, message: str) -> None:
    """An older version of the same block has a right checksum: only its number gives it away."""
    found = outcome(tmp_path, fault)
    assert found.verified.failed > 0
    assert message in found.messages


def test_refused_write_is_an_error_and_no_lost_block(tmp_path: Path) -> None:
    found = outcome(tmp_path, 'refused')
    assert (found.errors, found.verified.failed) == (1, 0)
    assert 'write of block 3: -5' in found.messages


def test_stuck_write_ends_the_client_with_its_position(tmp_path: Path) -> None:
    done = overwritten(tmp_path, 'stuck')
    assert done.returncode != 0
    assert 'waiting for what is under way' in done.stderr
    assert 'acquire' in done.stderr or '_drain' in done.stderr


@pytest.mark.parametrize(
    ('writes', 'since_s', 'until_s', 'found'),
    [
        # A write that began before the fault and ended after it.
        ([(0.0, 0.1), (1.0, 9.0), (9.0, 9.1)], 2.0, 3.0, Noticed(8.0, 7.0)),
        # A pause lasts until the first write that ends after the fault.
        ([(1.0, 1.1), (1.2, 1.3), (4.5, 6.5)], 1.0, 5.0, Noticed(2.0, 5.2)),
        ([(1.0, 2.0)], 3.0, 4.0, Noticed(None, None)),
    ],
)
def test_effects_of_a_fault_are_noticed(
    writes: list[tuple[float, float]], since_s: float, until_s: float, found: Noticed
) -> None:
    assert noticed([Write(*write) for write in writes], since_s, until_s) == found


def in_copy(fault_injection: FaultInjection, code: str) -> subprocess.CompletedProcess[str]:
    """Run this where the copy of the module is the module."""
    paths = os.pathsep.join([str(fault_injection.module.parent), str(CHECKOUT / 'qa/doubles')])
    return subprocess.run(
        [sys.executable, '-c', code],
        env={**os.environ, 'PYTHONPATH': paths, 'PYTHONDONTWRITEBYTECODE': '1'},
        cwd=fault_injection.module.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_copy_of_the_module_has_the_hooks_and_the_original_has_none(tmp_path: Path) -> None:
    """The copy imports, soaks briefly, and the module's own folder is unchanged."""
    fault_injection = FaultInjection(tmp_path / 'a longer/path')
    code = (
        'import rocksdb_tuner.judge.signals as v;'
        'from rocksdb_tuner.mgr.adapter import MgrCluster;'
        'from rocksdb_tuner.tick import operation_control as o;'
        'print(v.limits().block_s, MgrCluster.remove.__name__, o.change_request.__name__)'
    )
    done = in_copy(fault_injection, code)
    assert done.stdout.split() == ['2', '_remove_held', '_unchecked_request'], done.stderr
    installed = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner'
    assert not list(installed.glob('fault_injection*'))
    own = json.loads((installed / 'knowledge/judged_signals.json').read_text())
    assert own['limits']['block_s']['value'] == 30


def test_copy_for_the_annex_can_be_made(tmp_path: Path) -> None:
    """Its edits name lines of the module: those of a test that runs once for a release."""
    copy = copy_with_lz4_alone(tmp_path)
    compile((copy / 'advise/candidates.py').read_text(), 'candidates.py', 'exec')
