"""Choice among candidate option strings by their expected effect. Pure.

A candidate qualifies if it saves `Bars.min_gain` of any resource and uses no other resource more by
`Bars.max_loss`, both with 80% probability. The best-tested of these is chosen, the default of later
releases first, unless another one qualifies in its place.

Assessment of a group of OSDs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Optional

from ..lsm.records import Estimate
from ..notes import InPlace, Named
from ..units import format_effect
from .records import Decision, Recommendation, Resource
from .usage import Usage, at_most, choice_thresholds

#: Names of the resources' usage, for use with a percentage.
RESOURCES = {
    Resource.KV_SYNC: 'kv_sync thread time per write',
    Resource.CORES: 'RocksDB CPU time per write',
    Resource.DB_DEVICE: 'RocksDB write volume per write',
    Resource.DB_SPACE: 'space taken by RocksDB',
    Resource.WAL_SPACE: 'space taken by the WAL',
    Resource.MEMORY: 'memory including memtables',
}


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

    def of(self, resource: Resource) -> Optional[Estimate]:
        return next((u.ratio for u in self.usages if u.resource is resource), None)

    def gains(self, bars: Bars) -> tuple[Usage, ...]:
        """Resources of which it saves the required gain, with 80% probability."""
        counted = (u for u in self.usages if u.resource not in bars.no_gain)
        return tuple(u for u in counted if at_most(u.ratio) <= 1 - bars.min_gain)

    def losses(self, bars: Bars) -> tuple[Usage, ...]:
        """Resources whose usage may increase by more than the allowed loss."""
        counted = (u for u in self.usages if u.resource not in bars.plenty)
        return tuple(u for u in counted if at_most(u.ratio) > 1 + bars.max_loss)

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
    chosen: Optional[Weighed]
    #: The feasible candidate with the largest saving; None if there is none.
    best: Optional[Weighed]

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
    feasible = [w for w in weighed if not w.infeasible and w.origin is not Origin.RUNNING]
    qualified = sorted(
        (w for w in feasible if w.qualifies(bars)), key=lambda w: _PREFERENCE.index(w.origin)
    )
    chosen = next((w for w in qualified if w.options == better), next(iter(qualified), None))
    # The largest saving first.
    savings = [
        (main.ratio.value, n)
        for n, w in enumerate(weighed)
        if w in feasible
        for main in [w.main(resource, bars)]
        if main is not None and main.ratio.value < 1
    ]
    explained = tuple(
        replace(w, short=_short(w, resource, bars, chosen), chosen=w is chosen)
        if w in feasible
        else w
        for w in weighed
    )
    return Weighing(
        resource,
        bars,
        explained,
        None if chosen is None else explained[list(weighed).index(chosen)],
        explained[min(savings)[1]] if savings else None,
    )


def _short(
    weighed: Weighed, resource: Optional[Resource], bars: Bars, chosen: Optional[Weighed]
) -> Optional[str]:
    if weighed is chosen:
        return None
    main = weighed.main(resource, bars)
    if main is None:
        return 'Its effect is unknown.'
    if not weighed.gains(bars):
        unsure = ', but not certain enough' if main.ratio.value <= 1 - bars.min_gain else ''
        return f'{_change(main)}; a gain of {bars.min_gain:.0%} is required{unsure}.'
    worst = max(weighed.losses(bars), key=lambda u: at_most(u.ratio), default=None)
    if worst is not None:
        unsure = ', and more cannot be ruled out' if worst.ratio.value <= 1 + bars.max_loss else ''
        return f'{_change(worst)}; a loss of {bars.max_loss:.0%} is allowed{unsure}.'
    assert chosen is not None
    return f'It qualifies, but is not clearly better than {chosen.name}, which is better tested.'


def _change(usage: Usage) -> str:
    """ "The space taken by RocksDB changes by -29% (-35 to -21%)" """
    return f'The {RESOURCES[usage.resource]} changes by {effect_of(usage.ratio)}'


def effect_of(ratio: Estimate) -> str:
    """ "-29% (-35 to -21%)" """
    value, low, high = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return format_effect(value, low, high)


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
