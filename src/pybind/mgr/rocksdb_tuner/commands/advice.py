"""Findings and recommendations."""

from __future__ import annotations

from typing import Optional

from ..present import render
from .command import Answer, reads
from .context import Context


@reads('findings')
def findings(context: Context, finding_id: Optional[str] = None) -> Answer:
    """List findings, worst first, or show one in full"""
    if finding_id is None:
        return lambda form: render.findings(context.snapshot, form)
    return lambda form: render.finding(context.snapshot, finding_id, form)


@reads('recommend')
def recommend(
    context: Context,
    recommendation_id: Optional[str] = None,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    """List recommendations, show one in full, or --all candidates"""
    if recommendation_id is None:
        shown = render.candidates if all else render.recommend
        return lambda form: shown(context.snapshot, form)
    recommendation = context.recommendation(recommendation_id)
    soak = context.settings().soak
    return lambda form: render.show(recommendation, form, soak)
