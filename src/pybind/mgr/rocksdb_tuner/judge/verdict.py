"""Verdict on a change: do the changed OSDs perform better or worse? Pure, no I/O, no clock.

Difference in differences: the changed OSDs (the canary, later a batch) against their controls,
before against after the change. The comparison is block by block, so that common influences (more
clients, a busy network) cancel out. All values are logarithms: a shift of 0.1 is about 10%.

A verdict waits for precision, not for a result: it is reached once the interval of every required
signal is narrow enough to distinguish a worsening of `detects` from none. Repeated evaluation
therefore does not raise the error rate, as stopping at the first significant result would.
`qa/bench/bench_verdict.py` measures the rates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median, variance
from typing import Optional

from ..units import format_change, format_effect
from .evidence import Block, Evidence, logarithms
from .records import Effect, Judgement, SignalVerdict, Verdict
from .signals import JudgedSignal, judged_signals, limits, signal_named
from .statistics import chance_of_as_many, percent, shift


def harmless(signals: Sequence[SignalVerdict], promised: Optional[str] = None) -> Verdict:
    """The verdict when no signal got worse: better if the ``promised`` signal improved.

    ``promised`` None: any required signal. An improvement has to exceed the signal's tolerance; a
    sufficiently precise interval beyond it does not contain 0.
    """
    gains = {s.name for s in judged_signals() if s.required} if promised is None else {promised}
    better = any(s.effect is Effect.BETTER and s.name in gains for s in signals)
    return Verdict.BETTER if better else Verdict.NO_WORSE


def in_words(judgement: Judgement) -> str:
    """One line: the verdict, its cause and every compared signal."""
    parts = [judgement.cause] if judgement.cause is not None else []
    parts += measured_in_words(judgement)
    return judgement.verdict.words + (': ' + ', '.join(parts) if parts else '')


def measured_in_words(judgement: Judgement) -> list[str]:
    """The change of every compared signal."""
    title = {signal.name: signal.title for signal in judged_signals()}
    changes = []
    for found in judgement.signals:
        if found.change_percent is not None:
            low, high = found.low_percent, found.high_percent
            change = (
                format_change(found.change_percent)
                if low is None or high is None
                else format_effect(found.change_percent, low, high)
            )
            changes.append(f'{title.get(found.name, found.name)} {change}')
    return changes


def too_few_controls(found: int) -> Judgement:
    return Judgement(
        Verdict.INCONCLUSIVE,
        missing=(f'{limits().least_controls} controls, found {found}',),
        cause=f'not judged: {"too few" if found else "no"} controls',
    )


def judge(evidence: Evidence, among: int = 1, promised: Optional[str] = None) -> Judgement:
    """The verdict on the evidence so far, one of ``among`` that share the error rate.

    ``promised`` is the signal with the expected gain, which has to be as precise as the required
    signals. None: no expected gain, or not in a judged signal.
    """
    if len(evidence.controls) < limits().least_controls:
        return too_few_controls(len(evidence.controls))
    judged = [_judge_signal(signal, evidence, among) for signal in judged_signals()]
    signals = tuple(signal for signal, _ in judged)
    if any(signal.effect is Effect.WORSE for signal in signals):
        return Judgement(Verdict.WORSE, signals)
    missing = tuple(
        f'{signal.title}: {lack}'
        for signal, (_, lack) in zip(judged_signals(), judged)
        if (signal.required or signal.name == promised) and lack is not None
    )
    if not missing:
        unflushed = _nothing_flushed(evidence)
        if unflushed is not None:
            return Judgement(Verdict.NO_DATA, signals, (_A_FLUSH,), unflushed)
        return Judgement(harmless(signals, promised), signals)
    known = any(
        found.change_percent is not None
        for signal, found in zip(judged_signals(), signals)
        if signal.required
    )
    return Judgement(Verdict.INCONCLUSIVE if known else Verdict.NO_DATA, signals, missing)


#: For `Judgement.missing`.
_A_FLUSH = 'a memtable flush: until then the new options have no effect'


def _nothing_flushed(evidence: Evidence) -> Optional[str]:
    """A note if the counters show that no changed OSD wrote an SST file since its restart."""
    written = [
        value
        for block in evidence.after
        for n in evidence.changed
        for value in [block.of(n).flushed]
        if value is not None
    ]
    if not written or any(written):
        return None
    found = ', '.join(f'osd.{n}' for n in evidence.changed)
    return f'{found} flushed nothing to SST files during the soak'


def _judge_signal(
    signal: JudgedSignal, evidence: Evidence, among: int
) -> tuple[SignalVerdict, Optional[str]]:
    """The effect on one signal, and the data that it still needs."""
    if signal.kind == 'events':
        return slow_events(signal, evidence, limits().event_error_rate / among), None
    least = limits()
    series = _series(signal.name, evidence)
    if len(series.controls) < least.least_controls or not series.changed:
        found = (f'osd.{n} ({before} before, {after} after)' for n, before, after in series.short)
        return (
            SignalVerdict(signal.name, Effect.UNCLEAR),
            (
                f'at least {least.least_writes} writes in each of {least.least_blocks} spans of '
                f'{evidence.block_s:.0f} s, before and after the change; found: '
                f'{", ".join(found)}'
            ),
        )
    before, after = series.differences
    if min(len(before), len(after)) < least.least_blocks:
        return (
            SignalVerdict(signal.name, Effect.UNCLEAR),
            (
                f'{least.least_blocks} spans of {evidence.block_s:.0f} s with writes to changed '
                f'OSDs and controls; before: {len(before)}, after: {len(after)}'
            ),
        )
    estimate, half_width = (
        _level(series) if signal.kind == 'level' else _ratio(series, _quantile(among))
    )
    lack = None
    if half_width is None or half_width > signal.precision:
        width = 'unbounded' if half_width is None else f'{percent(half_width):.0f}%'
        lack = (
            f'precision: the uncertainty is {width}, at most '
            f'{percent(signal.precision):.0f}% is allowed'
        )
    effect = _effect(signal, estimate, half_width)
    return SignalVerdict.of(signal.name, effect, estimate, half_width), lack


def _effect(signal: JudgedSignal, estimate: float, half_width: Optional[float]) -> Effect:
    tolerated = math.log1p(signal.tolerance)
    if half_width is None:
        return Effect.UNCLEAR
    # An interval that lies beyond the tolerance need not be narrow.
    certain = half_width if half_width > signal.precision else 0.0
    if estimate - certain > tolerated:
        return Effect.WORSE
    if estimate + certain < -tolerated:
        return Effect.BETTER
    return Effect.UNCLEAR if certain else Effect.SAME


def slow_events(signal: JudgedSignal, evidence: Evidence, rate: float) -> SignalVerdict:
    """Share of blocks with slow events, against before the change and against the controls.

    Both are needed: events on all OSDs are not due to the change, nor are events from before it.
    """
    before, after = (
        _with_events(signal.name, evidence.changed, part)
        for part in (evidence.before, evidence.after)
    )
    controls = _with_events(signal.name, evidence.controls, evidence.after)
    if min(before[1], after[1], controls[1]) < limits().least_blocks:
        return SignalVerdict(signal.name, Effect.UNCLEAR)
    share = after[0] / after[1]
    others = [found / of for found, of in (before, controls)]
    effect = Effect.SAME
    if share - max(others) > signal.tolerance and all(
        chance_of_as_many(*after, *other) <= rate for other in (before, controls)
    ):
        effect = Effect.WORSE
    elif min(others) - share > signal.tolerance and all(
        chance_of_as_many(*other, *after) <= rate for other in (before, controls)
    ):
        effect = Effect.BETTER
    # Relative to the nearer of the two references; 0 between them.
    change = share - min(max(share, min(others)), max(others))
    return SignalVerdict(signal.name, effect, change * 100)


#: Blocks with events, all blocks.
_Count = tuple[int, int]


def _with_events(name: str, osd_ids: Sequence[int], blocks: Sequence[Block]) -> _Count:
    values = (getattr(block.of(n), name) for block in blocks for n in osd_ids)
    known = [value for value in values if value is not None]
    return sum(value > 0 for value in known), len(known)


def _quantile(among: int) -> float:
    """Each signal of each verdict gets an equal share of the error rate left by events."""
    kinds = [signal.kind == 'events' for signal in judged_signals()]
    left = limits().error_rate - sum(kinds) * limits().event_error_rate
    return NormalDist().inv_cdf(1 - left / (len(kinds) - sum(kinds)) / among)


def _ratio(series: _Series, z: float) -> tuple[float, Optional[float]]:
    """Shift of the changed OSDs, with an interval that includes the controls' own divergence."""
    estimate, half_width = shift(*series.differences, z)
    if half_width is None:
        return estimate, None
    moved = [median(last) - median(first) for first, last in series.controls]
    between = variance(moved) * (1 / len(series.changed) + 1 / len(moved))
    within = (half_width / z) ** 2
    prior = limits().prior_controls
    free = len(moved) - 1
    pooled = (prior * within + free * between) / (prior + free)
    return estimate, z * math.sqrt(max(within, pooled))


def _level(series: _Series) -> tuple[float, Optional[float]]:
    """Rise of the changed OSDs relative to the controls, with twice the controls' spread."""
    rises = [_rise(*control) for control in series.controls]
    middle = median(rises)
    spread = max(abs(value - middle) for value in rises)
    return median(_rise(*osd) for osd in series.changed) - middle, 2 * spread


def _rise(before: Sequence[float], after: Sequence[float]) -> float:
    middle = len(after) // 2
    return median(after[middle:]) - median(before)


#: Values before and after the change.
_Pair = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class _Series:
    """One signal of the OSDs with enough blocks, in logarithms."""

    #: Empty if fewer than half of the changed OSDs have enough blocks.
    changed: tuple[_Pair, ...]
    controls: tuple[_Pair, ...]
    #: OSDs with too few blocks, and their blocks before and after.
    short: tuple[tuple[int, int, int], ...]
    #: Median of the changed OSDs less the controls' median, for each block with enough of both.
    differences: _Pair


def _series(name: str, evidence: Evidence) -> _Series:
    osds = evidence.osds
    before, after = (_values(name, osds, part) for part in (evidence.before, evidence.after))
    enough = limits().least_blocks
    known = [n for n in osds if len(before[n]) >= enough and len(after[n]) >= enough]
    pairs = {n: (tuple(before[n].values()), tuple(after[n].values())) for n in known}
    # Relative to its own baseline, so that missing blocks of a control do not shift the median.
    own = {n: median(before[n].values()) for n in known}
    controls = [n for n in known if n in evidence.controls]
    changed = [n for n in known if n not in evidence.controls]
    if 2 * len(changed) < len(evidence.changed):
        changed = []

    def differences(values: Mapping[int, Mapping[int, float]], blocks: int) -> tuple[float, ...]:
        found = []
        for block in range(blocks):
            ours = [values[n][block] - own[n] for n in changed if block in values[n]]
            others = [values[n][block] - own[n] for n in controls if block in values[n]]
            enough_of_ours = ours and 2 * len(ours) >= len(evidence.changed)
            if enough_of_ours and len(others) >= limits().least_controls:
                found.append(median(ours) - median(others))
        return tuple(found)

    return _Series(
        changed=tuple(pairs[n] for n in changed),
        controls=tuple(pairs[n] for n in controls),
        short=tuple((n, len(before[n]), len(after[n])) for n in osds if n not in known),
        differences=(
            differences(before, len(evidence.before)),
            differences(after, len(evidence.after)),
        ),
    )


def _values(
    name: str, osds: Sequence[int], blocks: Sequence[Block]
) -> Mapping[int, Mapping[int, float]]:
    """Logarithms of each OSD by block number."""
    found = [logarithms(signal_named(name), block) for block in blocks]
    return {n: {i: known[n] for i, known in enumerate(found) if n in known} for n in osds}
