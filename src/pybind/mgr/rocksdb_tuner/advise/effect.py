"""What the model predicts of a change of the options. Pure."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Optional

from ..lsm.records import Estimate
from .records import Prediction, Reason
from .situation import Situation
from .tree import model_in

__all__ = [
    'is_better',
    'is_worse',
    'predicted_write_amplification',
    'prediction_of',
    'reason_of',
]

_METRIC = 'write amplification of RocksDB'
_BASIS = (
    'The model of the tree ("ceph rocksdb-tuner model"); each of its values holds within its '
    'interval in 80 % of the comparisons with real OSDs.'
)


def predicted_write_amplification(
    options_from: str, options_to: str, situation: Situation
) -> Optional[tuple[Estimate, Estimate]]:
    """Before and after, with the data that there is.

    None where the workload was not measured, the size of the database is not known (what the model
    assumes then differs between two option sets), or there is no model of one of them.
    """
    data_bytes = situation.load.data_bytes
    if data_bytes is None:
        return None
    # What is written now is no part of it, and 0.5 % of the data is nothing to the model: with that
    # left out, what was answered at the tick before mostly holds.
    load = replace(situation.load, wal_bytes_per_s=None, data_bytes=float(f'{data_bytes:.3g}'))
    return _remembered(options_from, options_to, replace(situation, load=load))


@lru_cache(maxsize=64)
def _remembered(
    options_from: str, options_to: str, situation: Situation
) -> Optional[tuple[Estimate, Estimate]]:
    try:
        before, after = (
            model_in(situation, options).amplification.write
            for options in (options_from, options_to)
        )
    except ValueError:
        # Of a string that is refused, or makes no levels.
        return None
    return None if before is None or after is None else (before, after)


def is_worse(change: tuple[Estimate, Estimate]) -> bool:
    """Beyond what the intervals of both leave open."""
    before, after = change
    return after.low > before.high


def is_better(change: tuple[Estimate, Estimate]) -> bool:
    """Beyond what the intervals of both leave open."""
    before, after = change
    return after.high < before.low


def reason_of(change: tuple[Estimate, Estimate]) -> Reason:
    """A difference that the intervals of both do not bear out is said to be none."""
    before, after = change
    alike = not is_worse(change) and not is_better(change)
    return Reason(
        f'The model predicts a {_METRIC} of {_words(after)} instead of {_words(before)}'
        + (': too close for it to tell apart.' if alike else '.'),
        'model',
    )


def _words(estimate: Estimate) -> str:
    return f'{estimate.value:.1f} ({estimate.low:.1f} to {estimate.high:.1f})'


def prediction_of(change: tuple[Estimate, Estimate]) -> Prediction:
    """The change in percent, from the best that both intervals leave to the worst."""
    before, after = change
    return Prediction(
        metric=_METRIC,
        low_percent=(after.low / before.high - 1) * 100,
        high_percent=(after.high / before.low - 1) * 100,
        basis=_BASIS,
    )
