#!/usr/bin/python3
"""How often the verdict is wrong on real OSDs: independent trials, recorded before they are judged.

`verdict_record.py` records the trials; `bench_verdict_real.py FOLDER/*` judges all of them. Blocks
are built and judged by the module's own code, as in a rollout, evaluated at every block.

A trial ends with a verdict (pass, better, fail) or without one (inconclusive, no data). Without one
a rollout neither goes on nor back but waits for the operator, so each share is of all trials.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from verdict_record import Recorded, after_s, before_s, read  # noqa: E402
from verdict_shares import mean, share  # noqa: E402

from rocksdb_tuner.judge.evidence import Block, Evidence  # noqa: E402 - after the path to it
from rocksdb_tuner.judge.records import (  # noqa: E402
    SoakPlan,
    Verdict,
    ends_with,
    planned_block_s,
)
from rocksdb_tuner.judge.signals import limits  # noqa: E402
from rocksdb_tuner.judge.verdict import in_words, judge  # noqa: E402
from rocksdb_tuner.operations.rollout.recording import Part, Recorder  # noqa: E402

SIGNALS = ('op_w_latency_ms', 'kv_sync_ms_per_txn')
#: What happens to the canary of a trial.
KINDS = ('slower', 'unchanged')
#: The kind of the trials of each claim, and with which outcomes they are counted.
CLAIMS: Mapping[str, tuple[str, frozenset[str]]] = {
    'false fail': ('unchanged', frozenset({'fail'})),
    'false better': ('unchanged', frozenset({'better'})),
    'missed': ('slower', frozenset({'pass', 'better'})),
    'caught': ('slower', frozenset({'fail'})),
}


@dataclass(frozen=True)
class Trial:
    """One canary and its controls, as drawn before the window was recorded."""

    window: int
    kind: str
    canary: int
    controls: tuple[int, ...]
    before_s: float
    change_s: float
    end_s: float

    @property
    def osds(self) -> tuple[int, ...]:
        return (self.canary, *self.controls)


def drawn(document: Mapping[str, Any]) -> Iterator[Trial]:
    """Raises ValueError if two trials of one kind share an OSD, or the time is too short."""
    declared = document['trials']
    plan = SoakPlan(*declared['soak_s'])
    calm, slow = document['spans']
    change_s = slow['begin_s']
    times_s = (change_s - before_s(plan), change_s, change_s + after_s(plan))
    if times_s[0] < calm['begin_s'] or times_s[2] > slow['end_s']:
        raise ValueError(f'window {declared["number"]} is too short for its soak')
    for kind in KINDS:
        groups = [(group[kind], *group['controls']) for group in declared['groups']]
        used = Counter(n for group in groups for n in group)
        if max(used.values()) > 1:
            raise ValueError(f'trials of the kind {kind!r} share an OSD')
        for canary, *controls in groups:
            yield Trial(declared['number'], kind, canary, tuple(controls), *times_s)


def void(recorded: Recorded, trial: Trial) -> Optional[str]:
    """Why the recording is not of the trial that was drawn; None: it is. Verdicts play no part."""
    samples = [at for _, at in recorded.between(trial.before_s, trial.end_s)]
    for n in trial.osds:
        processes = {None if (s := at[n]) is None else s.nonce for at in samples}
        if len(processes) != 1 or None in processes:
            return f'restarted or without samples: osd.{n}'
    calm, slow = (span['slowed_percent'] for span in recorded.document['spans'])
    slowed = {n for n in trial.osds if slow.get(str(n), 0) > calm.get(str(n), 0)}
    if slowed != ({trial.canary} if trial.kind == 'slower' else set()):
        return f'slowed down were {sorted(slowed)}'
    return None


def soak(recorded: Recorded, trial: Trial, plan: SoakPlan) -> dict[str, Any]:
    """The verdict on a canary, in words, and how long after the change it came."""
    block_s = planned_block_s(plan)
    recorder = Recorder(Evidence('r1', 0, (trial.canary,), trial.controls, block_s))
    judgement, now_s = None, trial.change_s
    for now_s, samples in recorded.between(trial.before_s, trial.end_s):
        part = Part.BEFORE if now_s <= trial.change_s else Part.AFTER
        new = recorder.add(part, {n: samples[n] for n in trial.osds}, now_s)
        if part is Part.BEFORE or not new:
            continue
        judgement = judge(_whatever_was_flushed(recorder.evidence))
        if ends_with(judgement, len(recorder.evidence.after) * block_s, plan) is not None:
            break
    if judgement is None:
        return {'verdict': 'no-data', 'took_s': None, 'told': None}
    better = judgement.verdict is Verdict.BETTER
    verdict = 'better' if better else judgement.verdict.pass_or_fail
    took_s = round(now_s - trial.change_s)
    return {'verdict': verdict, 'took_s': took_s, 'told': in_words(judgement)}


def _whatever_was_flushed(evidence: Evidence) -> Evidence:
    """Most soaks here are too short for a flush; the question is whether noise misleads."""
    after = tuple(
        Block({n: one._replace(flushed=None) for n, one in block.by_osd.items()})
        for block in evidence.after
    )
    return replace(evidence, after=after)


def moved(recorded: Recorded, trial: Trial) -> Mapping[str, Optional[float]]:
    """By how many percent each signal of the canary rose beyond that of its controls."""
    begin_s = trial.change_s + limits().warm_up_s
    found: dict[str, Optional[float]] = {}
    for signal in SIGNALS:
        before = [recorded.mean(n, trial.before_s, trial.change_s, signal) for n in trial.osds]
        after = [recorded.mean(n, begin_s, trial.end_s, signal) for n in trial.osds]
        ratios = [b / a if a and b else None for a, b in zip(before, after)]
        known = [ratio for ratio in ratios[1:] if ratio is not None]
        ours = ratios[0]
        found[signal] = 100 * (ours / median(known) - 1) if ours and known else None
    return found


def judged(recordings: Sequence[Recorded]) -> dict[str, Any]:
    """What the trials of all windows prove; raises ValueError if a window is among them twice."""
    numbers = [recorded.document['trials']['number'] for recorded in recordings]
    if len(numbers) != len(set(numbers)):
        raise ValueError('a window is given twice: its trials would count twice')
    by_soak: dict[SoakPlan, list[tuple[Recorded, Trial]]] = {}
    for recorded in recordings:
        plan = SoakPlan(*recorded.document['trials']['soak_s'])
        by_soak.setdefault(plan, []).extend((recorded, t) for t in drawn(recorded.document))
    return {
        'windows': sorted(numbers),
        'soaks': [_proof(plan, trials) for plan, trials in by_soak.items()],
    }


def _proof(plan: SoakPlan, trials: Sequence[tuple[Recorded, Trial]]) -> dict[str, Any]:
    invalid: list[str] = []
    each: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for recorded, trial in trials:
        reason = void(recorded, trial)
        if reason is not None:
            invalid.append(f'window {trial.window}, osd.{trial.canary}: {reason}')
            continue
        ended = {'true_percent': moved(recorded, trial), **soak(recorded, trial, plan)}
        each[trial.kind].append({'window': trial.window, 'osd': trial.canary, **ended})
    claims = {}
    for name, (kind, outcomes) in CLAIMS.items():
        hits = sum(one['verdict'] in outcomes for one in each[kind])
        claims[name] = {'kind': kind, 'of_all': share(hits, len(each[kind]))}
    return {
        'soak_s': [plan.least_s, plan.most_s],
        'void': invalid,
        'claims': claims,
        **{kind: _ended(found) for kind, found in each.items()},
    }


def _ended(each: list[dict[str, Any]]) -> dict[str, Any]:
    counts = Counter(one['verdict'] for one in each)
    true = {s: [p for one in each if (p := one['true_percent'][s]) is not None] for s in SIGNALS}
    return {
        'trials': len(each),
        'counts': dict(sorted(counts.items())),
        'true_percent': {signal: mean(values) for signal, values in true.items()},
        'each': each,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('recordings', type=Path, nargs='+')
    parser.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    text = json.dumps(judged([read(path) for path in arguments.recordings]), indent=1)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
