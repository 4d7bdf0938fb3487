"""Commands that read: the cluster, options and profiles, and the charts of the dashboard."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any, Callable, Optional

from ..advise.whatif.compare import compare, sides, subjects
from ..advise.whatif.derive import derive
from ..advise.whatif.situation import Situation, find_situation, read_overrides
from ..advise.whatif.tree import tree
from ..collection import report as reports
from ..doctor import Environment, examine
from ..options.verdict import BadQuestionError, all_options, find_option, judge_for
from ..present.advice import findings_named
from ..present.osd import detail_of, facts_of, growth_of, trends_of, worst_osds
from ..present.views import Format
from ..settings import read
from ..snapshot import Snapshot, recommendation_named
from .command import Answer, Context, osd_number, shown

#: The notice in `status` after a browser could not add the tab.
TAB_NOTICE = (
    'The RocksDB Tuner tab cannot be added to the Ceph Dashboard: the page Cluster » OSDs of this '
    'release is not supported. Use the REST API or the command line instead.'
)
#: Enough for a canary with its controls, and still legible in a chart.
TREND_OSDS_MAX = 24


def of_snapshot(
    view: str, part: Callable[[Snapshot], object] = lambda snapshot: snapshot
) -> Callable[[Context], Answer]:
    """The handler of a command that shows the snapshot, or ``part`` of it."""
    return lambda context: shown(view, part(context.snapshot))


def status(context: Context) -> Answer:
    snapshot = replace(context.snapshot, failing=context.tuner.steps.failing)
    if context.tab_is_missing:
        snapshot = replace(snapshot, notices=(*snapshot.notices, TAB_NOTICE))
    return shown('status', snapshot)


def osd(
    context: Context,
    osd_id: Optional[int] = None,
    who: Optional[str] = None,
    worst: Optional[int] = None,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    if osd_id is None:
        return shown('osd', worst_osds(context.snapshot, who, worst), everything=all)
    if who is not None or worst is not None:
        raise BadQuestionError(errno.EINVAL, '--who and --worst list OSDs: leave out the id')
    return shown('osd-detail', detail_of(context.snapshot, osd_id))


def osd_deep(context: Context, osd_id: int) -> Answer:
    facts_of(context.snapshot, osd_id)
    found = context.tuner.deep_stats.read(osd_id)
    return shown('osd-detail', detail_of(context.snapshot, osd_id, found))


def workload(
    context: Context,
    osds: bool = False,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    return shown('workload', context.snapshot, osds=osds, everything=all)


def findings(context: Context, finding_id: Optional[str] = None) -> Answer:
    if finding_id is None:
        return shown('findings', context.snapshot)
    return shown('findings', findings_named(context.snapshot, finding_id), whole=True)


def recommend(
    context: Context,
    recommendation_id: Optional[str] = None,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    if recommendation_id is None:
        return shown('recommend-all' if all else 'recommend', context.snapshot)
    return shown('recommend-detail', recommendation_named(context.snapshot, recommendation_id))


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
        metrics_enabled=bool(read('metrics', context.option)),
    )
    return shown('doctor', examine(snapshot, environment))


def trend(
    context: Context, osds: Optional[str] = None, device_class: Optional[str] = None
) -> Answer:
    trends = context.tuner.sampler.trends
    if (osds is None) == (device_class is None):
        raise BadQuestionError(errno.EINVAL, 'specify either "osds" or "device_class"')
    numbers = [] if osds is None else [osd_number(text) for text in osds.split(',')]
    if len(numbers) > TREND_OSDS_MAX:
        raise BadQuestionError(
            errno.EINVAL, f'too many OSDs ({len(numbers)}), the maximum is {TREND_OSDS_MAX}'
        )
    for number in numbers:
        facts_of(context.snapshot, number)
    if device_class is not None:
        found = trends.of_class(device_class)
        return shown('trend', () if found is None else trends_of((None, device_class, found)))
    read = [(number, trends.of_osd(number)) for number in dict.fromkeys(numbers)]
    return shown('trend', trends_of(*((n, None, t) for n, t in read if t is not None)))


def growth(context: Context, osd_id: int) -> Answer:
    published = context.tuner.published
    facts, inputs = facts_of(published.snapshot, osd_id), published.inputs
    points = None if inputs is None else inputs.kept.growth_of(osd_id)
    return shown('growth', growth_of(facts, points))


def model(context: Context, options: str, **given: Any) -> Answer:
    return shown('model', tree(options, _situation(context, **given)))


def check(
    context: Context,
    options: str,
    release: Optional[str] = None,
    osd: Optional[int] = None,
    device_class: Optional[str] = None,
    **given: Any,
) -> Answer:
    targets = subjects(
        context.snapshot.osds,
        osd_id=osd,
        device_class=device_class,
        release=release,
        overrides=read_overrides(**given),
    )
    return shown('check', judge_for(options, targets))


def _situation(
    context: Context, osd: Optional[int] = None, release: Optional[str] = None, **given: Any
) -> Situation:
    return find_situation(context.snapshot.osds, osd, release, read_overrides(**given))


def explain(context: Context, option: Optional[str] = None) -> Answer:  # noqa: ARG001 - of no cluster
    if option is None:
        return shown('explain-ls', tuple(all_options().values()))
    return shown('explain', find_option(option))


def profile_ls(context: Context) -> Answer:
    return shown('profile-ls', context.profiles.everything())


def profile_show(context: Context, name: str) -> Answer:
    return shown('profile-show', context.profiles.get(name))


def profile_diff(
    context: Context,
    name: str,
    other: Optional[str] = None,
    osd: Optional[int] = None,
    release: Optional[str] = None,
) -> Answer:
    find = context.profiles.get
    return shown(
        'profile-diff', compare(*sides(context.snapshot.osds, find, name, other, osd, release))
    )


def profile_derive(context: Context, **given: Any) -> Answer:
    return shown('profile-derive', derive(_situation(context, **given)))
