"""In what batches a rollout changes its OSDs, and how each of them is watched: pure.

The plan that is shown and the rollout that carries it out ask the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ..judge.records import Inconclusive, NoBenefit, SoakPlan
from ..judge.signals import limits
from ..judge.soak import least_soak_s
from ..mgr.records import FailureDomain
from .records import ChangeRequest, Purpose

#: So often memtables are to be flushed while the canary is watched.
LEAST_FILLS = 3


@dataclass(frozen=True)
class PlannedBatch:
    """OSDs that are changed, one after the other, before others follow."""

    #: From 0, which is the canary.
    number: int
    osds: tuple[int, ...]
    #: Those of them that are compared with the controls; all are watched for crashes.
    compared: tuple[int, ...]
    #: OSDs that are changed only later, or never.
    controls: tuple[int, ...]
    soak: SoakPlan
    #: How many verdicts share the rate of errors with this one, itself included.
    among: int
    #: Whether no other follows.
    last: bool
    #: All its OSDs lie in it; None: not known.
    domain: Optional[FailureDomain]

    @property
    def watched(self) -> bool:
        return self.soak.most_s > 0

    @property
    def judged(self) -> bool:
        """Whether there is enough to compare it with."""
        return self.watched and len(self.controls) >= limits().least_controls

    @property
    def baseline_s(self) -> float:
        """How long canary and controls are measured before it is changed: as long as after."""
        return least_soak_s(self.soak) if self.number == 0 and self.judged else 0.0

    @property
    def watched_for_crashes(self) -> bool:
        """Whether it passes unjudged: nobody who decides would know more, or could still choose.

        A canary without controls is decided upon before others follow; where none do, all that is
        left is what the policy says of the canary itself.
        """
        if not self.watched or self.judged:
            return False
        taken_back = self.soak.inconclusive is Inconclusive.ROLLBACK
        return self.number > 0 or (self.last and not taken_back)


def planned_batches(request: ChangeRequest, soak: SoakPlan) -> tuple[PlannedBatch, ...]:
    """All batches of a rollout, in order."""
    return tuple(planned_batch(request, soak, n) for n in range(count(request)))


def count(request: ChangeRequest) -> int:
    """How many batches there are."""
    return len(_pieces(request))


def planned_batch(request: ChangeRequest, soak: SoakPlan, number: int) -> PlannedBatch:
    """One batch; ``number`` is that of one of its batches."""
    pieces = _pieces(request)
    osds = pieces[number]
    domain = domain_of(request, number)
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
    # No more OSDs than with a canary and its controls: what is kept of them has the same room.
    most = limits().most_controls // 2
    later = tuple(osd_id for piece in pieces[number + 1 :] for osd_id in piece)
    # The canary's are typical of all; those that are changed last serve longest.
    alike = tuple(n for n in request.controls if n in later)
    others = tuple(n for n in reversed(later) if n not in alike)
    return PlannedBatch(
        number,
        osds,
        # Spread over the batch, whose OSDs stand in the order of their load.
        osds[:: max(1, -(-len(osds) // most))],
        (*alike, *others)[:most],
        _batch_soak(request, soak),
        among=_judged_after_the_canary(pieces),
        last=number + 1 == len(pieces),
        domain=domain,
    )


def domain_of(request: ChangeRequest, number: int) -> Optional[FailureDomain]:
    """The failure domain that a batch lies in; None: not known."""
    return request.domains[number] if number < len(request.domains) else None


def _pieces(request: ChangeRequest) -> tuple[tuple[int, ...], ...]:
    return request.batches or tuple((osd_id,) for osd_id in request.order)


def soak_for(request: ChangeRequest, soak: SoakPlan) -> SoakPlan:
    """How this change is watched, where the module options say ``soak``.

    Its least time covers some flushes of memtables: until then hardly anything of the options
    shows. What follows without a gain depends on whether one was promised.
    """
    fills_s = 0.0 if request.fill_s is None else LEAST_FILLS * request.fill_s
    no_benefit = soak.no_benefit
    if no_benefit is NoBenefit.AUTO:
        gain = request.purpose is Purpose.GAIN
        no_benefit = NoBenefit.ROLLBACK if gain else NoBenefit.PROMOTE
    return replace(
        soak, least_s=max(soak.least_s, min(fills_s, soak.most_s)), no_benefit=no_benefit
    )


def _canary_soak(request: ChangeRequest, soak: SoakPlan) -> SoakPlan:
    return soak_for(request, soak) if request.restart and soak.most_s > 0 else SoakPlan()


def _batch_soak(request: ChangeRequest, soak: SoakPlan) -> SoakPlan:
    """Who does not watch the canary watches nothing."""
    return _canary_soak(request, soak).batches or SoakPlan()


def _judged_after_the_canary(pieces: tuple[tuple[int, ...], ...]) -> int:
    left, judged = sum(map(len, pieces[1:])), 0
    for piece in pieces[1:]:
        left -= len(piece)
        judged += left >= limits().least_controls
    return max(judged, 1)
