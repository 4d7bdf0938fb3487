"""Spelling rules beyond a dictionary."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
FRONTEND = PACKAGE.parent / 'dashboard/frontend/src/app/ceph/cluster/osd/osd-rocksdb-tuner'


def test_percentages_are_written_as_in_ceph() -> None:
    """ "80%" in code, knowledge, schemas and the tab, and never with a space."""
    sources = [
        *(p for p in PACKAGE.rglob('*') if p.suffix in {'.py', '.json'} and 'tests' not in p.parts),
        *FRONTEND.rglob('*.ts'),
    ]
    assert len(sources) > 100
    spaced = {
        f'{path.name}:{number}'
        for path in sources
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1)
        if re.search(r'[0-9}] %', line)
    }
    assert spaced == set()
