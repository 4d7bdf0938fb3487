"""Resource usage of one option string relative to another, from the model of the tree. Pure."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Annotated, NamedTuple, Optional

from ..lsm.calibration import calibration
from ..lsm.cpu import cpu_change, kv_sync_change
from ..lsm.model import amplification_of
from ..lsm.records import Estimate, TreeModel
from ..workload.records import numbers
from .records import Resource
from .whatif.situation import Assumptions, Situation
from .whatif.tree import model_in, packed, packing_in

#: Half-width of an 80% interval in standard deviations.
_END = NormalDist().inv_cdf(0.9)
#: One-sided 80% bound in standard deviations.
_SURE = NormalDist().inv_cdf(0.8)


#: Meaning, unit and source: ``knowledge/choice.json``.
choice_thresholds = partial(numbers, 'choice')


class Usage(NamedTuple):
    """Effect of an option string on one resource."""

    resource: Annotated[Resource, 'The resource.']
    #: Usage after to before the change.
    ratio: Estimate

    @property
    def estimate_percent(
        self,
    ) -> Annotated[float, 'Change in use relative to the running options; negative is better.']:
        return 100 * (self.ratio.value - 1)

    @property
    def low_percent(self) -> Annotated[float, 'Lower end of the 80% interval.']:
        return 100 * (self.ratio.low - 1)

    @property
    def high_percent(self) -> Annotated[float, 'Upper end of the 80% interval.']:
        return 100 * (self.ratio.high - 1)


def at_most(ratio: Estimate) -> float:
    """Upper bound of the ratio with 80% probability."""
    return ratio.value * math.exp(_SURE * max(0.0, math.log(ratio.high / ratio.value)) / _END)


def fused(modeled: Estimate, published: float, deviation: float) -> Estimate:
    """Precision-weighted mean of the model and a published figure.

    ``deviation``: log standard deviation of published figures between clusters. Both sides of the
    model's interval are scaled separately.
    """
    down, up = (abs(math.log(end / modeled.value)) / _END for end in (modeled.low, modeled.high))
    # The model's error toward the figure.
    own = up if published > modeled.value else down
    middle = math.log(modeled.value)
    if own:
        middle += math.log(published / modeled.value) / (1 + (deviation / own) ** 2)
    low, high = (
        middle + sign * _END * side / math.hypot(1, side / deviation)
        for sign, side in ((-1, down), (1, up))
    )
    return Estimate(math.exp(low), math.exp(middle), math.exp(high))


def usages(options_from: str, options_to: str, situation: Situation) -> tuple[Usage, ...]:
    """Usage of each modeled resource; empty if either option string cannot be modeled."""
    return _usages(options_from, options_to, comparable(situation))


@lru_cache(maxsize=512)
def _usages(options_from: str, options_to: str, asked: Situation) -> tuple[Usage, ...]:
    before, after = trees(options_from, options_to, asked)
    if before is None or after is None:
        return ()
    wal = [tree.wal.device_bytes.value for tree in (before, after)]
    memory = [tree.memtables.bounded_bytes.value for tree in (before, after)]
    target = before.memtables.memory_target_bytes
    found = {
        Resource.KV_SYNC: kv_sync_change(
            before.column_families,
            after.column_families,
            calibration().inserts_of(asked.load.workload, thread_waits=asked.load.thread_waits),
        ),
        Resource.CORES: cpu_change(before, after),
        Resource.DB_DEVICE: _written(options_from, options_to, asked, before, after),
        Resource.DB_SPACE: _space(options_from, options_to, asked, before, after),
        Resource.WAL_SPACE: _certain(wal[1] / wal[0]) if asked.devices.dedicated_wal else None,
        # Including memtables, relative to `osd_memory_target`.
        Resource.MEMORY: _certain(max(0.01, 1 + (memory[1] - memory[0]) / target))
        if target
        else None,
    }
    return tuple(Usage(resource, ratio) for resource, ratio in found.items() if ratio is not None)


def trees(
    options_from: str, options_to: str, situation: Situation
) -> tuple[Optional[TreeModel], Optional[TreeModel]]:
    """Models of the same data, whose size depends on the compression."""
    situation = comparable(situation)
    before = tree_of(options_from, situation)
    if before is None:
        return None, tree_of(options_to, situation)
    try:
        return before, tree_of(options_to, packed(options_from, options_to, situation))
    except ValueError:
        return before, None


def comparable(situation: Situation) -> Situation:
    """Round the situation, so that small changes between ticks keep the cache valid."""
    load, held = situation.load, situation.objects
    objects = None if held is None else Estimate(*(_stepped(end) or 0.0 for end in held.ends))
    return replace(
        situation,
        load=replace(
            load,
            wal_bytes_per_s=None,
            data_bytes=_stepped(load.data_bytes),
            objects=_stepped(load.objects) if objects is None else objects.value,
            log_entries=_stepped(load.log_entries),
            written_ratio=_stepped(load.written_ratio) or 0.0,
        ),
        objects=objects,
        assumptions=Assumptions(),
    )


#: Ratio of rounding steps, small compared with the model's intervals.
_STEP = 1.15


def _stepped(value: Optional[float]) -> Optional[float]:
    if not value:
        return value
    return float(f'{_STEP ** round(math.log(value, _STEP)):.6g}')


@lru_cache(maxsize=512)
def tree_of(options: str, situation: Situation) -> Optional[TreeModel]:
    """None for options without levels, or with which no OSD starts."""
    try:
        return model_in(situation, options)
    except ValueError:
        return None


def _written(
    options_from: str,
    options_to: str,
    situation: Situation,
    before: TreeModel,
    after: TreeModel,
) -> Optional[Estimate]:
    """Device bytes per WAL byte; the WAL itself is unchanged."""
    if situation.load.data_bytes is None:
        # The model's assumption would differ between two option strings.
        return None
    pairs = [(before.amplification, after.amplification)]
    for asked in situation.interval_ends:
        new = packed(options_from, options_to, asked).tree_inputs(options_to)
        pairs.append((amplification_of(asked.tree_inputs(options_from)), amplification_of(new)))
    ratios = [
        new.write.value / old.write.value
        for old, new in pairs
        if old.write is not None and new.write is not None
    ]
    if len(ratios) < len(pairs):
        return None
    quantity = calibration().quantities['write_amplification_change']
    low, high = quantity.around(min(ratios)).low, quantity.around(max(ratios)).high
    return Estimate(low, ratios[0], high)


def _space(
    options_from: str,
    options_to: str,
    situation: Situation,
    before: TreeModel,
    after: TreeModel,
) -> Optional[Estimate]:
    """SST files, and WAL files if they are on the same device."""
    data_bytes, wal = situation.load.data_bytes, [t.wal.device_bytes.value for t in (before, after)]
    spaces = before.amplification.space, after.amplification.space
    ratio = packing_in(situation, options_from, options_to)
    if ratio is None or spaces[0] is None or spaces[1] is None:
        return None
    reach = 1.0 if ratio == 1 else math.exp(_END * choice_thresholds().packing_deviation)
    packed = Estimate(ratio / reach, ratio, ratio * reach)
    if data_bytes is None:
        # The shares of level 0 and the WAL are unknown; compression applies to all data.
        return None if ratio == 1 else packed
    stale = spaces[1].value / spaces[0].value
    # The error from level 0 and stale data is as large as their effect.
    error = math.exp(abs(math.log(stale)))
    ends = (packed.low * stale / error, ratio * stale, packed.high * stale * error)
    if situation.devices.dedicated_wal:
        return Estimate(*ends)
    whole = data_bytes + wal[0]
    return Estimate(*((data_bytes * part + wal[1]) / whole for part in ends))


def _certain(ratio: float) -> Estimate:
    """For sizes that depend on the options alone."""
    return Estimate(ratio, ratio, ratio)
