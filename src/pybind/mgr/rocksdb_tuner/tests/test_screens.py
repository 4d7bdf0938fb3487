"""Every command in plain, on clusters of any size: one screen of 80 columns and 40 lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocksdb_tuner import Module
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.limit import with_limit
from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.advise.records import Finding, GroupFacts, OsdFacts, Severity
from rocksdb_tuner.commands import COMMANDS
from rocksdb_tuner.deep.reader import OPTIONS as DEEP_OPTIONS
from rocksdb_tuner.deep.reader import OsdDeepStats
from rocksdb_tuner.observe.details import Details, WriteLatency
from rocksdb_tuner.observe.kv_stats import parse_deep_stats
from rocksdb_tuner.options.verdict import all_options
from rocksdb_tuner.present.layout import HEIGHT, WIDTH, display_width
from rocksdb_tuner.snapshot import Snapshot

from .present import experiment_samples, samples
from .query_command import ask

OSDS = 3000
CLASSES = ('hdd', 'hdd-16t-archive', 'nvme', 'nvme-gen4-tlc-7680g', 'ssd', 'ssd-sata-qlc')
DEEP = Path(__file__).parent / 'observe/data'
LATENCY = WriteLatency(60.0, 4.9, 0.6, 0.3, 3.6, 0.1, 0.01, 0.2, 2.3, 1.2, 0.3, 0.8, 0.5, 0.1)


def module_in(snapshot: Snapshot) -> Any:
    """The module with a given snapshot."""
    made: Any = Module('rocksdb_tuner', '', '')
    deep = parse_deep_stats((DEEP / 'tentacle/extended.txt').read_text())
    made._tuner = SimpleNamespace(
        snapshot=snapshot,
        steps=SimpleNamespace(failing=()),
        published=SimpleNamespace(snapshot=snapshot, inputs=None),
        deep_stats=SimpleNamespace(
            read=lambda osd_id: OsdDeepStats(osd_id, samples.NOW_S, deep, DEEP_OPTIONS)
        ),
    )
    return made


@lru_cache(maxsize=1)
def huge() -> Snapshot:
    """3,000 OSDs of six device classes with every finding, and a long history."""

    def facts(osd_id: int) -> OsdFacts:
        device_class = CLASSES[osd_id % len(CLASSES)]
        host = f'storage-{osd_id // 24:03d}.row-{osd_id % 7}.datacenter-frankfurt-2.example.com'
        made = samples.facts(osd_id, host, device_class)
        assert made.signals is not None
        busy = made.signals._replace(kv_sync_busy=osd_id / OSDS, slow_used_bytes=osd_id << 20)
        return made._replace(
            signals=busy, details=Details(1.0, LATENCY, 0.02, 900, 3 << 30, 4 << 30)
        )

    osds = tuple(facts(osd_id) for osd_id in range(OSDS))
    groups = tuple(
        with_limit(
            GroupFacts(
                name,
                samples.SMALL_WRITES,
                tuple(facts for facts in osds if facts.info.device_class == name),
            )
        )
        for name in CLASSES
    )
    ids = tuple(range(OSDS))
    findings = tuple(
        Finding(
            name,
            tuple(Severity)[number % 3],
            f'osd.{osd_id} and others of this cluster have the condition that is named {name}',
            (osd_id,) if number else ids,
            samples.FINDINGS[0].evidence,
            samples.FINDINGS[0].remedy,
            samples.FINDINGS[0].source,
        )
        for number, name in enumerate(conditions())
        for osd_id in (range(40) if number % 5 == 0 else (number,))
    )
    small = samples.small_cluster()
    assessments = tuple(
        replace(
            small.assessments[0],
            who=group.who,
            recommendations=(
                samples.recommendation(
                    tuple(f.info.osd_id for f in group.osds), group.device_class
                ),
            ),
            weighing=samples.weighing(),
        )
        for group in groups
    )
    return replace(
        small,
        osds=osds,
        groups=groups,
        findings=findings,
        assessments=assessments,
        rollout=samples.rollout(ids),
        history=samples.HISTORY * 60,
    )


@lru_cache(maxsize=1)
def clusters() -> dict[str, Snapshot]:
    small = samples.small_cluster()
    return {
        **samples.all_snapshots(),
        'huge': huge(),
        'compacting': replace(small, rollout=None, campaign=samples.compacting()),
        **{
            f'experiment {name}': replace(small, rollout=None, experiment=state)
            for name, state in experiment_samples.all_states().items()
        },
    }


def answers(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Every read command, and changes as dry runs."""
    module = module_in(snapshot)

    def asked(name: str, **arguments: Any) -> tuple[str, str]:
        result = ask(module, name, **arguments)
        assert result.retval == 0, (name, arguments, result.stderr)
        words = ' '.join((name, *(f'{key}={value}' for key, value in arguments.items())))
        return words, result.stdout

    for name in ('status', 'osd', 'workload', 'findings', 'recommend', 'operation_status'):
        yield asked(name)
    yield asked('workload', osds=True)
    yield asked('recommend', all=False)
    yield asked('history')
    yield asked('doctor')
    for finding_id in sorted({finding.finding_id for finding in snapshot.findings}):
        yield asked('findings', finding_id=finding_id)
    if snapshot.osds:
        osd_id = str(snapshot.osds[-1].info.osd_id)
        yield asked('osd', worst=1000)
        yield asked('osd', osd_id=osd_id)
        yield asked('osd_deep', osd_id=osd_id)
    for recommendation in snapshot.recommendations:
        named = {'recommendation_id': recommendation.recommendation_id}
        yield asked('recommend', **named)
        yield asked('apply', dry_run=True, **named)


def of_options() -> Iterator[tuple[str, str]]:
    """Commands about option strings."""
    module = module_in(samples.small_cluster())
    for profile in profiles():
        for name, arguments in (
            ('model', {'options': profile.options, 'release': 'reef'}),
            ('check', {'options': profile.options, 'release': 'reef'}),
            ('profile_show', {'name': profile.name}),
            ('profile_diff', {'name': 'bluestore-default-pacific', 'other': profile.name}),
        ):
            yield f'{name} {profile.name}', ask(module, name, **arguments).stdout
    yield (
        'model',
        ask(
            module,
            'model',
            options=profiles()[0].options,
            release='reef',
            workload='rgw-metadata',
            db_size='60G',
            wal_size='2G',
            memory='4G',
            data='20G',
            ingest='2M',
        ).stdout,
    )
    yield 'profile_ls', ask(module, 'profile_ls').stdout
    yield (
        'profile_derive',
        ask(
            module, 'profile_derive', release='pacific', workload='rbd-small-write', memory='8G'
        ).stdout,
    )
    yield 'explain', ask(module, 'explain').stdout
    for option in all_options():
        yield f'explain {option}', ask(module, 'explain', option=option).stdout


def assert_a_screen(what: str, text: str) -> None:
    lines = text.split('\n')
    assert text.strip(), what
    assert len(lines) <= HEIGHT, f'{what} has {len(lines)} lines:\n{text}'
    wide = [line for line in lines if display_width(line) > WIDTH]
    assert not wide, f'{what}: {wide}'
    assert not re.search(r'\w\.\.\.\w', text), f'{what} cuts a name:\n{text}'


@pytest.mark.parametrize('cluster', sorted(clusters()))
def test_every_command_is_one_screen(cluster: str) -> None:
    """Whatever does not fit is counted in the last line, with the flag that shows it."""
    for what, text in answers(clusters()[cluster]):
        assert_a_screen(what, text)


def test_every_answer_about_options_is_one_screen() -> None:
    for what, text in of_options():
        assert_a_screen(what, text)


def test_all_shows_everything() -> None:
    module = module_in(huge())
    assert len(ask(module, 'osd', all=True).stdout.split('\n')) > OSDS
    assert '\n... 2,980 more: --all\n' in ask(module, 'osd').stdout
    for name in COMMANDS:
        if name in {'findings', 'history'}:
            whole = ask(module, name, all=True).stdout.split('\n')
            assert len(whole) > HEIGHT
            assert not any(line.startswith('... ') for line in whole)
