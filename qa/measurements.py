#!/usr/bin/python3
"""Writes doc/dev/rocksdb_tuner/measurements.rst from the results in qa/bench/results.

    python3 qa/measurements.py      (make measurements)

qa/bench/measurements.rst.in holds the text. A line ``@NAME`` in it stands for the table of the same
name below. A test compares the committed page with what this module makes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(CHECKOUT / folder) for folder in ('src/pybind/mgr', 'qa', 'qa/doubles', 'qa/bench')
]

from bench_choice_proof import read_results  # noqa: E402 - after the path to it
from bench_regret import read_runs as read_regret  # noqa: E402
from bench_regret import report as regret_report  # noqa: E402

BENCH = CHECKOUT / 'qa/bench'
RESULTS = BENCH / 'results'
PAGE = CHECKOUT / 'doc/dev/rocksdb_tuner/measurements.rst'
_TEMPLATE = BENCH / 'measurements.rst.in'
_RELEASES = ('pacific', 'reef', 'tentacle')
_KIB = 1024
#: Results that the manual shows (`results_page.py`).
_IN_THE_MANUAL = frozenset({'osd-cost', 'time-to-truth'})
#: A document as a bench stored it: each bench has its own shape.
_Result = Any


def _read(name: str) -> _Result:
    return json.loads((RESULTS / f'{name}.json').read_text())


#: Not a hyphen, which reStructuredText takes for an item of a list.
MISSING = '\N{EN DASH}'


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A simple table of reStructuredText; a missing value is shown as a dash."""
    cells = [
        tuple(MISSING if cell in {None, '', '-'} else str(cell) for cell in row)
        for row in (headings, *rows)
    ]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = '  '.join('=' * width for width in widths)
    lines = [
        '  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells
    ]
    return '\n'.join((rule, lines[0], rule, *lines[1:], rule))


def _percent(value: float | None) -> str | None:
    return None if value is None else f'{value:+.1f}%'


def _interval(low: float, high: float) -> str:
    return f'{low:+.1f} to {high:+.1f}%'


def _mib(value: int | None) -> str | None:
    return None if value is None else f'{value / _KIB**2:.0f}'


def _share(counted: _Result) -> str | None:
    """A share of trials with its interval, both in percent."""
    if counted['percent'] is None:
        return None
    return (
        f'{counted["percent"]:.0f}% ({counted["low_percent"]:.0f} to {counted["high_percent"]:.0f})'
    )


def workload_classes() -> str:
    found = _read('workload')['device_class']
    rows = [
        (c['class'], c['windows'], *(f'{c[name]:.3f}' for name in ('precision', 'recall', 'f1')))
        for c in found['classes']
    ]
    macro = found['macro']
    rows.append(('macro average', macro['windows'], None, None, f'{macro["f1"]:.3f}'))
    return table(('Class', 'Windows', 'Precision', 'Recall', 'F1'), rows)


def workload_confidence() -> str:
    found = _read('workload')
    columns = (
        ('device class, held out', found['device_class']['confidence']),
        ('OSD, held out', found['osds']['held_out']),
        ('OSD, tuned on', found['osds']['set']),
    )
    rows = [
        (
            what,
            '{:.2f} to {:.2f}'.format(*bin_['confidence']),
            bin_['windows'],
            f'{bin_["right"]:.3f}',
        )
        for what, bins in columns
        for bin_ in bins
    ]
    return table(('Classified', 'Confidence', 'Windows', 'Correct'), rows)


def workload_onsets() -> str:
    rows = [
        (
            onset['run'],
            onset['what'],
            '{} to {}'.format(*onset['right_after_s']),
            onset['changes'],
            onset['true_changes'],
        )
        for onset in _read('workload')['device_class']['onsets']
    ]
    return table(('Run', 'Clients', 'Correct after, s', 'Changes', 'Actual'), rows)


def workload_thresholds() -> str:
    rows = [
        (
            f'``{t["threshold"]}``',
            f'{t["value"]:g}',
            f'{t["below"]:.4g}',
            f'{t["above"]:.4g}',
            *('-' if margin is None else f'x{margin:.3g}' for margin in t['margins']),
        )
        for t in _read('workload')['thresholds']
    ]
    heads = ('Threshold', 'Value', 'Below', 'Above', 'Margin below', 'Margin above')
    return table(heads, rows)


def ticks() -> str:
    rows = []
    for release in _RELEASES:
        if not (RESULTS / f'tick-{release}.json').is_file():
            continue
        rows += [
            (
                release.capitalize(),
                found['osds'],
                found['what'],
                *(_spread(found[f'{what}_per_osd']) for what in _COSTS_US),
                found['machine_load'],
            )
            for found in _read(f'tick-{release}')['cost']
        ]
    heads = ('Release', 'OSDs', 'Clients', 'Tick', 'All counters', 'prometheus', 'Load')
    return table(heads, rows)


#: Figures of `bench_tick_real.py cost`.
_COSTS_US = ('us', 'all_counters_us', 'prometheus_us')


def _spread(found: _Result) -> str:
    return f'{found["median"]:.0f} ({found["least"]:.0f} to {found["most"]:.0f})'


def tick_others() -> str:
    """Memory of a manager, and the latency of its commands."""
    rows = []
    for release in _RELEASES:
        if not (RESULTS / f'tick-{release}.json').is_file():
            continue
        found = _read(f'tick-{release}')
        for kept in found.get('memory', ()):
            age = f'{kept["age_s"]:.0f}s'
            of = f'{release.capitalize()}, {kept["osds"]} OSDs: manager after {age}, MiB'
            rows.append((of, kept['without_mib'], kept['with_mib']))
        for answers in found.get('latency', ()):
            where = f'{release.capitalize()}, {answers["osds"]} OSDs: ``ceph osd df``, ms'
            rows += [
                (f'{where}, {name}', answers[f'off_{key}_ms'], answers[f'recommend_{key}_ms'])
                for name, key in (('median', 'median'), ('99th percentile', 'p99'))
            ]
    return table(('', 'Without the module, or off', 'With it'), rows)


def decisions() -> str:
    newest = _read('decision')[-1]
    rows = [
        (name, *(f'{ms[kind]["median"]:.1f}' for kind in ('first', 'moved', 'remembered')))
        for name, ms in newest['decisions_ms'].items()
    ]
    return table(('20 OSDs', 'First', 'Data grew', 'Nothing changed'), rows)


def decision_ticks() -> str:
    rows = [
        (osds, *(f'{modes[mode]["median"]:.1f}' for mode in ('observe', 'recommend')))
        for osds, modes in _read('decision')[-1]['ticks_ms'].items()
    ]
    return table(('OSDs', 'Mode observe', 'Mode recommend'), rows)


def quick_starts() -> str:
    runs = _read('quick-start')
    rows = [
        (step['command'], *(f'{run["steps"][number]["at_s"]:.0f}' for run in runs))
        for number, step in enumerate(runs[0]['steps'])
    ]
    loads = ('*load average*', *(f'{run["load_average"]:g}' for run in runs))
    return table(('Done after, s', *(run['release'].capitalize() for run in runs)), [*rows, loads])


def stores() -> str:
    rows = [
        (
            size['osds'],
            size['begin_keys'],
            f'{size["begin_bytes"] / _KIB:.0f}',
            f'{size["begin_cpu_ms"]:.1f}',
            f'{size["step_bytes_mean"] / _KIB:.1f}',
            f'{size["step_cpu_ms_median"]:.1f}',
            f'{size["load_cpu_ms"]:.0f}',
        )
        for size in _read('store')['sizes']
    ]
    heads = (
        'OSDs',
        'Begin, keys',
        'Begin, KiB',
        'Begin, ms',
        'Step, KiB',
        'Step, ms',
        'Load, ms',
    )
    return table(heads, rows)


def rollouts() -> str:
    rows = [
        (
            run['osds'],
            run['changed'],
            run['failovers'],
            run['most_restarts_of_an_osd'],
            run['saves'],
            f'{run["begin_bytes"] / _KIB:.0f}',
            f'{_step_bytes(run) / _KIB:.1f}',
            f'{run["begin_cpu_ms"]:.0f}',
            f'{run["save_cpu_ms_median"]:.1f}',
            f'{max(run["load_cpu_ms"]):.0f}',
            f'{max(run["loaded_bytes"]) / _KIB:.0f}',
            f'{run["look_cpu_ms_median"]:.0f}',
        )
        for run in _read('rollout')['runs']
    ]
    heads = (
        'OSDs',
        'Changed',
        'Failovers',
        'Restarts',
        'Writes',
        'Begin, KiB',
        'Step, KiB',
        'Begin, ms',
        'Step, ms',
        'Load, ms',
        'Stored, KiB',
        'Look, ms',
    )
    return table(heads, rows)


def _step_bytes(run: _Result) -> float:
    """The mean of all writes but the first."""
    written: float = run['save_bytes_mean'] * run['saves'] - run['begin_bytes']
    return written / int(run['saves'] - 1)


def tabs() -> str:
    rows = [
        (
            release,
            look['osds'],
            look['answers'].split(',')[0],
            *(f'{look["usable_s"][name]:.2f}' for name in ('least', 'median', 'most')),
            look['load'],
        )
        for release in _RELEASES
        for look in _read(f'tab-{release}')
    ]
    return table(('Release', 'OSDs', 'Answers', 'Least', 'Median', 'Most', 'Load'), rows)


def choices(trials: str) -> str:
    runs, _ = read_results(RESULTS / f'choice-{trials}.json')
    if not runs:
        return 'No run was made yet.'
    rows = []
    for run in sorted(runs, key=lambda run: run.trial.name):
        predicted = run.prediction
        rows.append(
            (
                run.trial.name,
                run.version,
                run.told.limit,
                'yes' if run.limit_is_confirmed else 'no',
                run.figure,
                None if predicted is None else _percent(predicted.estimate),
                None if predicted is None else _interval(predicted.low, predicted.high),
                None if run.figure is None else _percent(run.measured(run.figure)),
                'yes' if run.effect_is_confirmed else 'no',
            )
        )
    heads = (
        'Run',
        'Release',
        'Limit',
        'Correct',
        'Figure',
        'Predicted',
        'Interval',
        'Measured',
        'Within',
    )
    held = [
        ('limit correct', sum(run.limit_is_confirmed for run in runs)),
        (
            'recommendation consistent with the candidates',
            sum(run.advice_is_consistent for run in runs),
        ),
        ('measured change within the interval', sum(run.effect_is_confirmed for run in runs)),
        ('all three', sum(run.holds for run in runs)),
        ('idle OSD left alone', sum(run.idle_is_confirmed for run in runs)),
    ]
    sums = '\n'.join(f'* {what}: {count} of {len(runs)}' for what, count in held)
    return f'{table(heads, rows)}\n\n{sums}'


def cores() -> str:
    runs = _read('cores')['runs']
    counted = Counter(
        (run['version'], run['trial']['kind'], run['trial']['held_out']) for run in runs
    )
    rows = [
        (version, kind, 'yes' if held_out else 'no', count)
        for (version, kind, held_out), count in sorted(counted.items())
    ]
    return table(('Release', 'Limited by', 'Held out', 'Runs'), rows)


def cpu() -> str:
    rows = []
    for release in _RELEASES:
        runs = _read(f'cpu-{release}')['runs']
        sets = dict.fromkeys((run['workload'], run['option_set']) for run in runs)
        for workload, option_set in sets:
            chosen = [
                run
                for run in runs
                if (run['workload'], run['option_set']) == (workload, option_set)
            ]
            rows.append(
                (chosen[0]['release'], workload, option_set, len(chosen), *_nanoseconds(chosen))
            )
    heads = ('Release', 'Workload', 'Option set', 'Runs', 'kv_sync', 'Flush', 'Compaction', 'OSD')
    return table(heads, rows)


def _nanoseconds(runs: Sequence[_Result]) -> Iterator[str]:
    """CPU time for each byte in the WAL, summed over runs."""
    wal_bytes = sum(run['wal_bytes'] for run in runs)
    for thread in ('bstore_kv_sync', 'rocksdb:high', 'rocksdb:low', 'all'):
        yield f'{1e9 * sum(run["cpu_s"][thread] for run in runs) / wal_bytes:.1f}'


def cpu_alone() -> str:
    runs = _read('cpu-rocksdb')['runs']
    rows = []
    for workload, compression in dict.fromkeys((r['workload'], r['compression']) for r in runs):
        chosen = [r for r in runs if (r['workload'], r['compression']) == (workload, compression)]
        wal_bytes = sum(r['wal_bytes'] for r in chosen)
        costs = (
            f'{1e9 * sum(r[f"{part}_cpu_s"] for r in chosen) / wal_bytes:.2f}'
            for part in ('write', 'flush', 'compaction')
        )
        rows.append((workload, compression, len(chosen), *costs))
    return table(('Workload', 'Compression', 'Runs', 'Write', 'Flush', 'Compaction'), rows)


def model_intervals() -> str:
    known = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/knowledge/model.json'
    rows = [
        (f'``{i["quantity"]}``', i['comparisons'], f'{i["low"]:.2f} to {i["high"]:.2f}')
        for i in json.loads(known.read_text())['intervals']
    ]
    return table(('Quantity', 'Comparisons', '80% of measured over predicted'), rows)


def model_scaled() -> str:
    rows = []
    for release in _RELEASES:
        if not (RESULTS / f'model-{release}.json').is_file():
            continue
        for run in _read(f'model-{release}')['runs']:
            wal, flush, compaction = (
                run[f'{name}_bytes'] for name in ('wal', 'flush', 'compaction')
            )
            rows.append(
                (
                    run['release'],
                    run['option_set'],
                    run['workload'],
                    _mib(wal),
                    _mib(flush),
                    _mib(compaction),
                    f'{(wal + flush + compaction) / wal:.2f}',
                    _mib(run['wal_peak_bytes']),
                    _mib(run['wal_peak_allocated_bytes']),
                )
            )
    heads = (
        'Release',
        'Option set',
        'Workload',
        'WAL',
        'Flushed',
        'Compacted',
        'Amplification',
        'WAL peak',
        'Allocated',
    )
    return table(heads, rows)


def model_real() -> str:
    rows = []
    for run in _read('model-real')['runs']:
        trial = run['trial']
        wal, flush, compaction = run['ticker_bytes']
        block = trial['block_bytes']
        rows.append(
            (
                trial['name'],
                run['version'],
                'yes' if trial['held_out'] else 'no',
                f'{trial["memtable_mib"]} MiB x {trial["merge"]}',
                trial['compression'].removeprefix('k').removesuffix('Compression'),
                trial['log_entries'],
                f'{block // _KIB} KiB' if block else None,
                run['writes'],
                f'{(wal + flush + compaction) / wal:.2f}',
            )
        )
    heads = (
        'Run',
        'Release',
        'Held out',
        'Memtables',
        'Compression',
        'PG log',
        'Block',
        'Writes',
        'Amplification',
    )
    return table(heads, rows)


def oracle() -> str:
    rows = [
        (
            r['version'],
            r['seed'],
            r['accepted'],
            r['refused'],
            r['not_measured'],
            r['not_judged'],
            r['values_compared'],
            r['contradictions'],
        )
        for r in _read('oracle')['releases']
    ]
    heads = (
        'Release',
        'Seed',
        'Accepted',
        'Refused',
        'Not measured',
        'Not decided',
        'Values compared',
        'Contradictions',
    )
    return table(heads, rows)


def verdict_simulated() -> str:
    rows = [
        (
            '{} to {}'.format(*soak['soak_min']),
            soak['controls'],
            soak['noise'],
            soak['drift_percent'],
            *(soak['nothing'][name] for name in ('fail', 'better', 'inconclusive')),
            *(soak['worse'][name] for name in ('fail', 'pass', 'inconclusive')),
        )
        for soak in _read('verdict-simulated')['soaks']
    ]
    heads = (
        'Soak, min',
        'Controls',
        'Noise',
        'Drift %',
        'Same: fail',
        'better',
        'unclear',
        '+20%: fail',
        'pass',
        'unclear',
    )
    return table(heads, rows)


def verdict_batches() -> str:
    rows = [
        (
            *(batch[name] for name in ('osds', 'controls', 'verdicts', 'noise', 'drift_percent')),
            *(batch['nothing'][name] for name in ('fail', 'inconclusive')),
            *(batch['worse'][name] for name in ('fail', 'pass', 'inconclusive')),
        )
        for batch in _read('verdict-simulated')['batches']
    ]
    heads = (
        'OSDs',
        'Controls',
        'Verdicts',
        'Noise',
        'Drift %',
        'Same: fail',
        'unclear',
        '+20%: fail',
        'pass',
        'unclear',
    )
    return table(heads, rows)


def verdict_slow_requests() -> str:
    rows = [
        (
            f'{slow["anyway_percent"]}%',
            slow['nothing']['fail'],
            slow['nothing']['better'],
            f'{slow["then_percent"]}%',
            slow['worse']['fail'],
        )
        for slow in _read('verdict-simulated')['slow_requests']
    ]
    heads = ('Blocks with slow requests', 'Same: fail', 'better', 'On the canary', 'fail')
    return table(heads, rows)


def experiments() -> str:
    questions = (
        'best-found',
        'nothing-called-better',
        'nothing-wrong-at-any-look',
        'unsafe-off',
        'detectable-found',
    )
    rows = []
    for part, found in _read('experiment-simulated').items():
        for condition in found['conditions']:
            groups = sorted({plan['osds'] for plan in condition['plans'] if plan['osds']})
            rates = [condition['rates'][name] for name in questions]
            rows.append(
                (
                    part,
                    condition['noise'],
                    condition['wander_percent'],
                    ', '.join(map(str, groups)),
                    *(
                        '{}/{} ({:.0f} to {:.0f}%)'.format(
                            r['hits'], r['of'], *r['interval_percent']
                        )
                        for r in rates
                    ),
                )
            )
    heads = (
        'Part',
        'Noise',
        'Wander %',
        'OSDs',
        'Best found',
        'Same: none better',
        'nothing wrong',
        '+20%: off in 3 blocks',
        'Detectable: found',
    )
    return table(heads, rows)


def experiment_real() -> str:
    """The plans that were asked for, and what the experiment found of each signal."""
    found = _read('experiment-real')
    plans = [
        (
            plan['signal'],
            f'{plan["min_effect_percent"]:.0f}%',
            f'{plan["block_s"]:.0f} s',
            f'{plan["detectable_percent"]:.0f}%',
            f'{plan["unsafe_percent"]:.0f}%',
            'refused' if plan['refusal'] else 'possible',
        )
        for plan in found['plans']
    ]
    heads = ('Signal', 'Smallest effect', 'Block', 'Detected', 'Unsafe detected', 'Plan')
    effects = [
        (
            arm['name'],
            effect['signal'],
            _percent(effect['estimate_percent']),
            _interval(effect['low_percent'], effect['high_percent']),
            effect['effect'],
        )
        for arm in found['experiment']['arms']
        for effect in arm['effect']
        if effect['low_percent'] is not None
    ]
    results = table(('Arm', 'Signal', 'Change', 'Interval', 'Verdict'), effects)
    return f'{table(heads, plans)}\n\n{results}'


def verdict_recorded() -> str:
    rows = []
    for name in ('verdict-pacific', 'verdict-overloaded-pacific'):
        found = _read(name)
        for soak in found['nothing']:
            of_all = soak['nothing']['all'] if 'nothing' in soak else soak
            if not of_all['trials']:
                continue
            counts = of_all.get('counts', of_all)
            rows.append(
                (
                    f'{found["rate_iops"]}/s',
                    '{:.0f} to {:.0f}'.format(*soak['soak_s']),
                    soak['changed_osds'],
                    of_all['trials'],
                    _share(of_all['fail']),
                    _share(of_all['better']),
                    counts.get('pass', 0),
                    counts.get('inconclusive', 0),
                )
            )
    heads = ('Writes', 'Soak, s', 'OSDs', 'Trials', 'Fail', 'Better', 'Pass', 'Inconclusive')
    return table(heads, rows)


def verdict_reckoned() -> str:
    rows = [
        (
            '{:.0f} to {:.0f}'.format(*soak['soak_s']),
            soak['changed_osds'],
            signal,
            of_signal['all']['trials'],
            _share(of_signal['all']['fail']),
            of_signal['all']['counts'].get('pass', 0),
        )
        for soak in _read('verdict-pacific')['nothing']
        for signal, of_signal in soak['reckoned_worse'].items()
        if of_signal['all']['trials']
    ]
    return table(('Soak, s', 'OSDs', 'Signal', 'Trials', 'Fail', 'Pass'), rows)


def verdict_slower() -> str:
    rows = [
        (
            f'osd.{trial["osd"]}',
            '{:.0f} to {:.0f}%'.format(*trial['syncs_slower_percent']),
            _percent(trial['true_percent']['kv_sync_ms_per_txn']),
            _percent(trial['true_percent']['op_w_latency_ms']),
            trial['verdict'],
            trial['took_s'],
        )
        for trial in _read('verdict-pacific')['slower']['each']
    ]
    heads = ('OSD', 'Slower syncs', 'kv_sync', 'Latency', 'Verdict', 'After, s')
    return table(heads, rows)


def verdict_staggered() -> str:
    names = {'slower': 'slower', 'nothing': 'no change', 'undone': 'no longer slower'}
    rows = []
    for run in _read('verdict-staggered-pacific'):
        for trials, shares in (('all', ''), ('apart', ', nothing shared')):
            for kind, found in run[trials].items():
                measured = found['true_percent']['kv_sync_ms_per_txn']
                rows.append(
                    (
                        names[kind] + shares,
                        found['trials'],
                        f'{measured["mean"]:+.1f}% ({measured["standard_error"]:.1f})',
                        _share(found['fail']),
                        *(found['counts'].get(n, 0) for n in ('pass', 'better', 'inconclusive')),
                    )
                )
    heads = ('OSDs', 'Trials', 'kv_sync', 'Fail', 'Pass', 'Better', 'Inconclusive')
    return table(heads, rows)


_PROOF = 'verdict-trials-pacific'
_CLAIMS = {
    'false fail': 'no change fails',
    'false better': 'no change is better',
    'missed': 'slower passes',
    'caught': 'slower fails',
}


def verdict_proof() -> str:
    """What independent trials prove, for each soak; nothing was recorded yet without a result."""
    if not (RESULTS / f'{_PROOF}.json').exists():
        return '*Not recorded yet.*'
    found = _read(_PROOF)
    claims, ended = [], []
    for soak in found['soaks']:
        seconds = '{:.0f} to {:.0f}'.format(*soak['soak_s'])
        for name, claim in soak['claims'].items():
            claims.append(
                (
                    seconds,
                    _CLAIMS[name],
                    '{count}/{trials}'.format(**claim['of_all']),
                    _exactly(claim['of_all']),
                    '{count}/{trials}'.format(**claim['of_verdicts']),
                    _exactly(claim['of_verdicts']),
                    f'at {"least" if claim["at_least"] else "most"} {claim["bound_percent"]:.0f}%',
                    'yes' if claim['proven'] else 'no',
                )
            )
        ended += [
            (seconds, what, *_ended(soak[kind]))
            for kind, what in (('unchanged', 'no change'), ('slower', 'slower'))
        ]
        ended += [
            (seconds, f'no change, {signal} +20%', *_ended(found))
            for signal, found in soak['reckoned_worse'].items()
        ]
    heads = ('Soak, s', 'Claim', 'All', 'Share', 'Verdicts', 'Share', 'Bound', 'Proven')
    ends = (
        'Soak, s',
        'Canary',
        'Trials',
        'kv_sync',
        'Latency',
        'Uncertain',
        'Fail',
        'Pass',
        'Better',
        'None',
        'Together',
    )
    void = sum(len(soak['void']) for soak in found['soaks'])
    recorded = [
        f'* Window {window["number"]}: {window["release"]}, {window["osds"]} OSDs,'
        f' {window["write_iops"]} writes/s, syncs {window["slowed_percent"]:.0f}% slower,'
        f' machine load {" to ".join(map(str, window["machine_load"]))}'
        for window in found['windows']
    ]
    return '\n\n'.join(
        ('\n'.join([*recorded, f'* Void trials: {void}']), table(heads, claims), table(ends, ended))
    )


def _exactly(counted: _Result) -> str | None:
    """A share of trials with its interval, both in percent, where a tenth decides."""
    if counted['percent'] is None:
        return None
    return '{percent:.1f}% ({low_percent:.1f} to {high_percent:.1f})'.format(**counted)


def _ended(found: _Result) -> Iterator[object]:
    """The rest of a row: the trials of a kind, the measured change, and how they ended."""
    yield found['trials']
    for signal in ('kv_sync_ms_per_txn', 'op_w_latency_ms'):
        measured = found.get('true_percent', {}).get(signal, {})
        known = measured.get('standard_error') is not None
        yield '{mean:+.1f}% ({standard_error:.1f})'.format(**measured) if known else None
    uncertainty = found.get('uncertainty_percent', {}).get('kv_sync_ms_per_txn')
    yield None if uncertainty is None else f'{uncertainty:.1f}%'
    counts = found['counts']
    yield from (counts.get(verdict, 0) for verdict in ('fail', 'pass', 'better'))
    yield counts.get('inconclusive', 0) + counts.get('no-data', 0)
    together = found.get('together', {}).get('kv_sync_ms_per_txn', {})
    known = together.get('correlation') is not None
    yield '{correlation:+.2f} ({chance:.2f})'.format(**together) if known else None


def faults() -> str:
    return '\n\n'.join(_faults_of(release) for release in _RELEASES)


def _faults_of(release: str) -> str:
    document = _read(f'faults-{release}')
    # The cost of a rollout without a fault comes first; then fault by fault
    order = ['none', *dict.fromkeys(row['fault'] for row in document['results'])]
    results = sorted(document['results'], key=lambda row: order.index(row['fault']))
    rows = [
        (
            row['fault'],
            row['phase'],
            row['shape'],
            row['kind'],
            f'{row["lasted_s"]:.0f}',
            *(
                None if row[name] is None else f'{row[name]:.1f}'
                for name in ('longest_write_s', 'longest_pause_s')
            ),
            row['happened'],
        )
        for row in results
    ]
    heads = (
        'Fault',
        'Phase',
        'Cluster',
        'Change',
        'Lasted, s',
        'Longest write, s',
        'No write for, s',
        'Outcome',
    )
    title = f'*{document["version"]}.* {_clients(results)} {_integrity(document["integrity"])}'
    return f'{title}\n\n{table(heads, rows)}'


def _clients(results: Sequence[_Result]) -> str:
    # The faults of one test share a client
    columns = ('writes', 'overwrites', 'reads_checked', 'failed_writes')
    clients = {tuple(row.get(name, 0) for name in columns) for row in results}
    written, over, read, lost = (sum(column) for column in zip(*clients))
    return (
        f'{written:,} writes, {over:,} of them overwrites; {read:,} blocks read and compared; '
        f'{lost} failed or lost.'
    )


def _integrity(checks: Sequence[_Result]) -> str:
    groups, osds = (sum(check[name] for check in checks) for name in ('placement_groups', 'osds'))
    wrong = sum(len(check['inconsistent']) + len(check['fsck']) for check in checks)
    return (
        f'{groups} placement groups deep-scrubbed and {osds} OSDs checked with fsck on '
        f'{len(checks)} clusters: {wrong} errors.'
    )


def mutation() -> str:
    found = _read('mutation')
    newest = {
        package: score
        for entry in (*found['scores'], *found['samples'])
        for package, score in entry['packages'].items()
        # Without it: files that were drawn, which say nothing of the rest of their package
        if 'mutants' in score
    }
    rows = []
    for package, score in sorted(newest.items()):
        interval = score['interval_95_percent']
        rows.append(
            (
                package,
                score['mutants'],
                score['run'],
                f'{score["percent"]:.1f}%',
                '{:.1f} to {:.1f}%'.format(*interval) if interval else None,
            )
        )
    return table(('Package', 'Mutants', 'Run', 'Killed', '95% interval'), rows)


def regrets() -> str:
    """The cells in one line each; the manual has the tables."""
    lines = regret_report(read_regret(RESULTS / 'regret.json'))
    return '\n'.join(f'* {line}' for line in lines if not line.startswith(' '))


TABLES: dict[str, tuple[tuple[str, ...], Callable[[], str]]] = {
    'workload-classes': (('workload',), workload_classes),
    'workload-confidence': (('workload',), workload_confidence),
    'workload-onsets': (('workload',), workload_onsets),
    'workload-thresholds': (('workload',), workload_thresholds),
    'ticks': (('tick',), ticks),
    'tick-others': (('tick',), tick_others),
    'decisions': (('decision',), decisions),
    'decision-ticks': (('decision',), decision_ticks),
    'quick-starts': (('quick-start',), quick_starts),
    'stores': (('store',), stores),
    'rollouts': (('rollout',), rollouts),
    'tabs': (('tab',), tabs),
    'choices-training': (('choice-training',), partial(choices, 'training')),
    'choices-first': (('choice-first',), partial(choices, 'first')),
    'choices-proof': (('choice-proof',), partial(choices, 'proof')),
    'cores': (('cores',), cores),
    'cpu': (('cpu',), cpu),
    'cpu-alone': (('cpu-rocksdb',), cpu_alone),
    'model-intervals': ((), model_intervals),
    'model-scaled': (('model',), model_scaled),
    'model-real': (('model-real',), model_real),
    'oracle': (('oracle',), oracle),
    'verdict-simulated': (('verdict-simulated',), verdict_simulated),
    'verdict-batches': (('verdict-simulated',), verdict_batches),
    'verdict-slow-requests': (('verdict-simulated',), verdict_slow_requests),
    'verdict-recorded': (('verdict', 'verdict-overloaded'), verdict_recorded),
    'verdict-reckoned': (('verdict',), verdict_reckoned),
    'verdict-slower': (('verdict',), verdict_slower),
    'verdict-staggered': (('verdict-staggered',), verdict_staggered),
    'verdict-proof': (('verdict-trials',), verdict_proof),
    'experiments': (('experiment-simulated',), experiments),
    'experiment-real': (('experiment-real',), experiment_real),
    'faults': (('faults',), faults),
    'mutation': (('mutation',), mutation),
    'regret': (('regret',), regrets),
}
"""By the name in the text: the results that a table is made of (less ``-RELEASE``), and how."""


def results_without_table() -> list[str]:
    """Files of results that no page shows."""
    shown = _IN_THE_MANUAL | {name for names, _ in TABLES.values() for name in names}

    def stem(path: Path) -> str:
        name, _, release = path.stem.rpartition('-')
        return name if release in _RELEASES else path.stem

    return sorted(path.name for path in RESULTS.glob('*.json') if stem(path) not in shown)


def page() -> str:
    lines = _TEMPLATE.read_text(encoding='utf-8').splitlines()
    made = [TABLES[line[1:]][1]() if line.startswith('@') else line for line in lines]
    return '\n'.join(made) + '\n'


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
