"""The `report` command."""

from __future__ import annotations

from ..collection import report as reports
from ..present.render import Format
from .command import Answer, reads
from .context import Context


@reads('report', long=False)
def report(context: Context, anonymous: bool = False) -> Answer:
    """Show all module data as one JSON document"""
    tuner = context.tuner
    published = tuner.published

    def write(form: Format) -> str:
        pretty = form is Format.JSON_PRETTY
        return context.reports.get(
            (published, anonymous, pretty),
            lambda: reports.report(tuner.collection(published), anonymous=anonymous, pretty=pretty),
        )

    return write
