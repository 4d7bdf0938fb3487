"""python3 -m rocksdb_tuner.offline PATH"""

from __future__ import annotations

import os
import sys

from .cli import EXIT_FAILED, main

if __name__ == '__main__':
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe; avoid a second error when stdout is flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_FAILED
    sys.exit(status)
