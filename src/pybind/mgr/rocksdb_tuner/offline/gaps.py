"""Missing files and the resulting limitations, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable, NamedTuple, Optional

from ..advise.naming import name_osds
from ..collection.names import COMMANDS, Kind
from ..collection.read import Reading
from .records import OsdJudged

#: Consequences of a missing file of the cluster.
_FOR_WANT_OF = {
    Kind.OSD_METADATA: (
        'the release, the host and the devices of the OSDs are not known, so nothing is '
        'recommended, and nothing said of builds and devices'
    ),
    Kind.CONFIG_DUMP: (
        'which options are set, and what OSDs would run after a restart, is not known, so nothing '
        'is recommended'
    ),
    Kind.HEALTH: (
        'what Ceph itself warns of is not known, so it is not explained (legacy omap, slow '
        'operations)'
    ),
}


class _Gap(NamedTuple):
    """A limitation of some OSDs."""

    holds: Callable[[OsdJudged], bool]
    #: "{}" stands for the names of the OSDs.
    sentence: str


def _missing(kind: Kind) -> str:
    return f'"{COMMANDS[kind]}" is missing'


_OF_OSDS = (
    _Gap(
        lambda o: not o.collected.dumps,
        f'{_missing(Kind.PERF_DUMP)} for {{}}: nothing that they do is known, neither workload nor '
        'load.',
    ),
    _Gap(
        lambda o: len(o.collected.dumps) == 1,
        'There is only one perf dump of {}: a second one, minutes later, would tell rates, '
        'latencies and the workload; sizes are known.',
    ),
    _Gap(
        lambda o: o.configured.assumed,
        f'{_missing(Kind.CONFIG_SHOW)} for {{}}: taken to run what the config store gives them; '
        'pending restarts, and what ceph.conf sets, cannot be seen.',
    ),
    _Gap(
        lambda o: o.configured.options is None,
        'What options {} run is unknown, so nothing is reported for them.',
    ),
    _Gap(
        lambda o: not o.collected.kv_stats,
        f'{_missing(Kind.KV_STATS)} for {{}}: compaction is estimated, and stalls are not known.',
    ),
    _Gap(
        lambda o: o.collected.sharded is None,
        f'{_missing(Kind.BLUEFS_FILES)} for {{}}: whether their RocksDB is sharded is not known.',
    ),
)


def gaps(reading: Reading, judged: Sequence[OsdJudged]) -> tuple[str, ...]:
    """One sentence per limitation, the most important first."""
    up = [osd for osd in judged if osd.info.up]
    return (*_of_cluster(reading), *_of_osds(up), *_of_times_and_names(reading))


def _of_cluster(reading: Reading) -> Iterator[str]:
    for kind, consequence in _FOR_WANT_OF.items():
        if kind not in reading.kinds:
            yield f'{_missing(kind)}: {consequence}.'
    if Kind.CRUSH_DUMP not in reading.kinds:
        consequence = (
            'device classes are those that OSDs guessed when they were made, and every pool may '
            'use every class'
            if reading.classes_guessed
            else 'device classes are not known, so there are no groups and no recommendations'
        )
        yield f'{_missing(Kind.CRUSH_DUMP)}: {consequence}.'
    if reading.collection.module is None:
        yield (
            'These files are of one time and were not written by the module: when a DB device will '
            'be full, for how long a restart has been pending, how OSDs last started, and what '
            'clients did before is unknown, and thresholds are the defaults.'
        )


def _of_osds(up: Sequence[OsdJudged]) -> Iterator[str]:
    for gap in _OF_OSDS:
        ids = [osd.info.osd_id for osd in up if gap.holds(osd)]
        if ids:
            yield gap.sentence.format(name_osds(ids))
    for reason, ids in _by_reason(up, lambda o: o.measured.no_window).items():
        yield f'The perf dumps of {name_osds(ids)} give no rates: {reason}.'
    for reason, ids in _by_reason(up, lambda o: o.measured.no_statistics).items():
        yield f"RocksDB's statistics of {name_osds(ids)} say nothing: {reason.rstrip('.')}."


def _by_reason(
    up: Sequence[OsdJudged], reason_of: Callable[[OsdJudged], Optional[str]]
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for osd in up:
        reason = reason_of(osd)
        if reason is not None:
            found.setdefault(reason, []).append(osd.info.osd_id)
    return found


def _of_times_and_names(reading: Reading) -> Iterator[str]:
    if reading.times_of_files:
        yield (
            f'When the files of {name_osds(reading.times_of_files)} were printed is taken from the '
            'files themselves, which a copy changes: rates are wrong if it did.'
        )
    if reading.ignored:
        shown = ', '.join(reading.ignored[:5])
        more = len(reading.ignored) - 5
        yield f'Not looked at, by their names: {shown}{f" and {more} more" if more > 0 else ""}.'
