"""Missing files and the resulting limitations, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable, Mapping

from ..advise.cohort import name_osds
from .files import COMMANDS
from .osd_files import OsdFiles

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


def gaps(
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
