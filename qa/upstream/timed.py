"""Runs one check of a tree, and prints its result and how long it took."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def passes(name: str, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether the command succeeds; its output goes to standard output."""
    begin_s = time.monotonic()
    done = subprocess.run(words, cwd=folder, env=environment, check=False)
    result = 'passed' if done.returncode == 0 else f'FAILED ({done.returncode})'
    print(f'{name}: {result} in {time.monotonic() - begin_s:.0f}s', flush=True)
    return done.returncode == 0
