"""Commands that change: operations, the mode, custom profiles."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Optional

from ..advise.custom_profiles import decode_custom_profile
from ..advise.experiment_plan import Grounds, Question, plan_for
from ..advise.records import Kind
from ..advise.weighing import bars_of
from ..evaluate import advised
from ..observe.report_interval import ReportInterval
from ..operations.compaction.plan import recommended, requested
from ..operations.compaction.records import CampaignRequest
from ..operations.experiment.announce import measured_arms
from ..operations.phases import OperationState
from ..options.verdict import BadQuestionError
from ..plan.experiment_design import ExperimentPlan
from ..present.advice import plan_of
from ..present.osd import worst_osds
from ..snapshot import Mode, recommendation_named
from ..units import natural
from .command import OPERATOR, PREFIX, Answer, Context, shown

#: Kinds of recommendations that a rollout or a compaction campaign can apply.
APPLICABLE = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE, Kind.COMPACT})


def apply(context: Context, recommendation_id: str, dry_run: bool = False) -> Answer:
    recommendation = recommendation_named(context.snapshot, recommendation_id)
    if recommendation.kind not in APPLICABLE:
        raise BadQuestionError(
            errno.EINVAL,
            f'"{recommendation_id}" cannot be applied by the module; see "ceph rocksdb-tuner '
            f'recommend {recommendation_id}"',
        )
    sent = {'prefix': f'{PREFIX} apply', 'recommendation_id': recommendation_id}
    if recommendation.kind is Kind.COMPACT:
        return _compact(context, recommended(recommendation, context.actor), sent, dry_run)
    if dry_run:
        return shown(
            'plan',
            plan_of(
                recommendation,
                context.settings().soak,
                ReportInterval(context.snapshot.sampling.report_interval_s),
            ),
        )
    actor, operations = context.actor, context.tuner.operations
    return _start(context, sent, lambda: operations.start(recommendation, actor))


def compact(context: Context, who: Optional[str] = None, dry_run: bool = False) -> Answer:
    if context.mode() is Mode.OFF:
        raise BadQuestionError(
            errno.EPERM, 'the mode is off; see "ceph rocksdb-tuner mode observe"'
        )
    context.inputs()
    snapshot = context.snapshot
    if snapshot.release is None:
        raise BadQuestionError(
            errno.EOPNOTSUPP, 'the module changes nothing under a manager of an unknown release'
        )
    section = 'osd' if who is None else f'osd.{who}' if natural(who) is not None else who
    chosen = sorted(worst_osds(snapshot, section).osds, key=lambda osd: osd.info.osd_id)
    osds = [osd for osd in chosen if osd.info.objectstore in {None, 'bluestore'}]
    if not osds:
        raise BadQuestionError(errno.EOPNOTSUPP, f'no OSD of "{section}" runs BlueStore')
    ids = {osd.info.osd_id for osd in osds}
    request = next(
        (
            recommended(r, context.actor)
            for r in snapshot.recommendations
            if r.kind is Kind.COMPACT and r.who == section and set(r.osds) == ids
        ),
        requested(section, osds, context.actor),
    )
    return _compact(context, request, {'prefix': f'{PREFIX} compact', 'who': who}, dry_run)


def rollback(context: Context, rollout_id: Optional[str] = None) -> Answer:
    return _done(context, partial(context.tuner.operations.rollback, rollout_id, context.actor))


def operation_pause(context: Context) -> Answer:
    return _done(context, partial(context.tuner.operations.pause, context.actor))


def operation_resume(context: Context) -> Answer:
    return _done(context, context.tuner.operations.resume)


def operation_abort(context: Context) -> Answer:
    return _done(context, partial(context.tuner.operations.abort, context.actor))


def _done(context: Context, work: Callable[[], object]) -> Answer:
    context.tuner.submit(work)
    return shown('operation', context.snapshot)


def _compact(
    context: Context, request: CampaignRequest, sent: Mapping[str, object], dry_run: bool
) -> Answer:
    if dry_run:
        plan = context.tuner.submit(lambda: context.tuner.preview(request))
        return shown('compact-plan', plan)
    return _start(context, sent, lambda: context.tuner.operations.campaign_of(request))


def _start(
    context: Context, sent: Mapping[str, object], begin: Callable[[], OperationState]
) -> Answer:
    unknown_actor = context.actor == OPERATOR

    def start() -> None:
        change_id = begin().operation_id
        if unknown_actor:
            context.tuner.find_actor(change_id, sent)

    return _done(context, start)


def mode(context: Context, mode: Optional[Mode] = None) -> Answer:
    if mode is not None:
        context.set_mode(mode)
    return shown('mode', context.mode() if mode is None else mode)


def experiment_plan(context: Context, **question: Any) -> Answer:
    return shown('experiment-plan', _planned(context, **question))


def experiment_start(
    context: Context, dry_run: bool = False, adopt: bool = False, **question: Any
) -> Answer:
    planned = _planned(context, **question)
    if dry_run:
        return shown('experiment-plan', planned)
    operations, actor = context.tuner.operations, context.actor
    return _done(context, lambda: operations.start_experiment(planned, actor, adopt=adopt))


def _planned(
    context: Context,
    who: Optional[str] = None,
    arms: Optional[str] = None,
    signal: Optional[str] = None,
    min_effect: Optional[float] = None,
    max_duration: Optional[float] = None,
) -> ExperimentPlan:
    names = () if arms is None else tuple(name.strip() for name in arms.split(','))
    question = Question(who, names, signal)
    if min_effect is not None:
        question = replace(question, min_effect=min_effect)
    if max_duration is not None:
        question = replace(question, max_duration_s=max_duration)
    published, settings, inputs = context.tuner.published, context.settings(), context.inputs()
    snapshot = published.snapshot
    return plan_for(
        question,
        Grounds(
            groups=tuple(advised(group, inputs.advised_on) for group in snapshot.groups),
            osds=snapshot.osds,
            custom_profiles=context.profiles.all(),
            history=context.tuner.sampler.work.read,
            least_block_s=settings.soak.least_s,
            bars=bars_of(settings.limits),
            measured=measured_arms(snapshot.history),
        ),
    )


def profile_add(context: Context, inbuf: Optional[str] = None) -> Answer:
    own = decode_custom_profile(inbuf)
    return shown('profile-show', context.tuner.submit(lambda: context.profiles.add(own)))


def profile_rm(context: Context, name: str) -> Answer:
    context.tuner.submit(lambda: context.profiles.remove(name))
    return shown('profile-ls', context.profiles.everything())
