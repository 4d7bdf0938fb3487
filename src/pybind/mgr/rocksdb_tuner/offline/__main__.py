"""python3 -m rocksdb_tuner.offline PATH"""

from __future__ import annotations

import os
import sys

try:
    from .cli import EXIT_FAILED, main
except ModuleNotFoundError as missing:
    if missing.name != 'prettytable':
        raise
    sys.exit(
        'python3 -m rocksdb_tuner.offline: requires the Python package prettytable '
        '(distribution package: python3-prettytable)'
    )

if __name__ == '__main__':
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe; avoid a second error when stdout is flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_FAILED
    sys.exit(status)
