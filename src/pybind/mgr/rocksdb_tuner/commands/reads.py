"""Commands that read: the state of the cluster, and the charts of the dashboard."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Optional

from ..collection import report as reports
from ..doctor import Environment, examine
from ..options.verdict import BadQuestionError
from ..present.advice import findings_named, in_full
from ..present.osd import detail_of, facts_of, growth_of, trends_of, worst_osds
from ..present.views import Format
from .command import Answer, shown
from .context import Context, osd_number

#: The notice in `status` after a browser could not add the tab.
TAB_NOTICE = (
    'The RocksDB Tuner tab cannot be added to the Ceph Dashboard: the page Cluster » OSDs of this '
    'release is not supported. Use the REST API or the command line instead.'
)
#: Enough for a canary with its controls, and still legible in a chart.
TREND_OSDS_MAX = 24


def status(context: Context) -> Answer:
    snapshot = replace(context.snapshot, failing=context.tuner.steps.failing)
    if context.tab_is_missing:
        snapshot = replace(snapshot, notices=(*snapshot.notices, TAB_NOTICE))
    return shown('status', snapshot)


def osd(
    context: Context,
    osd_id: Optional[str] = None,
    who: Optional[str] = None,
    worst: Optional[int] = None,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    if osd_id is None:
        return shown('osd', worst_osds(context.snapshot, who, worst), everything=all)
    if who is not None or worst is not None:
        raise BadQuestionError(errno.EINVAL, '--who and --worst list OSDs: leave out the id')
    return shown('osd-detail', detail_of(context.snapshot, osd_number(osd_id)))


def osd_deep(
    context: Context,
    osd_id: str,
    all: bool = False,  # noqa: A002, ARG001 - the name of the flag, for `command`
) -> Answer:
    number = osd_number(osd_id)
    # Fail early for an unknown OSD.
    facts_of(context.snapshot, number)
    found = context.tuner.deep_stats.read(number)
    return shown('osd-detail', detail_of(context.snapshot, number, found))


def workload(
    context: Context,
    osds: bool = False,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    return shown('workload', context.snapshot, osds=osds, everything=all)


def findings(context: Context, finding_id: Optional[str] = None) -> Answer:
    if finding_id is None:
        return shown('findings', context.snapshot)
    return shown('finding', findings_named(context.snapshot, finding_id))


def recommend(
    context: Context,
    recommendation_id: Optional[str] = None,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    if recommendation_id is None:
        return shown('recommend-all' if all else 'recommend', context.snapshot)
    found = context.recommendation(recommendation_id)
    return shown('recommend-detail', in_full(found, context.settings().soak))


def operation_status(context: Context) -> Answer:
    return shown('operation', context.snapshot)


def history(context: Context) -> Answer:
    return shown('history', context.snapshot.history)


def report(context: Context, anonymous: bool = False) -> Answer:
    published = context.tuner.published

    def write(form: Format) -> str:
        pretty, known = form is Format.JSON_PRETTY, published.reports
        with context.writing_report:
            if (anonymous, pretty) not in known:
                collection = context.tuner.collection(published)
                known[anonymous, pretty] = reports.report(
                    collection, anonymous=anonymous, pretty=pretty
                )
            return known[anonymous, pretty]

    return write


def doctor(context: Context) -> Answer:
    published = context.tuner.published
    snapshot = replace(published.snapshot, failing=context.tuner.steps.failing)
    inputs = published.inputs
    reason = None if inputs is None else inputs.orchestrator_reason
    environment = Environment(
        host=None if inputs is None else inputs.host,
        orchestrated=None if inputs is None else reason is None,
        orchestrator_reason=reason,
        tab_unplaced=context.tab_is_missing,
        metrics_url=context.metrics_url(),
        metrics_enabled=context.metrics_enabled(),
    )
    return shown('doctor', examine(snapshot, environment))


def osd_map(context: Context) -> Answer:
    return shown('osd-map', context.snapshot)


def trend(
    context: Context, osds: Optional[str] = None, device_class: Optional[str] = None
) -> Answer:
    trends = context.tuner.sampler.trends
    if (osds is None) == (device_class is None):
        raise BadQuestionError(errno.EINVAL, 'specify either "osds" or "device_class"')
    if device_class is not None:
        found = trends.of_class(device_class)
        return shown('trend', () if found is None else trends_of((None, device_class, found)))
    numbers = [osd_number(text) for text in str(osds).split(',')]
    if len(numbers) > TREND_OSDS_MAX:
        raise BadQuestionError(
            errno.EINVAL, f'too many OSDs ({len(numbers)}), the maximum is {TREND_OSDS_MAX}'
        )
    for number in numbers:
        facts_of(context.snapshot, number)
    read = [(number, None, trends.of_osd(number)) for number in dict.fromkeys(numbers)]
    return shown(
        'trend', trends_of(*((n, of, trend) for n, of, trend in read if trend is not None))
    )


def growth(context: Context, osd_id: str) -> Answer:
    number = osd_number(osd_id)
    published = context.tuner.published
    facts, inputs = facts_of(published.snapshot, number), published.inputs
    points = None if inputs is None else inputs.kept.growth_of(number)
    return shown('growth', growth_of(facts, points))
