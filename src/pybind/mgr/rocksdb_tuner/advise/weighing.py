"""Choice among candidate option strings by their expected effect. Pure.

The model of the tree gives the usage of each resource relative to the running options. A candidate
qualifies if it saves `Bars.min_gain` of any resource and uses no other resource more by
`Bars.max_loss`, both with 80% probability. The best-tested of these is chosen, the default of later
releases first, unless another one qualifies in its place, or the kv_sync thread limits the clients
and another published one relieves it more: OSDs restart once in either case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Annotated, NamedTuple, Optional

from ..lsm.calibration import calibration
from ..lsm.cpu import cpu_change, kv_sync_change
from ..lsm.model import amplification_of
from ..lsm.records import Estimate, TreeModel
from ..notes import InPlace, Named
from ..units import format_effect
from ..workload.records import numbers
from .records import Decision, Recommendation, Resource
from .whatif.situation import Assumptions, Situation
from .whatif.tree import packed, packing_in, tree_of

#: Half-width of an 80% interval in standard deviations.
_END = NormalDist().inv_cdf(0.9)
#: One-sided 80% bound in standard deviations.
_SURE = NormalDist().inv_cdf(0.8)
#: Names of the resources' usage, for use with a percentage.
RESOURCES = {
    Resource.KV_SYNC: 'kv_sync thread time per write',
    Resource.CORES: 'RocksDB CPU time per write',
    Resource.DB_DEVICE: 'RocksDB write volume per write',
    Resource.DB_SPACE: 'space taken by RocksDB',
    Resource.WAL_SPACE: 'space taken by the WAL',
    Resource.MEMORY: 'memory including memtables',
}
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

    @property
    def at_most(self) -> float:
        """Upper bound of the ratio with 80% probability."""
        value, high = self.ratio.value, self.ratio.high
        return value * math.exp(_SURE * max(0.0, math.log(high / value)) / _END)

    @property
    def effect(self) -> str:
        """ "-29% (-35 to -21%)" """
        return format_effect(self.estimate_percent, self.low_percent, self.high_percent)

    @property
    def change(self) -> str:
        """ "The space taken by RocksDB changes by -29% (-35 to -21%)" """
        return f'The {RESOURCES[self.resource]} changes by {self.effect}'


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
    if before is not None:
        try:
            situation = packed(options_from, options_to, situation)
        except ValueError:
            return before, None
    return before, tree_of(options_to, situation)


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
    return float(f'{_STEP ** round(math.log(value, _STEP)):.6g}') if value else value


def _written(
    options_from: str, options_to: str, situation: Situation, before: TreeModel, after: TreeModel
) -> Optional[Estimate]:
    """Device bytes per WAL byte; the WAL itself is unchanged."""
    if situation.load.data_bytes is None:
        # The model's assumption would differ between two option strings.
        return None
    pairs = [(before.amplification, after.amplification)]
    for asked in situation.interval_ends:
        new = packed(options_from, options_to, asked).tree_inputs(options_to)
        pairs.append((amplification_of(asked.tree_inputs(options_from)), amplification_of(new)))
    ratios = [n.write.value / o.write.value for o, n in pairs if o.write and n.write]
    if len(ratios) < len(pairs):
        return None
    quantity = calibration().quantities['write_amplification_change']
    low, high = quantity.around(min(ratios)).low, quantity.around(max(ratios)).high
    return Estimate(low, ratios[0], high)


def _space(
    options_from: str, options_to: str, situation: Situation, before: TreeModel, after: TreeModel
) -> Optional[Estimate]:
    """SST files, and WAL files if they are on the same device."""
    data_bytes, spaces = situation.load.data_bytes, (before.amplification, after.amplification)
    ratio, (old, new) = packing_in(situation, options_from, options_to), (a.space for a in spaces)
    if ratio is None or old is None or new is None:
        return None
    reach = 1.0 if ratio == 1 else math.exp(_END * choice_thresholds().packing_deviation)
    if data_bytes is None:
        # The shares of level 0 and the WAL are unknown; compression applies to all data.
        return None if ratio == 1 else Estimate(ratio / reach, ratio, ratio * reach)
    stale = new.value / old.value
    # The error from level 0 and stale data is as large as their effect.
    reach *= math.exp(abs(math.log(stale)))
    ends = [ratio * stale / reach, ratio * stale, ratio * stale * reach]
    if not situation.devices.dedicated_wal:
        logs = [tree.wal.device_bytes.value for tree in (before, after)]
        ends = [(data_bytes * part + logs[1]) / (data_bytes + logs[0]) for part in ends]
    return Estimate(*ends)


def _certain(ratio: float) -> Estimate:
    """For sizes that depend on the options alone."""
    return Estimate(ratio, ratio, ratio)


class Origin(str, Enum):
    """Origin of a candidate, the best-tested first."""

    RUNNING = 'running'
    #: The default of later releases.
    SUCCESSOR = 'successor'
    DEFAULT = 'default'
    PROFILE = 'profile'
    DERIVED = 'derived'


_PREFERENCE = tuple(Origin)


@dataclass(frozen=True)
class Bars:
    """Required gain and allowed loss of a change, as shares."""

    min_gain: Annotated[float, 'Minimum saving of a resource, with 80% probability.'] = field(
        default_factory=lambda: choice_thresholds().min_gain
    )
    max_loss: Annotated[
        float, 'Maximum additional use of any other resource, with 80% probability.'
    ] = field(default_factory=lambda: choice_thresholds().max_loss)
    plenty: Annotated[
        frozenset[Resource],
        Named('unconstrained'),
        'Resources that may be plentiful: higher usage is reported but allowed.',
    ] = frozenset()
    #: Resources of which a saving alone is no gain.
    no_gain: frozenset[Resource] = frozenset()


def bars_of(limits: Mapping[str, float]) -> Bars:
    """Bars from the module options, or their defaults."""
    return Bars(limits.get('min_gain', Bars().min_gain), limits.get('max_loss', Bars().max_loss))


@dataclass(frozen=True)
class Weighed:
    """A candidate option string, compared with the running options."""

    name: Annotated[str, 'Name of the profile, or "derived".']
    origin: Annotated[
        Origin,
        '"running": the running options; "successor": the default of later releases; '
        '"default": the default of the release; "derived": computed from the published goals '
        'for these OSDs.',
    ]
    options: Annotated[str, 'Option string.']
    profile: Annotated[Optional[str], 'Name of the profile; null if it matches none.'] = None
    infeasible: Annotated[
        tuple[str, ...], 'Why it is infeasible, in sentences; empty if it is feasible.'
    ] = ()
    usages: Annotated[
        tuple[Usage, ...],
        Named('effects'),
        'Effect on each resource; empty for running options and infeasible candidates.',
    ] = ()
    short: Annotated[
        Optional[str],
        'Why it was not chosen, as a sentence; null for the chosen candidate, running options '
        'and infeasible candidates.',
    ] = None
    measured_in: Annotated[
        Optional[str],
        'Experiment on this cluster that measured it against the running options; null: none.',
    ] = None
    chosen: Annotated[bool, 'Whether it was chosen for the group.'] = False
    #: Without a model of the workload: whether publications recommend it instead.
    suits_better: bool = False

    @property
    def feasible(self) -> bool:
        return not self.infeasible and self.origin is not Origin.RUNNING

    def of(self, resource: Resource) -> Optional[Estimate]:
        return next((u.ratio for u in self.usages if u.resource is resource), None)

    def gains(self, bars: Bars) -> tuple[Usage, ...]:
        """Resources of which it saves the required gain, with 80% probability."""
        counted = (u for u in self.usages if u.resource not in bars.no_gain)
        return tuple(u for u in counted if u.at_most <= 1 - bars.min_gain)

    def losses(self, bars: Bars) -> tuple[Usage, ...]:
        """Resources whose usage may increase by more than the allowed loss."""
        counted = (u for u in self.usages if u.resource not in bars.plenty)
        return tuple(u for u in counted if u.at_most > 1 + bars.max_loss)

    def qualifies(self, bars: Bars) -> bool:
        return (self.suits_better or bool(self.gains(bars))) and not self.losses(bars)

    def main(self, resource: Optional[Resource], bars: Bars) -> Optional[Usage]:
        """The effect on ``resource``, or else the largest saving; None without a model."""
        counted = [u for u in self.usages if u.resource not in bars.no_gain]
        known = [u for u in counted if u.resource is resource]
        return min(known or counted, key=lambda u: u.ratio.value, default=None)


@dataclass(frozen=True)
class Weighing:
    """All candidates for a group, and the choice."""

    #: The resource that limits the clients, if options affect it.
    resource: Optional[Resource]
    bars: Annotated[Bars, InPlace()]
    #: The running options first.
    weighed: Annotated[tuple[Weighed, ...], Named('candidates'), 'Candidates that were compared.']

    @property
    def chosen(self) -> Optional[Weighed]:
        return next((w for w in self.weighed if w.chosen), None)

    @property
    def best(self) -> Optional[Weighed]:
        """The feasible candidate with the largest saving; None if there is none."""
        mains = [(w.main(self.resource, self.bars), w) for w in self.weighed if w.feasible]
        savings = [(main.ratio.value, w) for main, w in mains if main and main.ratio.value < 1]
        return min(savings, key=lambda saving: saving[0])[1] if savings else None

    @property
    def shown_resource(
        self,
    ) -> Annotated[
        Resource, Named('resource'), 'Limiting resource, or else that of the largest saving.'
    ]:
        """The limit, or else the resource of which the best candidate saves most."""
        main = None if self.best is None else self.best.main(self.resource, self.bars)
        return self.resource or (Resource.KV_SYNC if main is None else main.resource)


def weigh(
    weighed: Sequence[Weighed],
    resource: Optional[Resource],
    bars: Bars,
    better: Optional[str] = None,
) -> Weighing:
    """Choose among candidates, which include the running options.

    ``better``: chosen if it qualifies, since it would be chosen in place of the best-tested one.
    """
    qualified = sorted(
        (w for w in weighed if w.feasible and w.qualifies(bars)),
        key=lambda w: _PREFERENCE.index(w.origin),
    )
    chosen = next(
        (w for w in qualified if w.options == better), _preferred(qualified, resource, bars)
    )
    explained = (
        replace(w, short=_short(w, resource, bars, chosen), chosen=w is chosen) if w.feasible else w
        for w in weighed
    )
    return Weighing(resource, bars, tuple(explained))


def _preferred(
    qualified: Sequence[Weighed], resource: Optional[Resource], bars: Bars
) -> Optional[Weighed]:
    """The best-tested; if some relieve the kv_sync thread, of those that do so most."""
    first = next(iter(qualified), None)
    if resource is not Resource.KV_SYNC or resource in bars.no_gain:
        return first
    relieving = [
        (ratio.value, w)
        for w in qualified
        if w.origin is not Origin.DERIVED
        if (ratio := w.of(resource)) is not None and ratio.value <= 1 - bars.min_gain
    ]
    most = min((value for value, _ in relieving), default=0) * (1 + choice_thresholds().alike)
    return next((w for value, w in relieving if value <= most), first)


def _short(
    weighed: Weighed, resource: Optional[Resource], bars: Bars, chosen: Optional[Weighed]
) -> Optional[str]:
    """Why a feasible candidate was not chosen."""
    main = weighed.main(resource, bars)
    if weighed is chosen:
        return None
    if main is None:
        return 'Its effect is unknown.'
    if not weighed.gains(bars):
        unsure = ', but not certain enough' if main.ratio.value <= 1 - bars.min_gain else ''
        return f'{main.change}; a gain of {bars.min_gain:.0%} is required{unsure}.'
    worst = max(weighed.losses(bars), key=lambda u: u.at_most, default=None)
    if worst is not None:
        unsure = ', and more cannot be ruled out' if worst.ratio.value <= 1 + bars.max_loss else ''
        return f'{worst.change}; a loss of {bars.max_loss:.0%} is allowed{unsure}.'
    assert chosen is not None
    order = _PREFERENCE.index(weighed.origin) - _PREFERENCE.index(chosen.origin)
    if order < 0:
        return f'It qualifies and is better tested, but {chosen.name} saves more.'
    tested = ', which is better tested' if order else ''
    return f'It qualifies, but is not clearly better than {chosen.name}{tested}.'


@dataclass(frozen=True)
class Assessment:
    """Candidates of one group, and the choice; all null if none were compared."""

    who: Annotated[str, 'Config mask of the group.']
    #: If nothing is recommended.
    conclusion: Annotated[
        Decision, Named('decision'), 'The change of options that was chosen, or why none was.'
    ]
    recommendations: tuple[Recommendation, ...]
    #: The weighed candidates; None if there is no resource to relieve.
    weighing: Annotated[Optional[Weighing], InPlace()] = None
