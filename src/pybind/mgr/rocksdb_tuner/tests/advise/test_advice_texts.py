"""The texts of advice, and of its absence: every word, figure and command."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Optional

import pytest

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import OsdFacts, Recommendation
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.advise.whatif.derive import Derivation, derive
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.lsm.records import Devices
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from ..fake_cluster import DEFAULTS
from .builders import PACIFIC, UNMENDABLE, entry, facts, group, osd_info, workload
from .golden_texts import kept, write

DATA = Path(__file__).parent / 'data'
ADVISED, DERIVED = DATA / 'advised.txt', DATA / 'derived.txt'
GIB, MIB = 1 << 30, 1 << 20
REEF = DEFAULTS['reef']
LZ4 = 'compression=kLZ4Compression'
ALTERNATE, VARIANT_D = profile('alternate-2019').options, profile('variant-2022-d').options
#: Short names of long strings in these texts.
NAMED = {'Pacific': PACIFIC, 'Reef': REEF, 'of 2019': ALTERNATE, 'variant D': VARIANT_D}
RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
IDLE = workload(WorkloadClass.IDLE)

# -- advice for a group


@dataclass(frozen=True)
class Scenario:
    title: str
    osds: tuple[OsdFacts, ...]
    does: Optional[Workload] = None
    #: OSDs of other groups.
    others: tuple[OsdFacts, ...] = ()
    orchestrated: bool = True
    #: With the commands.
    whole: bool = False


def on_default(*osd_ids: int, used_gib: Optional[int] = None) -> tuple[OsdFacts, ...]:
    used = None if used_gib is None else used_gib * GIB
    return tuple(
        facts(osd_info(n), write_iops=100.0 + n)._replace(
            signals=Signals(osd_id=n, write_iops=100.0 + n, db_used_bytes=used)
        )
        for n in osd_ids
    )


def running(text: str, *osd_ids: int, who: str = 'osd', release: str = 'pacific') -> list[OsdFacts]:
    return [facts(osd_info(n, release), text, 'mon', (entry(who, text),)) for n in osd_ids]


def own(text: str, *osd_ids: int) -> list[OsdFacts]:
    return [facts(osd_info(n), text, 'mon', (entry(f'osd.{n}', text),)) for n in osd_ids]


HDD = facts(osd_info(9, device_class='hdd'))

SCENARIOS = (
    Scenario('small writes on the default of Pacific', on_default(0, 1, 2), workload(RBD)),
    Scenario(
        'the same without an orchestrator',
        on_default(0, 1),
        workload(RBD),
        orchestrated=False,
        whole=True,
    ),
    Scenario(
        'metadata, with a database of known size', on_default(0, 1, used_gib=30), workload(RGW)
    ),
    Scenario('a group of several', on_default(0, 1), workload(RBD), others=(HDD,), whole=True),
    Scenario(
        'evidence with and without its full stop',
        on_default(0),
        workload(RBD)._replace(
            evidence=(
                Evidence('a', 1.0, 'bytes', 30.0, 'Writes are of 4 KiB'),
                Evidence('b', 1.0, 'bytes', 30.0, 'They are many.'),
                Evidence('kv_sync_busy', 0.5, 'ratio', 30.0, 'The threads are busy.'),
            ),
        ),
    ),
    Scenario('reading on the default', on_default(0), workload(WorkloadClass.READ_MOSTLY)),
    Scenario('small writes that keep no thread busy', on_default(0), workload(RBD, busy=0.05)),
    Scenario(
        'small writes, of which is not known how busy', on_default(0), workload(RBD, busy=None)
    ),
    Scenario(
        'what is refused and warned of and cannot be mended',
        tuple(running(f'{PACIFIC},min_write_buffer_number_to_merge=16,disableWAL=true', 0)),
        workload(RBD),
    ),
    Scenario(
        'what is warned of because of an option that the warning does not name',
        tuple(running(f'{PACIFIC},min_write_buffer_number_to_merge=16', 0)),
        workload(RBD),
    ),
    Scenario(
        'what is warned of and cannot be mended',
        tuple(running(UNMENDABLE, 0)),
        workload(RBD),
    ),
    Scenario('large writes on the default', on_default(0), workload(WorkloadClass.LARGE_WRITE)),
    Scenario('files on the default', on_default(0), workload(WorkloadClass.CEPHFS_METADATA)),
    Scenario('a workload that is not known', on_default(0)),
    Scenario('no work', on_default(0), IDLE),
    Scenario('work of which it is just sure enough', on_default(0), workload(RBD, 0.8)),
    Scenario('work of which it is not sure enough', on_default(0), workload(RBD, 0.79)),
    Scenario('what suits best already', tuple(running(VARIANT_D, 0, 1)), workload(RBD)),
    Scenario(
        'what suits almost as well',
        tuple(running(profile('variant-2022-c').options, 0, 1)),
        workload(RBD),
    ),
    Scenario(
        'metadata that only a string that nobody published keeps uncompressed',
        tuple(running(f'{PACIFIC},max_background_jobs=6', 0)),
        workload(RGW),
    ),
    Scenario('a string that nobody published', tuple(running(f'{REEF},ttl=60', 0)), workload(RBD)),
    Scenario(
        'the same on Reef', tuple(running(f'{REEF},ttl=60', 0, release='reef')), workload(RBD)
    ),
    Scenario(
        'the same on Reef, beside another group',
        tuple(running(f'{REEF},ttl=60', 0, release='reef')),
        workload(RBD),
        others=(HDD,),
    ),
    Scenario(
        'the same on Reef, by an entry for all daemons',
        tuple(running(f'{REEF},ttl=60', 0, who='global', release='reef')),
        workload(RBD),
    ),
    Scenario(
        'small writes on Reef, of which nothing was published but the model knows',
        tuple(
            osd._replace(signals=Signals(osd_id=0, db_used_bytes=30 * GIB))
            for osd in running('write_buffer_size=64M,max_total_wal_size=1G', 0, release='reef')
        ),
        workload(RBD),
    ),
    Scenario(
        'the tuning of Pacific on Reef',
        tuple(running(VARIANT_D, 0, release='reef')),
        workload(RGW),
    ),
    Scenario('an entry that equals the default', tuple(running(PACIFIC, 0, 1)), IDLE),
    Scenario('a string of 2019', tuple(running(ALTERNATE, 0, 1)), IDLE),
    Scenario('what may lose data', tuple(running(f'{PACIFIC},disableWAL=true', 0)), IDLE),
    Scenario('a warning is no reason', tuple(running(f'{PACIFIC},ttl=60', 0)), IDLE),
    Scenario(
        'an entry that serves another group too',
        tuple(running(ALTERNATE, 0)),
        IDLE,
        others=(
            *running(ALTERNATE, 7, 8),
            *own(ALTERNATE, 5),
            facts(osd_info(4), ALTERNATE, 'file', (entry('osd', ALTERNATE),)),
            facts(osd_info(3, in_cluster=False), ALTERNATE, 'mon', (entry('osd', ALTERNATE),)),
            facts(osd_info(2), LZ4, 'mon', (entry('osd/class:ssd', LZ4),)),
        ),
    ),
    Scenario(
        'an entry that may serve OSDs that tell nothing',
        tuple(running(ALTERNATE, 0)),
        IDLE,
        others=(
            facts(osd_info(5))._replace(options=None),
            facts(osd_info(6, up=False, in_cluster=False))._replace(options=None),
        ),
    ),
    Scenario(
        'two OSDs with the same entry of their own',
        (*on_default(0), *own(ALTERNATE, 1, 2)),
        IDLE,
        whole=True,
    ),
    Scenario('an OSD with an entry that says nothing', (*on_default(0), *own(PACIFIC, 3)), IDLE),
    Scenario('OSDs with entries that say nothing', (*on_default(0), *own(PACIFIC, 3, 4)), IDLE),
    Scenario(
        'one that no entry reaches, beside one that an entry reaches',
        (*on_default(0), *own(LZ4, 1), facts(osd_info(2), LZ4, 'file')),
        workload(RBD),
    ),
    Scenario('none that an entry reaches', (*own(LZ4, 1, 2), facts(osd_info(3), LZ4, 'env')), IDLE),
    Scenario('no OSD', ()),
    Scenario('a release that is not known', (facts(osd_info(0, 'zebra')), *on_default(1))),
    Scenario(
        'two releases',
        (*on_default(0), facts(osd_info(1, 'reef'), REEF), facts(osd_info(2, 'tentacle'), REEF)),
    ),
    Scenario('an annex', (facts(osd_info(0), annex='ttl=60'), facts(osd_info(1)))),
    Scenario(
        'what is unknown of the next start',
        (facts(osd_info(0)), facts(osd_info(1), entries=(entry('osd/rack:r1', LZ4),))),
    ),
    Scenario('a restart that is due', (facts(osd_info(0), entries=(entry('osd', LZ4),)),)),
    Scenario('different strings', (*on_default(0), *running(LZ4, 1))),
    Scenario('the same by different entries', (*running(LZ4, 0), *running(LZ4, 1, who='global'))),
    Scenario(
        'OSDs of two racks',
        tuple(
            facts(osd_info(n, failure_domain=FailureDomain('rack', f'r{n % 2}')), write_iops=50.0)
            for n in range(4)
        ),
        workload(RBD),
    ),
)


def words(advice: Recommendation, whole: bool) -> str:
    expected = [
        f'  expect {p.metric} {p.low_percent:.1f} to {p.high_percent:.1f}%: {p.basis}'
        for p in advice.predictions
    ]
    assert advice.change is not None
    sure = '' if advice.confidence is None else f', confidence {advice.confidence}'
    return '\n'.join(
        (
            f'{advice.kind.value} {advice.who} [{" ".join(map(str, advice.osds))}]',
            f'  {advice.risk.value} risk, restart {advice.restart_required}{sure}',
            f'  from {advice.options_from}',
            f'  to {advice.profile}: {advice.options_to}',
            *(f'  because {r.statement} ({r.source})' for r in advice.reasons),
            *expected,
            f'  controls {advice.change.controls}, batches {advice.change.batches}',
            *(f'  = {who}: {value}' for who, value in advice.final_entries),
            *(f'  $ {command}' for command in advice.commands if whole),
            *(f'  undo $ {command}' for command in advice.undo_commands if whole),
        )
    )


def assessed(scenario: Scenario) -> Assessment:
    return assess(
        group(*scenario.osds, does=scenario.does),
        (*scenario.osds, *scenario.others),
        orchestrated=scenario.orchestrated,
    )


def shortened(text: str) -> str:
    for name, options in NAMED.items():
        text = text.replace(options, f'<{name}>')
    return text


def reported(scenario: Scenario) -> str:
    found = assessed(scenario)
    assert found.who == 'osd/class:ssd'
    return shortened(
        '\n'.join(
            (
                *(
                    f'{k}: {v}'
                    for k, v in asdict(found.conclusion).items()
                    if v and k not in {'who', 'limit', 'waits'}
                ),
                *(words(a, scenario.whole) for a in found.recommendations),
            )
        )
    )


@pytest.mark.parametrize('scenario', SCENARIOS, ids=[scenario.title for scenario in SCENARIOS])
def test_advice_texts_match_the_recorded_ones(scenario: Scenario) -> None:
    assert reported(scenario) == kept(ADVISED)[scenario.title]


# -- what is derived from the published goals


def on(version: str, **changes: object) -> Situation:
    release = release_of(version, None)
    assert release is not None
    return replace(Situation(release), **changes)  # type: ignore[arg-type]


SITUATIONS = {
    'Pacific, of which nothing is known': on('16.2.15'),
    'Pacific, small writes': on('16.2.15', workload=RBD),
    'Pacific, metadata': on('16.2.15', workload=RGW),
    'Pacific, files': on('16.2.15', workload=WorkloadClass.CEPHFS_METADATA),
    'Pacific, unknown work': on('16.2.15', workload=WorkloadClass.UNKNOWN),
    'Reef': on('18.2.7'),
    'Reef before its default was compressed': on('18.2.2', workload=RBD),
    'Reef, two cores': on('18.2.7', cores=2),
    'Reef, two cores and less memory': on('18.2.7', cores=2, memory_target_bytes=2 * GIB),
    'Reef, one core': on('18.2.7', cores=1),
    'Reef, three cores': on('18.2.7', cores=3),
    'Reef, four cores': on('18.2.7', cores=4),
    'Reef, 2 GiB of memory': on('18.2.7', memory_target_bytes=2 * GIB),
    'Reef, less memory than the least WAL takes': on('18.2.7', memory_target_bytes=100 * MIB),
    'Pacific, small writes, less memory': on(
        '16.2.15', workload=RBD, memory_target_bytes=896 * MIB
    ),
    'Reef, a WAL device that holds it': on(
        '18.2.7', devices=Devices(dedicated_wal=True, wal_bytes=2 * GIB)
    ),
    'Reef, a WAL device that does not': on(
        '18.2.7', devices=Devices(dedicated_wal=True, wal_bytes=1800 * MIB)
    ),
    'Reef, a WAL device before a DB device': on(
        '18.2.7',
        devices=Devices(dedicated_wal=True, wal_bytes=900 * MIB, dedicated_db=True, db_bytes=GIB),
    ),
    'Reef, a WAL device of unknown size, and a DB device': on(
        '18.2.7', devices=Devices(dedicated_wal=True, dedicated_db=True, db_bytes=2 * GIB)
    ),
    'Reef, a DB device that holds it': on(
        '18.2.7', devices=Devices(dedicated_db=True, db_bytes=4 * GIB)
    ),
    'Reef, a DB device that does not': on(
        '18.2.7', devices=Devices(dedicated_db=True, db_bytes=4 * GIB - 1)
    ),
    'Reef, a DB device beside the data': on(
        '18.2.7', devices=Devices(dedicated_db=False, db_bytes=GIB, wal_bytes=GIB)
    ),
}


def derived_text(found: Derivation) -> str:
    return '\n'.join(
        (
            f'{found.equals or "like"} {found.nearest}',
            *(f'  {c.option}={c.value}: {c.why} ({c.source})' for c in found.choices),
            *(f'  ~ {d.option}: {d.value_from} -> {d.value_to}' for d in found.differences),
        )
    )


def derived(title: str) -> str:
    situation = SITUATIONS[title]
    return derived_text(derive(situation))


@pytest.mark.parametrize('title', list(SITUATIONS))
def test_derived_strings_are_explained_with_reasons(title: str) -> None:
    assert derived(title) == kept(DERIVED)[title]


def test_no_recorded_text_is_unused() -> None:
    assert list(kept(ADVISED)) == [scenario.title for scenario in SCENARIOS]
    assert list(kept(DERIVED)) == list(SITUATIONS)


if __name__ == '__main__':
    write(ADVISED, {scenario.title: reported(scenario) for scenario in SCENARIOS})
    write(DERIVED, {title: derived(title) for title in SITUATIONS})
