"""Judges the windows of independent trials that bench_verdict_real.py records. Pure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.judge.statistics import percent
from rocksdb_tuner.judge.verdict import in_words
from verdict_bounds import CLAIMS, Outcome, claims, least_trials, mean, share, together
from verdict_trials import (
    KINDS,
    SIGNALS,
    Found,
    Recorded,
    Trial,
    drawn,
    moved,
    soak,
    void,
)


@dataclass(frozen=True)
class _Judged:
    """A drawn trial, and how its soak ended."""

    window: int
    trial: Trial
    found: Optional[Found]
    true: Mapping[str, Optional[float]]

    @property
    def outcome(self) -> Outcome:
        found = self.found
        changes = {} if found is None else {
            s.name: s.change_percent for s in found.judgement.signals
        }  # fmt: skip
        return Outcome(self.window, 'no-data' if found is None else found.kind, changes)


def independent(recordings: Sequence[tuple[Recorded, Mapping[str, Any]]]) -> dict[str, Any]:
    """What the trials of all windows prove, for each soak on its own.

    Raises ValueError if a window is among them twice.
    """
    numbers = [document['trials']['number'] for _, document in recordings]
    if len(numbers) != len(set(numbers)):
        raise ValueError('a window is given twice: its trials would count twice')
    by_soak: dict[SoakPlan, list[tuple[Recorded, int, Trial]]] = {}
    for recorded, document in recordings:
        plan, trials = drawn(document)
        number = document['trials']['number']
        by_soak.setdefault(plan, []).extend((recorded, number, trial) for trial in trials)
    return {
        'windows': [_window(*recording) for recording in recordings],
        'soaks': [_proof(plan, trials) for plan, trials in by_soak.items()],
        'least_trials': {
            name: [least_trials(errors, claim) for errors in range(3)]
            for name, claim in CLAIMS.items()
        },
    }


def _window(recorded: Recorded, document: Mapping[str, Any]) -> dict[str, Any]:
    spans = document['spans']
    writes = recorded.write_iops(spans[0]['begin_s'], spans[-1]['end_s']).values()
    return {
        'number': document['trials']['number'],
        'release': document['release'],
        'date': document['date'],
        'osds': document['cluster']['osds'],
        'pool_size': document['cluster']['pool_size'],
        'rate_iops': document['rate_iops'],
        'write_iops': round(sum(rate for rate in writes if rate is not None)),
        'slowed_percent': max(spans[-1]['slowed_percent'].values()),
        'machine_load': [span['machine_load'] for span in spans],
    }


def _proof(plan: SoakPlan, trials: Sequence[tuple[Recorded, int, Trial]]) -> dict[str, Any]:
    invalid: list[str] = []
    judged: dict[str, list[_Judged]] = {kind: [] for kind in KINDS}
    worsened: dict[str, list[Outcome]] = {signal: [] for signal in SIGNALS}
    for recorded, window, trial in trials:
        reason = void(recorded, trial)
        if reason is not None:
            invalid.append(f'window {window}, osd.{trial.case.changed[0]}: {reason}')
            continue
        found = soak(recorded, trial.case, plan)
        one = _Judged(window, trial, found, moved(recorded, trial.case))
        judged[trial.kind].append(one)
        if trial.kind == 'unchanged':
            for signal, outcomes in worsened.items():
                worse = soak(recorded, trial.case, plan, signal)
                outcomes.append(Outcome(window, 'no-data' if worse is None else worse.kind, {}))
    return {
        'soak_s': [plan.least_s, plan.most_s],
        'void': invalid,
        'claims': claims({kind: [one.outcome for one in judged[kind]] for kind in KINDS}),
        **{kind: _ended(judged[kind]) for kind in KINDS},
        'reckoned_worse': {
            signal: _counted([outcome.verdict for outcome in outcomes])
            for signal, outcomes in worsened.items()
        },
    }


def _counted(verdicts: Sequence[str]) -> dict[str, Any]:
    counts = Counter(verdicts)
    return {
        'trials': len(verdicts),
        'counts': dict(sorted(counts.items())),
        'fail': share(counts['fail'], len(verdicts)),
    }


def _ended(judged: Sequence[_Judged]) -> dict[str, Any]:
    outcomes = [one.outcome for one in judged]
    return {
        **_counted([outcome.verdict for outcome in outcomes]),
        'true_percent': {
            signal: mean([100 * v for one in judged if (v := one.true[signal]) is not None])
            for signal in SIGNALS
        },
        'uncertainty_percent': {signal: _uncertainty(judged, signal) for signal in SIGNALS},
        'together': {signal: together(outcomes, signal) for signal in SIGNALS},
        'each': [_told_of(one) for one in judged],
    }


def _uncertainty(judged: Sequence[_Judged], name: str) -> Optional[float]:
    """The median half-width of the intervals: a verdict allows `JudgedSignal.precision`."""
    widths = [
        (math.log1p(signal.high_percent / 100) - math.log1p(signal.low_percent / 100)) / 2
        for one in judged
        if one.found is not None
        for signal in one.found.judgement.signals
        if signal.name == name
        and signal.low_percent is not None
        and signal.high_percent is not None
    ]
    return round(percent(statistics.median(widths)), 1) if widths else None


def _told_of(one: _Judged) -> dict[str, Any]:
    return {
        'window': one.window,
        'osd': one.trial.case.changed[0],
        'controls': list(one.trial.case.controls),
        'true_percent': {
            signal: None if value is None else round(100 * value, 1)
            for signal, value in one.true.items()
        },
        'verdict': one.outcome.verdict,
        'took_s': None if one.found is None else round(one.found.took_s),
        'told': None if one.found is None else in_words(one.found.judgement),
    }
