"""Reads a folder with the output of Ceph's own commands; names what is missing in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, Mapping, Optional

from ..advise.facts import name_osds
from ..collection.records import Collection
from ..collection.report import UnreadableError
from ..mgr.parse import parse_alerting_osds, parse_cluster_map, parse_config_dump
from ..mgr.records import ClusterMap, ConfigEntry
from ..observe.details import SLOW_OP_ALERT
from .files import COMMANDS, SourceFile, checked, content_of, parse_json, parse_name, parsed
from .osd_files import WATCHED, OsdFiles, alerting_of, collect, take


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
                    take(file, name, self._osds.setdefault(name.osd_id, OsdFiles()))
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
        osds = {o.osd_id: collect(o, files[o.osd_id], known) for o in cluster_map.osds}
        return Collection(
            taken_s=taken_s,
            cluster_map=cluster_map,
            osds=osds,
            entries=known,
            health_codes=health_codes,
            alerting={i: alerting_of(files.get(i, OsdFiles()), taken_s or 0.0) for i in alerting},
            orchestrated=orchestrated,
            limitations=_gaps(
                frozenset(self._names),
                {o.osd_id: files[o.osd_id] for o in cluster_map.osds if o.up},
                sorted(self._ignored),
            ),
        )

    def _cluster_map(self) -> Optional[ClusterMap]:
        """Parsed one file after the other, so that an error names its file."""
        dump: Any = self._values.get('osd_dump')
        found: Optional[ClusterMap] = self._parsed(
            'osd_dump', lambda dump: checked(parse_cluster_map(dump, {}, {}))
        )
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

    def _parsed(self, kind: str, parse: Callable[[Any], Any]) -> Any:
        """None: missing, or a problem."""
        if kind not in self._values:
            return None
        try:
            return parsed(kind, lambda: parse(self._values[kind]))
        except UnreadableError as error:
            self._problems.append(f'{self._names[kind]}: {error}')
            return None


def _entries(dump: Any) -> tuple[tuple[ConfigEntry, ...], bool]:
    """Watched entries, and whether there is an orchestrator."""
    # `orch set backend` sets an option of the mgr.
    orchestrated = any(e['name'] == 'mgr/orchestrator/orchestrator' and e['value'] for e in dump)
    return tuple(map(checked, parse_config_dump(dump, WATCHED))), orchestrated


def _health(health: Any) -> tuple[frozenset[str], frozenset[int]]:
    """Raised checks, and OSDs with the alert for slow operations."""
    return frozenset(health['checks']), parse_alerting_osds(health, SLOW_OP_ALERT)


def _crush(crush: Any, dump: Any) -> Mapping[str, Any]:
    found = {**crush, 'devices': crush['devices'], 'rules': crush['rules']}
    checked(parse_cluster_map(dump, found, {}))
    return found


def _metadata_by_osd(value: Any, dump: Any) -> Mapping[str, Mapping[str, str]]:
    """Metadata by OSD, as in the mgr; the command prints a list."""
    if isinstance(value, dict) and 'hostname' in value and 'id' in value:
        value = [value]
    if isinstance(value, list):
        value = {osd['id']: osd for osd in value}
    found = {str(int(osd_id)): of_osd for osd_id, of_osd in value.items()}
    checked(parse_cluster_map(dump, _guessed(found), found))
    return found


def _guessed(metadata: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Default device classes from OSD metadata, in the format of the CRUSH dump."""
    return {
        'devices': [
            {'id': int(osd_id), 'class': of_osd.get('default_device_class')}
            for osd_id, of_osd in metadata.items()
        ]
    }


#: Consequences of a missing file of the cluster.
_CONSEQUENCES = {
    'osd_metadata': (
        'release, host and devices of the OSDs are unknown, so there are no recommendations and '
        'no findings about builds and devices'
    ),
    'config_dump': (
        'configured options, and the options that OSDs would run after a restart, are unknown, so '
        'there are no recommendations'
    ),
    'health': (
        "Ceph's own health checks are unknown, so there are no findings based on them (legacy "
        'omap, slow operations)'
    ),
}

_NO_MODULE = (
    'These files are a snapshot that the module did not write: the forecast of full DB devices, '
    'the age of pending restarts, OSD startup times and past workloads are unknown, and '
    'thresholds have their defaults.'
)


def _missing(kind: str) -> str:
    return f'"{COMMANDS[kind]}" is missing'


#: Limitations of some OSDs, whose names replace "{}".
_OF_OSDS: Mapping[str, Callable[[OsdFiles], bool]] = {
    f'{_missing("perf_dump")} for {{}}: workload and load are unknown.': lambda o: not o.dumps,
    (
        'There is only one perf dump of {}: rates, latencies and the workload require a second '
        'one, minutes later.'
    ): lambda o: len(o.dumps) == 1,
    (
        f'{_missing("config_show")} for {{}}: assumed to run the options of the config store; '
        'pending restarts and options in ceph.conf are unknown.'
    ): lambda o: o.shown is None and o.running is not None,
    'The running options of {} are unknown, so there are no findings about them.': lambda o: (
        o.running is None
    ),
    (
        f'{_missing("kv_stats")} for {{}}: compaction is estimated, and stalls are unknown.'
    ): lambda o: not o.statistics,
    f'{_missing("bluefs_files")} for {{}}: it is unknown whether RocksDB is sharded.': lambda o: (
        o.sharded is None
    ),
}


def _gaps(
    kinds: frozenset[str], up: Mapping[int, OsdFiles], ignored: Sequence[str]
) -> tuple[str, ...]:
    """One sentence per limitation, the most important first.

    ``kinds``: cluster-wide files that were found. ``ignored``: files with unknown names.
    """
    missing = [f'{_missing(k)}: {text}.' for k, text in _CONSEQUENCES.items() if k not in kinds]
    if 'osd_crush_dump' not in kinds:
        consequence = (
            'device classes are those that OSDs detected at creation, and any pool may use any '
            'class'
            if 'osd_metadata' in kinds
            else 'device classes are unknown, so there are no groups and no recommendations'
        )
        missing.append(f'{_missing("osd_crush_dump")}: {consequence}.')
    found = [*missing, _NO_MODULE, *_of_osds(up)]
    undated = [osd_id for osd_id, files in up.items() if files.times_of_files]
    if undated:
        found.append(
            f'File names of {name_osds(undated)} have no time, so modification times are used. If '
            'copying changed them, rates are wrong.'
        )
    if ignored:
        more = f' and {len(ignored) - 5} more' if len(ignored) > 5 else ''
        found.append(f'Ignored because of their names: {", ".join(ignored[:5])}{more}.')
    return tuple(found)


def _of_osds(up: Mapping[int, OsdFiles]) -> Iterator[str]:
    found: dict[str, set[int]] = {sentence: set() for sentence in _OF_OSDS}
    for osd_id, files in up.items():
        for sentence in (*(s for s, holds in _OF_OSDS.items() if holds(files)), *files.problems):
            found.setdefault(sentence, set()).add(osd_id)
    for sentence, ids in found.items():
        if ids:
            yield sentence.replace('{}', name_osds(ids))
