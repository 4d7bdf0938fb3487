"""Reads a folder with the output of Ceph's own commands into a collection.

Files are not trusted: all contents are validated.
"""

from __future__ import annotations

import calendar
import json
import re
import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, NoReturn, Optional, TypeVar

from ..advise.facts import WATCHED_IF_SET, release_of_osd
from ..collection.records import Collection, OsdCollection
from ..collection.report import UnreadableError
from ..mgr.parse import (
    parse_alerting_osds,
    parse_cluster_map,
    parse_config_dump,
    parse_running_option,
)
from ..mgr.protocols import CounterReader
from ..mgr.records import ClusterMap, ConfigEntry, CounterPoint, OsdInfo, RunningOption
from ..observe.deep import Answers, KvAnswer, MemtableTime
from ..observe.details import (
    SLOW_COUNTERS,
    SLOW_OP_ALERT,
    AlertingOsd,
    DetailSample,
    SlowOps,
    count_slow_ops,
    take_details,
    watch_slow_ops,
)
from ..observe.history import OsdHistory
from ..observe.kv_stats import DeepStats, KvStatsUnavailableError, parse_deep_stats, parse_kv_stats
from ..observe.observer import Evidence
from ..observe.sample import by_any_name, details_for, names_for, take_sample
from ..observe.sharding import is_sharded
from ..observe.window import Window
from ..options.releases import known_releases
from ..plan.precedence import UnknownMaskError, deciding_entry
from ..plan.records import ANNEX, OPTION
from ..store.codec import decode, encode
from ..store.errors import StoredStateError
from .gaps import COMMANDS, OsdFiles, gaps

#: Larger than any output of these commands, even with ten thousand OSDs.
MAX_BYTES = 1 << 30
#: RocksDB's own counter, which complements its statistics if they are enabled.
MEMTABLE_TIME = 'rocksdb.rocksdb_write_memtable_time'
#: Minimum distance of two dumps that are dated by file time: copies made in a row are closer.
MIN_FILE_TIMES_APART_S = 30.0
#: The busy time of one thread cannot exceed the window, except for clock inaccuracy.
_KV_SYNC_TOLERANCE = 1.05
_KV_SYNC_TOLERANCE_S = 2.0

_NS_PER_S = 1_000_000_000
#: Ceph's counters have 64 bits.
_LARGEST = (1 << 64) - 1
_WATCHED = (OPTION, ANNEX, *WATCHED_IF_SET)

_NAME = re.compile(
    r'(?P<kind>osd_dump|osd_metadata|osd_crush_dump|config_dump|health)\.(?:json|txt)'
    r'|osd\.(?P<osd>[0-9]{1,9})\.(?P<of_osd>perf_dump|kv_stats|config_show|bluefs_files)'
    r'(?:\.(?P<time>[A-Za-z0-9_:.+-]+?))?\.(?:json|txt)'
)
#: An integer may also be a sequence number, so it must look like a time of this century.
_EPOCH = re.compile(r'[0-9]{10}|[0-9]{1,11}\.[0-9]{1,9}')
_T = TypeVar('_T')

_UTC = re.compile(r'[0-9]{4}-?[0-9]{2}-?[0-9]{2}T[0-9]{2}:?[0-9]{2}:?[0-9]{2}Z')


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


class _Dump(CounterReader):
    """One dump as a source of counters."""

    def __init__(self, points: Mapping[str, CounterPoint]) -> None:
        self._points = points

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:  # noqa: ARG002
        return [self._points.get(path) for path in paths]


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


def read_folder(folder: Path) -> Collection:
    """Raises UnreadableError, with a problem for each invalid file."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise UnreadableError(f'{folder}: cannot be read: {error.strerror or error}') from None
    if not paths:
        raise UnreadableError(f'{folder}: is empty')
    files: list[SourceFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            content = b'' if parse_name(path.name) is None else content_of(path)
            files.append(SourceFile(path.name, content, path.stat().st_mtime))
        except UnreadableError as error:
            problems += error.problems
    if problems:
        raise UnreadableError(*problems)
    return read_files(files)


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


def read_files(files: Iterable[SourceFile]) -> Collection:
    """Raises UnreadableError, with a problem for each invalid file."""
    return _Folder(files).collection()


class _Folder:
    """Reads the files one by one."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._problems: list[str] = []
        self._ignored: list[str] = []
        #: Of the cluster, by kind: file names, and JSON values.
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._osds: dict[int, OsdFiles] = {}
        for file in files:
            name = parse_name(file.name)
            if name is None:
                self._ignored.append(file.name)
                continue
            if name.kind in self._names:
                first = self._names[name.kind]
                self._problems.append(f'{file.name}: duplicates {first}: remove one of them')
                continue
            try:
                if name.osd_id is not None:
                    _take(file, name, self._osds.setdefault(name.osd_id, OsdFiles()))
                else:
                    self._names[name.kind] = file.name
                    self._values[name.kind] = parse_json(file.content)
            except UnreadableError as error:
                self._problems.append(f'{file.name}: {error}')

    def collection(self) -> Collection:
        if 'osd_dump' not in self._names:
            self._problems.append(
                'osd_dump.json: is missing, and required for OSDs and pools: save the output of '
                f'"{COMMANDS["osd_dump"]}"'
            )
        known, orchestrated = self._parsed('config_dump', _entries) or (None, False)
        nothing: frozenset[int] = frozenset()
        health_codes, alerting = self._parsed('health', _health) or (frozenset(), nothing)
        cluster_map = self._cluster_map()
        if self._problems or cluster_map is None:
            raise UnreadableError(*sorted(self._problems))
        files = {osd.osd_id: self._osds.get(osd.osd_id, OsdFiles()) for osd in cluster_map.osds}
        taken_s = max((s for osd in files.values() for s in osd.times_s), default=None)
        osds = {o.osd_id: _collect(o, files[o.osd_id], known) for o in cluster_map.osds}
        return Collection(
            taken_s=taken_s,
            cluster_map=cluster_map,
            osds=osds,
            entries=known,
            health_codes=health_codes,
            alerting={i: _alerting(files.get(i, OsdFiles()), taken_s or 0.0) for i in alerting},
            orchestrated=orchestrated,
            limitations=gaps(
                frozenset(self._names),
                {o.osd_id: files[o.osd_id] for o in cluster_map.osds if o.up},
                sorted(self._ignored),
            ),
        )

    def _cluster_map(self) -> Optional[ClusterMap]:
        """Parsed one file after the other, so that an error names its file."""
        dump: Any = self._values.get('osd_dump')
        found = self._parsed('osd_dump', lambda dump: _checked(parse_cluster_map(dump, {}, {})))
        if found is None:
            return None
        crush = self._parsed('osd_crush_dump', lambda crush: _crush(crush, dump))
        metadata = self._parsed('osd_metadata', lambda value: _metadata_by_osd(value, dump)) or {}
        ids = [osd.osd_id for osd in found.osds]
        unlisted = sorted(set(self._osds) - set(ids))
        name = self._names['osd_dump']
        if len(set(ids)) != len(ids):
            self._problems.append(f'{name}: contains an OSD more than once')
        if unlisted:
            self._problems.append(f'{name}: does not contain osd.{unlisted[0]}, which has files')
        if self._problems:
            return None
        return parse_cluster_map(dump, crush or _guessed(metadata), metadata)

    def _parsed(self, kind: str, parse: Callable[[Any], _T]) -> Optional[_T]:
        """None: missing, or a problem."""
        if kind not in self._values:
            return None
        try:
            return _parsed(kind, lambda: parse(self._values[kind]))
        except UnreadableError as error:
            self._problems.append(f'{self._names[kind]}: {error}')
            return None


def _parsed(kind: str, parse: Callable[[], _T]) -> _T:
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


def _checked(record: _T) -> _T:
    """The record, if all its values have the declared types; raises StoredStateError."""
    return decode(type(record), encode(record))


# -- files of the cluster


def _entries(dump: Any) -> tuple[tuple[ConfigEntry, ...], bool]:
    """Watched entries, and whether there is an orchestrator."""
    # `orch set backend` sets an option of the mgr.
    orchestrated = any(e['name'] == 'mgr/orchestrator/orchestrator' and e['value'] for e in dump)
    return tuple(map(_checked, parse_config_dump(dump, _WATCHED))), orchestrated


def _health(health: Any) -> tuple[frozenset[str], frozenset[int]]:
    """Raised checks, and OSDs with the alert for slow operations."""
    return frozenset(health['checks']), parse_alerting_osds(health, SLOW_OP_ALERT)


def _crush(crush: Any, dump: Any) -> Mapping[str, Any]:
    found = {**crush, 'devices': crush['devices'], 'rules': crush['rules']}
    _checked(parse_cluster_map(dump, found, {}))
    return found


def _metadata_by_osd(value: Any, dump: Any) -> Mapping[str, Mapping[str, str]]:
    """Metadata by OSD, as in the mgr; the command prints a list."""
    if isinstance(value, dict) and 'hostname' in value and 'id' in value:
        value = [value]
    if isinstance(value, list):
        value = {osd['id']: osd for osd in value}
    found = {str(int(osd_id)): of_osd for osd_id, of_osd in value.items()}
    _checked(parse_cluster_map(dump, _guessed(found), found))
    return found


def _guessed(metadata: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Default device classes from OSD metadata, in the format of the CRUSH dump."""
    return {
        'devices': [
            {'id': int(osd_id), 'class': of_osd.get('default_device_class')}
            for osd_id, of_osd in metadata.items()
        ]
    }


# -- the files of one OSD


def _take(file: SourceFile, name: FileName, osd: OsdFiles) -> None:
    """Raises UnreadableError."""
    if name.kind in {'perf_dump', 'kv_stats'}:
        time_s = file.modified_s if name.time_s is None else name.time_s
        osd.times_of_files |= name.time_s is None
        if time_s in (osd.dumps if name.kind == 'perf_dump' else osd.statistics):
            raise UnreadableError('another file of this OSD has the same time: remove one of them')
        if name.kind == 'kv_stats':
            osd.statistics[time_s] = _text(file.content)
        else:
            dump = parse_json(file.content, exact=True)
            osd.dumps[time_s] = _parsed(name.kind, lambda: parse_perf_dump(dump, time_s))
    elif name.kind == 'config_show':
        value = parse_json(file.content)
        osd.shown = _parsed(name.kind, lambda: _shown(value))
    else:
        osd.sharded = is_sharded(json.dumps(parse_json(file.content)))
        if osd.sharded is None:
            raise UnreadableError(f'is not the output of "{COMMANDS[name.kind]}": it names no file')


def _shown(value: Any) -> Mapping[str, RunningOption]:
    return {e['name']: _checked(parse_running_option(e)) for e in value if e['name'] in _WATCHED}


def _collect(
    osd: OsdInfo, files: OsdFiles, entries: Optional[tuple[ConfigEntry, ...]]
) -> OsdCollection:
    shown = _assumed(osd, entries) if files.shown is None else files.shown
    files.running = None if shown is None or not osd.up else _with_defaults(osd, shown)
    evidence = None
    if osd.up and osd.nonce is not None and files.times_s:
        evidence = _evidence(osd, osd.nonce, files)
    newest = max(files.statistics.items(), default=(0.0, ''))
    statistics = parse_deep_stats(newest[1])
    return OsdCollection(
        evidence,
        files.running,
        assumed=files.shown is None,
        sharded=files.sharded,
        # Empty statistics are among the limitations.
        statistics=None if statistics == DeepStats() else (newest[0], statistics),
    )


def _with_defaults(
    osd: OsdInfo, shown: Mapping[str, RunningOption]
) -> Optional[Mapping[str, RunningOption]]:
    """`config show` omits unset options: these have the default of the OSD's release."""
    if OPTION in shown and ANNEX in shown:
        return shown
    release = release_of_osd(osd)
    if release is None:
        return None
    defaults = {OPTION: release.default_options, ANNEX: release.default_annex}
    unset = {n: RunningOption(v, 'default', ignores_mon=False) for n, v in defaults.items()}
    return {**unset, **shown}


def _assumed(
    osd: OsdInfo, entries: Optional[tuple[ConfigEntry, ...]]
) -> Optional[Mapping[str, RunningOption]]:
    """Running options of ``osd`` if only the config store sets them and no restart is pending."""
    if entries is None:
        return None
    try:
        found = [deciding_entry((e for e in entries if e.name == n), osd) for n in (OPTION, ANNEX)]
    except UnknownMaskError:
        return None
    return {e.name: RunningOption(e.value, 'mon', ignores_mon=False) for e in found if e}


def _evidence(osd: OsdInfo, nonce: int, files: OsdFiles) -> Evidence:
    dumps, why = sorted(files.dumps.items()), ''
    if files.times_of_files and any(
        b - a < MIN_FILE_TIMES_APART_S for (a, _), (b, _) in zip(dumps, dumps[1:])
    ):
        why = (
            'modification times are too close together, as after copying: add the time to the '
            'file names'
        )
        dumps = dumps[-1:]
    history, details = _observe(osd, nonce, dumps)
    window = history.short()
    if window is not None and not _is_possible(window):
        why = (
            'the kv_sync thread would have been busy for longer than the window: the times of the '
            'dumps are wrong'
        )
        history, details = _observe(osd, nonce, dumps[-1:])
    elif window is None and len(dumps) > 1:
        why = 'counters decreased between the dumps (restart), or the dumps are too close together'
    if why:
        files.problems.append(f'The perf dumps of {{}} give no rates: {why}.')
    answers: list[KvAnswer] = []
    unusable = ''
    for time_s, text in sorted(files.statistics.items()):
        try:
            answers.append(KvAnswer(time_s, parse_kv_stats(text)))
        except KvStatsUnavailableError as error:
            answers, unusable = [], str(error).rstrip('.')
    if unusable:
        files.problems.append(f"RocksDB's statistics of {{}} are unusable: {unusable}.")
    points = (points.get(MEMTABLE_TIME) for _, points in sorted(files.dumps.items()))
    memtable = [MemtableTime(p.value / _NS_PER_S, p.avgcount) for p in points if p and p.avgcount]
    deep = Answers(tuple(answers[-2:]), tuple(memtable[-2:]))
    return Evidence(nonce, history.recent, history.anchors.points, tuple(details[-2:]), deep)


def _observe(
    osd: OsdInfo, nonce: int, dumps: Sequence[tuple[float, Mapping[str, CounterPoint]]]
) -> tuple[OsdHistory, list[DetailSample]]:
    history = OsdHistory()
    details: list[DetailSample] = []
    for time_s, points in dumps:
        reader = by_any_name(_Dump(points), osd.release)
        sample = take_sample(reader, osd.osd_id, nonce, names_for(osd.release), time_s)
        if sample is not None:
            history.add(sample)
            details.append(take_details(reader, osd.osd_id, details_for(osd.release), sample))
    return history, details


def _is_possible(window: Window) -> bool:
    worked = window.kv_sync
    most_s = window.window_s * _KV_SYNC_TOLERANCE + _KV_SYNC_TOLERANCE_S
    return worked is None or worked.total_s <= most_s


def _alerting(files: OsdFiles, now_s: float) -> AlertingOsd:
    """Watched from its first dump to its last one."""
    state: Mapping[int, SlowOps] = {0: SlowOps(None, now_s)}
    for time_s, points in sorted(files.dumps.items()):
        state = watch_slow_ops(state, {0: count_slow_ops(_Dump(points), 0)}, time_s)
    return state[0].at(now_s)


# -- contents of files


@cache
def wanted_paths() -> frozenset[str]:
    """All counters in use, by their names in any release."""
    releases = (None, *(release.name for release in known_releases()))
    named = (path for name in releases for path in (*names_for(name), *details_for(name)))
    return frozenset({*(path for path in named if path), MEMTABLE_TIME, *SLOW_COUNTERS})


def parse_perf_dump(dump: object, time_s: float) -> Mapping[str, CounterPoint]:
    """The used counters of a dump with exact numbers (`Decimal`); raises UnreadableError."""
    if not isinstance(dump, dict):
        raise UnreadableError('the document is not an object')
    points = {}
    for path in wanted_paths():
        section, _, name = path.partition('.')
        counters = dump.get(section)
        if isinstance(counters, dict) and counters.get(name) is not None:
            points[path] = _point(counters[name], path, time_s)
    if not points:
        raise UnreadableError('no OSD counters found')
    return points


def _point(value: object, path: str, time_s: float) -> CounterPoint:
    if isinstance(value, dict):
        total, count = value.get('sum'), value.get('avgcount')
        if isinstance(total, (int, Decimal)) and total <= _LARGEST and _is_count(count):
            total_ns = round(Decimal(total) * _NS_PER_S)
            if 0 <= total_ns <= _LARGEST:
                assert isinstance(count, int)
                return CounterPoint(time_s, total_ns, count)
    elif _is_count(value):
        assert isinstance(value, int)
        return CounterPoint(time_s, value, None)
    raise UnreadableError(f'"{path}" is neither a count nor an average')


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f'is not text: byte {error.start} is not UTF-8') from None


def parse_json(content: bytes, *, exact: bool = False) -> Any:
    """Raises UnreadableError."""
    text = _text(content)
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
