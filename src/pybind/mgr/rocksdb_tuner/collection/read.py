"""Reads files into a collection. Pure.

Files are not trusted: all contents are validated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Mapping, NoReturn, Optional

from ..advise.facts import WATCHED_IF_SET
from ..mgr.parse import (
    parse_alerting_osds,
    parse_cluster_map,
    parse_config_dump,
    parse_running_option,
)
from ..mgr.records import RunningOption
from ..observe.sharding import is_sharded
from ..observe.slow_events import SLOW_OP_ALERT
from ..plan.records import ANNEX, OPTION
from ..present.answers.report import FORMAT, VERSION
from .counters import parse_perf_dump
from .file_shapes import METADATA, SHAPES, FileError, not_output_of, read_shaped, require_shape
from .module_state import parse_module_state
from .names import COMMANDS, TIMED, FileName, Kind, parse_name
from .records import Collection, CounterDump, KvStatsText, OsdCollection

#: Larger than any output of these commands, even with ten thousand OSDs.
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class SourceFile:
    """An input file."""

    name: str
    #: A JSON value if it was part of a report, otherwise bytes.
    content: object
    #: Modification time of the file; None in a report.
    modified_s: Optional[float] = None


@dataclass(frozen=True)
class Problem:
    """A problem with a file."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f'{self.name}: {self.reason}'


class UnreadableError(Exception):
    """Files are damaged, of the wrong kind or missing; has one problem for each."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__('; '.join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True)
class Reading:
    """Result of reading files."""

    collection: Collection
    #: Cluster-wide files that were found.
    kinds: frozenset[Kind]
    #: Files with unknown names.
    ignored: tuple[str, ...]
    #: OSDs with dumps or statistics dated by file modification times, which a copy changes.
    times_of_files: frozenset[int]
    #: Device classes are the defaults that the OSDs detected when they were created.
    classes_guessed: bool


def unpack(name: str, content: bytes) -> tuple[SourceFile, ...]:
    """The files in a document of `report`; raises UnreadableError."""
    try:
        return _unpacked(content)
    except FileError as error:
        raise UnreadableError((Problem(name, str(error)),)) from None


def _unpacked(content: bytes) -> tuple[SourceFile, ...]:
    document = _json(content)
    require_shape(document, {'format': str, 'version': int, 'files': dict}, Kind.MODULE)
    if document['format'] != FORMAT:
        raise FileError(f'"format" is "{document["format"]}" and should be "{FORMAT}"')
    if document['version'] != VERSION:
        raise FileError(
            f'has version {document["version"]}, but this program reads version {VERSION}: use the '
            'release of the module that wrote the file, or a newer one'
        )
    return tuple(SourceFile(inner, value) for inner, value in document['files'].items())


def read(sources: Iterable[SourceFile]) -> Reading:
    """Raises UnreadableError, with a problem for each invalid file."""
    reader = _Reader()
    for source in sources:
        reader.take(source)
    return reader.reading()


class _Reader:
    """Reads the files one by one and combines their contents."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._ignored: list[str] = []
        self._of_cluster: dict[Kind, tuple[str, Any]] = {}
        self._osds: dict[int, OsdCollection] = {}
        self._times_of_files: set[int] = set()

    def take(self, source: SourceFile) -> None:
        found = parse_name(source.name)
        if found is None:
            self._ignored.append(source.name)
            return
        try:
            if found.osd_id is None:
                self._take_of_cluster(source, found.kind)
            else:
                before = self._osds.get(found.osd_id, OsdCollection())
                self._osds[found.osd_id] = self._with(before, found.osd_id, found, source)
        except FileError as error:
            self._problems.append(Problem(source.name, str(error)))

    def reading(self) -> Reading:
        if Kind.OSD_DUMP not in self._of_cluster and not any(
            parse_name(p.name) == FileName(Kind.OSD_DUMP) for p in self._problems
        ):
            self._problems.append(
                Problem(
                    'osd_dump.json',
                    'is missing, and required for OSDs and pools: save the output of '
                    f'"{COMMANDS[Kind.OSD_DUMP]}"',
                )
            )
        collection = None if self._problems else self._collection()
        if collection is None or self._problems:
            raise UnreadableError(tuple(sorted(self._problems, key=str)))
        return Reading(
            collection,
            frozenset(self._of_cluster),
            tuple(sorted(self._ignored)),
            frozenset(self._times_of_files),
            Kind.CRUSH_DUMP not in self._of_cluster and Kind.OSD_METADATA in self._of_cluster,
        )

    def _take_of_cluster(self, source: SourceFile, kind: Kind) -> None:
        value = _value(source)
        if kind in SHAPES:
            require_shape(value, SHAPES[kind], kind)
        if kind is Kind.OSD_METADATA:
            value = _metadata_by_osd(value)
        if kind in self._of_cluster:
            raise FileError(f'duplicates {self._of_cluster[kind][0]}: remove one of them')
        if kind is Kind.MODULE:
            value = read_shaped(lambda: parse_module_state(value), kind)
        self._of_cluster[kind] = (source.name, value)

    def _with(
        self, osd: OsdCollection, osd_id: int, found: FileName, source: SourceFile
    ) -> OsdCollection:
        if found.kind in TIMED:
            time_s = self._time_of(found, source, osd_id)
            if found.kind is Kind.KV_STATS:
                answer = KvStatsText(time_s, _text(source))
                _no_second(answer.time_s, (known.time_s for known in osd.kv_stats))
                return replace(osd, kv_stats=tuple(sorted((*osd.kv_stats, answer))))
            dump = _value(source, exact=True)
            points = read_shaped(lambda: parse_perf_dump(dump, time_s), found.kind)
            _no_second(time_s, (known.time_s for known in osd.dumps))
            dumps = (*osd.dumps, CounterDump(time_s, points))
            return replace(osd, dumps=tuple(sorted(dumps, key=lambda d: d.time_s)))
        value = _value(source)
        require_shape(value, SHAPES[found.kind], found.kind)
        if found.kind is Kind.CONFIG_SHOW:
            return replace(osd, running=_running(value))
        sharded = is_sharded(json.dumps(value))
        if sharded is None:
            raise FileError(not_output_of('it names no file', found.kind))
        return replace(osd, sharded=sharded)

    def _time_of(self, found: FileName, source: SourceFile, osd_id: int) -> float:
        if found.time_s is not None:
            return found.time_s
        if source.modified_s is None:
            raise FileError(
                'the name has no time: use "osd.0.perf_dump.1795217531.json" (seconds since the '
                'epoch) or "osd.0.perf_dump.20261121T083000Z.json"'
            )
        self._times_of_files.add(osd_id)
        return source.modified_s

    def _collection(self) -> Optional[Collection]:
        kinds = {kind: value for kind, (_, value) in self._of_cluster.items()}
        metadata = kinds.get(Kind.OSD_METADATA, {})
        crush = kinds.get(Kind.CRUSH_DUMP)
        dump = kinds[Kind.OSD_DUMP]
        known = {osd['osd'] for osd in dump['osds']}
        if len(known) != len(dump['osds']):
            self._refuse(Kind.OSD_DUMP, 'contains an OSD more than once')
        unlisted = sorted(set(self._osds) - known)
        if unlisted:
            self._refuse(Kind.OSD_DUMP, f'does not contain osd.{unlisted[0]}, which has files')
        if self._problems:
            return None
        cluster_map = parse_cluster_map(
            dump, crush if crush is not None else _guessed_classes(metadata), metadata
        )
        entries = kinds.get(Kind.CONFIG_DUMP)
        health = kinds.get(Kind.HEALTH)
        return Collection(
            cluster_map=cluster_map,
            osds=self._osds,
            entries=None
            if entries is None
            else parse_config_dump(entries, (OPTION, ANNEX, *WATCHED_IF_SET)),
            orchestrated=None if entries is None else _has_orchestrator(entries),
            health_codes=None if health is None else frozenset(health['checks']),
            alerting=parse_alerting_osds(health or {}, SLOW_OP_ALERT),
            module=kinds.get(Kind.MODULE),
        )

    def _refuse(self, kind: Kind, reason: str) -> None:
        self._problems.append(Problem(self._of_cluster[kind][0], reason))


def _has_orchestrator(entries: Iterable[Mapping[str, Any]]) -> bool:
    """`orch set backend` sets an option of the mgr."""
    return any(e['name'] == 'mgr/orchestrator/orchestrator' and e['value'] for e in entries)


def _guessed_classes(metadata: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Default device classes from OSD metadata, in the format of the CRUSH dump."""
    return {
        'devices': [
            {'id': int(osd_id), 'class': of_osd.get('default_device_class')}
            for osd_id, of_osd in metadata.items()
        ]
    }


def _metadata_by_osd(value: Any) -> Mapping[str, Mapping[str, str]]:
    """Metadata by OSD, as in the mgr; the command prints a list."""
    if isinstance(value, dict) and 'hostname' in value and 'id' in value:
        value = [value]
    if isinstance(value, list):
        require_shape(value, [{'id': int}], Kind.OSD_METADATA)
        value = {str(osd['id']): osd for osd in value}
    require_shape(value, METADATA, Kind.OSD_METADATA)
    if not all(key.isascii() and key.isdigit() for key in value):
        raise FileError(not_output_of('its keys are not OSD ids', Kind.OSD_METADATA))
    return {str(int(key)): of_osd for key, of_osd in value.items()}


def _running(shown: list[dict[str, Any]]) -> Mapping[str, RunningOption]:
    wanted = (OPTION, ANNEX, *WATCHED_IF_SET)
    return {e['name']: parse_running_option(e) for e in shown if e['name'] in wanted}


def _no_second(time_s: float, known_s: Iterable[float]) -> None:
    if time_s in known_s:
        raise FileError('another file of this OSD has the same time: remove one of them')


def _text(source: SourceFile) -> str:
    if isinstance(source.content, str):
        return source.content
    if not isinstance(source.content, bytes):
        # Statistics that are a single JSON value may be stored as such in a report.
        return json.dumps(source.content)
    try:
        return source.content.decode()
    except UnicodeDecodeError as error:
        raise FileError(f'is not text: byte {error.start} is not UTF-8') from None


def _value(source: SourceFile, *, exact: bool = False) -> Any:
    if isinstance(source.content, bytes):
        return _json(source.content, exact=exact)
    # Parsed again for exact numbers: repr() of a float restores the digits of the document.
    return _json(json.dumps(source.content).encode(), exact=True) if exact else source.content


def _json(content: bytes, *, exact: bool = False) -> Any:
    try:
        return json.loads(
            content.decode(),
            parse_constant=_refuse_constant,
            parse_float=Decimal if exact else float,
        )
    except UnicodeDecodeError as error:
        raise FileError(f'is not text: byte {error.start} is not UTF-8') from None
    except RecursionError:
        raise FileError('is nested too deeply to be the output of a Ceph command') from None
    except ValueError as error:
        if not content.strip():
            raise FileError('is empty') from None
        raise FileError(f'is not JSON, or truncated: {error}') from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f'{name} is not a number')
