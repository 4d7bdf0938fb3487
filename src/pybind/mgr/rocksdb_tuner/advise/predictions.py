"""Model predictions of a recommendation. Pure."""

from __future__ import annotations

from typing import Mapping, Optional

from ..lsm.records import Estimate
from .case import Case
from .effect import Change, kv_sync_prediction, prediction_of, space_prediction
from .experimented import measured_effect, measured_usage, prediction_from
from .records import Prediction, Resource
from .usage import at_most


def relief(expected: Mapping[Resource, Estimate], case: Case) -> Optional[Estimate]:
    """Expected kv_sync time if the kv_sync thread is the limit, or clearly gains."""
    ratio = expected.get(Resource.KV_SYNC)
    if ratio is None or round(ratio.value, 2) == 1:
        return None
    limits = case.limit.resource is Resource.KV_SYNC
    return ratio if limits or _is_gain(ratio, case) else None


def _is_gain(ratio: Estimate, case: Case) -> bool:
    return at_most(ratio) <= 1 - case.bars.min_gain


def predictions_of(
    expected: Mapping[Resource, Estimate],
    change: Optional[Change],
    case: Case,
    options: str,
) -> tuple[Prediction, ...]:
    """The predictions, a measured one or the limiting resource first."""
    kv_sync, space = relief(expected, case), expected.get(Resource.DB_SPACE)
    measured = measured_effect(case, case.running, options)
    found = [] if measured is None else [prediction_from(measured)]
    if kv_sync is not None and Resource.KV_SYNC not in measured_usage(case, case.running, options):
        found.append(kv_sync_prediction(kv_sync))
    found += [] if change is None else [prediction_of(change)]
    if space is not None and _is_gain(space, case):
        found.append(space_prediction(space))
    return tuple(found)
