"""The tables of the page of results on what statistics cost OSDs, and how soon the module knows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from bench_osd_cost import RELEASES, read_run, results_of
from bench_regret import in_words
from bench_time_to_truth import RESULTS as TIMES
from bench_time_to_truth import read
from measurements import table
from osd_cost_design import DESIGNS, FIGURES, OSD_CPU, Level, Run, cells_of, effects, reading_costs
from time_to_truth_judge import TARGET, NotSplitError, Rollout, Taken, known, split

NONE = 'Not measured yet.'


def _runs() -> list[Run]:
    found = (read_run(results_of(release)) for release in RELEASES)
    return [run for run in found if run is not None]


def _conditions(run: Run) -> str:
    return (
        f'Ceph {run.version}; {run.machine}; load average up to {run.machine_load}; '
        f'{run.rate_iops} writes per second.'
    )


def osd_cost() -> str:
    """The change of each figure per write, by setting."""
    parts = ['\n\n'.join((_conditions(run), _effects(run), _shown(run))) for run in _runs()]
    return '\n\n'.join(parts) or NONE


def _effects(run: Run) -> str:
    rows = []
    for design in DESIGNS:
        cells = cells_of(run, design)
        found = {name: effects(cells, design, name) for name in FIGURES}
        for number, setting in enumerate(design.settings[1:]):
            changes = [of[number].change if of else None for of in found.values()]
            base = design.settings[0].name
            rows.append((setting.name, base, *map(in_words, changes)))
    return table(('Options', 'Compared with', *FIGURES), rows)


def _shown(run: Run) -> str:
    """Which settings cost CPU, in words."""
    sentences = []
    for design in DESIGNS:
        for effect in effects(cells_of(run, design), design, OSD_CPU):
            low, high = effect.change.low_percent, effect.change.high_percent
            assert low is not None
            assert high is not None
            what = f'"{effect.setting}" compared with "{design.settings[0].name}"'
            if low > 0:
                sentences.append(f'{what} costs {low:.1f} to {high:.1f}% CPU.')
            elif high < 0:
                sentences.append(f'{what} takes {-high:.1f} to {-low:.1f}% less CPU.')
            else:
                sentences.append(f'{what}: no cost shown; it is at most {high:.1f}% CPU.')
    return '\n'.join(f'* {sentence}' for sentence in sentences)


def osd_reading() -> str:
    """CPU time of an answer."""
    rows = [
        (
            run.version,
            f'``{cost.command}``',
            cost.setting or 'any',
            cost.calls,
            _level(cost.cpu_ms),
            _level(cost.wall_ms),
            f'{cost.answer_bytes / 1024:.0f}',
        )
        for run in _runs()
        for cost in reading_costs(run.readings)
    ]
    heads = ('Ceph', 'Command', 'Options', 'Calls', 'CPU, ms', 'Duration, ms', 'KiB')
    return table(heads, rows) if rows else NONE


def _level(level: Level | None) -> str | None:
    return None if level is None else f'{level.value:.2f} ± {level.half:.2f}'


def _seconds(value: float | None) -> str | None:
    return None if value is None else f'{value:.0f}'


def _taken(taken: Taken) -> tuple[str, str]:
    return taken.version, f'{taken.machine_load:g}'


def time_to_class() -> str:
    rows = []
    for found in read(TIMES).classes:
        for onset in found.onsets:
            when = known(onset)
            rows.append(
                (
                    onset.workload,
                    onset.expected,
                    _seconds(when.first_s),
                    _seconds(when.stays_s),
                    ', '.join(when.others),
                    f'{onset.interval_s:g}',
                    *_taken(found.taken),
                )
            )
    heads = ('Workload', 'Class', 'First, s', 'Stays, s', 'Others', 'Interval, s', 'Ceph', 'Load')
    return table(heads, rows) if rows else NONE


def time_to_finding() -> str:
    rows = [
        (
            *_taken(found.taken),
            *(
                _seconds(at_s)
                for at_s in (
                    found.enabling.active_s,
                    found.enabling.answers_s,
                    found.enabling.sampled_s,
                    found.enabling.found_s,
                )
            ),
            ', '.join(f'``{name}``' for name in found.enabling.findings),
        )
        for found in read(TIMES).classes
    ]
    heads = ('Ceph', 'Load', 'mgr, s', 'Answers, s', 'Samples, s', 'Finding, s', 'Findings')
    return table(heads, rows) if rows else NONE


def time_of_rollout() -> str:
    rows = [_rollout(one) for one in read(TIMES).rollouts]
    heads = ('Ceph', 'Load', 'OSDs', 'Soak options', 'Total, s', 'Soak, s', 'Longer, s',
             'Restarts, s', 'Module, s', 'Share')  # fmt: skip
    return f'{table(heads, rows)}\n\n{_shares(read(TIMES).rollouts)}' if rows else NONE


def _shares(rollouts: Sequence[Rollout]) -> str:
    shares = []
    for one in rollouts:
        with suppress(NotSplitError):
            shares.append(split(one).share)
    met = sum(share <= TARGET for share in shares)
    return f'The target is met in {met} of {len(shares)} rollouts.'


def _rollout(rollout: Rollout) -> tuple[object, ...]:
    given = ', '.join(f'``{name}={value}``' for name, value in rollout.options.items())
    before = (*_taken(rollout.taken), rollout.taken.osds, given)
    try:
        parts = split(rollout)
    except NotSplitError as error:
        return (*before, str(error), None, None, None, None, None)
    times = (parts.total_s, parts.soak_s, parts.longer_s, parts.restarts_s, parts.own_s)
    return (*before, *map(_seconds, times), f'{100 * parts.share:.1f}%')


SECTIONS = {
    '@osd-cost': osd_cost,
    '@osd-reading': osd_reading,
    '@time-to-class': time_to_class,
    '@time-to-finding': time_to_finding,
    '@time-of-rollout': time_of_rollout,
}
"""By the line of results.rst.in that each replaces."""
