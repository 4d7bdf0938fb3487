"""Missing files and the resulting limitations, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable, NamedTuple, Optional

from ..advise.naming import name_osds
from ..collection.names import COMMANDS, Kind
from ..collection.read import Reading
from .records import OsdJudged

#: Consequences of a missing file of the cluster.
_CONSEQUENCES = {
    Kind.OSD_METADATA: (
        'release, host and devices of the OSDs are unknown, so there are no recommendations and '
        'no findings about builds and devices'
    ),
    Kind.CONFIG_DUMP: (
        'configured options, and the options that OSDs would run after a restart, are unknown, so '
        'there are no recommendations'
    ),
    Kind.HEALTH: (
        "Ceph's own health checks are unknown, so there are no findings based on them (legacy "
        'omap, slow operations)'
    ),
}


class _Gap(NamedTuple):
    """A limitation of some OSDs."""

    holds: Callable[[OsdJudged], bool]
    #: "{}" is replaced by the names of the OSDs.
    sentence: str


def _missing(kind: Kind) -> str:
    return f'"{COMMANDS[kind]}" is missing'


_OF_OSDS = (
    _Gap(
        lambda o: not o.collected.dumps,
        f'{_missing(Kind.PERF_DUMP)} for {{}}: workload and load are unknown.',
    ),
    _Gap(
        lambda o: len(o.collected.dumps) == 1,
        'There is only one perf dump of {}: rates, latencies and the workload require a second '
        'one, minutes later.',
    ),
    _Gap(
        lambda o: o.configured.assumed,
        f'{_missing(Kind.CONFIG_SHOW)} for {{}}: assumed to run the options of the config store; '
        'pending restarts and options in ceph.conf are unknown.',
    ),
    _Gap(
        lambda o: o.configured.options is None,
        'The running options of {} are unknown, so there are no findings about them.',
    ),
    _Gap(
        lambda o: not o.collected.kv_stats,
        f'{_missing(Kind.KV_STATS)} for {{}}: compaction is estimated, and stalls are unknown.',
    ),
    _Gap(
        lambda o: o.collected.sharded is None,
        f'{_missing(Kind.BLUEFS_FILES)} for {{}}: it is unknown whether RocksDB is sharded.',
    ),
)


def gaps(reading: Reading, judged: Sequence[OsdJudged]) -> tuple[str, ...]:
    """One sentence per limitation, the most important first."""
    up = [osd for osd in judged if osd.info.up]
    return (*_of_cluster(reading), *_of_osds(up), *_of_times_and_names(reading))


def _of_cluster(reading: Reading) -> Iterator[str]:
    for kind, consequence in _CONSEQUENCES.items():
        if kind not in reading.kinds:
            yield f'{_missing(kind)}: {consequence}.'
    if Kind.CRUSH_DUMP not in reading.kinds:
        consequence = (
            'device classes are those that OSDs detected at creation, and any pool may use any '
            'class'
            if reading.classes_guessed
            else 'device classes are unknown, so there are no groups and no recommendations'
        )
        yield f'{_missing(Kind.CRUSH_DUMP)}: {consequence}.'
    if reading.collection.module is None:
        yield (
            'These files are a snapshot that the module did not write: the forecast of full DB '
            'devices, the age of pending restarts, OSD startup times and past workloads are '
            'unknown, and thresholds have their defaults.'
        )


def _of_osds(up: Sequence[OsdJudged]) -> Iterator[str]:
    for gap in _OF_OSDS:
        ids = [osd.info.osd_id for osd in up if gap.holds(osd)]
        if ids:
            yield gap.sentence.format(name_osds(ids))
    for reason, ids in _by_reason(up, lambda o: o.measured.no_window).items():
        yield f'The perf dumps of {name_osds(ids)} give no rates: {reason}.'
    for reason, ids in _by_reason(up, lambda o: o.measured.no_statistics).items():
        yield f"RocksDB's statistics of {name_osds(ids)} are unusable: {reason.rstrip('.')}."


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
            f'File names of {name_osds(reading.times_of_files)} have no time, so modification '
            'times are used. If copying changed them, rates are wrong.'
        )
    if reading.ignored:
        shown = ', '.join(reading.ignored[:5])
        more = len(reading.ignored) - 5
        yield f'Ignored because of their names: {shown}{f" and {more} more" if more > 0 else ""}.'
