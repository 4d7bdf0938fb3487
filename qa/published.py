"""Published results, and beside each what was measured here.

`bench/published.json` has the headlines with their sources. A figure that the module itself quotes
is not repeated there: it comes from the evidence of a profile. Beside each headline there is what
the stored results say of it, and why the two differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_choice_judge import ProofRun
from bench_choice_proof import read_results
from bench_cpu_runs import CpuRun
from bench_cpu_runs import read_runs as read_cpu_runs
from bench_regret import RESULTS as REGRET
from bench_regret import by_cell, in_words
from bench_regret import read_runs as read_regret_runs
from regret_judge import FIGURES, LIMITING, Effects, Ratio, change_of

from rocksdb_tuner.advise.profiles import PublishedEvidence
from rocksdb_tuner.advise.profiles import profile as profile_of

BENCH = Path(__file__).resolve().parent / 'bench'
RESULTS = BENCH / 'results'
NOT_MEASURED = 'not measured'
_RELEASES = ('pacific', 'reef', 'tentacle')
#: Names of threads in the results of CPU time.
_KV_SYNC, _ALL = 'bstore_kv_sync', 'all'
#: An option set of `bench_model_runs.py`.
_SMALL = 'pacific with 16 small memtables/16'
#: Before the name of a profile: what the regret bench measured of it.
_REGRET = 'regret:'


@dataclass(frozen=True)
class Source:
    title: str
    author: str
    year: int
    #: None: it is in no public place that stays.
    url: str | None
    hardware: str


@dataclass(frozen=True)
class Headline:
    source: Source
    section: str
    #: Figures as published: of the module's own knowledge, and quoted here.
    evidence: PublishedEvidence | None
    quote: str | None
    baseline: str
    release: str
    workload: str
    #: Names of `OURS`.
    ours: tuple[str, ...]
    why: str

    @property
    def published(self) -> str:
        figures = None if self.evidence is None else _figures(self.evidence)
        return '; '.join(text for text in (figures, self.quote) if text is not None)

    @property
    def measured(self) -> str:
        found = [text for text in map(ours, self.ours) if text is not None]
        return ' '.join(found) or NOT_MEASURED


def document() -> Any:
    return json.loads((BENCH / 'published.json').read_text(encoding='utf-8'))


def sources() -> Mapping[str, Source]:
    return {name: Source(**entry) for name, entry in document()['sources'].items()}


def headlines() -> tuple[Headline, ...]:
    """In the order of the file, which is that of the sources."""
    known = sources()
    return tuple(
        Headline(
            **{
                'quote': None,
                **entry,
                'source': known[entry['source']],
                'evidence': _evidence(**entry['evidence']) if 'evidence' in entry else None,
                'ours': tuple(entry['ours']),
            }
        )
        for entry in document()['headlines']
    )


def _evidence(
    profile: str, metric: str, baseline: str, release: str | None = None
) -> PublishedEvidence:
    """The first that fits; raises LookupError."""
    for found in profile_of(profile).evidence:
        alike = (found.metric, found.baseline) == (metric, baseline)
        if alike and (release is None or release in found.releases):
            return found
    raise LookupError(f'profile "{profile}" has no evidence of {metric} against {baseline}')


def _figures(evidence: PublishedEvidence) -> str:
    before, after = evidence.baseline_value, evidence.value
    if evidence.unit == 'ratio' and before is not None:
        return f'{evidence.metric}: {before:g} times less'
    figures = f'{after:,.0f}' if before is None else f'{after:,.0f} instead of {before:,.0f}'
    if evidence.unit not in evidence.metric:
        figures += f' {evidence.unit}'
    return f'{evidence.metric}: {figures} ({evidence.change_percent:+.1f}%)'


def section() -> str:
    """Of the page of results: a table for each source."""
    quoted = headlines()
    return '\n'.join(
        line
        for source in sources().values()
        for line in _of_source(source, [h for h in quoted if h.source == source])
    )


def _of_source(source: Source, quoted: Sequence[Headline]) -> Iterator[str]:
    title = f'{source.year}: {source.title}'
    yield from (title, '-' * len(title), '')
    where = '' if source.url is None else f', {source.url}'
    yield from (f'{source.author}{where}. Hardware: {source.hardware}.', '')
    yield from ('.. list-table::', '   :header-rows: 1', '   :widths: 32 20 22 26', '')
    rows = [('Published', 'Baseline, release, workload', 'Measured here', 'Why they differ')]
    rows += [
        (
            f'{h.published} [{h.section}]',
            f'{h.baseline}; {h.release}; {h.workload}',
            h.measured,
            h.why,
        )
        for h in quoted
    ]
    for row in rows:
        for column, cell in enumerate(row):
            yield f'   {"* -" if column == 0 else "  -"} {_plain(cell)}'
    yield ''


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    return ''.join('\\' + mark if mark in '*`|\\_' else mark for mark in text)


def _proof(scenario: str) -> list[ProofRun]:
    runs, _ = read_results(RESULTS / 'choice-proof.json')
    return [run for run in runs if run.figure == scenario]


def _derived_kv_sync() -> str | None:
    runs = _proof('kv-sync')
    if not runs:
        return None
    each = ', '.join(f'{run.measured("kv-sync"):+.1f}% on {run.version}' for run in runs)
    return f'kv_sync CPU per write: {each} (a run each; the proof of the choice).'


def _lz4_space() -> str | None:
    runs = [run for run in _proof('db-space') if 'compression=kLZ4' in run.to_options]
    if not runs:
        return None
    each = ', '.join(
        f'{100 / (100 + run.measured("db-space")):.2f} times less on {run.version}' for run in runs
    )
    return f'BlueFS used bytes: {each} (a run each; the proof of the choice).'


def _smaller_memtables() -> str | None:
    return _by_release('kv_sync CPU per WAL byte', 'rbd-randwrite', 'large', 'small', _KV_SYNC)


def _lz4_cpu() -> str | None:
    changes = [
        _by_release(f'{name}, {size} memtables', load, size, f'{size}, LZ4', _ALL)
        for name, load in (('RBD', 'rbd-randwrite'), ('Omap', 'omap-heavy'))
        for size in ('large', 'small')
    ]
    found = [text for text in changes if text is not None]
    return ' '.join(('OSD CPU per WAL byte.', *found)) if found else None


def _by_release(what: str, load: str, before: str, after: str, threads: str) -> str | None:
    """How CPU time changes from one option set to another, by release, over all rounds."""
    found = []
    for release in _RELEASES:
        path = RESULTS / f'cpu-{release}.json'
        runs = [r for r in read_cpu_runs(path) if r.workload == load] if path.is_file() else []
        change = _cpu_change(runs, before, after, threads)
        if change is not None:
            found.append(f'{in_words(change)} on {runs[0].release}')
    return f'{what}: {", ".join(found)}.' if found else None


def _cpu_change(runs: Sequence[CpuRun], before: str, after: str, threads: str) -> Ratio | None:
    """Of the OSDs of a round, which share a load."""
    rounds: dict[tuple[int, int], dict[str, float]] = {}
    for run in runs:
        of_round = rounds.setdefault((run.scale, run.round), {})
        of_round[run.option_set] = run.cpu_s[threads] / run.wal_bytes
    return change_of(
        [
            math.log(of_round[after] / of_round[before])
            for of_round in rounds.values()
            if before in of_round and after in of_round
        ]
    )


def _written(option_set: str, *kinds: str) -> float | None:
    """Bytes for each byte in the WAL, on Pacific under RBD writes; None: no run."""
    path = RESULTS / 'model-pacific.json'
    for run in json.loads(path.read_text(encoding='utf-8'))['runs'] if path.is_file() else ():
        if (run['option_set'], run['workload']) == (option_set, 'rbd-randwrite'):
            return float(sum(run[f'{kind}_bytes'] for kind in kinds) / run['wal_bytes'])
    return None


def _bytes(what: str, option_set: str, *kinds: str) -> str | None:
    before, after = _written('pacific/16', *kinds), _written(option_set, *kinds)
    if not before or after is None:
        return None
    return f'{what}: {after:.2f} instead of {before:.2f} per WAL byte, {after / before:.1f} times.'


OURS: Mapping[str, Callable[[], str | None]] = {
    'smaller-memtables': _smaller_memtables,
    'many-flushes-bytes': lambda: _bytes('Flushes and compactions', _SMALL, 'flush', 'compaction'),
    'small-memtables-bytes': lambda: _bytes('Compactions', _SMALL, 'compaction'),
    'alternate-bytes': lambda: _bytes('Compactions', 'alternate-2019/16', 'compaction'),
    'derived-kv-sync': _derived_kv_sync,
    'lz4-space': _lz4_space,
    'lz4-cpu': _lz4_cpu,
}


def ours(name: str) -> str | None:
    """What was measured; None: nothing. Raises KeyError for a name that means nothing."""
    if not name.startswith(_REGRET):
        return OURS[name]()
    wanted = profile_of(name.removeprefix(_REGRET)).name
    found = [
        f'{cell.name}: {in_words(change)}'
        for cell, runs in by_cell(read_regret_runs(REGRET)).items()
        for change in [Effects(runs, LIMITING).ratio(wanted)]
        if change is not None
    ]
    if not found:
        return None
    return f'{FIGURES[LIMITING]} per transaction of this profile: {"; ".join(found)}.'
