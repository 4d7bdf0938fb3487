"""Model predictions of a recommendation. Pure."""

from __future__ import annotations

from typing import Mapping, Optional

from ..lsm.records import Estimate
from .case import Case
from .effect import Change, kv_sync_prediction, prediction_of, space_prediction
from .experimented import measured_effect, measured_usage, prediction_from
from .records import Prediction, Resource
from .weighing import Weighing


def relief(expected: Mapping[Resource, Estimate], case: Case) -> Optional[Estimate]:
    """Expected kv_sync time if the kv_sync thread is the limit."""
    ratio = expected.get(Resource.KV_SYNC)
    if case.limit.resource is not Resource.KV_SYNC or ratio is None:
        return None
    return None if round(ratio.value, 2) == 1 else ratio


def predictions_of(
    expected: Mapping[Resource, Estimate],
    change: Optional[Change],
    case: Case,
    weighed: Optional[Weighing],
    options: str,
) -> tuple[Prediction, ...]:
    """The predictions, a measured one or the limiting resource first."""
    kv_sync, space = relief(expected, case), expected.get(Resource.DB_SPACE)
    measured = measured_effect(case, case.running, options)
    found = [] if measured is None else [prediction_from(measured)]
    if kv_sync is not None and Resource.KV_SYNC not in measured_usage(case, case.running, options):
        found.append(kv_sync_prediction(kv_sync))
    found += [] if change is None else [prediction_of(change)]
    if weighed is not None and weighed.resource is Resource.DB_SPACE and space is not None:
        found.append(space_prediction(space))
    return tuple(found)
