"""What is printed to be pasted into a shell does there only what it says: a real one runs it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.mgr.records import Daemon
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd, SetEntry, commands
from rocksdb_tuner.present import views
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.present.layout import shell_command
from rocksdb_tuner.shell import command, quoted

from .advise.conditions.builders import example
from .fake_cluster import OPTION
from .test_tuner import World

#: Names as the config store, CRUSH map or metadata of a cluster may have them.
HOSTILE = (
    'a b',
    'x; touch pwned',
    'x\ntouch pwned',
    '$(touch pwned)',
    '`touch pwned`',
    "a'; touch pwned; '",
    'a"; touch pwned; "',
    '> pwned',
    'a && touch pwned #',
    '\\',
    '~',
    '*',
    '\u2028touch pwned',
    '\x1b]0;x\x07',
)
#: Text that no store and no process can have is left out.
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from((*HOSTILE, "'", '"', '$', ' ', '\n', 'ä')), max_size=4).map(''.join),
    st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=12),
)
#: The programs that commands name; they print their arguments.
PROGRAMS = (
    *('ceph', 'systemctl', 'cephadm', 'kubectl', 'radosgw-admin', 'ceph-bluestore-tool'),
    *('ceph-volume', 'lvcreate', 'lvextend', 'smartctl'),
)
_SHELL = """
PATH=/nonexistent
command_not_found_handle() { printf 'not a command: %s\\0' "$1"; }
""" + ''.join(f'{name}() {{ printf "%s\\\\0" "$@"; }}\n' for name in PROGRAMS)
#: A command within a sentence.
_IN_PROSE = re.compile(r'"((?:' + '|'.join(PROGRAMS) + r""") (?:'[^']*'|[^'"])*)\"""")


def arguments(line: str, folder: Path) -> list[str]:
    """What the programs of a pasted command get."""
    done = subprocess.run(
        ['/bin/bash', '-c', f'{_SHELL}{line}\n'], cwd=folder, capture_output=True, check=False
    )
    found = done.stdout.decode().split('\0')[:-1]
    assert (done.returncode, done.stderr) == (0, b''), f'{line!r}: {done.stderr.decode()}'
    assert not [text for text in found if text.startswith('not a command')], f'{line!r}: {found}'
    assert list(folder.iterdir()) == [], line
    return found


@given(words=st.lists(NAMES, min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_any_words_reach_the_program_as_they_are(
    words: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    line = command('ceph', *words)
    assert line.isprintable()
    assert arguments(line, tmp_path_factory.mktemp('empty')) == words


def test_usual_words_are_not_quoted() -> None:
    line = command('ceph', 'config', 'rm', 'osd/class:ssd', OPTION)
    assert line == f'ceph config rm osd/class:ssd {OPTION}'


@given(name=NAMES)
@settings(max_examples=20, deadline=None)
def test_commands_of_changes_name_anything(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Entries of any section, values, hosts and namespaces; also where a terminal wraps them."""
    folder, who = tmp_path_factory.mktemp('empty'), f'osd/host:{name}'
    actions = (SetEntry(who, name), RemoveEntry(who), RestartOsd(1), RestartOsd(2))
    daemons = {1: Daemon(name), 2: Daemon(name, pod_namespace=name)}
    written, removed, unit, _, pod, _ = commands(actions, orchestrated=False, daemons=daemons)
    assert arguments(written, folder) == ['config', 'set', who, OPTION, name]
    assert arguments(removed, folder) == ['config', 'rm', who, OPTION]
    assert arguments(unit, folder) == ['restart', 'ceph-osd@1']
    assert arguments(pod, folder)[:2] == ['-n', name]
    for line in (written, removed, unit, pod):
        assert line.isprintable()
        assert arguments(shell_command(line), folder) == arguments(line, folder)


@pytest.mark.parametrize('name', HOSTILE)
def test_findings_name_anything(name: str, tmp_path: Path) -> None:
    who = f'osd/host:{name}'
    for condition in conditions().values():
        fill = dict.fromkeys(
            ('who', 'kv_who', 'meta_who', 'profile', 'sharding', 'device', 'size'), who
        )
        found = example(condition.condition_id, 3, **fill)
        for line, template in zip(found.commands, condition.commands):
            arguments(line, tmp_path)
            if '{' not in template.replace('{osd}', ''):
                continue
            assert line.isprintable(), line
            assert any(who in word for word in arguments(line, tmp_path)) == (
                any(f'{{{field}}}' in template for field in fill)
            )
        named = [
            field for field in fill if f'{{{field}}}' in next(iter(condition.remedies.values()))
        ]
        assert not named or quoted(who) in found.remedy


def texts(answer: object) -> Iterator[str]:
    """All texts of a JSON answer."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, (list, dict)):
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from texts(part)


def command_fields(answer: object) -> Iterator[str]:
    """What an answer has as a command of its own."""
    if isinstance(answer, list):
        for part in answer:
            yield from command_fields(part)
    elif isinstance(answer, dict):
        for name, part in answer.items():
            if name in {'commands', 'undo_commands', 'next_command', 'experiment'}:
                yield from texts(part)
            else:
                yield from command_fields(part)


def answers(world: World) -> Iterable[Any]:
    snapshot = world.tuner.snapshot
    for view in ('status', 'recommend', 'findings', 'recommend-all'):
        yield json.loads(views.show(view, snapshot))
    for advised in snapshot.recommendations:
        yield json.loads(views.show('recommend-detail', advised))
    yield json.loads(views.show('history', snapshot.history))
    yield dict(health_checks(snapshot))


@pytest.mark.parametrize('name', HOSTILE)
def test_answers_about_a_cluster_with_hostile_names(name: str, tmp_path: Path) -> None:
    world = World()
    for osd in world.cluster.osds.values():
        osd.host = osd.device_class = name
    world.cluster.orchestrator_reason = 'none'
    for who in (f'osd/host:{name}', f'osd/class:{name}', 'osd'):
        world.cluster.store[who, OPTION] = 'ttl=1,compression=kNoCompression'
    for n in world.cluster.osds:
        world.cluster.restart_by_hand(n)
    world.run(90)
    lines: list[str] = []
    for answer in answers(world):
        lines += command_fields(answer)
        if "'" not in name and '"' not in name:
            lines += [line for text in texts(answer) for line in _IN_PROSE.findall(text)]
    assert any(quoted(f'osd/class:{name}') in line for line in lines), lines
    for line in set(lines):
        assert line.isprintable(), line
        # The placeholder is replaced by whoever types it.
        arguments(line.replace('<id>', '3'), tmp_path)
