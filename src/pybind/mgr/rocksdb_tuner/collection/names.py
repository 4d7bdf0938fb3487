"""File names, and the commands that print the files."""

from __future__ import annotations

import calendar
import re
import time
from dataclasses import dataclass
from enum import Enum
from typing import Optional


class Kind(str, Enum):
    """Kind of a file; the value is its name without OSD id, time and extension."""

    OSD_DUMP = 'osd_dump'
    OSD_METADATA = 'osd_metadata'
    CRUSH_DUMP = 'osd_crush_dump'
    CONFIG_DUMP = 'config_dump'
    HEALTH = 'health'
    #: Written by `report` only.
    MODULE = 'module'
    HISTORY = 'history'
    OPERATION = 'operation'
    # One OSD each:
    PERF_DUMP = 'perf_dump'
    KV_STATS = 'kv_stats'
    CONFIG_SHOW = 'config_show'
    BLUEFS_FILES = 'bluefs_files'


#: Command that prints a file; ``N`` is the id of an OSD.
COMMANDS = {
    Kind.OSD_DUMP: 'ceph osd dump --format json',
    Kind.OSD_METADATA: 'ceph osd metadata --format json',
    Kind.CRUSH_DUMP: 'ceph osd crush dump --format json',
    Kind.CONFIG_DUMP: 'ceph config dump --format json',
    Kind.HEALTH: 'ceph health detail --format json',
    Kind.MODULE: 'ceph rocksdb-tuner report',
    Kind.HISTORY: 'ceph rocksdb-tuner history --format json',
    Kind.OPERATION: 'ceph rocksdb-tuner operation status --format json',
    Kind.PERF_DUMP: 'ceph tell osd.N perf dump',
    Kind.KV_STATS: 'ceph tell osd.N dump_objectstore_kv_stats',
    Kind.CONFIG_SHOW: 'ceph config show osd.N --format json',
    Kind.BLUEFS_FILES: 'ceph tell osd.N bluefs files list',
}
#: Files of one OSD, with several times each.
TIMED = frozenset({Kind.PERF_DUMP, Kind.KV_STATS})
OF_AN_OSD = TIMED | {Kind.CONFIG_SHOW, Kind.BLUEFS_FILES}

_OF_CLUSTER = re.compile(
    rf'(?P<kind>{"|".join(k.value for k in Kind if k not in OF_AN_OSD)})\.(?:json|txt)'
)
_OF_OSD = re.compile(
    rf'osd\.(?P<osd>[0-9]{{1,9}})\.(?P<kind>{"|".join(k.value for k in OF_AN_OSD)})'
    r'(?:\.(?P<time>[A-Za-z0-9_:.+-]+?))?\.(?:json|txt)'
)
#: An integer may also be a sequence number, so it must look like a time of this century.
_EPOCH = re.compile(r'[0-9]{10}|[0-9]{1,11}\.[0-9]{1,9}')
_UTC = re.compile(r'([0-9]{4})-?([0-9]{2})-?([0-9]{2})T([0-9]{2}):?([0-9]{2}):?([0-9]{2})Z')


@dataclass(frozen=True)
class FileName:
    """A parsed file name."""

    kind: Kind
    osd_id: Optional[int] = None
    #: Time of the output in seconds since the epoch, if it is in the name.
    time_s: Optional[float] = None


def file_name(kind: Kind, osd_id: Optional[int] = None, time_s: Optional[float] = None) -> str:
    """The name of a file, for `parse_name`."""
    parts = [kind.value] if osd_id is None else [f'osd.{osd_id}.{kind.value}']
    if time_s is not None:
        parts.append(repr(float(time_s)))
    return '.'.join([*parts, 'txt' if kind is Kind.KV_STATS else 'json'])


def parse_name(name: str) -> Optional[FileName]:
    """None for any other name."""
    match = _OF_CLUSTER.fullmatch(name)
    if match:
        return FileName(Kind(match['kind']))
    match = _OF_OSD.fullmatch(name)
    if match is None:
        return None
    return FileName(Kind(match['kind']), int(match['osd']), _time(match['time'] or ''))


def _time(text: str) -> Optional[float]:
    """Seconds since the epoch, from seconds or from a UTC time ("20261121T083000Z")."""
    if _EPOCH.fullmatch(text):
        return float(text)
    match = _UTC.fullmatch(text)
    if match is None:
        return None
    fields = tuple(int(part) for part in match.groups())
    try:
        time.strptime(''.join(match.groups()), '%Y%m%d%H%M%S')
    except ValueError:
        return None
    return float(calendar.timegm(fields))
