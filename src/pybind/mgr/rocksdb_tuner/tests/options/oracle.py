"""Ask the real binary what it makes of an option string.

A scratch monitor store goes through the same parser and the same RocksDB as an OSD's database,
and its log tells what is in effect; no cluster is needed. It cannot show what only an existing
database shows, such as a change of compaction_style.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Mapping, Optional

from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.values import ValueType

_EFFECTIVE = re.compile(r'rocksdb:\s+Options\.([A-Za-z0-9_]+)\s*: (.*)')
_TIMEOUT_S = 20

#: Ceph sets these itself, whatever the string says, or RocksDB prints an address.
NOT_COMPARED = frozenset({'create_if_missing', 'wal_dir', 'rate_limiter', 'statistics'})
#: Kept unsigned and printed signed.
PRINTED_SIGNED = frozenset({'bloom_locality', 'stats_persist_period_sec'})


@dataclass(frozen=True)
class Answer:
    accepted: bool
    #: What the daemon prints, by option.
    printed: Mapping[str, str]


class Oracle:
    """Context manager around a scratch folder; leaves nothing behind."""

    def __enter__(self) -> Oracle:  # noqa: PYI034 - typing.Self is newer than Python 3.9
        self._folder = Path(tempfile.mkdtemp(prefix='rocksdb-oracle-'))
        self._monmap, self._keyring = self._folder / 'monmap', self._folder / 'keyring'
        address = '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]'
        self._run('monmaptool', '--create', '--addv', 'a', address, str(self._monmap))
        self._run(
            'ceph-authtool', '--create-keyring', str(self._keyring), '--gen-key', '-n', 'mon.'
        )
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        shutil.rmtree(self._folder)

    def ask(self, text: str) -> Answer:
        data = Path(tempfile.mkdtemp(dir=self._folder))
        result = subprocess.run(
            [
                'ceph-mon',
                *('--mkfs', '-i', 'a', '--no-config-file', '--mon-data', str(data)),
                *('--monmap', str(self._monmap), '--keyring', str(self._keyring)),
                *('--mon-rocksdb-options', text),
                *('--log-to-stderr=true', '--debug-rocksdb=5'),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
        shutil.rmtree(data)
        printed: dict[str, str] = {}
        for match in _EFFECTIVE.finditer(result.stdout.decode(errors='replace')):
            printed.setdefault(match[1], match[2].strip())
        return Answer(result.returncode == 0, printed)

    @staticmethod
    def _run(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_TIMEOUT_S)


def as_printed(name: str, value: str) -> str:
    """An effective value in the way that RocksDB prints it."""
    info = catalogue().options[name]
    if info.value_type is ValueType.BOOL:
        return {'true': '1', 'false': '0'}[value]
    if info.value_type is ValueType.ENUM:
        choice = info.choice(value)
        assert choice is not None, (name, value)
        return choice.printed
    return value


def differences(effective: Mapping[str, str], printed: Mapping[str, str]) -> dict[str, Any]:
    """(ours, the daemon's) of each option that both tell of and that is not the same."""
    bools = {'true': '1', 'false': '0'}
    found = {}
    for name in effective.keys() & printed.keys() - NOT_COMPARED - PRINTED_SIGNED:
        ours, theirs = as_printed(name, effective[name]), printed[name]
        if catalogue().options[name].value_type is ValueType.BOOL:
            theirs = bools.get(theirs, theirs)
        if ours != theirs:
            found[name] = (ours, theirs)
    return found


def recorded(name: str) -> Any:
    """A recording beside these tests."""
    path = Path(__file__).parent / 'data' / f'{name}.json'
    return json.loads(path.read_text(encoding='utf-8'))
