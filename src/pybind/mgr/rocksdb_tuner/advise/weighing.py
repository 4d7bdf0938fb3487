"""Choice among candidate option strings by their expected effect. Pure.

Candidates are the running options, the release's default, the published profiles, derived options,
and the neighbors of the best of them. Candidates that do not fit these OSDs, or with an objection,
are infeasible. The choice is the simplest candidate that relieves the limit by `Bars.min_gain` and
uses no other resource more by `Bars.max_loss`, both with 80% probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Mapping, Optional

from ..lsm.records import Estimate
from ..options.compression import LZ4, NO_COMPRESSION
from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ..units import format_effect
from .profiles import Profile
from .records import Resource
from .usage import Usage, at_most, choice_thresholds

__all__ = [
    'RESOURCES',
    'Bars',
    'OptionCandidate',
    'Origin',
    'Weighed',
    'Weighing',
    'bars_of',
    'neighbors',
    'weigh',
]

#: Names of the resources' usage, for use with a percentage.
RESOURCES = {
    Resource.KV_SYNC: 'kv_sync thread time per write',
    Resource.CORES: 'RocksDB CPU time per write',
    Resource.DB_DEVICE: 'RocksDB write volume per write',
    Resource.DB_SPACE: 'space taken by RocksDB',
    Resource.WAL_SPACE: 'space taken by the WAL',
    Resource.MEMORY: 'memory including memtables',
}
#: One step in each direction.
_STEPS: Mapping[str, tuple[float, ...]] = {
    'write_buffer_size': (0.5, 2.0),
    'min_write_buffer_number_to_merge': (0.5, 2.0),
    'level0_file_num_compaction_trigger': (0.5, 2.0),
    'max_bytes_for_level_base': (0.5, 2.0),
    'max_bytes_for_level_multiplier': (0.8, 1.25),
    'max_background_jobs': (0.5, 2.0),
}


class Origin(str, Enum):
    """Origin of a candidate, the best-tested first."""

    RUNNING = 'running'
    DEFAULT = 'default'
    PROFILE = 'profile'
    DERIVED = 'derived'
    NEIGHBOR = 'neighbor'


@dataclass(frozen=True)
class Bars:
    """Required gain and allowed loss of a change, as shares."""

    min_gain: float = field(default_factory=lambda: choice_thresholds().min_gain)
    max_loss: float = field(default_factory=lambda: choice_thresholds().max_loss)
    #: Resources that may be plentiful: higher usage is reported but allowed.
    plenty: frozenset[Resource] = frozenset()


def bars_of(limits: Mapping[str, float]) -> Bars:
    """Bars from the module options, or their defaults."""
    known = Bars()
    return Bars(limits.get('min_gain', known.min_gain), limits.get('max_loss', known.max_loss))


@dataclass(frozen=True)
class OptionCandidate:
    """A candidate option string."""

    name: str
    origin: Origin
    options: str
    profile: Optional[Profile] = None
    #: Published suitability for the workload, 0..1: the tie-breaker.
    suitability: float = 0.0
    #: Differs from the running options only in compression.
    only_compression: bool = False
    #: Number of objections under the workload.
    objections: int = 0
    #: Never tested as a whole: for experiments only, not recommended.
    untried: bool = False


@dataclass(frozen=True)
class Weighed:
    """A candidate compared with the running options."""

    candidate: OptionCandidate
    #: Why it is ruled out, in sentences; empty if feasible.
    infeasible: tuple[str, ...] = ()
    #: Resource usage relative to the running options; empty without a model or if infeasible.
    usages: tuple[Usage, ...] = ()
    #: Why a feasible candidate is not chosen; None if it is chosen or infeasible.
    short: Optional[str] = None
    #: The experiment on this cluster that measured it against the running options; None: none did.
    measured_in: Optional[str] = None

    def of(self, resource: Resource) -> Optional[Estimate]:
        return next((u.ratio for u in self.usages if u.resource is resource), None)

    def gains(self, resource: Resource, bars: Bars) -> bool:
        """Whether it relieves ``resource`` by the required gain, with 80% probability."""
        ratio = self.of(resource)
        return ratio is not None and at_most(ratio) <= 1 - bars.min_gain

    def losses(self, resource: Resource, bars: Bars) -> tuple[Usage, ...]:
        """Other resources whose usage may increase by more than the allowed loss."""
        return tuple(
            u
            for u in self.usages
            if u.resource not in {resource, *bars.plenty} and at_most(u.ratio) > 1 + bars.max_loss
        )

    def qualifies(self, resource: Resource, bars: Bars) -> bool:
        return self.gains(resource, bars) and not self.losses(resource, bars)


@dataclass(frozen=True)
class Weighing:
    """All candidates for a group, and the choice."""

    #: The resource to relieve.
    resource: Resource
    bars: Bars
    #: The running options first.
    weighed: tuple[Weighed, ...]
    chosen: Optional[Weighed]
    #: The feasible candidate with the largest relief; None if there is no relief.
    best: Optional[Weighed]

    @property
    def knows(self) -> bool:
        """Whether the effect on the resource is known for any feasible candidate."""
        feasible = [w for w in self.weighed[1:] if not w.infeasible]
        return not feasible or any(w.of(self.resource) is not None for w in feasible)


def weigh(weighed: Sequence[Weighed], resource: Resource, bars: Bars) -> Weighing:
    """Choose among candidates, which include the running options."""
    feasible = [w for w in weighed if not w.infeasible and w.candidate.origin is not Origin.RUNNING]
    qualified = [w for w in feasible if w.qualifies(resource, bars)]
    known = [w for w in feasible if w.of(resource) is not None]
    best = min(known, key=lambda w: _known_of(w, resource), default=None)
    if best is not None and _known_of(best, resource) >= 1:
        best = None
    chosen = _chosen([w for w in qualified if not w.candidate.untried], resource, bars)
    explained = tuple(
        replace(w, short=_short(w, resource, bars, chosen)) if w in feasible else w for w in weighed
    )
    return Weighing(
        resource,
        bars,
        explained,
        None if chosen is None else explained[list(weighed).index(chosen)],
        None if best is None else explained[list(weighed).index(best)],
    )


def _chosen(qualified: Sequence[Weighed], resource: Resource, bars: Bars) -> Optional[Weighed]:
    """The simplest candidate that no other one beats by as much again."""
    if not qualified:
        return None
    most = min(_known_of(w, resource) for w in qualified)
    enough = [w for w in qualified if most > (1 - bars.min_gain) * _known_of(w, resource)]
    return min(enough, key=lambda w: _preference(w, resource))


#: The simplest first: tested option strings before untested ones.
_SIMPLICITY = (Origin.DEFAULT, Origin.PROFILE, Origin.DERIVED, Origin.NEIGHBOR)


def _preference(weighed: Weighed, resource: Resource) -> tuple[float, ...]:
    """Sort key; among equally simple candidates suitability decides, then the gain."""
    candidate = weighed.candidate
    return (
        candidate.objections,
        not candidate.only_compression,
        _SIMPLICITY.index(candidate.origin),
        -candidate.suitability,
        _known_of(weighed, resource),
    )


def _known_of(weighed: Weighed, resource: Resource) -> float:
    ratio = weighed.of(resource)
    assert ratio is not None
    return ratio.value


def _short(
    weighed: Weighed, resource: Resource, bars: Bars, chosen: Optional[Weighed]
) -> Optional[str]:
    if weighed == chosen:
        return None
    ratio = weighed.of(resource)
    if ratio is None:
        return f'Its effect on the {RESOURCES[resource]} is unknown.'
    if not weighed.gains(resource, bars):
        text = f'{_change(ratio, resource)}; a gain of {bars.min_gain:.0%} is required'
        unsure = ratio.value <= 1 - bars.min_gain
        return text + (', but not certain enough.' if unsure else '.')
    losses = weighed.losses(resource, bars)
    if losses:
        worst = max(losses, key=lambda u: at_most(u.ratio))
        unsure = worst.ratio.value <= 1 + bars.max_loss
        text = f'{_change(worst.ratio, worst.resource)}; a loss of {bars.max_loss:.0%} is allowed'
        return text + (', and more cannot be ruled out.' if unsure else '.')
    if weighed.candidate.untried or chosen is None:
        return 'It qualifies by the model alone, but was never tested: try it in an experiment.'
    if chosen.candidate.origin is weighed.candidate.origin:
        return (
            f'It qualifies, but {chosen.candidate.name} gains more or suits these clients better.'
        )
    return (
        f'It qualifies, but so does {chosen.candidate.name}, which is simpler or more widely used.'
    )


def _change(ratio: Estimate, resource: Resource) -> str:
    """ "The space taken by RocksDB changes by -29% (-35 to -21%)" """
    return f'The {RESOURCES[resource]} changes by {effect_of(ratio)}'


def effect_of(ratio: Estimate) -> str:
    """ "-29% (-35 to -21%)" """
    value, low, high = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return format_effect(value, low, high)


def neighbors(options: str, effective: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(Change, option string): one step from ``options`` in each option that shapes the tree.

    The number of memtables follows their size, which keeps their total size.
    """
    try:
        known = parse(options)
    except OptionSyntaxError:
        return
    for name, factors in _STEPS.items():
        for factor in factors:
            value = round(float(effective.get(name, '0')) * factor)
            if value < 1:
                continue
            changes = {name: str(value)}
            if name == 'write_buffer_size':
                number = round(int(effective.get('max_write_buffer_number', '2')) / factor)
                changes['max_write_buffer_number'] = str(max(2, number))
            yield f'{name}={value}', format(known.replaced(changes))
    packed = effective.get('compression', NO_COMPRESSION) != NO_COMPRESSION
    to = NO_COMPRESSION if packed else LZ4
    yield f'compression={to}', format(known.replaced({'compression': to}))
