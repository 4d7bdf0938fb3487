"""Flushes and compactions in the RocksDB event log of an OSD.

RocksDB writes an ``EVENT_LOG_v1`` line of JSON for each of them at the level that OSDs log by
default (debug_rocksdb 4/5). Seen on 16.2.15 (RocksDB 6.8.1); the event of a flush does not name its
column family, the line before it does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_EVENT = re.compile(r'EVENT_LOG_v1 (\{.*\})\s*$')
_FLUSH_OF = re.compile(r'\[([^\]]+)\] \[JOB (\d+)\] Flushing memtable')
_COMPACTION_OF = re.compile(r'\[([^\]]+)\] \[JOB (\d+)\] Compacting ')
_WAL_FULL = re.compile(r'Total log size is (\d+) while max_total_wal_size is (\d+)')
_WAL_PURGE = re.compile(r'prev total WAL file size (\d+), number of live WAL files (\d+)')
_LEVELS = re.compile(r'"files_L(\d+)": \[')

#: How 6.8 names a memtable that filled; any other reason is a flush before it was full.
FULL = 'Write Buffer Full'


@dataclass(frozen=True)
class Flush:
    """Bytes are those of the memtables that went, and of the one level 0 file that came of them."""

    column_family: str
    full: bool
    memtables: int
    #: Memory that the memtables had allocated.
    memory_bytes: int
    #: Keys and values in them.
    data_bytes: int
    #: None: the flush left nothing, or had not ended.
    file_bytes: int | None
    file_data_bytes: int | None
    ended_micros: int


@dataclass(frozen=True)
class Compaction:
    column_family: str
    from_level: int
    to_level: int
    level_0_files: int
    input_bytes: int
    output_bytes: int
    ended_micros: int


@dataclass(frozen=True)
class LiveFiles:
    """The SST files of a column family, and what they hold: keys with removals, uncompressed."""

    bytes: int = 0
    keys: int = 0
    data_bytes: int = 0

    def __add__(self, other: LiveFiles) -> LiveFiles:
        return LiveFiles(
            self.bytes + other.bytes, self.keys + other.keys, self.data_bytes + other.data_bytes
        )


@dataclass
class Events:
    """The events from a point in time on; times are microseconds since the epoch."""

    flushes: list[Flush] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    #: Size of all WAL files each time that some were removed, and how many there were.
    wal_sizes: list[tuple[int, int]] = field(default_factory=list)
    #: Size at which the limit of the WAL was met.
    wal_limits: list[int] = field(default_factory=list)
    #: SST files by column family at the end.
    live: dict[str, LiveFiles] = field(default_factory=dict)


@dataclass
class _Job:
    column_family: str | None = None
    started: dict[str, Any] | None = None
    files: list[dict[str, Any]] = field(default_factory=list)
    from_level: int = 0
    level_0_files: int = 0


class _Reader:
    def __init__(self, since_micros: int) -> None:
        self._since_micros = since_micros
        self._jobs: dict[int, _Job] = {}
        self._files: dict[int, tuple[str, LiveFiles]] = {}
        self.events = Events()
        self._in_window = False

    def line(self, line: str) -> None:
        found = _EVENT.search(line)
        if found:
            event = json.loads(found[1])
            self._in_window = event['time_micros'] >= self._since_micros
            if event['event'] == 'compaction_started':
                self._note_levels(event['job'], found[1], event)
            self._event(event)
            return
        for pattern in (_FLUSH_OF, _COMPACTION_OF):
            found = pattern.search(line)
            if found:
                self._job(int(found[2])).column_family = found[1]
                return
        if self._in_window:
            found = _WAL_FULL.search(line)
            if found:
                self.events.wal_limits.append(int(found[1]))
            found = _WAL_PURGE.search(line)
            if found:
                self.events.wal_sizes.append((int(found[1]), int(found[2])))

    def _job(self, number: int) -> _Job:
        return self._jobs.setdefault(number, _Job())

    def _note_levels(self, number: int, text: str, event: dict[str, Any]) -> None:
        job = self._job(number)
        job.from_level = min(int(level) for level in _LEVELS.findall(text))
        job.level_0_files = len(event.get('files_L0', ()))

    def _event(self, event: dict[str, Any]) -> None:
        kind = event['event']
        if kind == 'recovery_started':
            # A process starts: job numbers restart.
            self._jobs.clear()
        elif kind == 'table_file_creation':
            found = LiveFiles(
                event['file_size'], event['table_properties']['num_entries'], _data_bytes(event)
            )
            self._files[event['file_number']] = (event['cf_name'], found)
            self._job(event['job']).files.append(event)
        elif kind == 'table_file_deletion':
            self._files.pop(event['file_number'], None)
        elif kind in {'flush_started', 'compaction_started'}:
            self._job(event['job']).started = event
        elif kind in {'flush_finished', 'compaction_finished'}:
            self._finished(event, self._jobs.pop(event['job'], _Job()))

    def _finished(self, event: dict[str, Any], job: _Job) -> None:
        if not self._in_window or job.started is None or job.column_family is None:
            return
        if event['event'] == 'compaction_finished':
            self.events.compactions.append(
                Compaction(
                    column_family=job.column_family,
                    from_level=job.from_level,
                    to_level=event['output_level'],
                    level_0_files=job.level_0_files,
                    input_bytes=job.started['input_data_size'],
                    output_bytes=event['total_output_size'],
                    ended_micros=event['time_micros'],
                )
            )
            return
        file = job.files[0] if job.files else None
        self.events.flushes.append(
            Flush(
                column_family=job.column_family,
                full=job.started['flush_reason'] == FULL,
                memtables=job.started['num_memtables'],
                memory_bytes=job.started['memory_usage'],
                data_bytes=job.started['total_data_size'],
                file_bytes=file['file_size'] if file else None,
                file_data_bytes=_data_bytes(file) if file else None,
                ended_micros=event['time_micros'],
            )
        )

    def finish(self) -> Events:
        live = self.events.live
        for column_family, found in self._files.values():
            live[column_family] = live.get(column_family, LiveFiles()) + found
        return self.events


def _data_bytes(file: dict[str, Any]) -> int:
    properties = file['table_properties']
    return int(properties['raw_key_size']) + int(properties['raw_value_size'])


def read_events(lines: Iterable[str], since_micros: int) -> Events:
    """The events of an OSD's log from a point in time on, and what SST files it ends with."""
    reader = _Reader(since_micros)
    for line in lines:
        if ' rocksdb: ' in line:
            reader.line(line)
    return reader.finish()
