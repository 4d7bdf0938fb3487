"""What changes did, and what was judged of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...judge.records import Effect, SignalVerdict, Verdict
from .notes import Among


@dataclass(frozen=True)
class Judged:
    """A verdict in the words of the contract, and beside them what was judged."""

    verdict: Annotated[
        Optional[Annotated[str, Among(('pass', 'fail', 'inconclusive', 'no-data'))]],
        'null: nothing was judged, or not yet.',
    ]
    judged: Annotated[
        Optional[Verdict],
        'What was judged: "better" where what was predicted improved, "no-worse" where nothing got '
        'worse and that is all; null: as for verdict.',
    ]


@dataclass(frozen=True)
class SignalEffect:
    """What a change did to one signal."""

    signal: Annotated[str, 'A name of knowledge/judged_signals.json.']
    effect: Annotated[Effect, '"unclear": there is too little data.']
    change_percent: Annotated[
        Optional[float], 'By how much more than its controls the OSD moved; null: not known.'
    ]
    low_percent: Annotated[Optional[float], 'The interval of that; null: the data do not bound it.']
    high_percent: Annotated[Optional[float], 'The other end of the interval.']


def judged_of(verdict: Optional[Verdict]) -> Judged:
    return Judged(None if verdict is None else verdict.pass_or_fail, verdict)


def effects_of(signals: Iterable[SignalVerdict]) -> tuple[SignalEffect, ...]:
    return tuple(
        SignalEffect(one.name, one.effect, one.change_percent, one.low_percent, one.high_percent)
        for one in signals
    )
