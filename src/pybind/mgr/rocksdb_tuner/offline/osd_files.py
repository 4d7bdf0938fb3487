"""The files of one OSD, and what they give for a collection. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Mapping, Optional

from ..advise.facts import WATCHED_IF_SET, release_of_osd
from ..collection.records import OsdCollection
from ..collection.report import UnreadableError
from ..mgr.parse import parse_running_option
from ..mgr.protocols import CounterReader
from ..mgr.records import ConfigEntry, CounterPoint, OsdInfo, RunningOption
from ..observe.deep import Answers, KvAnswer, MemtableTime, is_sharded
from ..observe.details import (
    SLOW_COUNTERS,
    AlertingOsd,
    SlowOps,
    count_slow_ops,
    take_details,
    watch_slow_ops,
)
from ..observe.kv_stats import DeepStats, KvStatsUnavailableError, parse_deep_stats, parse_kv_stats
from ..observe.observer import Evidence
from ..observe.sample import DetailSample, by_any_name, details_for, names_for, take_sample
from ..observe.window import OsdHistory
from ..options.releases import known_releases
from ..plan.entries import UnknownMaskError, deciding_entry
from ..plan.records import ANNEX, OPTION
from .files import COMMANDS, FileName, SourceFile, checked, parse_json, parsed, text_of

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
WATCHED = (OPTION, ANNEX, *WATCHED_IF_SET)


@dataclass
class OsdFiles:
    """Contents of the files of one OSD."""

    dumps: dict[float, Mapping[str, CounterPoint]] = field(default_factory=dict)
    statistics: dict[float, str] = field(default_factory=dict)
    shown: Optional[Mapping[str, RunningOption]] = None
    sharded: Optional[bool] = None
    #: Whether dumps or statistics are dated by file modification times, which a copy changes.
    times_of_files: bool = False
    #: What it runs, shown or assumed.
    running: Optional[Mapping[str, RunningOption]] = None
    #: What is wrong, as sentences of several OSDs.
    problems: list[str] = field(default_factory=list)

    @property
    def times_s(self) -> list[float]:
        return [*self.dumps, *self.statistics]


class _Dump(CounterReader):
    """One dump as a source of counters."""

    def __init__(self, points: Mapping[str, CounterPoint]) -> None:
        self._points = points

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:  # noqa: ARG002
        return [self._points.get(path) for path in paths]


def take(file: SourceFile, name: FileName, osd: OsdFiles) -> None:
    """Raises UnreadableError."""
    if name.kind in {'perf_dump', 'kv_stats'}:
        time_s = file.modified_s if name.time_s is None else name.time_s
        osd.times_of_files |= name.time_s is None
        if time_s in (osd.dumps if name.kind == 'perf_dump' else osd.statistics):
            raise UnreadableError('another file of this OSD has the same time: remove one of them')
        if name.kind == 'kv_stats':
            osd.statistics[time_s] = text_of(file.content)
        else:
            dump = parse_json(file.content, exact=True)
            osd.dumps[time_s] = parsed(name.kind, lambda: parse_perf_dump(dump, time_s))
    elif name.kind == 'config_show':
        value = parse_json(file.content)
        osd.shown = parsed(name.kind, lambda: _shown(value))
    else:
        osd.sharded = is_sharded(json.dumps(parse_json(file.content)))
        if osd.sharded is None:
            raise UnreadableError(f'is not the output of "{COMMANDS[name.kind]}": it names no file')


def _shown(value: Any) -> Mapping[str, RunningOption]:
    return {e['name']: checked(parse_running_option(e)) for e in value if e['name'] in WATCHED}


def collect(
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
    worked = window.kv_sync if window else None
    possible_s = window.window_s * _KV_SYNC_TOLERANCE + _KV_SYNC_TOLERANCE_S if window else 0.0
    if worked is not None and worked.total_s > possible_s:
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
    return Evidence(nonce, history.recent, history.anchors, tuple(details[-2:]), deep)


def _observe(
    osd: OsdInfo, nonce: int, dumps: Sequence[tuple[float, Mapping[str, CounterPoint]]]
) -> tuple[OsdHistory, list[DetailSample]]:
    history = OsdHistory()
    details: list[DetailSample] = []
    for time_s, points in dumps:
        reader = by_any_name(_Dump(points), osd.release)
        sample = take_sample(reader, osd.osd_id, nonce, names_for(osd.release), time_s)
        if sample is not None:
            history = history.added(sample)
            details.append(take_details(reader, osd.osd_id, details_for(osd.release), sample))
    return history, details


def alerting_of(files: OsdFiles, now_s: float) -> AlertingOsd:
    """Watched from its first dump to its last one."""
    state: Mapping[int, SlowOps] = {0: SlowOps(None, now_s)}
    for time_s, points in sorted(files.dumps.items()):
        state = watch_slow_ops(state, {0: count_slow_ops(_Dump(points), 0)}, time_s)
    return state[0].at(now_s)


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
