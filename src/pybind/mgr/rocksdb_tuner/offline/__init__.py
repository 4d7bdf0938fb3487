"""Offline evaluation of a cluster from collected files, as a standalone program.

    python3 -m rocksdb_tuner.offline FOLDER

The module does not import it, and it needs no Ceph.
"""

# Python 3.6 reads this file.

import sys

from ..version import MINIMUM_PYTHON

if sys.version_info < MINIMUM_PYTHON:
    sys.exit(
        'python3 -m rocksdb_tuner.offline: requires Python {}.{} or newer, this is Python '
        '{}.{}'.format(*MINIMUM_PYTHON, *sys.version_info[:2])
    )
