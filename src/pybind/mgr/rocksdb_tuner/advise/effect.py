"""What the model predicts of a change of the options. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

from ..lsm.calibration import calibration
from ..lsm.records import Estimate
from .records import Prediction, Reason
from .whatif.situation import Situation
from .whatif.tree import model_in, packed

__all__ = [
    'Change',
    'kv_sync_prediction',
    'kv_sync_reason',
    'predicted_write_amplification',
    'prediction_of',
    'reason_of',
    'space_prediction',
]

_METRIC = 'write amplification of RocksDB'
_BASIS = (
    'The model of the tree ("ceph rocksdb-tuner model"); the change from one option set '
    'to another was within this interval in 80% of the comparisons with real OSDs.'
)


@dataclass(frozen=True)
class Change:
    """Write amplification under the options that run, and under others."""

    before: Estimate
    after: Estimate
    #: After over before; closer than the ends of both: what is wrong of both falls out.
    ratio: Estimate

    @property
    def is_worse(self) -> bool:
        """Beyond what the interval leaves open."""
        return self.ratio.low > 1.0

    @property
    def is_better(self) -> bool:
        """Beyond what the interval leaves open."""
        return self.ratio.high < 1.0


def predicted_write_amplification(
    options_from: str, options_to: str, situation: Situation
) -> Optional[Change]:
    """Before and after, with the data that there is.

    None where the workload was not measured, the size of the database is not known (what the model
    assumes then differs between two option sets), or there is no model of one of them.
    """
    data_bytes = situation.load.data_bytes
    if data_bytes is None:
        return None
    # What is written now is no part of it, and 0.5% of the data is nothing to the model: with that
    # left out, what was answered at the tick before mostly holds.
    load = replace(situation.load, wal_bytes_per_s=None, data_bytes=float(f'{data_bytes:.3g}'))
    return _remembered(options_from, options_to, replace(situation, load=load))


@lru_cache(maxsize=64)
def _remembered(options_from: str, options_to: str, situation: Situation) -> Optional[Change]:
    try:
        pairs = [
            (
                _written(options_from, other),
                _written(options_to, packed(options_from, options_to, other)),
            )
            for other in (situation, *_ends(situation))
        ]
    except ValueError:
        # Of a workload that was not measured, or a string that is refused or makes no levels.
        return None
    quantity = calibration().quantities['write_amplification_change']
    ratios = [after.value / before.value for before, after in pairs]
    least, most = quantity.around(min(ratios)), quantity.around(max(ratios))
    return Change(*pairs[0], Estimate(least.low, ratios[0], most.high))


class _NotPredictedError(ValueError):
    """The workload was not measured."""


def _written(options: str, situation: Situation) -> Estimate:
    write = model_in(situation, options).amplification.write
    if write is None:
        raise _NotPredictedError
    return write


def _ends(situation: Situation) -> tuple[Situation, ...]:
    """The same with as few and as many objects written to as what was measured leaves open."""
    held = situation.working_set.fitted if situation.working_set else None
    if held is None:
        return ()
    return tuple(
        replace(situation, load=replace(situation.load, objects=objects))
        for objects in (held.low, held.high)
    )


def kv_sync_reason(ratio: Estimate) -> Reason:
    """What inserts into memtables cost the kv_sync thread, before and after."""
    return Reason(
        'The model predicts that the kv_sync thread takes '
        f'{_percent(ratio.value - 1)} time for a write ({_signed(ratio.low - 1)} to '
        f'{_signed(ratio.high - 1)}).',
        'model',
    )


def kv_sync_prediction(ratio: Estimate) -> Prediction:
    """The same in percent; the thread is as much less busy with the same writes."""
    return Prediction(
        metric='kv_sync thread time per write',
        signal='kv_sync_busy',
        estimate_percent=(ratio.value - 1) * 100,
        low_percent=(ratio.low - 1) * 100,
        high_percent=(ratio.high - 1) * 100,
        basis=(
            'The model of inserts into memtables ("ceph rocksdb-tuner model"), which gives the '
            'published IOPS of other memtables within 4%.'
        ),
    )


def space_prediction(ratio: Estimate) -> Prediction:
    """Of what RocksDB takes once compactions have written anew what is there."""
    return Prediction(
        metric='space taken by RocksDB',
        signal='db_used_bytes',
        estimate_percent=(ratio.value - 1) * 100,
        low_percent=(ratio.low - 1) * 100,
        high_percent=(ratio.high - 1) * 100,
        basis=(
            'The model of the tree ("ceph rocksdb-tuner model"), of the data that there is once '
            'compactions have rewritten all of it.'
        ),
    )


def _percent(change: float) -> str:
    return f'{abs(change):.0%} {"less" if change < 0 else "more"}'


def _signed(change: float) -> str:
    return f'{change:+.0%}'


def reason_of(change: Change) -> Reason:
    """A difference that the interval does not bear out is said to be none."""
    alike = not change.is_worse and not change.is_better
    return Reason(
        f'The model predicts a {_METRIC} of {_words(change.after)} instead of '
        f'{_words(change.before)}' + (': too close for it to tell apart.' if alike else '.'),
        'model',
    )


def _words(estimate: Estimate) -> str:
    return f'{estimate.value:.1f} ({estimate.low:.1f} to {estimate.high:.1f})'


def prediction_of(change: Change) -> Prediction:
    """The change in percent."""
    return Prediction(
        metric=_METRIC,
        signal='db_write_amp',
        estimate_percent=(change.ratio.value - 1) * 100,
        low_percent=(change.ratio.low - 1) * 100,
        high_percent=(change.ratio.high - 1) * 100,
        basis=_BASIS,
    )
