"""The whole policy of advice as one table: release x running options x workload x hardware.

``data/policy.txt`` has a row for each combination, for review by an expert on the publications.
``python -m rocksdb_tuner.tests.advise.test_policy`` regenerates it: the difference is the change of
advice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Mapping, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.candidates import successor_of
from rocksdb_tuner.advise.case import Case, Circumstances, group_case
from rocksdb_tuner.advise.facts import release_of_osd
from rocksdb_tuner.advise.limit import with_limit
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import GroupFacts, Kind, OsdFacts, Resource, Risk
from rocksdb_tuner.advise.weighing import Assessment, usages
from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.lsm.records import Estimate
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.grammar import in_force, same_meaning
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.workload.classify import Writer, writer_evidence
from rocksdb_tuner.workload.pressure import (
    KV_FLUSH_MS,
    KV_SYNC_MS,
    THREAD_SHARE,
    TRANSACTIONS,
)
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from .builders import entry, facts, osd_info, workload

TABLE = Path(__file__).parent / 'data' / 'policy.txt'
GIB, MIB = 1 << 30, 1 << 20

RELEASES = {
    'pacific': ('16.2.15', 'pacific'),
    'quincy': ('17.2.7', 'quincy'),
    'reef-18.2.2': ('18.2.2', 'reef'),
    'reef': ('18.2.7', 'reef'),
    'tentacle': ('20.2.4', 'tentacle'),
}
#: None: the default of the release; text with a plus: added to it, with two: by the annex.
RUNNING: Mapping[str, Optional[str]] = {
    'default': None,
    'alternate-2019': profile('alternate-2019').options,
    'variant-d': profile('variant-2022-d').options,
    'lz4-2025': profile('lz4-2025').options,
    'jobs=6': '+max_background_jobs=6',
    '256M': '+write_buffer_size=268435456,max_write_buffer_number=4,'
    'min_write_buffer_number_to_merge=1',
    'snappy': '+compression=kSnappyCompression',
    'no-wal-limit': '+max_total_wal_size=0',
    'disableWAL': '+disableWAL=true',
    'not-judged': '+block_based_table_factory={block_cache=1M}',
    'annex lz4': '++compression=kLZ4Compression',
    'universal': '+compaction_style=kCompactionStyleUniversal',
    'd-lz4': profile('variant-2022-d-lz4').options,
    'pacific j=6': f'{profile("bluestore-default-pacific").options},max_background_jobs=6',
}
#: Only in `asked`.
RARE = frozenset({'universal', 'd-lz4', 'pacific j=6'})


def mixed(writer: WorkloadClass, busy: float = 0.72) -> Workload:
    """Half of it reads; it is known who makes the rest."""
    found = workload(WorkloadClass.MIXED, 0.7, busy)
    evidence = writer_evidence(Writer(writer, 0.95), 30.0)
    return found._replace(evidence=(*found.evidence, evidence))


def short_of_cores(of: WorkloadClass) -> Workload:
    """Writes wait for the OSD's own threads, so that the kv_sync threads seem busy."""
    found = workload(of)
    threads = Evidence(THREAD_SHARE, 0.1, 'ratio', 30.0, 'Writes spend 10% on OSD threads.')
    return found._replace(evidence=(*found.evidence, threads))


def rounds(
    of: WorkloadClass, round_ms: float, flush_ms: float, transactions: float, busy: float = 0.95
) -> Workload:
    """What the rounds of the kv_sync thread consist of."""
    found = workload(of, busy=busy)
    parts = (
        Evidence(KV_SYNC_MS, round_ms, 'ms', 30.0, 'A commit takes {:.2f} ms.', (round_ms,)),
        Evidence(KV_FLUSH_MS, flush_ms, 'ms', 30.0, 'Flush: {:.2f} ms.', (flush_ms,)),
        Evidence(TRANSACTIONS, transactions, 'transactions', 30.0, '{:.1f}.', (transactions,)),
    )
    return found._replace(evidence=(*found.evidence, *parts))


def reading(of: WorkloadClass, percent: float) -> Workload:
    """With so many reads among the client operations."""
    found = workload(of)
    text = '{:.0f}% of the operations write, {:.0f}% are class calls, {:.0f}% read.'
    shares = Evidence('read_iops', 100.0, 'operations/s', 30.0, text, (100 - percent, 0.0, percent))
    return found._replace(evidence=(*found.evidence, shares))


RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
WORKLOADS = {
    'idle': workload(WorkloadClass.IDLE, busy=None),
    'rbd busy 72%': workload(),
    'rbd busy 5%': workload(busy=0.05),
    'rbd 50% reads': mixed(WorkloadClass.RBD_SMALL_WRITE),
    'rgw': workload(WorkloadClass.RGW_METADATA),
    's3 45% gets': mixed(WorkloadClass.RGW_METADATA, 0.3),
    'cephfs': workload(WorkloadClass.CEPHFS_METADATA),
    'large': workload(WorkloadClass.LARGE_WRITE),
    'mixed': workload(WorkloadClass.MIXED, 0.7),
    'rbd no cores': short_of_cores(WorkloadClass.RBD_SMALL_WRITE),
    'rgw no cores': short_of_cores(WorkloadClass.RGW_METADATA),
}
#: What takes the time in a round, on the hardware where that is seen.
PARTS = {
    'rbd hdd flush': rounds(RBD, 8.2, 7.9, 9.0),
    'rgw hdd flush': rounds(RGW, 8.2, 7.9, 9.0),
    'rbd no plp': rounds(RBD, 2.5, 0.8, 1.2),
    'rbd no plp 2': rounds(RBD, 2.5, 1.5, 1.2),
    'rbd cpu': rounds(RBD, 1.2, 0.1, 20.0),
    'rbd held': rounds(RBD, 17.4, 1.6, 3.5),
    'rbd 30% reads': reading(RBD, 30.0),
    'rgw list': reading(RGW, 40.0),
}
#: Whose limit follows from the signals of the OSDs.
OTHERS = {
    'rbd unknown': workload(busy=None),
    'reads': workload(WorkloadClass.READ_MOSTLY, busy=0.3),
}
ON_DISKS = ('rbd hdd flush', 'rgw hdd flush')
ALL_WORKLOADS = {**WORKLOADS, **PARTS, **OTHERS}
SHORT_OF_CORES = ('rbd no cores', 'rgw no cores')
ENOUGH_CORES = tuple(name for name in WORKLOADS if name not in SHORT_OF_CORES)
#: Relevant rows of OSDs short of cores.
WITH_CORES = ('default', 'alternate-2019', 'variant-d', 'lz4-2025')


@dataclass(frozen=True)
class Hardware:
    """Differences from OSDs on flash with sufficient memory and space."""

    device_class: str = 'ssd'
    info: Mapping[str, object] = field(default_factory=dict)
    used_bytes: int = 30 * GIB
    total_bytes: Optional[int] = None
    slow_bytes: Optional[int] = None
    memory_bytes: int = 4 * GIB
    details: Mapping[str, Any] = field(default_factory=dict)
    #: Of each OSD; empty: unknown.
    busy: tuple[float, ...] = ()


def on(used_gib: int = 30, total_gib: Optional[int] = None, **info: object) -> Hardware:
    total = None if total_gib is None else total_gib * GIB
    dedicated = {} if total is None else {'dedicated_db': True, 'db_device_bytes': total}
    return Hardware(info={**dedicated, **info}, used_bytes=used_gib * GIB, total_bytes=total)


_DISK = {'main_rotational': True, 'db_rotational': True}
HARDWARE = {
    'flash': on(),
    'hdd': replace(on(**_DISK), device_class='hdd'),
    'hdd+db': replace(on(30, 300, main_rotational=True, db_rotational=False), device_class='hdd'),
    'hdd+db spilled': replace(
        on(30, 300, main_rotational=True, db_rotational=False),
        device_class='hdd',
        slow_bytes=5 * GIB,
    ),
    'db 8 of 10 GiB': on(8, 10),
    'wal 512 MiB': on(dedicated_wal=True, wal_device_bytes=512 * MIB),
    'wal 1G, db': on(30, 300, dedicated_wal=True, wal_device_bytes=GIB),
    'db 1 of 3 GiB': on(1, 3),
    'db 126 of 50': replace(
        on(50, 50, main_rotational=True, db_rotational=False),
        device_class='hdd',
        slow_bytes=76 * GIB,
    ),
    'memory 2 GiB': replace(on(), memory_bytes=2 * GIB),
    'memory 1 GiB': replace(on(), memory_bytes=GIB),
    'debian 16.2.13': on(distribution='debian', version='16.2.13'),
}
#: What operators asked about.
ASKED = {
    'wal 1 GiB': on(dedicated_wal=True, wal_device_bytes=GIB),
    'hdd+wal 2 GiB': replace(on(**_DISK, dedicated_wal=True), device_class='hdd'),
    'hdd+db 1 of 2': replace(
        on(1, 2, main_rotational=True, db_rotational=False), device_class='hdd'
    ),
    'hdd+db 87 GiB': replace(
        on(87, 100, main_rotational=True, db_rotational=False), device_class='hdd'
    ),
    'one slow OSD': replace(on(), busy=(0.1, 0.98, 0.1)),
    'onodes missed': replace(
        on(),
        details={'memory_mapped_bytes': 4 * GIB, 'onode_hits': 500, 'onode_misses': 700},
    ),
    'seastore': on(objectstore='seastore'),
}
ALL_HARDWARE = {**HARDWARE, **ASKED}
#: Relevant rows on hardware other than flash.
ELSEWHERE = ('default', 'alternate-2019', 'jobs=6')


@dataclass(frozen=True)
class Row:
    release: str
    running: str
    workload: str
    hardware: str

    @property
    def options(self) -> str:
        release = release_of_osd(self._osds('', 'default')[0].info)
        assert release is not None
        change = RUNNING[self.running]
        if change is None:
            return release.default_options
        if change.startswith('++'):
            return in_force(release.default_options, change[2:])
        return release.default_options + ',' + change[1:] if change.startswith('+') else change

    def _osds(self, options: str, source: str) -> tuple[OsdFacts, ...]:
        hardware = ALL_HARDWARE[self.hardware]
        version, name = RELEASES[self.release]
        found = []
        for osd_id in range(3):
            info = osd_info(
                osd_id,
                name,
                **{
                    'version': version,
                    'device_class': hardware.device_class,
                    **hardware.info,
                },
            )
            osd = self._osd(info, options, source)
            found.append(
                osd._replace(
                    signals=Signals(
                        osd_id,
                        window_s=30.0,
                        write_iops=100.0,
                        db_used_bytes=hardware.used_bytes,
                        db_total_bytes=hardware.total_bytes,
                        slow_used_bytes=hardware.slow_bytes,
                        kv_sync_busy=hardware.busy[osd_id] if hardware.busy else None,
                    ),
                    details=Details(0.0, None, None, None, None, hardware.memory_bytes)._replace(
                        **hardware.details
                    ),
                )
            )
        return tuple(found)

    def _osd(self, info: OsdInfo, options: str, source: str) -> OsdFacts:
        change = RUNNING[self.running]
        if source == 'annex' and change is not None:
            release, annex = release_of_osd(info), change[2:]
            assert release is not None
            of_annex = (entry('osd', annex, ANNEX),)
            return facts(info, release.default_options, entries=of_annex, annex=annex)
        entries = (entry('osd', options),) if source == 'mon' else ()
        return facts(info, options, source, entries)

    def group(self, options: str) -> tuple[GroupFacts, tuple[OsdFacts, ...]]:
        release = release_of_osd(self._osds('', 'default')[0].info)
        assert release is not None
        is_default = options == release.default_options
        source = 'annex' if self._by_annex(options) else 'default' if is_default else 'mon'
        osds = self._osds(options, source)
        device_class = ALL_HARDWARE[self.hardware].device_class
        return with_limit(GroupFacts(device_class, ALL_WORKLOADS[self.workload], osds)), osds

    def _by_annex(self, options: str) -> bool:
        return (RUNNING[self.running] or '').startswith('++') and options == self.options

    def answer(self, options: str) -> Assessment:
        group, osds = self.group(options)
        return assess(group, Circumstances(osds))

    def case(self, options: str) -> Case:
        group, osds = self.group(options)
        case = group_case(group, Circumstances(osds))
        assert isinstance(case, Case)
        return case


def rows() -> Iterator[Row]:
    for release in RELEASES:
        for running in (name for name in RUNNING if name not in RARE):
            for work in ('idle', 'rbd busy 72%', 'rgw') if 'annex' in running else ENOUGH_CORES:
                yield Row(release, running, work, 'flash')
    for release, running in product(('pacific', 'reef'), WITH_CORES):
        yield from (Row(release, running, work, 'flash') for work in SHORT_OF_CORES)
    for release in ('pacific', 'reef'):
        for hardware in HARDWARE:
            if hardware != 'flash' and not (hardware.startswith('debian') and release == 'reef'):
                for running in ELSEWHERE:
                    for work in ('idle', 'rbd busy 72%', 'rgw'):
                        yield Row(release, running, work, hardware)


def parts_of_rounds() -> Iterator[Row]:
    for release, running in product(('pacific', 'reef', 'tentacle'), ('default', 'variant-d')):
        for work in PARTS:
            for hardware in ('hdd', 'hdd+db') if work in ON_DISKS else ('flash',):
                yield Row(release, running, work, hardware)


def asked() -> Iterator[Row]:
    for release, hardware in product(('pacific', 'reef'), tuple(ASKED)[:4]):
        yield from (Row(release, 'default', work, hardware) for work in ('rbd busy 72%', 'rgw'))
    for release in ('pacific', 'tentacle'):
        yield Row(release, 'default', 'rbd unknown', 'one slow OSD')
        yield Row(release, 'default', 'reads', 'onodes missed')
        yield Row(release, 'default', 'rbd busy 72%', 'seastore')
        yield from (Row(release, 'universal', work, 'flash') for work in ('idle', 'rbd busy 72%'))
        for running, work in product(('d-lz4', 'pacific j=6'), ('idle', 'rbd busy 72%', 'rgw')):
            yield Row(release, running, work, 'flash')


ROWS = (*rows(), *parts_of_rounds(), *asked())
COLUMNS = (
    *('release', 'running', 'workload', 'hardware', 'limit'),
    *('answer', 'profile', 'risk', 'priority'),
)


@cache
def answered(row: Row) -> Assessment:
    return row.answer(row.options)


def cells(row: Row) -> tuple[str, ...]:
    found = answered(row)
    group, _ = row.group(row.options)
    limit = group.limit.resource.value
    reported = (row.release, row.running, row.workload, row.hardware, limit)
    if not found.recommendations:
        return (*reported, *5 * '-', f'{found.conclusion.do}: {found.conclusion.because}')
    (advice,) = found.recommendations
    expected = '-'
    if advice.prediction is not None:
        metric = advice.prediction.metric.split(' of ')[0]
        expected = (
            f'{metric} {advice.prediction.low_percent:.0f} to {advice.prediction.high_percent:.0f}%'
        )
    named = advice.profile or 'unnamed'
    named += '' if advice.annex is None else ', annex'
    return (
        *reported,
        advice.kind.value,
        named,
        advice.risk.value,
        advice.priority.value,
        expected,
        advice.reasons[0].statement,
    )


def table() -> str:
    lines = [(*COLUMNS, 'prediction', 'first reason or conclusion'), *(cells(row) for row in ROWS)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]) - 1)]
    return ''.join(
        '  '.join((*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1])) + '\n'
        for line in lines
    )


def writes(running: str, options: str, case: Case) -> Optional[Estimate]:
    found = usages(running, options, case.situation)
    return next((u.ratio for u in found if u.resource is Resource.DB_DEVICE), None)


def test_policy_matches_the_reviewed_one() -> None:
    assert len(ROWS) >= 400
    assert table().splitlines() == TABLE.read_text().splitlines()


def changed() -> list[Row]:
    return [row for row in ROWS if answered(row).recommendations]


@pytest.mark.parametrize('release', list(RELEASES))
def test_a_change_has_a_named_objection_and_leaves_nothing_to_recommend(release: str) -> None:
    """One rollout is enough, a remaining entry has a purpose, and so has a removed one."""
    for row in (row for row in changed() if row.release == release):
        (advice,) = answered(row).recommendations
        assert row.answer(advice.options_to).recommendations == (), row
        if not advice.restart_required:
            # A removed entry has no effect, and the recommendation shows that.
            assert advice.kind is Kind.REMOVE_OVERRIDE
            assert 'changes nothing now' in advice.reasons[0].statement, row
            continue
        case = row.case(row.options)
        against = (*case.objections, *case.under_workload(row.options))
        named = advice.reasons[0] in [objection.reason for objection in against]
        assert named or outweighed(answered(row)), row


def outweighed(found: Assessment) -> bool:
    """Whether by the model another set relieves what limits, which is an objection too."""
    (advice,) = found.recommendations
    chosen = found.weighing.chosen if found.weighing else None
    return chosen is not None and same_meaning(chosen.options, advice.options_to, None)


@pytest.mark.parametrize('hardware', ['hdd', 'hdd+db', 'hdd+db spilled'])
@pytest.mark.parametrize('release', ['pacific', 'reef'])
def test_hard_disks_get_no_figures_of_flash(release: str, hardware: str) -> None:
    """Neither a gain nor a loss: what NVMe did in a second, disks do in minutes."""
    for running in ELSEWHERE:
        for work in ('idle', 'rbd busy 72%', 'rgw'):
            for advice in answered(Row(release, running, work, hardware)).recommendations:
                reported = [reason.statement for reason in advice.reasons]
                reported += [] if advice.prediction is None else [advice.prediction.metric]
                figures = [text for text in reported if 'IOPS' in text and 'Caution' not in text]
                assert figures == [], (running, work)


@pytest.mark.parametrize('work', list(PARTS))
def test_no_set_is_praised_for_a_thread_that_waits_for_devices_or_readers(work: str) -> None:
    """Flushes and syncs take as long with any string; only space is a gain."""
    waits = work in {*ON_DISKS, 'rbd no plp', 'rbd no plp 2'}
    for release, hardware in product(('pacific', 'reef', 'tentacle'), ('flash', 'hdd', 'hdd+db')):
        row = Row(release, 'default', work, hardware)
        if row not in ROWS:
            continue
        weighed = answered(row).weighing
        if weighed is None or weighed.chosen is None:
            assert not waits or answered(row).conclusion.do.startswith('Provide'), row
            continue
        gained = {u.resource for u in weighed.chosen.gains(weighed.bars)}
        if waits:
            assert gained == {Resource.DB_SPACE}, row
        if work in {'rbd 30% reads', 'rgw list'}:
            assert gained - {Resource.KV_SYNC, Resource.CORES}, row


@pytest.mark.parametrize('release', ['pacific', 'reef', 'tentacle'])
def test_what_is_derived_is_the_later_default_wherever_that_fits(release: str) -> None:
    """`profile derive` and `recommend` agree on when an OSD needs another size."""
    for hardware in HARDWARE:
        if release != 'pacific' and hardware.startswith('debian'):
            continue
        row = Row(release, 'default', 'rbd busy 72%', hardware)
        case = row.case(row.options)
        later = successor_of(case.release)
        derived = derive(case.situation).options
        assert case.alike(derived, later) == (not case.misfits(later)), hardware


def test_advice_does_not_depend_on_the_spelling_of_the_string() -> None:
    row = Row('reef', 'jobs=6', 'rbd busy 72%', 'flash')
    text = profile('lz4-2025').options.replace('max_background_jobs=4', 'max_background_jobs=6')
    spelled = ' ;'.join(reversed(text.split(',')))
    assert same_meaning(spelled, row.options, '7.9')
    assert row.answer(spelled).recommendations == ()


#: Typical changes of a string by operators, alone or together.
CHANGES = (
    'compression=kNoCompression',
    'compression=kLZ4Compression',
    'compression=kSnappyCompression',
    'write_buffer_size=268435456',
    'write_buffer_size=67108864',
    'write_buffer_size=8388608',
    'max_write_buffer_number=4',
    'max_write_buffer_number=32',
    'min_write_buffer_number_to_merge=1',
    'min_write_buffer_number_to_merge=16',
    'max_total_wal_size=0',
    'max_total_wal_size=536870912',
    'max_background_jobs=6',
    'max_background_compactions=31',
    'level0_file_num_compaction_trigger=2',
    'level0_slowdown_writes_trigger=8',
    'max_bytes_for_level_base=268435456',
    'compaction_readahead_size=0',
    'ttl=21600',
    'disableWAL=true',
    'no_such_option=1',
    'block_based_table_factory={block_cache=1M}',
    'recycle_log_file_num=4',
)
BASES = (
    None,
    *(profile(name).options for name in ('alternate-2019', 'variant-2022-d', 'lz4-2025')),
)


@given(
    release=st.sampled_from(sorted(RELEASES)),
    base=st.sampled_from(BASES),
    changes=st.lists(st.sampled_from(CHANGES), unique=True, max_size=5),
    work=st.sampled_from(sorted(WORKLOADS)),
    hardware=st.sampled_from(sorted(HARDWARE)),
)
def test_whatever_runs_one_change_with_a_reason_is_enough(
    release: str, base: Optional[str], changes: list[str], work: str, hardware: str
) -> None:
    if hardware.startswith('debian') and release != 'pacific':
        return
    row = Row(release, 'default', work, hardware)
    running = ','.join((base or row.options, *changes))
    found = row.answer(running)
    assert found.conclusion
    for advice in found.recommendations:
        case = row.case(running)
        against = (
            *case.standing(running),
            *case.misfits(running),
            *case.under_workload(running),
        )
        if advice.restart_required:
            assert advice.reasons[0] in [o.reason for o in against] or outweighed(found)
        change = writes(running, advice.options_to, case)
        if change is not None and change.low > 1:
            assert advice.risk is not Risk.LOW
        assert row.answer(advice.options_to).recommendations == ()


if __name__ == '__main__':
    TABLE.write_text(table())
