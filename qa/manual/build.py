"""Builds the manual and the developer documents.

python3 qa/manual/build.py               build/doc/html        (make doc)
python3 qa/manual/build.py references    write the references into their pages (make manual)

The pages are laid out below build/doc/source as in Ceph's tree, and built as Ceph builds its own:
any warning is an error, and every page is a directory.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
if __name__ == '__main__':
    sys.path[:0] = [str(CHECKOUT / folder) for folder in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness.host import Host  # noqa: E402 - after the path to it
from harness.packages import install  # noqa: E402
from harness.progress import Progress  # noqa: E402
from manual.pages import DOC, write_references  # noqa: E402

OUT = CHECKOUT / 'build/doc'
#: The content of Ceph's own index pages.
_INDEX = """\
=============
RocksDB Tuner
=============

.. toctree::
   :maxdepth: 2

   mgr/rocksdb_tuner/index
   dev/rocksdb_tuner/architecture
   dev/rocksdb_tuner/operations
   dev/rocksdb_tuner/measurements
   dev/rocksdb_tuner/claims
"""


def lay_out(source: Path) -> None:
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(DOC, source)
    (source / 'index.rst').write_text(_INDEX, encoding='utf-8')


def main() -> int:
    if sys.argv[1:] == ['references']:
        write_references()
        return 0
    if shutil.which('dot') is None:
        install(Host(), ['graphviz'], Progress())
    source, html = OUT / 'source', OUT / 'html'
    lay_out(source)
    shutil.rmtree(html, ignore_errors=True)
    # Anew (-E): a label moved to another page would be a duplicate of the one that is remembered
    sphinx = [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-E', '-b', 'dirhtml']
    places = ['-c', str(CHECKOUT / 'qa/manual'), '-d', str(OUT / 'doctrees')]
    done = subprocess.run([*sphinx, '-a', *places, str(source), str(html)], check=False)
    if done.returncode == 0:
        print(f'{html}/mgr/rocksdb_tuner/index.html')
    return done.returncode


if __name__ == '__main__':
    sys.exit(main())
