"""Steps of a recommendation, which remain stable once displayed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional

from ..judge.signals import limits
from ..mgr.records import Daemon, Place
from .commands import commands, forward_actions, undo_actions
from .order import canary_first, domains_of, in_batches, matched_controls, typical_of
from .precedence import is_for_a_class
from .records import ANNEX, OPTION, ChangeKind, ChangeRequest

#: More than the number of recommendations that an operator would read.
_REMEMBERED = 32
#: Fewer client writes per second count as idle.
_NOISE_IOPS = 1.0


class Change(NamedTuple):
    """A change: everything that its steps depend on, except for the load of the OSDs."""

    recommendation_id: str
    kind: ChangeKind
    who: str
    options_from: str
    options_to: str
    #: The config store entries in force.
    deciding_entries: tuple[str, ...]
    restart: bool
    orchestrated: bool
    places: tuple[tuple[int, Place], ...]
    #: Value to write to or remove from the annex; None: ``options_to`` goes to the option itself.
    annex: Optional[str] = None
    #: For the commands of manual restarts.
    daemons: tuple[tuple[int, Daemon], ...] = ()

    @property
    def option(self) -> str:
        """The changed option."""
        return OPTION if self.annex is None else ANNEX

    @property
    def value(self) -> str:
        return self.options_to if self.annex is None else self.annex


class Steps(NamedTuple):
    """The steps of a change, as in `Recommendation`."""

    order: tuple[int, ...]
    controls: tuple[int, ...]
    #: Without prediction and actor.
    request: ChangeRequest
    commands: tuple[str, ...]
    undo_commands: tuple[str, ...]


class ShownSteps:
    """Steps of the current recommendations, kept between ticks.

    OSDs with a similar load swap places at every tick, but an operator must get the displayed plan.
    The steps are recomputed only for a different change, if the canary is no longer typical of its
    group, or if it could have more typical controls.
    """

    def __init__(self) -> None:
        self._steps: dict[Change, Steps] = {}

    def of(self, change: Change, write_iops: Mapping[int, Optional[float]]) -> Steps:
        """``write_iops`` by OSD id, None or missing if unknown."""
        known = self._steps.pop(change, None)
        if known is None or not _still_good(known, write_iops):
            known = _steps(change, write_iops)
        # The newest is last, so the first is dropped.
        self._steps[change] = known
        if len(self._steps) > _REMEMBERED:
            del self._steps[next(iter(self._steps))]
        return known


def _still_good(steps: Steps, write_iops: Mapping[int, Optional[float]]) -> bool:
    known = {
        osd_id: max(iops, _NOISE_IOPS) for osd_id, iops in write_iops.items() if iops is not None
    }
    typical = typical_of(steps.order, known)
    canary = steps.order[0]
    if canary not in typical:
        # With no known load there is no better canary.
        return not typical
    controls = typical.intersection(steps.controls)
    return len(controls) == min(len(steps.controls), len(typical) - 1)


def _steps(change: Change, write_iops: Mapping[int, Optional[float]]) -> Steps:
    places, daemons = dict(change.places), dict(change.daemons)
    order = canary_first(places, write_iops)
    batches = in_batches(order, places)
    request = ChangeRequest(
        recommendation_id=change.recommendation_id,
        kind=change.kind,
        who=change.who,
        targets=tuple((osd_id, change.value) for osd_id in order),
        order=order,
        final_entries=_final_entries(change, order),
        actor='',
        restart=change.restart,
        controls=matched_controls(order, write_iops, limits().most_controls),
        batches=batches,
        domains=domains_of(batches, places),
        option=change.option,
    )
    before = {
        entry: change.options_from if change.annex is None else change.annex
        for entry, _ in request.final_entries
        if entry in change.deciding_entries
    }
    return Steps(
        order=order,
        controls=request.controls,
        request=request,
        commands=commands(forward_actions(request), change.orchestrated, daemons, request.option),
        undo_commands=commands(
            undo_actions(request, before), change.orchestrated, daemons, request.option
        ),
    )


def _final_entries(change: Change, order: tuple[int, ...]) -> tuple[tuple[str, Optional[str]], ...]:
    """Final config store entries, in sections that OSDs start with."""
    if change.kind is ChangeKind.REMOVE_OVERRIDE:
        return tuple((entry, None) for entry in change.deciding_entries)
    if is_for_a_class(change.who):
        return tuple((f'osd.{osd_id}', change.value) for osd_id in order)
    return ((change.who, change.value),)
