"""Builds the module's pages in a source tree of Ceph, as admin/build-doc does: tree_doc.py TREE

It is Sphinx with the tree's own conf.py, theme and extensions, where the module is laid over. All
other pages are left out: they need doxygen, ditaa and hours. A warning about a page of the module,
or about one that the overlay edits, is an error; references to pages that are left out are none.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

#: The module's, those that list or name them, and the glossary that any page may refer to.
PAGES = (
    'mgr/rocksdb_tuner/**',
    'dev/rocksdb_tuner/**',
    'mgr/index.rst',
    'rados/operations/health-checks.rst',
)
#: Of the extensions in conf.py, what documents code and APIs of others; the first needs doxygen.
WITHOUT = ('breathe', 'sphinxcontrib.openapi', 'sphinxcontrib.mermaid', 'plantweb.directive')
_CONF = """\
import os
import urllib.request
# conf.py asks the network whether the release has ended, and does without an answer.
urllib.request.urlopen = None
os.chdir({doc!r})
__file__ = {conf!r}
exec(compile(open(__file__).read(), __file__, 'exec'))
extensions = [name for name in extensions if name not in {without!r}]
html_theme_path = [os.path.join({doc!r}, name) for name in html_theme_path]
html_static_path = [os.path.join({doc!r}, name) for name in html_static_path]
templates_path = [os.path.join({doc!r}, name) for name in templates_path]
html_logo, html_favicon = (os.path.join({doc!r}, name) for name in (html_logo, html_favicon))
include_patterns = {pages!r}
master_doc = 'mgr/index'
del setup
"""
#: What refers to a page that is left out.
_LEFT_OUT = re.compile(
    r'toctree contains reference to (nonexisting|excluded) document|undefined label'
    r'|unknown document|term not in glossary|failed to reach|not found in any toctree'
    r"|document isn't included in any toctree"
)


_SEVERITY = re.compile(r'\b(WARNING|ERROR|CRITICAL)\b')
_OURS = re.compile(r'doc/(mgr/index|rados/operations/health-checks|(mgr|dev)/rocksdb_tuner/)')


def problems(output: str) -> list[str]:
    """Warnings and errors of Sphinx about these pages, but for references to those left out.

    References between the module's own pages count.
    """
    found = []
    for line in output.splitlines():
        severity = _SEVERITY.search(line)
        if severity is None:
            continue
        place, message = line[: severity.start()], line[severity.end() :]
        if 'rocksdb' in message or (_OURS.search(place) and not _LEFT_OUT.search(message)):
            found.append(line)
    return found


def build(tree: Path, out: Path) -> tuple[int, list[str]]:
    """The number of pages of the module that were built, and what is wrong."""
    doc = tree / 'doc'
    conf = out / 'conf'
    conf.mkdir(parents=True)
    (conf / 'conf.py').write_text(
        _CONF.format(doc=str(doc), conf=str(doc / 'conf.py'), without=WITHOUT, pages=[*PAGES]),
        encoding='utf-8',
    )
    done = subprocess.run(
        [
            *(sys.executable, '-m', 'sphinx', '-q', '--keep-going', '-b', 'dirhtml'),
            *('-c', str(conf), '-d', str(out / 'doctrees'), str(doc), str(out / 'html')),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = problems(done.stderr)
    if done.returncode != 0:
        found += done.stderr.splitlines()[-5:]
    folders = ('mgr/rocksdb_tuner', 'dev/rocksdb_tuner')
    built = sum(len(list((out / 'html' / folder).rglob('*.html'))) for folder in folders)
    return built, found


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print('usage: tree_doc.py TREE', file=sys.stderr)
        return 2
    if importlib.util.find_spec('sphinx') is None:
        print('tree_doc: Sphinx is not installed', file=sys.stderr)
        return 1
    tree = Path(arguments[0]).resolve()
    written = [*tree.glob('doc/mgr/rocksdb_tuner/*.rst'), *tree.glob('doc/dev/rocksdb_tuner/*.rst')]
    expected = len(written)
    with tempfile.TemporaryDirectory() as scratch:
        built, found = build(tree, Path(scratch))
    for line in found:
        print(line)
    print(f'{built} of {expected} pages; left out: {", ".join(WITHOUT)} and all other pages')
    return 1 if found or built != expected or not built else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
