"""Trials of the verdict that are cut out of a recording of real OSDs (see harness/verdict_run.py).

Blocks are built and judged by the module's own code, as in a rollout, evaluated at
every block; so are the controls chosen. How trials are cut follows from what was done to which OSD
when, never from what was counted.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Optional

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured, measured
from rocksdb_tuner.judge.records import (
    Judgement,
    SoakPlan,
    Verdict,
    ends_with,
    least_soak_s,
    planned_block_s,
)
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.judge.verdict import judge
from rocksdb_tuner.observe.sample import Sample, names_for, take_sample
from rocksdb_tuner.observe.window import Window, window
from rocksdb_tuner.operations.rollout.recording import Part, Recorder
from rocksdb_tuner.tests.judge.simulated import OneReport
from rocksdb_tuner.tests.workload.replay import SAMPLE_INTERVAL_S, load_file

SIGNALS = ('op_w_latency_ms', 'kv_sync_ms_per_txn')
#: What happens to the canaries of drawn trials.
KINDS = ('slower', 'unchanged')
#: The degradation added to one signal of the changed OSDs.
IMPOSED = 0.2


@dataclass(frozen=True)
class Span:
    """A time in which nothing changes."""

    begin_s: float
    end_s: float
    slowed_percent: Mapping[int, float]


@dataclass(frozen=True)
class Recorded:
    """The samples the module would have taken, every ten seconds."""

    osds: tuple[int, ...]
    looks: Sequence[tuple[float, Mapping[int, Optional[Sample]]]]
    spans: Sequence[Span]

    def between(
        self, begin_s: float, end_s: float
    ) -> Iterator[tuple[float, Mapping[int, Optional[Sample]]]]:
        return (look for look in self.looks if begin_s <= look[0] <= end_s)

    def unchanged(self, begin_s: float, end_s: float) -> tuple[int, ...]:
        """The OSDs that nothing was done to meanwhile, though some may be slow all the time.

        One that was restarted is not among them; that they noticed what was done to others is
        what the controls of a rollout do, too.
        """
        spans = [s for s in self.spans if s.begin_s < end_s and s.end_s > begin_s]
        return tuple(
            n
            for n in self.not_restarted(begin_s, end_s)
            if len({s.slowed_percent.get(n, 0.0) for s in spans}) == 1
        )

    def not_restarted(self, begin_s: float, end_s: float) -> tuple[int, ...]:
        """The OSDs with one process in all of that time, of which there are samples."""
        processes: dict[int, set[Optional[int]]] = {n: set() for n in self.osds}
        for _, samples in self.between(begin_s, end_s):
            for n, sample in samples.items():
                processes[n].add(None if sample is None else sample.nonce)
        return tuple(n for n in self.osds if len(processes[n]) == 1 and None not in processes[n])

    def done_to(self, osd: int, change_s: float) -> str:
        """The change that started then: "slower", "undone" or "nothing"."""
        was, now = (
            [s for s in self.spans if s.begin_s <= t][-1].slowed_percent.get(osd, 0.0)
            for t in (change_s - 1, change_s + 1)
        )
        return 'slower' if now > was else 'undone' if now < was else 'nothing'

    def write_iops(self, begin_s: float, end_s: float) -> Mapping[int, Optional[float]]:
        """Client writes per second of each OSD in the mean of that time."""
        found: dict[int, Optional[float]] = {}
        for n in self.osds:
            span = self._window(n, begin_s, end_s)
            found[n] = None if span is None or span.op_w is None else span.op_w / span.window_s
        return found

    def mean(self, osd: int, begin_s: float, end_s: float, signal: str) -> Optional[float]:
        """One signal of one OSD in all of that time."""
        found = measured(self._window(osd, begin_s, end_s), None, 1)
        value: Optional[float] = getattr(found, signal)
        return value

    def _window(self, osd: int, begin_s: float, end_s: float) -> Optional[Window]:
        known = [s for _, at in self.between(begin_s, end_s) if (s := at[osd]) is not None]
        return window(known[0], known[-1]) if len(known) > 1 else None


def read(path: Path) -> tuple[Recorded, dict[str, Any]]:
    document = json.loads(lzma.decompress(path.read_bytes()))
    recording = load_file(path)
    names = names_for(recording.release)
    osds = tuple(sorted({report.osd_id for report in recording.reports}))
    newest: dict[int, Sample] = {}
    looks = []
    pending = list(recording.reports)
    now_s = pending[0].time_s
    while pending:
        while pending and pending[0].time_s <= now_s:
            report = pending.pop(0)
            sample = take_sample(
                OneReport(report), report.osd_id, report.nonce, names, report.time_s
            )
            if sample is not None:
                newest[report.osd_id] = sample
        looks.append((now_s, {n: newest.get(n) for n in osds}))
        now_s += SAMPLE_INTERVAL_S
    spans = [
        Span(s['begin_s'], s['end_s'], {int(n): p for n, p in s['slowed_percent'].items()})
        for s in document['spans']
    ]
    return Recorded(osds, looks, spans), document


@dataclass(frozen=True)
class Case:
    """The subject of a trial: some OSDs compared with others, from when to when, and the truth."""

    changed: tuple[int, ...]
    controls: tuple[int, ...]
    before_s: float
    change_s: float
    end_s: float


@dataclass(frozen=True)
class Found:
    """A verdict, and how long after the change it came."""

    judgement: Judgement
    took_s: float
    #: Whether a soak would have ended with it; otherwise the recording did.
    over: bool

    @property
    def kind(self) -> str:
        verdict = self.judgement.verdict
        return 'better' if verdict is Verdict.BETTER else verdict.pass_or_fail


def soak(
    recorded: Recorded, case: Case, plan: SoakPlan, worsened: Optional[str] = None
) -> Optional[Found]:
    """The verdict on a case; None where the recording is too short for one.

    `worsened` is the signal that is made worse by `IMPOSED` after the change.
    """
    recorder = Recorder(Evidence('r1', 0, case.changed, case.controls, planned_block_s(plan)))
    osds = recorder.evidence.osds
    for now_s, samples in recorded.between(case.before_s, case.change_s):
        recorder.add(Part.BEFORE, {n: samples[n] for n in osds}, now_s)
    judgement: Optional[Judgement] = None
    over = False
    now_s = case.change_s
    for now_s, samples in recorded.between(case.change_s, case.end_s):
        if not recorder.add(Part.AFTER, {n: samples[n] for n in osds}, now_s):
            continue
        judgement = judge(_degraded(_whatever_was_flushed(recorder.evidence), worsened))
        soaked_s = len(recorder.evidence.after) * recorder.evidence.block_s
        over = ends_with(judgement, soaked_s, plan) is not None
        if over:
            break
    # One that fails does so before the others would count
    if judgement is None or case.end_s < case.change_s + limits().warm_up_s + plan.least_s:
        return None
    return Found(judgement, now_s - case.change_s, over)


def _whatever_was_flushed(evidence: Evidence) -> Evidence:
    """Most soaks here are too short for a flush; the question is whether noise misleads."""
    after = tuple(
        Block({n: one._replace(flushed=None) for n, one in block.by_osd.items()})
        for block in evidence.after
    )
    return replace(evidence, after=after)


def _degraded(evidence: Evidence, signal: Optional[str]) -> Evidence:
    if signal is None:
        return evidence

    def worse(block: Block, osd: int) -> Measured:
        one = block.of(osd)
        value = getattr(one, signal)
        return one if value is None else one._replace(**{signal: value * (1 + IMPOSED)})

    after = tuple(
        Block({**block.by_osd, **{n: worse(block, n) for n in evidence.changed}})
        for block in evidence.after
    )
    return replace(evidence, after=after)


def before_s(plan: SoakPlan) -> float:
    """So long that all blocks of the time before are complete, whenever it begins."""
    return least_soak_s(plan) + 2 * SAMPLE_INTERVAL_S


def after_s(plan: SoakPlan) -> float:
    """So long that all blocks of the longest soak are complete, whenever it begins."""
    return limits().warm_up_s + plan.most_s + 2 * SAMPLE_INTERVAL_S


@dataclass(frozen=True)
class Trial:
    """A trial as it was drawn before its window was recorded (see harness/trial_windows.py)."""

    #: One of `KINDS`.
    kind: str
    case: Case


def drawn(document: Mapping[str, Any]) -> tuple[SoakPlan, tuple[Trial, ...]]:
    """The trials of a window, none of which was chosen by what was counted."""
    declared = document['trials']
    plan = SoakPlan(*declared['soak_s'])
    calm, slow = document['spans']
    change_s = slow['begin_s']
    begin_s, end_s = change_s - before_s(plan), change_s + after_s(plan)
    if begin_s < calm['begin_s'] or end_s > slow['end_s']:
        raise ValueError(f'window {declared["number"]} is too short for its soak')
    trials = tuple(
        Trial(kind, Case((group[kind],), tuple(group['controls']), begin_s, change_s, end_s))
        for group in declared['groups']
        for kind in KINDS
    )
    _check_independent(trials)
    return plan, trials


def _check_independent(trials: Sequence[Trial]) -> None:
    """Raises ValueError if two trials of one kind share an OSD."""
    for kind in KINDS:
        of_kind = [trial.case for trial in trials if trial.kind == kind]
        used = [n for case in of_kind for n in (*case.changed, *case.controls)]
        if len(used) != len(set(used)):
            raise ValueError(f'trials of the kind {kind!r} share an OSD')


def void(recorded: Recorded, trial: Trial) -> Optional[str]:
    """Why the recording is not of the trial that was drawn; None: it is. Verdicts play no part."""
    case = trial.case
    still = set(recorded.not_restarted(case.before_s, case.end_s))
    gone = [n for n in (*case.changed, *case.controls) if n not in still]
    if gone:
        return f'restarted or without samples: osd.{gone[0]}'
    same = set(recorded.unchanged(case.before_s, case.end_s))
    wanted = same.union(case.changed) if trial.kind == 'slower' else same
    if not {*case.changed, *case.controls} <= wanted:
        return 'slowed down, but not drawn for it'
    if trial.kind == 'slower' and recorded.done_to(case.changed[0], case.change_s) != 'slower':
        return f'not slowed down: osd.{case.changed[0]}'
    return None


def moved(recorded: Recorded, case: Case) -> Mapping[str, Optional[float]]:
    """By how much of it each signal of the changed OSD rose beyond that of its controls.

    The means of all of the time before, and of all of the time after but the warm-up, whenever the
    verdict came.
    """
    found: dict[str, Optional[float]] = {}
    times_s = (
        (case.before_s, case.change_s),
        (case.change_s + limits().warm_up_s, case.end_s),
    )
    for signal in SIGNALS:
        ratios = {}
        for n in (*case.changed, *case.controls):
            before, after = (recorded.mean(n, begin, end, signal) for begin, end in times_s)
            if before and after:
                ratios[n] = after / before
        ours = [ratios[n] for n in case.changed if n in ratios]
        others = [ratios[n] for n in case.controls if n in ratios]
        found[signal] = median(ours) / median(others) - 1 if ours and others else None
    return found
