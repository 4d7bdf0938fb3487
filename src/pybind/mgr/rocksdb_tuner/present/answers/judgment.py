"""Verdicts on changes, and their measured effects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...judge.records import Effect, SignalVerdict, Verdict
from .notes import Among


@dataclass(frozen=True)
class Judged:
    """The verdict, as pass or fail and in detail."""

    verdict: Annotated[
        Optional[Annotated[str, Among(('pass', 'fail', 'inconclusive', 'no-data'))]],
        'Verdict; null: none, or not yet.',
    ]
    judged: Annotated[
        Optional[Verdict],
        'Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got '
        'worse; null: as for verdict.',
    ]


@dataclass(frozen=True)
class SignalEffect:
    """Effect of a change on one signal."""

    signal: Annotated[str, 'Name of the signal, as in knowledge/judged_signals.json.']
    effect: Annotated[Effect, 'Effect; "unclear": too little data.']
    change_percent: Annotated[
        Optional[float], 'Change of the OSD relative to its controls; null: unknown.'
    ]
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.']
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.']


def judged_of(verdict: Optional[Verdict]) -> Judged:
    return Judged(None if verdict is None else verdict.pass_or_fail, verdict)


def effects_of(signals: Iterable[SignalVerdict]) -> tuple[SignalEffect, ...]:
    return tuple(
        SignalEffect(one.name, one.effect, one.change_percent, one.low_percent, one.high_percent)
        for one in signals
    )
