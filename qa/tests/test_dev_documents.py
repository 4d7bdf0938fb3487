"""The documents for developers are short, and name files, packages and commands that there are."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

from manual.pages import CHECKOUT, DOC, MANUAL

DEV = DOC / 'dev/rocksdb_tuner'
MODULE = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner'
LINES_MAX = {'architecture.rst': 250, 'operations.rst': 150}
DOCUMENTS = (
    *sorted(DEV.glob('*.rst')),
    *(CHECKOUT / name for name in ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md')),
)
_LITERAL = re.compile(r'``([^`\n]+)``|(?<!`)`([^`\n]+)`(?!`)')
#: A path: with a folder, or with the ending of a file; and no option, URL, placeholder or command.
_PATH = re.compile(
    r'[\w.][\w.-]*(?:/[\w.*-]+)*(?:/|\.(?:py|json|txt|rst|in|md|cc|c|js|yml|jsonnet))'
)
#: Of Ceph, RocksDB or what a run writes: not in this tree.
ELSEWHERE = frozenset(
    {
        *('ceph.conf', 'report.json', 'prometheus.yml', 'tools/ceph_rocksdb_log_parser.py'),
        'build/packages',
    }
)


@lru_cache(maxsize=1)
def tree() -> tuple[str, ...]:
    """Files and folders of the checkout, each with a slash before it."""
    listed = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard'],
        cwd=CHECKOUT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = listed.stdout.splitlines()
    folders = {str(parent) for file in files for parent in (CHECKOUT / file).parents}
    return tuple(f'/{file}' for file in files) + tuple(f'{folder}/' for folder in folders)


def is_there(path: str) -> bool:
    wanted = re.escape(f'/{path}').replace(r'\*', '[^/]*')
    return any(re.search(f'{wanted}$', found) for found in tree())


def paths_in(text: str) -> set[str]:
    literals = {a or b for a, b in _LITERAL.findall(text)}
    words = {word for literal in literals for word in literal.split()}
    return {word for word in words if _PATH.fullmatch(word)} - ELSEWHERE


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_it_names_is_there(document: Path) -> None:
    named = paths_in(document.read_text(encoding='utf-8'))
    assert sorted(path for path in named if not is_there(path)) == []


def test_names_of_files_are_found_in_the_text() -> None:
    """Without any, the test above would pass of every document."""
    text = '``tick/gone.py`` and `knowledge/`, not ``make doc``, ``ceph.conf`` or ``osd.N``'
    assert paths_in(text) == {'tick/gone.py', 'knowledge/'}
    assert not is_there('tick/gone.py')
    assert is_there('knowledge/')
    assert is_there('integration/test_faults*.py')
    assert len(paths_in((DEV / 'architecture.rst').read_text(encoding='utf-8'))) > 50


def test_every_package_of_the_module_is_in_the_table_and_no_other() -> None:
    text = (DEV / 'architecture.rst').read_text(encoding='utf-8')
    rows = re.findall(r'^``(\w+)/``  ', text, re.MULTILINE)
    packages = {path.parent.name for path in MODULE.glob('*/*.py')}
    assert sorted(rows) == sorted(packages - {'tests'})


@pytest.mark.parametrize(('name', 'most'), LINES_MAX.items())
def test_it_is_short_and_no_diary(name: str, most: int) -> None:
    text = (DEV / name).read_text(encoding='utf-8')
    assert len(text.splitlines()) <= most
    assert (
        re.findall(r'\b20\d\d-\d\d|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b', text) == []
    )


def test_every_make_target_that_they_name_is_there() -> None:
    makefile = (CHECKOUT / 'Makefile').read_text(encoding='utf-8')
    targets = set(re.findall(r'^([a-z][a-z -]*):', makefile, re.MULTILINE))
    known = {name for line in targets for name in line.split()}
    pages = [path.read_text(encoding='utf-8') for path in (DOC / MANUAL).glob('*.rst')]
    texts = [*pages, *(path.read_text(encoding='utf-8') for path in DOCUMENTS)]
    # In a literal, or in a block of commands
    command = re.compile(r'(?:`|^ +)make ([a-z][a-z-]+)', re.MULTILINE)
    named = {name for text in texts for name in command.findall(text)}
    assert {'demo', 'check', 'deb', 'install'} <= named
    assert sorted(named - known) == []


def test_help_names_every_target_for_people() -> None:
    """It is what plain "make" prints; a quote in a text would break it."""
    done = subprocess.run(['make', '-s'], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    makefile = (CHECKOUT / 'Makefile').read_text(encoding='utf-8')
    listed = re.search(r'^\.PHONY: ((?:.*\\\n)*.*)$', makefile, re.MULTILINE)
    assert listed is not None
    targets = set(listed[1].replace('\\\n', ' ').split()) - {'help'}
    assert len(targets) > 20
    assert sorted(name for name in targets if not re.search(rf'\b{name}\b', done.stdout)) == []
