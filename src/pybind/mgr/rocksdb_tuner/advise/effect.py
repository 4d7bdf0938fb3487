"""Model predictions for a change of options. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

from ..lsm.calibration import calibration
from ..lsm.records import Estimate
from .records import Prediction, Reason
from .whatif.situation import Situation
from .whatif.tree import model_in, packed

_METRIC = 'write amplification of RocksDB'
_BASIS = (
    'The model of the tree ("ceph rocksdb-tuner model"); the change from one option string to '
    'another was within this interval in 80% of the comparisons with real OSDs.'
)


@dataclass(frozen=True)
class Change:
    """Write amplification before and after a change of options."""

    before: Estimate
    after: Estimate
    #: After over before; narrower than the two intervals, since common errors cancel out.
    ratio: Estimate

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval is worse."""
        return self.ratio.low > 1.0

    @property
    def is_better(self) -> bool:
        """Whether the whole interval is better."""
        return self.ratio.high < 1.0


def predicted_write_amplification(
    options_from: str, options_to: str, situation: Situation
) -> Optional[Change]:
    """Write amplification before and after, for the current data.

    None if the workload has no model, the database size is unknown (the model's assumption would
    differ between two option strings), or either option string cannot be modeled.
    """
    data_bytes = situation.load.data_bytes
    if data_bytes is None:
        return None
    # Normalized for the cache: the write rate has no effect, nor have 0.5% of the data.
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
            for other in (situation, *situation.interval_ends)
        ]
    except ValueError:
        # A workload without a model, or a string that is invalid or has no levels.
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


def kv_sync_prediction(ratio: Estimate) -> Prediction:
    """For equal writes, the load of the kv_sync thread changes by the same share."""
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
    """Change of RocksDB's space once compactions have rewritten all data."""
    return Prediction(
        metric='space taken by RocksDB',
        signal='db_used_bytes',
        estimate_percent=(ratio.value - 1) * 100,
        low_percent=(ratio.low - 1) * 100,
        high_percent=(ratio.high - 1) * 100,
        basis=(
            'The model of the tree ("ceph rocksdb-tuner model"), for the present data once '
            'compactions have rewritten all of it.'
        ),
    )


def reason_of(change: Change) -> Reason:
    """The predicted change, marked as none if the interval includes 1."""
    alike = not change.is_worse and not change.is_better
    return Reason(
        f'The model predicts a {_METRIC} of {_words(change.after)} instead of '
        f'{_words(change.before)}' + (': too close for it to tell apart.' if alike else '.'),
        'model',
    )


def _words(estimate: Estimate) -> str:
    return f'{estimate.value:.1f} ({estimate.low:.1f} to {estimate.high:.1f})'


def prediction_of(change: Change) -> Prediction:
    return Prediction(
        metric=_METRIC,
        signal='db_write_amp',
        estimate_percent=(change.ratio.value - 1) * 100,
        low_percent=(change.ratio.low - 1) * 100,
        high_percent=(change.ratio.high - 1) * 100,
        basis=_BASIS,
    )
