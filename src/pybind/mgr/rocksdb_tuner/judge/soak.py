"""How long what was changed is measured before there is a verdict, or none."""

from __future__ import annotations

from typing import Optional

from .records import Judgement, SoakPlan, Verdict
from .signals import limits


def block_length_s(soak: SoakPlan) -> float:
    """So long that all of a soak is kept."""
    return max(limits().block_s, soak.most_s / limits().most_blocks)


def least_soak_s(soak: SoakPlan) -> float:
    """The least time after which there can be a verdict."""
    return max(soak.least_s, limits().least_blocks * block_length_s(soak))


def ends_with(judgement: Judgement, after_s: float, soak: SoakPlan) -> Optional[Verdict]:
    """What a soak is over with, once changed OSDs were measured for ``after_s``; None: it goes on.

    What got worse counts at once, all else only after the least time.
    """
    if judgement.verdict is Verdict.WORSE:
        return Verdict.WORSE
    if judgement.verdict.harmless and after_s >= soak.least_s:
        return judgement.verdict
    return Verdict.INCONCLUSIVE if after_s >= soak.most_s else None


def contradiction(soak: SoakPlan) -> Optional[str]:
    """Why nothing can be watched as the module options say; None if it can.

    A pass counts only after the least time, and after the most there is no verdict any more.
    """
    for prefix, plan in (('', soak), ('batch_', soak.batches)):
        if plan is not None and 0 < plan.most_s < plan.least_s:
            return (
                f'{prefix}soak_min ({plan.least_s:g} s) is above {prefix}soak_max '
                f'({plan.most_s:g} s), so that no verdict could pass: change one of them, for '
                f'example "ceph config set mgr mgr/rocksdb_tuner/{prefix}soak_max {plan.least_s:g}"'
            )
    return None
