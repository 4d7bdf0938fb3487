"""Reads a folder with the output of Ceph's own commands; names what is missing in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Callable, Mapping, Optional

from ..advise.facts import WATCHED_IF_SET, name_osds, release_of_osd
from ..collection.records import Collection, OsdCollection
from ..collection.report import UnreadableError
from ..mgr.parse import (
    parse_alerting_osds,
    parse_cluster_map,
    parse_config_dump,
    parse_running_option,
)
from ..mgr.protocols import CounterReader
from ..mgr.records import ClusterMap, CounterPoint, OsdInfo, RunningOption
from ..observe.deep import KvAnswer, is_sharded
from ..observe.details import SLOW_OP_ALERT, AlertingOsd
from ..observe.kv_stats import DeepStats, KvStatsUnavailableError, parse_deep_stats, parse_kv_stats
from ..observe.observer import Evidence
from ..observe.sample import (
    DetailSample,
    by_any_name,
    details_for,
    names_for,
    take_details,
    take_sample,
)
from ..observe.window import OsdHistory
from ..options.releases import known_releases
from ..plan.records import ANNEX, OPTION
from ..store.codec import StoredStateError
from .files import COMMANDS, FileName, checked, content_of, parse_json, parse_name, problems_of

WATCHED = (OPTION, ANNEX, *WATCHED_IF_SET)
#: RocksDB's own counter, which complements its statistics if they are enabled.
MEMTABLE_TIME = 'rocksdb.rocksdb_write_memtable_time'
#: Consequences of a missing file.
_CONSEQUENCES = {
    'osd_metadata.json': 'release, host and devices are unknown, so nothing is recommended',
    'osd_crush_dump.json': 'device classes are unknown, so nothing is recommended',
    'config_dump.json': 'the configured options are unknown, so nothing is recommended',
    'health.json': "there are no findings that follow from Ceph's health checks",
    'osd.N.perf_dump.TIME.json': 'workload and load are unknown',
    'osd.N.config_show.json': 'the running options are unknown, so nothing is recommended',
    'osd.N.kv_stats.TIME.txt': 'compaction is estimated, and stalls are unknown',
    'osd.N.bluefs_files.json': 'it is unknown whether RocksDB is sharded',
}
_NO_MODULE = (
    'These files are a snapshot that the module did not write: the forecast of full DB devices, '
    'the age of pending restarts, OSD startup times and past workloads are unknown, and '
    'thresholds have their defaults.'
)


@dataclass
class OsdFiles:
    """Contents of the files of one OSD."""

    #: By time.
    dumps: dict[float, Mapping[str, CounterPoint]] = field(default_factory=dict)
    statistics: dict[float, str] = field(default_factory=dict)
    #: Options in the output of `config show`.
    shown: Optional[Mapping[str, RunningOption]] = None
    sharded: Optional[bool] = None
    #: Kinds of files that are there.
    kinds: set[str] = field(default_factory=set)
    #: What is wrong, as sentences of several OSDs.
    problems: list[str] = field(default_factory=list)

    @property
    def times_s(self) -> list[float]:
        return [*self.dumps, *self.statistics]

    def take(self, name: FileName, text: str) -> None:
        """Raises UnreadableError, and other errors for another structure."""
        self.kinds.add(name.kind)
        if name.kind == 'osd.N.kv_stats.TIME.txt':
            self.statistics[name.time_s] = text
        elif name.kind == 'osd.N.perf_dump.TIME.json':
            self.dumps[name.time_s] = parse_perf_dump(parse_json(text), name.time_s)
        elif name.kind == 'osd.N.config_show.json':
            found = [entry for entry in parse_json(text) if entry['name'] in WATCHED]
            self.shown = {e['name']: checked(parse_running_option(e)) for e in found}
        else:
            parse_json(text)
            self.sharded = is_sharded(text)
            if self.sharded is None:
                raise StoredStateError('it names no file')


@dataclass(frozen=True)
class _Dump(CounterReader):
    """One dump as a source of counters."""

    points: Mapping[str, CounterPoint]

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:  # noqa: ARG002
        return [self.points.get(path) for path in paths]


def read_folder(folder: Path) -> Collection:
    """Raises UnreadableError, with a problem for each invalid file; OSError."""
    return read_files({path.name: partial(content_of, path) for path in folder.iterdir()})


def read_files(files: Mapping[str, Callable[[], str]]) -> Collection:
    """``files``: what reads a file, by its name. Raises UnreadableError."""
    problems: list[str] = []
    ignored: list[str] = []
    of_cluster: dict[str, Any] = {}
    of_osds: defaultdict[int, OsdFiles] = defaultdict(OsdFiles)
    for file, read in sorted(files.items()):
        name = parse_name(file)
        if name is None:
            ignored.append(file)
            continue
        with problems_of(file, name.kind, problems):
            if name.osd_id is None:
                of_cluster[file] = parse_json(read())
            else:
                of_osds[name.osd_id].take(name, read())

    def parsed(kind: str, parse: Callable[[Any], Any]) -> Any:
        """None: missing, or a problem."""
        with problems_of(kind, kind, problems):
            return parse(of_cluster[kind]) if kind in of_cluster else None

    entries = parsed(
        'config_dump.json', lambda dump: tuple(map(checked, parse_config_dump(dump, WATCHED)))
    )
    health_codes, alerting = parsed(
        'health.json', lambda found: (found['checks'], parse_alerting_osds(found, SLOW_OP_ALERT))
    ) or ((), ())
    if 'osd_dump.json' not in files:
        problems.append(
            'osd_dump.json: is missing, and required for OSDs and pools: save the output of '
            f'"{COMMANDS["osd_dump.json"]}"'
        )
    cluster_map = _cluster_map(parsed)
    ids = [osd.osd_id for osd in cluster_map.osds] if cluster_map else []
    if len(set(ids)) != len(ids):
        problems.append('osd_dump.json: contains an OSD more than once')
    if cluster_map and (unlisted := sorted({*of_osds} - {*ids})):
        problems.append(f'osd_dump.json: does not contain osd.{unlisted[0]}, which has files')
    if problems or cluster_map is None:
        raise UnreadableError(*sorted(problems))
    taken_s = max((s for osd in of_osds.values() for s in osd.times_s), default=None)
    osds = {osd.osd_id: collect(osd, of_osds[osd.osd_id]) for osd in cluster_map.osds}
    up = {osd.osd_id: of_osds[osd.osd_id] for osd in cluster_map.osds if osd.up}
    return Collection(
        taken_s=taken_s,
        cluster_map=cluster_map,
        osds=osds,
        entries=entries,
        health_codes=frozenset(health_codes),
        alerting=dict.fromkeys(alerting, AlertingOsd(None, None)),
        limitations=tuple(_limitations(of_cluster, up, ignored)),
    )


def _cluster_map(parsed: Callable[[str, Callable[[Any], Any]], Any]) -> Optional[ClusterMap]:
    """Parsed one file after the other, so that an error names its file."""
    dump: Any = parsed('osd_dump.json', lambda dump: dump)

    def check(crush: Any, metadata: Any) -> ClusterMap:
        return checked(parse_cluster_map(dump, crush, metadata))

    def check_crush(crush: Any) -> Any:
        check({**crush, 'devices': crush['devices'], 'rules': crush['rules']}, {})
        return crush

    def check_metadata(listed: Any) -> Any:
        """By OSD, as in the mgr; the command prints a list."""
        found = {str(int(osd['id'])): osd for osd in listed}
        check({}, found)
        return found

    if parsed('osd_dump.json', lambda _: check({}, {})) is None:
        return None
    crush = parsed('osd_crush_dump.json', check_crush)
    metadata = parsed('osd_metadata.json', check_metadata)
    return parse_cluster_map(dump, crush or {}, metadata or {})


def collect(osd: OsdInfo, files: OsdFiles) -> OsdCollection:
    evidence = None
    if osd.up and osd.nonce is not None and files.times_s:
        evidence = _evidence(osd, osd.nonce, files)
    newest = max(files.statistics.items(), default=(0.0, ''))
    statistics = parse_deep_stats(newest[1])
    return OsdCollection(
        evidence,
        None if files.shown is None or not osd.up else _with_defaults(osd, files.shown),
        sharded=files.sharded,
        # Empty statistics are among the limitations.
        statistics=None if statistics == DeepStats() else (newest[0], statistics),
    )


def _with_defaults(
    osd: OsdInfo, shown: Mapping[str, RunningOption]
) -> Optional[Mapping[str, RunningOption]]:
    """`config show` omits unset options: these have the default of the OSD's release."""
    release = release_of_osd(osd)
    unset = {OPTION: release.default_options, ANNEX: release.default_annex} if release else {}
    defaults = {n: RunningOption(v, 'default', ignores_mon=False) for n, v in unset.items()}
    found = {**defaults, **shown}
    return found if OPTION in found and ANNEX in found else None


def _evidence(osd: OsdInfo, nonce: int, files: OsdFiles) -> Evidence:
    dumps, why = sorted(files.dumps.items()), ''
    history, details = _observe(osd, nonce, dumps)
    window = history.short()
    # A thread is not busy for longer than the window, except for inaccurate clocks.
    if window and window.kv_sync and window.kv_sync.total_s > window.window_s * 1.05 + 2.0:
        why = (
            'the kv_sync thread would have been busy for longer than the window: the times of the '
            'dumps are wrong'
        )
        history, details = _observe(osd, nonce, dumps[-1:])
    elif window is None and len(dumps) > 1:
        why = 'counters decreased between the dumps (restart), or the dumps are too close together'
    elif len(dumps) == 1:
        why = 'a second one, minutes later, is missing'
    if why:
        files.problems.append(f'The perf dumps of {{}} give no rates and no workload: {why}.')
    answers: list[KvAnswer] = []
    unusable = ''
    for time_s, text in sorted(files.statistics.items()):
        try:
            answers.append(KvAnswer(time_s, parse_kv_stats(text)))
        except KvStatsUnavailableError as error:
            answers, unusable = [], str(error).rstrip('.')
    if unusable:
        files.problems.append(f"RocksDB's statistics of {{}} are unusable: {unusable}.")
    inserts = [
        (point.value / 1e9, point.avgcount)
        for _, points in dumps
        if (point := points.get(MEMTABLE_TIME)) and point.avgcount
    ]
    # The newest of both belong together.
    deep = [
        answer._replace(stats=replace(answer.stats, memtable_insert=insert))
        for answer, insert in zip_longest(reversed(answers[-2:]), reversed(inserts[-2:]))
        if answer is not None
    ]
    return Evidence(
        nonce, history.recent, history.anchors, tuple(details[-2:]), tuple(reversed(deep))
    )


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


@cache
def wanted_paths() -> frozenset[str]:
    """All counters in use, by their names in any release."""
    releases = (None, *(release.name for release in known_releases()))
    named = (path for name in releases for path in (*names_for(name), *details_for(name)))
    return frozenset({*(path for path in named if path), MEMTABLE_TIME})


def parse_perf_dump(dump: Any, time_s: float) -> Mapping[str, CounterPoint]:
    """The used counters of a dump; raises StoredStateError."""
    points = {}
    for path in wanted_paths():
        section, _, name = path.partition('.')
        value = dump.get(section, {}).get(name)
        if value is not None:
            points[path] = _point(value, path, time_s)
    if not points:
        raise StoredStateError('no OSD counters found')
    return points


def _point(value: Any, path: str, time_s: float) -> CounterPoint:
    try:
        if isinstance(value, dict):
            return checked(CounterPoint(time_s, round(value['sum'] * 1e9), value['avgcount']))
        return checked(CounterPoint(time_s, value, None))
    except (ArithmeticError, LookupError, StoredStateError, TypeError, ValueError):
        raise StoredStateError(f'"{path}" is neither a count nor an average') from None


def _limitations(
    of_cluster: Mapping[str, Any], up: Mapping[int, OsdFiles], ignored: Sequence[str]
) -> Iterator[str]:
    """One sentence each."""
    for kind, consequence in _CONSEQUENCES.items():
        lacking = [osd_id for osd_id, files in up.items() if kind not in files.kinds]
        if kind.startswith('osd.N') and lacking:
            yield f'"{COMMANDS[kind]}" is missing for {name_osds(lacking)}: {consequence}.'
        elif not kind.startswith('osd.N') and kind not in of_cluster:
            yield f'"{COMMANDS[kind]}" is missing: {consequence}.'
    yield _NO_MODULE
    problems: defaultdict[str, list[int]] = defaultdict(list)
    for osd_id, files in up.items():
        for sentence in files.problems:
            problems[sentence].append(osd_id)
    yield from (sentence.replace('{}', name_osds(ids)) for sentence, ids in problems.items())
    if ignored:
        more = f' and {len(ignored) - 5} more' if len(ignored) > 5 else ''
        yield f'Ignored because of their names: {", ".join(ignored[:5])}{more}.'
