"""Texts that operators read, kept word for word in a file of sections with titles.

A module of tests that is run (`python -m rocksdb_tuner.tests.advise.…`) writes its file anew; the
difference is what operators will read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping


def kept(path: Path) -> Mapping[str, str]:
    """By title."""
    found = (section.partition('\n') for section in path.read_text().split('== ')[1:])
    return {title: text.strip() for title, _, text in found}


def write(path: Path, texts: Mapping[str, str]) -> None:
    path.write_text('\n'.join(f'== {title}\n{text.strip()}\n' for title, text in texts.items()))
