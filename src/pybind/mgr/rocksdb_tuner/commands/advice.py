"""Findings and recommendations."""

from __future__ import annotations

from ..present import render
from .command import Answer, reads
from .context import Context


@reads('findings', 'finding ls')
def findings(context: Context) -> Answer:
    """List findings, worst first"""
    return lambda form: render.findings(context.snapshot, form)


@reads('finding show')
def finding_show(context: Context, finding_id: str) -> Answer:
    """Show a finding in full, with evidence, remedy, commands and source"""
    return lambda form: render.finding(context.snapshot, finding_id, form)


@reads('recommend', 'recommendation ls')
def recommend(context: Context) -> Answer:
    """List recommendations, or why there are none"""
    return lambda form: render.recommend(context.snapshot, form)


@reads('candidates')
def candidates(context: Context) -> Answer:
    """Show candidate options for each group, and the choice"""
    return lambda form: render.candidates(context.snapshot, form)


@reads('show', 'recommendation show')
def show(context: Context, recommendation_id: str) -> Answer:
    """Show a recommendation in full, with its commands and their undo"""
    recommendation = context.recommendation(recommendation_id)
    soak = context.settings().soak
    return lambda form: render.show(recommendation, form, soak)
