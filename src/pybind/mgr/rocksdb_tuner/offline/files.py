"""Names and contents of files with the output of Ceph's commands. Contents are not trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Optional, TypeVar

from ..collection.report import UnreadableError
from ..store.codec import StoredStateError, decode, encode

#: The command that prints a file. ``N`` is the id of an OSD, ``TIME`` the time of the output.
COMMANDS = {
    'osd_dump.json': 'ceph osd dump --format json',
    'osd_metadata.json': 'ceph osd metadata --format json',
    'osd_crush_dump.json': 'ceph osd crush dump --format json',
    'config_dump.json': 'ceph config dump --format json',
    'health.json': 'ceph health detail --format json',
    'osd.N.config_show.json': 'ceph config show osd.N --format json',
    'osd.N.perf_dump.TIME.json': 'ceph tell osd.N perf dump',
    'osd.N.kv_stats.TIME.txt': 'ceph tell osd.N dump_objectstore_kv_stats',
    'osd.N.bluefs_files.json': 'ceph tell osd.N bluefs files list',
}
#: Larger than any output of these commands, even with ten thousand OSDs.
MAX_BYTES = 1 << 30

_OF_OSD = re.compile(r'osd\.(0|[1-9][0-9]{0,8})(\.[a-z_]+)(?:\.([0-9]{10}))?(\.[a-z]+)')

_T = TypeVar('_T')


class FileName(NamedTuple):
    """A parsed file name."""

    #: As in `COMMANDS`.
    kind: str
    osd_id: Optional[int] = None
    #: Time of the output in seconds since the epoch.
    time_s: float = 0.0


def parse_name(name: str) -> Optional[FileName]:
    """None for any other name."""
    match = _OF_OSD.fullmatch(name)
    if match is None:
        return FileName(name) if name in COMMANDS and 'N' not in name else None
    osd_id, words, time, end = match.groups()
    kind = f'osd.N{words}{".TIME" if time else ""}{end}'
    return FileName(kind, int(osd_id), float(time or 0)) if kind in COMMANDS else None


def content_of(path: Path) -> str:
    """Raises UnreadableError."""
    try:
        if path.exists() and not path.is_file():
            raise UnreadableError('is not a file')
        with path.open('rb') as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f'cannot be read: {error.strerror or error}') from None
    if len(content) > MAX_BYTES:
        raise UnreadableError('is larger than any output of Ceph')
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f'is not text: byte {error.start} is not UTF-8') from None


def parse_json(text: str) -> Any:
    """Raises UnreadableError."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise UnreadableError('is nested too deeply to be the output of a Ceph command') from None
    except ValueError as error:
        if not text.strip():
            raise UnreadableError('is empty') from None
        raise UnreadableError(f'is not JSON, or truncated: {error}') from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f'{name} is not a number')


@contextmanager
def problems_of(name: str, kind: str, problems: list[str]) -> Iterator[None]:
    """Add what is wrong with the file ``name`` to ``problems``."""
    try:
        yield
    except UnreadableError as error:
        problems.append(f'{name}: {error}')
    except (
        *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
        StoredStateError,
    ) as error:
        reason = str(error) if isinstance(error, StoredStateError) else 'it has another structure'
        if isinstance(error, KeyError):
            reason = f'"{error.args[0]}" is missing'
        problems.append(f'{name}: is not the output of "{COMMANDS[kind]}": {reason}')


def checked(record: _T) -> _T:
    """The record, if all its values have the declared types; raises StoredStateError."""
    return decode(type(record), encode(record))
