"""The names of the files, and which command prints what is in them."""

from __future__ import annotations

import calendar
import re
import time
from dataclasses import dataclass
from enum import Enum
from typing import Optional


class Kind(str, Enum):
    """What a file holds; the value is its name without number, time and ending."""

    OSD_DUMP = 'osd_dump'
    OSD_METADATA = 'osd_metadata'
    CRUSH_DUMP = 'osd_crush_dump'
    CONFIG_DUMP = 'config_dump'
    HEALTH = 'health'
    #: Written by `report` only.
    MODULE = 'module'
    HISTORY = 'history'
    ROLLOUT = 'rollout'
    # Of one OSD:
    PERF_DUMP = 'perf_dump'
    KV_STATS = 'kv_stats'
    CONFIG_SHOW = 'config_show'
    BLUEFS_FILES = 'bluefs_files'


#: What prints it; ``N`` is the number of an OSD.
COMMANDS = {
    Kind.OSD_DUMP: 'ceph osd dump --format json',
    Kind.OSD_METADATA: 'ceph osd metadata --format json',
    Kind.CRUSH_DUMP: 'ceph osd crush dump --format json',
    Kind.CONFIG_DUMP: 'ceph config dump --format json',
    Kind.HEALTH: 'ceph health --format json',
    Kind.MODULE: 'ceph rocksdb-tuner report',
    Kind.HISTORY: 'ceph rocksdb-tuner history --format json',
    Kind.ROLLOUT: 'ceph rocksdb-tuner rollout status --format json',
    Kind.PERF_DUMP: 'ceph tell osd.N perf dump',
    Kind.KV_STATS: 'ceph tell osd.N dump_objectstore_kv_stats',
    Kind.CONFIG_SHOW: 'ceph config show osd.N --format json',
    Kind.BLUEFS_FILES: 'ceph tell osd.N bluefs files list',
}
#: These are of one OSD, and are there at several times.
TIMED = frozenset({Kind.PERF_DUMP, Kind.KV_STATS})
OF_AN_OSD = TIMED | {Kind.CONFIG_SHOW, Kind.BLUEFS_FILES}

_OF_CLUSTER = re.compile(
    rf'(?P<kind>{"|".join(k.value for k in Kind if k not in OF_AN_OSD)})\.(?:json|txt)'
)
_OF_OSD = re.compile(
    rf'osd\.(?P<osd>[0-9]{{1,9}})\.(?P<kind>{"|".join(k.value for k in OF_AN_OSD)})'
    r'(?:\.(?P<time>[A-Za-z0-9_:.+-]+?))?\.(?:json|txt)'
)
#: A whole number may also be a running number: it must look like a time of this century.
_EPOCH = re.compile(r'[0-9]{10}|[0-9]{1,11}\.[0-9]{1,9}')
_UTC = re.compile(r'([0-9]{4})-?([0-9]{2})-?([0-9]{2})T([0-9]{2}):?([0-9]{2}):?([0-9]{2})Z')


@dataclass(frozen=True)
class FileName:
    """What the name of a file says of it."""

    kind: Kind
    osd_id: Optional[int] = None
    #: Seconds since the epoch at which it was printed, where the name says that.
    time_s: Optional[float] = None


def file_name(kind: Kind, osd_id: Optional[int] = None, time_s: Optional[float] = None) -> str:
    """The name of a file, for `parse_name`."""
    parts = [kind.value] if osd_id is None else [f'osd.{osd_id}.{kind.value}']
    if time_s is not None:
        parts.append(repr(float(time_s)))
    return '.'.join([*parts, 'txt' if kind is Kind.KV_STATS else 'json'])


def parse_name(name: str) -> Optional[FileName]:
    """None for a name that says nothing here."""
    match = _OF_CLUSTER.fullmatch(name)
    if match:
        return FileName(Kind(match['kind']))
    match = _OF_OSD.fullmatch(name)
    if match is None:
        return None
    return FileName(Kind(match['kind']), int(match['osd']), _time(match['time'] or ''))


def _time(text: str) -> Optional[float]:
    """Seconds since the epoch, of such seconds or of a time in UTC ("20261121T083000Z")."""
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
