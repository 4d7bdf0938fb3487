"""Golden files of texts for operators: sections with titles.

Run the module of a test (`python -m rocksdb_tuner.tests.advise.…`) to update its file, and review
the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping


def kept(path: Path) -> Mapping[str, str]:
    """Texts by title."""
    found = (section.partition('\n') for section in path.read_text().split('== ')[1:])
    return {title: text.strip() for title, _, text in found}


def write(path: Path, texts: Mapping[str, str]) -> None:
    path.write_text('\n'.join(f'== {title}\n{text.strip()}\n' for title, text in texts.items()))
