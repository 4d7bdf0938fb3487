"""Which of many option sets a group should run, by what each is expected to do to it. Pure.

Candidates are what runs, the release's default, the published sets, what the published goals lead
to here, and the neighbors of the best of them. Those that these OSDs have no room for, or that
something speaks against, go first, each with its reasons. Of the rest that one is chosen that is
the simplest of those that relieve what limits by `Bars.min_gain` and load nothing else by more
than `Bars.max_loss`, both with 80% probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Mapping, Optional

from ..lsm.records import Estimate
from ..options.compression import LZ4, NO_COMPRESSION
from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
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

#: What an option set uses of each, in words that a percentage follows or precedes.
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
    """Where a candidate comes from, the best-tried first."""

    RUNNING = 'running'
    DEFAULT = 'default'
    PROFILE = 'profile'
    DERIVED = 'derived'
    NEIGHBOR = 'neighbor'


@dataclass(frozen=True)
class Bars:
    """What a change must bring, and what it may cost; shares."""

    min_gain: float = field(default_factory=lambda: choice_thresholds().min_gain)
    max_loss: float = field(default_factory=lambda: choice_thresholds().max_loss)
    #: What there may be plenty of, so that using more of it is told and keeps nothing back.
    plenty: frozenset[Resource] = frozenset()


def bars_of(limits: Mapping[str, float]) -> Bars:
    """As an operator set them, by module option, or else as they are by default."""
    known = Bars()
    return Bars(limits.get('min_gain', known.min_gain), limits.get('max_loss', known.max_loss))


@dataclass(frozen=True)
class OptionCandidate:
    """An option set that may be chosen."""

    name: str
    origin: Origin
    options: str
    profile: Optional[Profile] = None
    #: How well it is known to suit what clients write, 0..1: decides between equals.
    suitability: float = 0.0
    #: All else stays as somebody chose it.
    only_compression: bool = False
    #: How much speaks against it under what clients write.
    objections: int = 0
    #: Nobody ran it as a whole, and neither is it what runs but for its compression: something for
    #: an experiment, not to be recommended.
    untried: bool = False


@dataclass(frozen=True)
class Weighed:
    """A candidate against what runs."""

    candidate: OptionCandidate
    #: Why it is out of the question, in sentences; empty where it is not.
    infeasible: tuple[str, ...] = ()
    #: Use of each resource against what runs; empty without a model, and of what is infeasible.
    usages: tuple[Usage, ...] = ()
    #: Why it is not chosen; None where it is, or where that is said by ``infeasible``.
    short: Optional[str] = None

    def of(self, resource: Resource) -> Optional[Estimate]:
        return next((u.ratio for u in self.usages if u.resource is resource), None)

    def gains(self, resource: Resource, bars: Bars) -> bool:
        """By as much as is asked for, with 80% probability."""
        ratio = self.of(resource)
        return ratio is not None and at_most(ratio) <= 1 - bars.min_gain

    def losses(self, resource: Resource, bars: Bars) -> tuple[Usage, ...]:
        """Of the other resources those that may be used more by more than is allowed."""
        return tuple(
            u
            for u in self.usages
            if u.resource not in {resource, *bars.plenty} and at_most(u.ratio) > 1 + bars.max_loss
        )

    def qualifies(self, resource: Resource, bars: Bars) -> bool:
        return self.gains(resource, bars) and not self.losses(resource, bars)


@dataclass(frozen=True)
class Weighing:
    """All candidates for a group, and which was chosen."""

    #: What is to be relieved.
    resource: Resource
    bars: Bars
    #: What runs first.
    weighed: tuple[Weighed, ...]
    chosen: Optional[Weighed]
    #: Of those that are feasible the one that relieves most; None where none relieves anything.
    best: Optional[Weighed]

    @property
    def knows(self) -> bool:
        """Whether anything is known of what an option set would do to what is to be relieved."""
        feasible = [w for w in self.weighed[1:] if not w.infeasible]
        return not feasible or any(w.of(self.resource) is not None for w in feasible)


def weigh(weighed: Sequence[Weighed], resource: Resource, bars: Bars) -> Weighing:
    """Choose; of candidates against what runs, itself among them."""
    open_to = [w for w in weighed if not w.infeasible and w.candidate.origin is not Origin.RUNNING]
    qualified = [w for w in open_to if w.qualifies(resource, bars)]
    known = [w for w in open_to if w.of(resource) is not None]
    best = min(known, key=lambda w: _known_of(w, resource), default=None)
    if best is not None and _known_of(best, resource) >= 1:
        best = None
    chosen = _chosen([w for w in qualified if not w.candidate.untried], resource, bars)
    told = tuple(
        replace(w, short=_short(w, resource, bars, chosen)) if w in open_to else w for w in weighed
    )
    return Weighing(
        resource,
        bars,
        told,
        None if chosen is None else told[list(weighed).index(chosen)],
        None if best is None else told[list(weighed).index(best)],
    )


def _chosen(qualified: Sequence[Weighed], resource: Resource, bars: Bars) -> Optional[Weighed]:
    """The simplest from which no other gains as much again."""
    if not qualified:
        return None
    most = min(_known_of(w, resource) for w in qualified)
    enough = [w for w in qualified if most > (1 - bars.min_gain) * _known_of(w, resource)]
    return min(enough, key=lambda w: _preference(w, resource))


#: The simplest first: sets that were run as a whole come before those that were not.
_SIMPLICITY = (Origin.DEFAULT, Origin.PROFILE, Origin.DERIVED, Origin.NEIGHBOR)


def _preference(weighed: Weighed, resource: Resource) -> tuple[float, ...]:
    """Of sets as simple as each other: what suits by what was published, then what gains most."""
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
        return f'What it does to the {RESOURCES[resource]} is not known.'
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
        return (
            'It would qualify by the model alone, but nobody has run it: try it in an experiment.'
        )
    if chosen.candidate.origin is weighed.candidate.origin:
        return (
            f'It would qualify; {chosen.candidate.name} gains more, or suits these clients better.'
        )
    return (
        f'It would qualify; {chosen.candidate.name} qualifies too, and is simpler or more widely '
        'used.'
    )


def _change(ratio: Estimate, resource: Resource) -> str:
    """ "the space taken by RocksDB changes by -29% (-35 to -21%)" """
    return f'The {RESOURCES[resource]} changes by {_percent(ratio)}'


def _percent(ratio: Estimate) -> str:
    value, low, high = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return f'{value:+.0f}% ({low:+.0f}% to {high:+.0f}%)'


def neighbors(options: str, effective: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(What changes, the option set): one step from ``options`` in each option that shapes it.

    The number of memtables follows their size, so that all together stay as large.
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
