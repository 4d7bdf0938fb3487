"""Batches of a rollout and the soak of each. Pure.

Shared by the displayed plan and the rollout that executes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Optional

from ..judge.records import Inconclusive, SoakPlan, least_soak_s
from ..judge.signals import limits
from ..mgr.records import FailureDomain
from ..notes import Named, OsdId
from .records import ChangeRequest, Purpose

#: Memtable flushes to cover by the canary's soak.
LEAST_FILLS = 3


@dataclass(frozen=True)
class PlannedBatch:
    """OSDs that are changed one by one, before the next batch."""

    #: 0 is the canary.
    number: int
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    #: OSDs that are compared with the controls; all OSDs are watched for crashes.
    compared: tuple[int, ...]
    #: OSDs that are changed later, or never.
    controls: tuple[int, ...]
    soak: SoakPlan
    #: Number of verdicts that share the error rate, this one included.
    among: int
    last: bool
    domain: Annotated[
        Optional[FailureDomain],
        Named('failure_domain'),
        'Failure domain of all of these OSDs; null: unknown.',
    ]

    @property
    def watched(self) -> bool:
        return self.soak.most_s > 0

    @property
    def judged(self) -> bool:
        """Whether it has enough controls."""
        return self.watched and len(self.controls) >= limits().least_controls

    @property
    def compared_with(
        self,
    ) -> Annotated[
        tuple[OsdId, ...],
        Named('controls'),
        'Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected.',
    ]:
        return self.controls if self.judged else ()

    @property
    def baseline_s(self) -> float:
        """How long OSDs and controls are measured before the change; the same as after it.

        Later batches are measured while the previous one is soaking.
        """
        return least_soak_s(self.soak) if self.judged else 0.0

    @property
    def watched_for_crashes(self) -> bool:
        """Whether it passes without a verdict, unless an OSD crashes.

        A canary without controls needs a decision before the next batch; without a next batch the
        policy for inconclusive soaks applies.
        """
        if not self.watched or self.judged:
            return False
        rolled_back = self.soak.inconclusive is Inconclusive.ROLLBACK
        return self.number > 0 or (self.last and not rolled_back)


def planned_batches(request: ChangeRequest, soak: SoakPlan) -> tuple[PlannedBatch, ...]:
    """All batches of a rollout, in order."""
    return tuple(planned_batch(request, soak, n) for n in range(count(request)))


def count(request: ChangeRequest) -> int:
    """Number of batches."""
    return len(request.pieces)


def planned_batch(request: ChangeRequest, soak: SoakPlan, number: int) -> PlannedBatch:
    """The batch with this number."""
    pieces = request.pieces
    osds = pieces[number]
    domain = request.domains[number] if number < len(request.domains) else None
    if number == 0:
        return PlannedBatch(
            number,
            osds,
            osds,
            request.controls,
            _canary_soak(request, soak),
            among=1,
            last=len(pieces) == 1,
            domain=domain,
        )
    # As many OSDs as a canary and its controls, since measurements are stored in the same space.
    most = limits().most_controls // 2
    # The canary's controls are typical of the group; OSDs changed last stay controls longest.
    changed_up_to = request.position[osds[-1]]
    next_place = changed_up_to + 1
    alike = tuple(n for n in request.controls if request.position.get(n, 0) > changed_up_to)
    known = frozenset(alike)
    later = (n for n in reversed(request.order[next_place:]) if n not in known)
    others = islice(later, max(0, most - len(alike)))
    return PlannedBatch(
        number,
        osds,
        # Spread over the batch, which is sorted by load.
        osds[:: max(1, -(-len(osds) // most))],
        (*alike, *others)[:most],
        # No soak for batches without one for the canary.
        _canary_soak(request, soak).batches or SoakPlan(),
        among=_judged_after_the_canary(pieces),
        last=number + 1 == len(pieces),
        domain=domain,
    )


def soak_for(request: ChangeRequest, soak: SoakPlan) -> SoakPlan:
    """The soak of this change; ``soak`` is from the module options.

    The minimum time covers some memtable flushes, since the options have hardly any effect before.
    """
    fills_s = 0.0 if request.fill_s is None else LEAST_FILLS * request.fill_s
    return replace(soak, least_s=max(soak.least_s, min(fills_s, soak.most_s)))


def without_gain(request: ChangeRequest) -> Inconclusive:
    """What follows a canary that is neither better nor worse.

    A change that was made for its gain does not spread without one.
    """
    gain = request.purpose is Purpose.GAIN
    return Inconclusive.ROLLBACK if gain else Inconclusive.PROMOTE


def _canary_soak(request: ChangeRequest, soak: SoakPlan) -> SoakPlan:
    return soak_for(request, soak) if request.restart and soak.most_s > 0 else SoakPlan()


def _judged_after_the_canary(pieces: tuple[tuple[int, ...], ...]) -> int:
    """Number of later batches with enough unchanged OSDs behind them for a verdict; at least 1."""
    judged, left = len(pieces) - 1, 0
    while judged > 1 and left < limits().least_controls:
        left += len(pieces[judged])
        judged -= 1
    return max(judged, 1)
