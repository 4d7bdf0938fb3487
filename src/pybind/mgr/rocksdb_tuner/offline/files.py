"""Names and contents of files with the output of Ceph's commands. Contents are not trusted."""

from __future__ import annotations

import calendar
import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, NamedTuple, NoReturn, Optional, TypeVar

from ..collection.report import UnreadableError
from ..store.codec import StoredStateError, decode, encode

#: Command that prints a file, by its name without OSD id, time and extension; ``N`` is the id.
COMMANDS = {
    'osd_dump': 'ceph osd dump --format json',
    'osd_metadata': 'ceph osd metadata --format json',
    'osd_crush_dump': 'ceph osd crush dump --format json',
    'config_dump': 'ceph config dump --format json',
    'health': 'ceph health detail --format json',
    # One OSD each; the first two with a time:
    'perf_dump': 'ceph tell osd.N perf dump',
    'kv_stats': 'ceph tell osd.N dump_objectstore_kv_stats',
    'config_show': 'ceph config show osd.N --format json',
    'bluefs_files': 'ceph tell osd.N bluefs files list',
}
#: Larger than any output of these commands, even with ten thousand OSDs.
MAX_BYTES = 1 << 30

_NAME = re.compile(
    r'(?P<kind>osd_dump|osd_metadata|osd_crush_dump|config_dump|health)\.(?:json|txt)'
    r'|osd\.(?P<osd>[0-9]{1,9})\.(?P<of_osd>perf_dump|kv_stats|config_show|bluefs_files)'
    r'(?:\.(?P<time>[A-Za-z0-9_:.+-]+?))?\.(?:json|txt)'
)
#: An integer may also be a sequence number, so it must look like a time of this century.
_EPOCH = re.compile(r'[0-9]{10}|[0-9]{1,11}\.[0-9]{1,9}')
_UTC = re.compile(r'[0-9]{4}-?[0-9]{2}-?[0-9]{2}T[0-9]{2}:?[0-9]{2}:?[0-9]{2}Z')

_T = TypeVar('_T')


class FileName(NamedTuple):
    """A parsed file name."""

    kind: str
    osd_id: Optional[int] = None
    #: Time of the output in seconds since the epoch, if it is in the name.
    time_s: Optional[float] = None


class SourceFile(NamedTuple):
    """An input file."""

    name: str
    content: bytes
    modified_s: float


def parse_name(name: str) -> Optional[FileName]:
    """None for any other name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    if match['kind']:
        return FileName(match['kind'])
    return FileName(match['of_osd'], int(match['osd']), _time(match['time'] or ''))


def _time(text: str) -> Optional[float]:
    """Seconds since the epoch, from seconds or from a UTC time ("20261121T083000Z")."""
    if _EPOCH.fullmatch(text):
        return float(text)
    if not _UTC.fullmatch(text):
        return None
    try:
        return float(calendar.timegm(time.strptime(re.sub('[-:]', '', text), '%Y%m%dT%H%M%SZ')))
    except ValueError:
        return None


def content_of(path: Path) -> bytes:
    """Raises UnreadableError."""
    try:
        if path.exists() and not path.is_file():
            raise UnreadableError(f'{path.name}: is not a file')
        with path.open('rb') as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        name = path.name if path.exists() else path
        raise UnreadableError(f'{name}: cannot be read: {error.strerror or error}') from None
    if len(content) > MAX_BYTES:
        raise UnreadableError(f'{path.name}: is larger than any output of Ceph')
    return content


def text_of(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f'is not text: byte {error.start} is not UTF-8') from None


def parse_json(content: bytes, *, exact: bool = False) -> Any:
    """Raises UnreadableError."""
    text = text_of(content)
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, parse_float=Decimal if exact else float
        )
    except RecursionError:
        raise UnreadableError('is nested too deeply to be the output of a Ceph command') from None
    except ValueError as error:
        if not text.strip():
            raise UnreadableError('is empty') from None
        raise UnreadableError(f'is not JSON, or truncated: {error}') from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f'{name} is not a number')


def parsed(kind: str, parse: Callable[[], _T]) -> _T:
    """Raises UnreadableError."""
    try:
        return parse()
    except KeyError as error:
        reason = f'"{error.args[0]}" is missing'
    except (StoredStateError, UnreadableError) as error:
        reason = str(error)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        reason = 'it has another structure'
    raise UnreadableError(f'is not the output of "{COMMANDS[kind]}": {reason}')


def checked(record: _T) -> _T:
    """The record, if all its values have the declared types; raises StoredStateError."""
    return decode(type(record), encode(record))
