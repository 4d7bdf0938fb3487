"""Duration of a soak, and when it ends."""

from __future__ import annotations

from typing import Optional

from ..observe.report_interval import ReportInterval
from .records import Judgement, SoakPlan, Verdict
from .signals import limits


def planned_block_s(soak: SoakPlan) -> float:
    """Long enough for the stored blocks to cover the whole soak."""
    return max(limits().block_s, soak.most_s / limits().most_blocks)


def block_length_s(planned_s: float, reports: ReportInterval) -> float:
    """Each block has a report of each OSD at its end that is newer than at its start."""
    return max(planned_s, 2.0 * reports.late_s)


def warm_up_s(reports: ReportInterval) -> float:
    """After a change; the first report of a block is from before the block."""
    return limits().warm_up_s + reports.late_s


def least_soak_s(soak: SoakPlan) -> float:
    """Minimum soak time for a verdict."""
    return max(soak.least_s, limits().least_blocks * planned_block_s(soak))


def baseline_most_age_s(soak: SoakPlan, spacing_s: float) -> float:
    """Maximum age of a baseline at the change: it may take a soak, and wait as long.

    ``spacing_s``: of its blocks.
    """
    return 2 * max(least_soak_s(soak), limits().least_blocks * spacing_s)


def ends_with(judgement: Judgement, after_s: float, soak: SoakPlan) -> Optional[Verdict]:
    """The verdict that ends a soak after ``after_s``; None: the soak continues.

    "worse" counts at once, any other verdict only after the minimum soak time.
    """
    if judgement.verdict is Verdict.WORSE:
        return Verdict.WORSE
    if judgement.verdict.harmless and after_s >= soak.least_s:
        return judgement.verdict
    return Verdict.INCONCLUSIVE if after_s >= soak.most_s else None


def contradiction(soak: SoakPlan) -> Optional[str]:
    """Conflict between the soak options; None if there is none.

    A pass needs the minimum soak time, and the maximum ends the soak without a verdict.
    """
    for prefix, plan in (('', soak), ('batch_', soak.batches)):
        if plan is not None and 0 < plan.most_s < plan.least_s:
            return (
                f'{prefix}soak_min ({plan.least_s:g} s) is greater than {prefix}soak_max '
                f'({plan.most_s:g} s), so no verdict is possible: change one of them, for '
                f'example "ceph config set mgr mgr/rocksdb_tuner/{prefix}soak_max {plan.least_s:g}"'
            )
    return None
