#!/usr/bin/python3
"""Writes the results that README.md quotes, each with its command (make results)."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
README = CHECKOUT / 'README.md'
RESULTS = CHECKOUT / 'qa/bench/results'
BEGIN = '<!-- Made by "make results" from qa/bench/results: begin -->\n'
END = '<!-- end -->\n'
WIDTH = 105
#: Of OSDs that are idle, and of others.
_TICK_TARGETS_US = (60, 100)
_RELEASES = ('pacific', 'reef', 'tentacle')


class MarkError(ValueError):
    """README.md has no place for the results."""


def replaced(readme: str) -> str:
    """README.md with the results as they are stored."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise MarkError(f'README.md must have the lines {BEGIN!r} and {END!r}, in this order')
    return before + BEGIN + '\n'.join(lines()) + '\n' + END + after


def lines() -> Iterator[str]:
    """A bullet point for each result."""
    for text, command in (_gain(), _choice(), _regret(), _faults(), _verdicts(), _ticks()):
        yield from textwrap.wrap(f'* {text}', WIDTH, subsequent_indent='  ', break_on_hyphens=False)
        yield f'  Repeat: `{command}`'


def _read(name: str) -> Any:
    return json.loads((RESULTS / f'{name}.json').read_text(encoding='utf-8'))


def _then(commit: str, command: str) -> str:
    """A bench that is in the log only."""
    return f'git worktree add /tmp/then {commit} && /tmp/then/qa/bench/{command}'


def _gain() -> tuple[str, str]:
    document = _read('gain')
    found = document['ratios']
    iops, p99, kv_sync = found['iops'], found['p99_ms'], found['kv_sync_us']
    text = (
        '**What there is to gain.** Where the kv_sync thread limits the clients (held to '
        f'{document["share"]:.0%} of a core, others to spare), an OSD of {document["release"]} '
        f'with what the module decided served {iops["ratio"]:.2f} times as many 4 KiB writes as '
        f'with the default ({iops["low"]:.2f} to {iops["high"]:.2f} with 95% confidence, '
        f'{len(document["rounds"])} rounds in turn), at {p99["ratio"]:.2f} times the 99th '
        f'percentile of latency and {kv_sync["ratio"]:.2f} times the CPU time of that thread per '
        'write.'
    )
    return text, 'qa/bench/bench_gain.py --dir /tmp/gain'


def _choice() -> tuple[str, str]:
    document = _read('choice-proof')
    runs, earlier = document['summary'], _read('choice-first')['summary']
    changed = [run for run in runs if run['figure']]
    advised = [run for run in runs if run['recommended']]
    kv_sync, space = (
        [run['measured_percent'] for run in advised if run['figure'] == figure]
        for figure in ('kv-sync', 'db-space')
    )
    text = (
        f'**Predictions hold.** In {_count(changed, "within")} of {len(changed)} changes of real '
        'OSDs the measured effect was within the predicted 80% interval, and in '
        f'{_count(runs, "limit_confirmed")} of {len(runs)} runs the module named the right limit. '
        f'(An earlier list, of which {_count(earlier, "holds")} of {len(earlier)} held, had led to '
        f'corrections.) The recommended options took {_range(kv_sync)} CPU time of the kv_sync '
        f'thread per write if that was the limit ({len(kv_sync)} runs), and {_range(space)} space '
        f'where that was ({len(space)} runs).'
    )
    return text, _then(document['commit'], 'bench_choice_proof.py --out /tmp measure')


def _count(entries: list[dict[str, Any]], name: str) -> int:
    return sum(entry[name] for entry in entries)


def _range(percents: list[float]) -> str:
    """Of reductions: "14.1% to 17.0% less"."""
    return f'{-max(percents):.1f}% to {-min(percents):.1f}% less'


def _regret() -> tuple[str, str]:
    cells = _read('regret')['cells']
    results = [cell['result'] for cell in cells]
    missed = [cell['regret_percent'] for cell in cells if cell['result'] == 'missed']
    text = (
        '**Decisions are near the best.** Transactions of the kind that real OSDs counted were '
        'given to RocksDB alone, with the default, all published option sets and what the module '
        f'decides, in {len(cells)} combinations of workload, release and hardware. In '
        f'{results.count("met")} the decision takes at most 3% more CPU time than the best set '
        'that fits and that upstream has not superseded (95% confidence; from Reef on one that its '
        'author withdrew takes the kv_sync thread 8 to 11% less), in '
        f'{len(missed)} it is {min(missed):.0f} to {max(missed):.0f}% behind, and in '
        f'{results.count("open")} the interval is too wide to tell. An OSD does more than RocksDB: '
        'there, all differences are smaller.'
    )
    return text, 'qa/bench/regret_replay.py && .tox/py3/bin/python qa/bench/bench_regret.py'


def _faults() -> tuple[str, str]:
    found = [_read(f'faults-{release}') for release in _RELEASES]
    columns = ('writes', 'overwrites', 'reads_checked', 'failed_writes')
    # The faults of one test share a client
    clients = {
        (number, *(row.get(name, 0) for name in columns))
        for number, document in enumerate(found)
        for row in document['results']
    }
    writes, reads, lost = (sum(int(client[at]) for client in clients) for at in (1, 3, 4))
    # Rows without a fault are the baseline
    everything = [row for document in found for row in document['results']]
    rows = [row for row in everything if row['fault'] != 'none']
    plain = max(row['longest_write_s'] for row in everything if row['fault'] == 'none')
    slowest = max(rows, key=lambda row: row['longest_write_s'] or 0)
    down = max(row['most_down'] or 0 for row in rows)
    text = (
        f'**Faults lose nothing.** {len(rows)} faults during rollouts on real clusters, with '
        f'{writes:,} client writes and {reads:,} verified reads: {lost} lost or wrong, and the '
        f'module never took down more than {down} OSD. The slowest write took '
        f'{slowest["longest_write_s"]:.0f}s ({slowest["fault"]}); without a fault {plain:.1f}s.'
    )
    return text, 'make check-faults'


def _verdicts() -> tuple[str, str]:
    (soak,) = _read('verdict-trials-pacific')['soaks']
    worse, same = soak['slower'], soak['unchanged']
    found = {name: claim['of_all'] for name, claim in soak['claims'].items()}
    errors = [found[name] for name in ('false fail', 'false better', 'missed')]
    at_most = max(error['high_percent'] for error in errors)
    slower = worse['true_percent']['kv_sync_ms_per_txn']['mean']
    text = (
        f'**Verdicts are right.** Of {same["trials"]} canaries to which nothing was done, '
        f'{errors[0]["count"]} failed and {errors[1]["count"]} were called better; of '
        f'{worse["trials"]} whose kv_sync became {slower:.0f}% slower, {errors[2]["count"]} passed '
        f'and {found["caught"]["count"]} failed (independent trials on real OSDs, soaks of '
        f'{soak["soak_s"][0] / 60:.0f} minutes). So each of the three errors is made in at most '
        f'{at_most:.0f}% of such changes (95% confidence).'
    )
    record = 'qa/bench/verdict_record.py --trials 3'
    return text, f'{record} --dir /tmp/verdict --out /tmp/windows'


def _numbers(numbers: list[int]) -> str:
    return f'{numbers[0]} to {numbers[-1]}' if len(numbers) > 1 else str(numbers[0])


def _ticks() -> tuple[str, str]:
    ticks = _read('tick-pacific')['cost']
    medians = sorted(tick['us_per_osd']['median'] for tick in ticks)
    others = sorted(tick['all_counters_us_per_osd']['median'] for tick in ticks)
    osds = sorted({tick['osds'] for tick in ticks})
    idle_us, busy_us = _TICK_TARGETS_US
    targets = [idle_us if tick['what'] == 'idle' else busy_us for tick in ticks]
    met = all(tick['us_per_osd']['median'] <= target_us for tick, target_us in zip(ticks, targets))
    text = (
        f'**The cost is small{"" if met else ", and above a target"}.** A sample of all OSDs, '
        f'with its share of the evaluations, takes {medians[0]:.0f} to {medians[-1]:.0f} us of CPU '
        f'time per OSD in the manager ({_numbers(osds)} real OSDs, idle and under writes, '
        f'on two shared cores; medians); the targets are {busy_us} under writes and {idle_us} when '
        f'idle. Reading all counters, as the prometheus module does, takes {others[0]:,.0f} to '
        f'{others[-1]:,.0f} us.'
    )
    return text, 'qa/cluster up --osds 20 && qa/bench/bench_tick_real.py cost'


if __name__ == '__main__':
    README.write_text(replaced(README.read_text(encoding='utf-8')), encoding='utf-8')
