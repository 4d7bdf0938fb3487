"""The `doctor` command."""

from __future__ import annotations

from dataclasses import replace

from ..doctor import Environment, examine
from ..present import render
from .command import Answer, reads
from .context import Context


@reads('doctor')
def doctor(context: Context) -> Answer:
    """Check installation, managers, sampling, orchestrator and dashboard"""
    published = context.tuner.published
    snapshot = replace(published.snapshot, failing=context.tuner.steps.failing)
    inputs = published.inputs
    environment = Environment(
        host=None if inputs is None else inputs.host,
        orchestrated=None if inputs is None else inputs.orchestrator_reason is None,
        orchestrator_reason=None if inputs is None else inputs.orchestrator_reason,
        tab_unplaced=context.tab_is_missing,
        metrics_url=context.metrics_url(),
        metrics_enabled=context.metrics_enabled(),
    )
    checks = examine(snapshot, environment)
    return lambda form: render.doctor(checks, form)
