"""Runs `ceph-mon` on option strings, two at a time: one JSON line in, one JSON line out.

It has no imports beyond the standard library, since it runs beside the binary: on the machine, or
in the chroot of another release. A scratch monitor store goes through the same parser and the same
RocksDB as an OSD's database. The effective values are in its log, and of nearly all options also in
the OPTIONS file that RocksDB writes.

    python3 oracle_worker.py   < {"id": 1, "text": "..."}
                               > {"id": 1, "accepted": true, "values": {"...": "..."}}

``accepted`` is null without a measurement: a bound was met that protects the machine, or
RocksDB left no OPTIONS file.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import NoReturn, Optional

_EFFECTIVE = re.compile(r'rocksdb:\s+Options\.([A-Za-z0-9_.\[\]]+)\s*: ?(.*)')
#: On disk by the file system's standard: a string can make files that memory should not hold.
_SCRATCH = '/var/tmp'
_WORKERS = 2
#: A start takes a fifth of a second; a string that makes it hang is not measured.
_TIMEOUT_S = 30
#: RocksDB reserves space for its log by the size of its memtables, which a string can make huge.
#: Beyond this the reservation fails, which RocksDB ignores.
_FILE_BYTES = 64 << 20
#: What a string can make the binary allocate at once. Where that fails nothing is measured: an OSD
#: may well get the memory; the same holds for files that are too large.
_MEMORY_BYTES = 2 << 30
#: So that a thousand threads fit into that.
_STACK_BYTES = 1024 << 10
_BOUND_MET = re.compile(
    r'std::bad_alloc|Cannot allocate memory|Resource temporarily unavailable|File too large'
)
#: Should a string take memory all the same, its own process is what the kernel ends first.
_OOM_SCORE = '1000'
#: RocksDB 6 omits these when it writes the file: their lines belong to another database.
_NOT_STORED = frozenset({'write_dbid_to_manifest'})


class Asker:
    """Runs in scratch folders within ``folder``; creates the files that `ceph-mon --mkfs` needs."""

    def __init__(self, folder: Path) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(_WORKERS):
            self._free.put(folder / str(number))
        self._monmap, self._keyring = folder / 'monmap', folder / 'keyring'
        address = '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]'
        _run('monmaptool', '--create', '--addv', 'a', address, str(self._monmap))
        _run('ceph-authtool', '--create-keyring', str(self._keyring), '--gen-key', '-n', 'mon.')

    def ask(self, text: str) -> tuple[Optional[bool], dict[str, str]]:
        """Whether a store opens with ``text``, and the values in effect, by option.

        Members of structs come as ``option.member``. What only the log has is as it is printed
        there, all else as an option string would have it.
        """
        data = self._free.get()
        try:
            accepted, values = self._query_once(text, data)
            if not accepted:
                # On a busy machine one start in thousands fails by itself, or leaves no OPTIONS
                # file; an open never fails so.
                accepted, values = self._query_once(text, data)
        except subprocess.TimeoutExpired:
            return None, {}
        finally:
            self._free.put(data)
        return accepted, values

    def _query_once(self, text: str, data: Path) -> tuple[Optional[bool], dict[str, str]]:
        command = (
            *('ceph-mon', '--mkfs', '-i', 'a', '--no-config-file', '--mon-data', str(data)),
            *('--monmap', str(self._monmap), '--keyring', str(self._keyring)),
            f'--mon-rocksdb-options={text}',
            *('--log-to-stderr=true', '--log-to-file=false', '--debug-rocksdb=5'),
        )
        try:
            result = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # Threads share their heap, which would else be 64 MiB of addresses for each.
                env={**os.environ, 'MALLOC_ARENA_MAX': '1'},
                timeout=_TIMEOUT_S,
                check=False,
                # Python ignores SIGXFSZ, and so shall the binary: it gets an error instead.
                restore_signals=False,
            )
            log = result.stdout.decode(errors='replace')
            if result.returncode != 0:
                return (None if _BOUND_MET.search(log) else False), {}
            values = printed_values(log)
            stored = list(data.glob('store.db/OPTIONS-*'))
            if not stored:
                # RocksDB continues if it cannot write the file. The log alone has some values in
                # another form, and lacks others.
                return None, {}
            for path in stored:
                values.update(stored_values(path.read_text(encoding='utf-8', errors='replace')))
        finally:
            shutil.rmtree(data, ignore_errors=True)
        return True, values


def printed_values(log: str) -> dict[str, str]:
    """The options printed by RocksDB when it opens a database; the first column family."""
    values: dict[str, str] = {}
    for match in _EFFECTIVE.finditer(log):
        values.setdefault(match[1], match[2].strip())
    return values


def stored_values(options_file: str) -> dict[str, str]:
    """The database's options and those of its default column family."""
    values: dict[str, str] = {}
    wanted = False
    for line in options_file.splitlines():
        if line.startswith('['):
            wanted = line in ('[DBOptions]', '[CFOptions "default"]')
        elif wanted and '=' in line:
            name, _, value = line.strip().partition('=')
            if value.startswith('{') and value.endswith(';}'):
                members = (piece.partition('=') for piece in value[1:-2].split(';'))
                values.update({f'{name}.{member}': text for member, _, text in members})
            elif name not in _NOT_STORED:
                values[name] = value
    return values


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_TIMEOUT_S)


def _stop(_signal: int, _frame: object) -> NoReturn:
    raise SystemExit(1)


def _bound() -> None:
    """Limits of every process started from here on."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK_BYTES, _STACK_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    Path('/proc/self/oom_score_adj').write_text(_OOM_SCORE, encoding='ascii')


def main() -> None:
    writing = Lock()
    # The scratch folder is also removed when the caller ends.
    signal.signal(signal.SIGTERM, _stop)
    _bound()
    with tempfile.TemporaryDirectory(prefix='rocksdb-oracle-', dir=_SCRATCH) as folder:
        asker = Asker(Path(folder))

        def answer(line: str) -> None:
            question = json.loads(line)
            accepted, values = asker.ask(question['text'])
            with writing:
                json.dump(
                    {'id': question['id'], 'accepted': accepted, 'values': values}, sys.stdout
                )
                sys.stdout.write('\n')
                sys.stdout.flush()

        with ThreadPoolExecutor(_WORKERS) as workers:
            for _ in workers.map(answer, sys.stdin):
                pass


if __name__ == '__main__':
    main()
