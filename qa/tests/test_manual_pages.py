"""The manual: short, complete, and about commands and options that there are."""

from __future__ import annotations

import re

import pytest

from manual.commands import reference
from manual.pages import CHECKOUT, DOC, MANUAL, REFERENCES, WORDS_MAX, pages, whole, words
from manual.sessions import TOOL, Session, missing, section, sessions, unlike
from rocksdb_tuner.commands import COMMANDS
from rocksdb_tuner.commands.command import INPUT
from rocksdb_tuner.mgr.releases import CLICommand
from rocksdb_tuner.present import health
from rocksdb_tuner.settings import SETTINGS

#: The heading of the task of an operator on a page.
PURPOSE = ('Use ', 'Follow ')
#: Where the names of metrics are.
METRICS = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/metrics'
#: Is as long as what was measured.
MEASURED = 'results'


def all_sessions() -> list[Session]:
    return [session for name, text in pages().items() for session in sessions(name, text)]


def prefix_of(session: Session) -> str:
    """The command that the words of a session begin with."""
    return max((p for p in CLICommand.COMMANDS if is_it(session, p)), key=len, default='')


def is_it(session: Session, prefix: str) -> bool:
    return session.words[: len(prefix.split()) + 1] == ('ceph', *prefix.split())


def test_manual_is_short() -> None:
    written = [text for page, text in pages().items() if page != MEASURED]
    assert sum(map(words, written)) <= WORDS_MAX


def test_every_page_is_listed() -> None:
    found = {path.stem for path in (DOC / MANUAL).glob('*.rst')}
    assert found == set(pages())


@pytest.mark.parametrize('page', pages())
def test_each_page_starts_with_the_task_of_the_operator(page: str) -> None:
    first = re.split(r'^=+\n.+\n=+\n', pages()[page], maxsplit=1, flags=re.MULTILINE)[1].lstrip()
    assert first.startswith(PURPOSE)


@pytest.mark.parametrize('page', REFERENCES)
def test_references_are_those_of_the_module(page: str) -> None:
    """`make manual` writes them."""
    text = pages()[page]
    assert text == whole(page, text)


def test_pages_are_readable_without_sphinx() -> None:
    """In a repository nothing is included, and every picture is there."""
    for text in pages().values():
        assert '.. include::' not in text
        for name in re.findall(r'^\.\. (?:figure|image):: (.+)$', text, re.MULTILINE):
            assert (DOC / MANUAL / name).is_file()


def test_every_command_shown_exists_with_its_arguments() -> None:
    found = [session for session in all_sessions() if session.is_of_the_module]
    assert found
    for session in found:
        prefix = prefix_of(session)
        assert prefix, session
        command = COMMANDS['_'.join(prefix.split()[1:])]
        for name in re.findall(r'--([a-z-]+)', session.command):
            assert name.replace('-', '_') in command.parameters, session
        assert (INPUT in command.parameters) == (' -i ' in session.command), session


def test_every_command_is_in_the_reference_once_with_its_permission() -> None:
    text = reference()
    headings = re.findall(r'^(.+)\n-+$', text, re.MULTILINE)
    lines = re.findall(r'^:Also: (.*)$', text, re.MULTILINE)
    names = [*headings, *(name.strip('`') for line in lines for name in line.split(', '))]
    assert sorted(names) == sorted(prefix.partition(' ')[2] for prefix in CLICommand.COMMANDS)
    assert text.count(':Permission:') == len(headings)
    assert ':Permission: ``r``' in text.split('\nstatus\n------')[1].split('\n---')[0]
    assert ':Permission: ``w``' in text.split('\nrollback\n--------')[1].split('\n---')[0]


def test_session_is_a_command_followed_by_its_literal_block() -> None:
    text = """\
.. prompt:: bash #

   ceph rocksdb-tuner status

::

   Mode:  recommend

   GROUP  OSDS

Prose.

   .. prompt:: bash $

      ls
      pwd

   ::

      not of one command
"""
    assert list(sessions('page', text)) == [
        Session('page', 'ceph rocksdb-tuner status', ('Mode:  recommend', '', 'GROUP  OSDS')),
        Session('page', 'ls'),
        Session('page', 'pwd'),
    ]
    assert TOOL == ('ceph', 'rocksdb-tuner')


def test_missing_labels_and_columns_are_named() -> None:
    shown = ('Mode:      recommend', 'Old label: 3', '', 'ID  WR/S', ' 0   271')
    printed = 'Mode:  off\n \nID  WR/S  BUSY\n 1  99  7%\n'
    assert missing(shown, printed) == ['Old label', 'ID WR/S']
    assert missing(shown[:1], printed) == []


def test_lines_are_compared_in_order_without_figures() -> None:
    printed = 'flush 96 MiB\nlevel 1: 1.5 GiB\nwrites stop\n'
    assert unlike(('flush 8 MiB', 'level 2: 16 GiB', 'writes stop'), printed) == []
    assert unlike(('flush 8 MiB', 'writes stop'), printed) == ['writes stop']
    assert unlike(('flush 8 MiB', '...', 'writes stop'), printed) == []
    assert unlike(('...', 'writes slow down'), printed) == ['writes slow down']


def test_every_module_option_is_on_the_page_of_options_once() -> None:
    headings = re.findall(r'^(\w+)\n-+$', pages()['options'], re.MULTILINE)
    assert headings == [setting.name for setting in SETTINGS]


def test_every_health_check_of_the_module_itself_is_explained() -> None:
    own = {
        value
        for value in vars(health).values()
        if isinstance(value, str) and value.startswith('ROCKSDB_TUNER_')
    }
    described = re.findall(r'^``(ROCKSDB_TUNER_\w+)``$', pages()['troubleshooting'], re.MULTILINE)
    assert len(own) > 5
    assert sorted(described) == sorted(own)


def test_every_metric_that_the_page_names_is_served() -> None:
    """Names without the prefix of all; an ellipsis stands for some of them."""
    listed = re.findall(r'^(``[a-z_…`, ]+``)$', pages()['prometheus'], re.MULTILINE)
    named = {name for line in listed for name in re.findall(r'``([a-z_…]+)``', line)}
    sources = ''.join(path.read_text(encoding='utf-8') for path in METRICS.glob('*.py'))
    served = re.findall(r"'([a-z][a-z_]+)'", sources.replace('{kind}', 'rollout'))
    assert {'mode', 'osd_info', 'rollout_…_timestamp_seconds'} <= named
    for name in named:
        pattern = re.compile(name.replace('…', '[a-z_]+'))
        assert any(pattern.fullmatch(one) for one in served), name


INSTALLING = (DOC / MANUAL / 'installing.rst').read_text()
#: The ways of installing, and the commands that the manual counts for each.
WAYS = re.findall(r'^   \* - `(.+)`_\n     - (\d+)$', INSTALLING, re.MULTILINE)
ENABLE = 'ceph mgr module enable rocksdb_tuner'


def commands_to_install(way: str) -> list[str]:
    """Those of its section, and of the one that comes first."""
    text = section(INSTALLING, way)
    before = re.match(r'\nAfter `(.+)`_', text)
    own = (session.command for session in sessions('installing', text))
    return [*(commands_to_install(before[1]) if before else ()), *own]


def test_enabling_takes_at_most_four_commands_however_it_is_installed() -> None:
    counted = {way: len(commands_to_install(way)) for way, _ in WAYS}
    assert counted == {way: int(count) for way, count in WAYS}
    assert len(counted) == 5
    assert max(counted.values()) <= 4
    # The one that is left enables it by a file
    assert [way for way in counted if ENABLE not in commands_to_install(way)] == ['Rook']
    patch = CHECKOUT / 'packaging/rook/cephcluster-patch.yaml'
    assert '- name: rocksdb_tuner\n        enabled: true' in patch.read_text()
