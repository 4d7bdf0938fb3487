"""The steps of a recommendation, which stay what they were once they are shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional

from ..judge.signals import limits
from ..mgr.records import Place
from .commands import commands, forward_actions, undo_actions
from .order import canary_first, domains_of, in_batches, matched_controls, typical_of
from .precedence import is_for_a_class
from .records import ANNEX, OPTION, ChangeKind, ChangeRequest

#: A group has one recommendation, and some for single OSDs; more than so many are not looked at.
_REMEMBERED = 32
#: Fewer client writes a second than this are none: idle OSDs are all alike.
_NOISE_IOPS = 1.0


class Change(NamedTuple):
    """What is to be done: all that decides the steps but what the OSDs do now."""

    recommendation_id: str
    #: None: no option is changed, and only the order counts.
    kind: Optional[ChangeKind]
    who: str
    options_from: str
    options_to: str
    #: The config store's entries that decide now.
    deciding_entries: tuple[str, ...]
    restart: bool
    orchestrated: bool
    places: tuple[tuple[int, Place], ...]
    #: What is written to the annex, or goes from it; None: ``options_to``, to the option itself.
    annex: Optional[str] = None

    @property
    def option(self) -> str:
        """The option that is written."""
        return OPTION if self.annex is None else ANNEX

    @property
    def value(self) -> str:
        return self.options_to if self.annex is None else self.annex


class Steps(NamedTuple):
    """How it is done, as `Recommendation` has it."""

    order: tuple[int, ...]
    controls: tuple[int, ...]
    #: But for what is expected of it, and who asks for it; None: no option is changed.
    request: Optional[ChangeRequest]
    commands: tuple[str, ...]
    undo_commands: tuple[str, ...]


class ShownSteps:
    """The steps of the recommendations that stand, from one look to the next.

    OSDs that do much the same change places at every look. Whoever reads a plan and then has it
    carried out shall get that one: it is made anew only where another change is meant, where the
    canary is typical of its group no more, or where it could be compared with more OSDs that are.
    """

    def __init__(self) -> None:
        self._steps: dict[Change, Steps] = {}

    def of(self, change: Change, write_iops: Mapping[int, Optional[float]]) -> Steps:
        """``write_iops`` by OSD id, None or missing where it is not known."""
        known = self._steps.pop(change, None)
        if known is None or not _still_good(known, write_iops):
            known = _steps(change, write_iops)
        # The newest is last, so that the first is the one to forget.
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
        # Where nothing is known, nothing speaks for another one either.
        return not typical
    controls = typical.intersection(steps.controls)
    return len(controls) == min(len(steps.controls), len(typical) - 1)


def _steps(change: Change, write_iops: Mapping[int, Optional[float]]) -> Steps:
    places = dict(change.places)
    order = canary_first(places, write_iops)
    if change.kind is None:
        return Steps(order, controls=(), request=None, commands=(), undo_commands=())
    hosts = {osd_id: place.host for osd_id, place in places.items()}
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
        commands=commands(forward_actions(request), change.orchestrated, hosts, request.option),
        undo_commands=commands(
            undo_actions(request, before), change.orchestrated, hosts, request.option
        ),
    )


def _final_entries(change: Change, order: tuple[int, ...]) -> tuple[tuple[str, Optional[str]], ...]:
    """What the config store holds at the end: entries that OSDs start with."""
    if change.kind is ChangeKind.REMOVE_OVERRIDE:
        return tuple((entry, None) for entry in change.deciding_entries)
    if is_for_a_class(change.who):
        return tuple((f'osd.{osd_id}', change.value) for osd_id in order)
    return ((change.who, change.value),)
