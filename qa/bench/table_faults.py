#!/usr/bin/python3
"""The table of the developer document: what each fault in each phase did to rollout and client.

Reads what `make check-faults` with ROCKSDB_TUNER_FAULT_RESULTS=qa/bench/results has measured.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / 'results'
HEADINGS = ('Fault', 'Phase', 'What happened', 'Lasted, s', 'Longest write, s', 'No write for, s')
WIDTHS = (25, 10, 38, 9, 9, 9)


def _cells(result: dict[str, Any]) -> tuple[str, ...]:
    def seconds(name: str) -> str:
        value = result[name]
        return '-' if value is None else f'{value:.1f}'

    return (
        result['fault'],
        result['phase'],
        result['happened'],
        f'{result["lasted_s"]:.0f}',
        seconds('longest_write_s'),
        seconds('longest_pause_s'),
    )


def table(results: list[dict[str, Any]], title: str) -> str:
    """A reStructuredText table, in the order in which the faults were tried."""
    lines = [f'.. list-table:: {title}', '   :header-rows: 1']
    lines += ['   :widths: ' + ' '.join(map(str, WIDTHS)), '']
    for row in (HEADINGS, *map(_cells, results)):
        lines += [f'   {"*" if i == 0 else " "} - {cell}' for i, cell in enumerate(row)]
    return '\n'.join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--release', default='pacific')
    release = parser.parse_args().release
    document = json.loads((RESULTS / f'faults-{release}.json').read_text())
    # What a rollout costs by itself comes first
    results = sorted(document['results'], key=lambda result: result['fault'] != 'none')
    writes = sum({(r['writes'], r['failed_writes']) for r in results}, ())[::2]
    lost = sum(r['failed_writes'] for r in results)
    print(
        table(
            results,
            f'Faults of rollouts on {document["version"]}: {len(results)} faults, '
            f'{sum(writes)} writes read back, {lost} failed or lost',
        )
    )
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
