"""The client programs end with a reason on any failure. Doubles replace the libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.workloads.python_client import text_of

# In memory, and what the test orders happens at the first deletion in a process of clients.
BOTO3 = """
import hashlib, os, signal, threading, time

class Client:
    def __init__(self):
        self.objects = {}
    def create_bucket(self, Bucket):
        pass
    def put_object(self, Bucket, Key, Body):
        if os.environ['FAULT'] == 'fill':
            if Key.endswith('2'):
                raise MemoryError('no place for a two')
            threading.Event().wait()
        self.objects[Key] = Body
        return {'ETag': hashlib.md5(Body).hexdigest()}
    def get_object(self, Bucket, Key):
        raise LookupError('only the process that has put it has it')
    def delete_object(self, Bucket, Key):
        fault = os.environ['FAULT']
        if fault == 'raise' and Key.endswith('1'):
            raise KeyError('credential_provider')
        if fault == 'die' and Key.endswith('1'):
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == 'exit' and Key.endswith('1'):
            os._exit(3)
        if fault == 'hang':
            threading.Event().wait()
        time.sleep(0.02)
    def get_paginator(self, name):
        return self
    def paginate(self, Bucket):
        yield {'KeyCount': len(self.objects)}

class Session:
    made = []
    def client(self, service, **options):
        if os.environ['FAULT'] == 'connect' and self.made and os.getpid() != self.made[0]:
            raise RuntimeError('no client')
        self.made.append(os.getpid())
        return Client()
"""
CONFIG = 'class Config:\n    def __init__(self, **options):\n        pass\n'
EXCEPTIONS = 'class BotoCoreError(Exception): pass\nclass ClientError(Exception): pass\n'

CEPHFS = """
import os, threading

class Error(Exception):
    pass

class LibCephFS:
    def __init__(self, conffile):
        pass
    def mount(self):
        if os.environ['FAULT'] == 'hang':
            threading.Event().wait()
        if os.environ['FAULT'] == 'raise':
            raise Error('error in mount: no file system')
    def unmount(self):
        pass
    def shutdown(self):
        pass
"""


def run_program(
    folder: Path, program: str, fault: str, **order: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program of clients/ as the harness does; an hour of work is ordered."""
    for name, text in {
        'boto3/__init__.py': '', 'boto3/session.py': BOTO3, 'botocore/__init__.py': '',
        'botocore/config.py': CONFIG, 'botocore/exceptions.py': EXCEPTIONS, 'cephfs.py': CEPHFS,
    }.items():  # fmt: skip
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    environment = {
        **os.environ, 'PYTHONPATH': str(folder), 'FAULT': fault, 'RGW_URL': '', 'CEPH_CONF': '',
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, '-B', '-', json.dumps(order)],
        input=text_of(program),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def run_s3(
    folder: Path, fault: str, *, seconds: float = 3600, stuck_s: float = 600
) -> subprocess.CompletedProcess[str]:
    return run_program(
        folder, 's3_client.py', fault, workload='s3-delete', seconds=seconds, stuck_s=stuck_s,
        threads=4, object_size_bytes=10, objects=40,
    )  # fmt: skip


def test_s3_client_sums_all_processes(tmp_path: Path) -> None:
    """Without a fault every object is deleted once, and the counts of the processes add up."""
    done = run_s3(tmp_path, 'none')
    answer = json.loads(done.stdout)
    assert (answer['ops'], answer['errors']) == (40, 0)
    # 10 deletions of 20 ms by each of 4 threads
    assert answer['seconds'] >= 0.2
    assert answer['latency_ms']['p50'] >= 20
    # The double of the first process still has all objects: they are reported as left
    assert answer['verified']['failed'] == 1
    assert answer['error_messages'] == ['40 objects are left, not 0']


@pytest.mark.parametrize(
    ('fault', 'why'),
    [
        ('raise', "KeyError: 'credential_provider'"),
        ('die', 'a process of clients ended by signal 9'),
        ('exit', 'a process of clients ended with status 3'),
        ('connect', 'RuntimeError: no client'),
        ('fill', 'MemoryError: no place for a two'),
    ],
)
def test_failed_s3_client_is_reported_immediately(tmp_path: Path, fault: str, why: str) -> None:
    """Not after the hour that was ordered, though the other threads and processes could go on."""
    done = run_s3(tmp_path, fault)
    assert done.returncode == 1
    assert done.stdout == ''
    assert why in done.stderr


def test_hanging_s3_client_ends_with_its_stacks(tmp_path: Path) -> None:
    """The message has the call that is stuck, and the phase."""
    done = run_s3(tmp_path, 'hang', seconds=0.2, stuck_s=0.5)
    assert done.returncode == 1
    assert 'working for 0.2 s' in done.stderr
    assert 'in delete_object' in done.stderr
    assert 'a process of clients ended with status 1' in done.stderr


def test_hanging_cephfs_client_ends_with_its_stacks(tmp_path: Path) -> None:
    """Calls of libcephfs know no time limit; the program does."""
    order = {'workload': 'cephfs-metadata', 'seconds': 3600, 'stuck_s': 0.5, 'threads': 2}
    done = run_program(tmp_path, 'cephfs_client.py', 'hang', **order)
    assert done.returncode == 1
    assert 'mounting 2 times, at most 0.5 s' in done.stderr
    assert 'in mount' in done.stderr


def test_failed_cephfs_client_is_reported_immediately(tmp_path: Path) -> None:
    """Though the others wait for it before they begin."""
    order = {'workload': 'cephfs-metadata', 'seconds': 3600, 'stuck_s': 600, 'threads': 2}
    done = run_program(tmp_path, 'cephfs_client.py', 'raise', **order)
    assert done.returncode == 1
    assert 'error in mount: no file system' in done.stderr
