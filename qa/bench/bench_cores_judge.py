"""The module's conclusions on OSDs that were throttled in a known way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench_cores_runs import OsdSeen, Run

from rocksdb_tuner.advise.limit import limit_of
from rocksdb_tuner.advise.records import GroupFacts, OsdFacts, Resource
from rocksdb_tuner.mgr.records import FailureDomain, OsdInfo
from rocksdb_tuner.observe.counters import CounterNames, DetailNames, details_for, names_for
from rocksdb_tuner.observe.details import Details, DetailSample, details
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.records import Workload, WorkloadClass

_LARGE_KIB = 64


@dataclass(frozen=True)
class Verdict:
    run: Run
    resource: Resource

    @property
    def is_wrong(self) -> bool:
        """Whether a resource is named that does not bound the clients; "unknown" names none."""
        if self.run.trial.kind == 'cores':
            return self.resource not in {Resource.CORES, Resource.UNKNOWN}
        return self.resource is Resource.CORES


def verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """From the valid runs."""
    return [Verdict(run, limit_of(group_of(run)).resource) for run in runs if run.is_proven]


def group_of(run: Run) -> GroupFacts:
    """As the module knows these OSDs."""
    load = run.trial.load
    found = WorkloadClass.RBD_SMALL_WRITE
    if load.block_kib >= _LARGE_KIB:
        found = WorkloadClass.LARGE_WRITE
    elif load.clients == 'mixed':
        found = WorkloadClass.MIXED
    osds = tuple(_facts(run, osd) for osd in run.osds)
    return GroupFacts('ssd', Workload(found, 0.9, ()), osds)


def _facts(run: Run, osd: OsdSeen) -> OsdFacts:
    release = run.trial.release
    info = OsdInfo(
        osd_id=osd.osd,
        up=True,
        in_cluster=True,
        nonce=1,
        host='host',
        device_class='ssd',
        version=run.version,
        release=release,
        dedicated_db=False,
        dedicated_wal=False,
        db_device_bytes=None,
        objectstore='bluestore',
        failure_domain=FailureDomain('host', 'host'),
    )
    return OsdFacts(info, signals_of(release, osd), None, None, details=details_of(release, osd))


def signals_of(release: str, osd: OsdSeen) -> Signals:
    names = names_for(release)
    sync = osd.counters[names.kv_sync]
    assert isinstance(sync, list)
    writes = _number(osd, names.op_w)
    written = _number(osd, names.op_w_in_bytes)
    return Signals(
        osd.osd,
        window_s=osd.seconds,
        kv_sync_ms=_mean_ms(osd, names.kv_sync),
        kv_sync_busy=min(1.0, sync[0] / osd.seconds),
        kv_flush_ms=_mean_ms(osd, names.kv_flush),
        commit_ms=_mean_ms(osd, names.commit),
        op_w_latency_ms=_mean_ms(osd, names.op_w_latency),
        write_iops=writes / osd.seconds,
        write_bytes_per_s=written / osd.seconds,
        read_iops=_number(osd, names.op_r) / osd.seconds,
        write_bytes_avg=written / writes if writes else None,
    )


def _number(osd: OsdSeen, path: str) -> float:
    value = osd.counters[path]
    assert not isinstance(value, list)
    return value


def _mean_ms(osd: OsdSeen, path: str) -> float | None:
    value = osd.counters[path]
    assert isinstance(value, list)
    return 1e3 * value[0] / value[1] if value[1] else None


def details_of(release: str, osd: OsdSeen) -> Details:
    """A detailed sample at the start of the run, and one at its end."""
    every, close = names_for(release), details_for(release)
    first = DetailSample(0.0, 1, *_values(every, close, osd, since=True))  # type: ignore[arg-type]
    last = DetailSample(
        osd.seconds,
        1,
        *_values(every, close, osd, since=False),  # type: ignore[arg-type]
    )
    return details(first, last)


def _values(
    every: CounterNames, close: DetailNames, osd: OsdSeen, *, since: bool
) -> Iterator[int | tuple[int, int] | None]:
    for field in DetailSample._fields[2:]:
        path = getattr(close, field, None) or getattr(every, field, None)
        value = osd.counters.get(path) if path else None
        if isinstance(value, list):
            yield (0, 0) if since else (int(1e9 * value[0]), int(value[1]))
        elif value is None:
            yield None
        else:
            yield 0 if since else int(value)


def report(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each run, and the conclusions on each kind."""
    found = verdicts(runs)
    for verdict in sorted(found, key=lambda v: v.run.trial.name):
        trial = verdict.run.trial
        load = trial.load
        yield (
            f'{"WRONG " if verdict.is_wrong else ""}{trial.name:<20} {trial.hold.how:>10} '
            f'{trial.hold.strength:<4} {load.clients:>6} {load.block_kib:>4} KiB x {load.depth:<3} '
            f'to {load.replicas}: {verdict.resource.value}'
        )
    for kind in dict.fromkeys(verdict.run.trial.kind for verdict in found):
        reported = Counter(v.resource.value for v in found if v.run.trial.kind == kind)
        yield f'{kind}: ' + ', '.join(f'{count} {name}' for name, count in reported.most_common())
    yield f'{len(runs) - len(found)} runs do not count: they were not held back as was meant'
