"""The module as loaded by a manager with an older Python: it reports why it cannot run.

Python 3.6 reads this file. A module that fails to import causes an error in the cluster log and a
traceback in the manager's log. A module whose `can_run` is false has an `error_string` in ``ceph
mgr module ls``, and ``ceph mgr module enable`` prints it.
"""

import sys
from typing import Tuple

from mgr_module import MgrModule

from .version import MINIMUM_PYTHON, VERSION


def reason(version: Tuple[int, int]) -> str:
    """Why the module does not run with this Python."""
    return (
        'rocksdb_tuner {} requires Python {}.{} or newer, and this manager has Python {}.{}: '
        'upgrade Ceph to an image or packages with a newer Python'.format(
            VERSION, *MINIMUM_PYTHON, *version
        )
    )


class Module(MgrModule):
    """Never runs."""

    @staticmethod
    def can_run() -> Tuple[bool, str]:
        """Called by the manager before it runs the module."""
        return False, reason(sys.version_info[:2])
