#!/usr/bin/python3
"""Write the table of the developer document: what each fault did to rollout and client.

Reads what `make check-faults` with ROCKSDB_TUNER_FAULT_RESULTS=qa/bench/results has measured, and
puts the table between the two comments in the document.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / 'results'
DOCUMENT = Path(__file__).parents[2] / 'doc/dev/rocksdb_tuner.rst'
HEADINGS = (
    'Fault',
    'Phase',
    'Cluster, change',
    'What happened',
    'Lasted, s',
    'Longest write, s',
    'No write for, s',
    'Commit',
)
WIDTHS = (22, 10, 12, 30, 7, 7, 7, 9)


def _cells(result: dict[str, Any]) -> tuple[str, ...]:
    def seconds(name: str) -> str:
        value = result[name]
        return '-' if value is None else f'{value:.1f}'

    return (
        result['fault'],
        result['phase'],
        f'{result.get("shape", "plain")}, {result.get("kind", "remove-override")}',
        result['happened'],
        f'{result["lasted_s"]:.0f}',
        seconds('longest_write_s'),
        seconds('longest_pause_s'),
        result.get('commit') or '-',
    )


def _integrity(found: list[dict[str, Any]]) -> str:
    """What scrubs and fsck said of the clusters of each shape."""
    said = ''
    for shape in dict.fromkeys(check['shape'] for check in found):
        checks = [check for check in found if check['shape'] == shape]
        groups, osds = (sum(c[name] for c in checks) for name in ('placement_groups', 'osds'))
        wrong = sum(len(c['inconsistent']) + len(c['fsck']) for c in checks)
        said += (
            f'; {len(checks)} {shape} cluster(s): {groups} placement groups deep-scrubbed and '
            f'{osds} OSDs checked with fsck, {wrong} errors'
        )
    return said


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
    # What a rollout costs by itself comes first; the phases of a fault stand together
    faults = ['none', *dict.fromkeys(result['fault'] for result in document['results'])]
    results = sorted(document['results'], key=lambda result: faults.index(result['fault']))
    # The faults of one test share a client
    columns = ('writes', 'overwrites', 'reads_checked', 'failed_writes')
    clients = {tuple(r.get(name, 0) for name in columns) for r in results}
    written, over, read, lost = (sum(column) for column in zip(*clients))
    commits = sorted({r['commit'] or '-' for r in results})
    if len(commits) > 1:
        print(f'{release}: rows of {len(commits)} commits: {", ".join(commits)}')
    title = (
        f'Faults of rollouts on {document["version"]}: {written} writes, {over} of them '
        f'overwrites, {read} blocks read and compared, {lost} failed or lost'
        f'{_integrity(document.get("integrity", []))}'
    )
    begin, end = f'.. faults of {release}\n', f'.. end of faults of {release}\n'
    before, _, rest = DOCUMENT.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f'{DOCUMENT} has no "{begin.strip()}" with a "{end.strip()}" after it')
    DOCUMENT.write_text(f'{before}{begin}\n{table(results, title)}\n\n{end}{after}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
