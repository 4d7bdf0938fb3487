"""Commands that change: operations, the mode."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Callable, Optional

from ..advise.experiment_plan import Grounds, Question, plan_for
from ..advise.records import Kind
from ..advise.weighing import bars_of
from ..evaluate import advised
from ..operations.compaction.plan import recommended, requested
from ..operations.compaction.records import CampaignRequest
from ..operations.experiment.announce import measured_arms
from ..operations.phases import OperationState
from ..options.verdict import BadQuestionError
from ..plan.experiment_design import ExperimentPlan
from ..present.advice import plan_of
from ..requests import NOT_SAMPLED, BusyError
from ..snapshot import Mode
from ..units import natural
from .command import PREFIX, Answer, shown
from .context import OPERATOR, Context, who_of

#: Kinds of recommendations that a rollout or a compaction campaign can apply.
APPLICABLE = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE, Kind.COMPACT})


def apply(context: Context, recommendation_id: str, dry_run: bool = False) -> Answer:
    recommendation = context.recommendation(recommendation_id)
    if recommendation.kind not in APPLICABLE:
        raise BadQuestionError(
            errno.EINVAL,
            f'"{recommendation_id}" cannot be applied by the module; see "ceph rocksdb-tuner '
            f'recommend {recommendation_id}"',
        )
    sent = {'prefix': f'{PREFIX} apply', 'recommendation_id': recommendation_id}
    if recommendation.kind is Kind.COMPACT:
        parallel = context.settings().compaction_parallel
        return _compact(
            context, recommended(recommendation, context.actor, parallel), sent, dry_run
        )
    if dry_run:
        return shown('plan', plan_of(recommendation, context.settings().soak))
    actor, operations = context.actor, context.tuner.operations
    return _start(context, sent, lambda: operations.start(recommendation, actor))


def compact(context: Context, who: Optional[str] = None, dry_run: bool = False) -> Answer:
    if context.mode() is Mode.OFF:
        raise BadQuestionError(
            errno.EPERM, 'the mode is off; see "ceph rocksdb-tuner mode observe"'
        )
    snapshot = context.snapshot
    if context.tuner.published.inputs is None:
        raise BusyError(NOT_SAMPLED)
    if snapshot.release is None:
        raise BadQuestionError(
            errno.EOPNOTSUPP, 'the module changes nothing under a manager of an unknown release'
        )
    section, chosen = who_of(who, snapshot.osds)
    osds = [osd for osd in chosen if osd.info.objectstore in {None, 'bluestore'}]
    if not osds:
        raise BadQuestionError(errno.EOPNOTSUPP, f'no OSD of "{section}" runs BlueStore')
    ids = {osd.info.osd_id for osd in osds}
    parallel = context.settings().compaction_parallel
    request = next(
        (
            recommended(r, context.actor, parallel)
            for r in snapshot.recommendations
            if r.kind is Kind.COMPACT and r.who == section and set(r.osds) == ids
        ),
        requested(section, osds, context.actor, parallel),
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
    return operation_now(context)


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


def operation_now(context: Context) -> Answer:
    operations = context.tuner.operations
    now = replace(
        context.snapshot,
        rollout=operations.driver.state,
        campaign=operations.campaign.state,
        campaign_waits_for=operations.campaign.waits_for,
        experiment=operations.experiment.state,
    )
    return shown('operation', now)


def mode(context: Context, mode: Optional[Mode] = None) -> Answer:
    if mode is not None:
        context.set_mode(mode)
    return shown('mode', context.mode() if mode is None else mode)


_UNITS_S = {'s': 1.0, 'm': 60.0, 'h': 3600.0, 'd': 86400.0}


def experiment_plan(context: Context, **question: Optional[str]) -> Answer:
    return shown('experiment-plan', _planned(context, **question))


def experiment_start(
    context: Context, dry_run: bool = False, adopt: bool = False, **question: Optional[str]
) -> Answer:
    planned = _planned(context, **question)
    if dry_run:
        return shown('experiment-plan', planned)
    operations, actor = context.tuner.operations, context.actor
    return _done(context, lambda: operations.start_experiment(planned, actor, adopt=adopt))


def _share(text: str) -> float:
    """The 0.1 of "10" or "10%"."""
    found = re.fullmatch(r'(\d+(?:\.\d+)?)%?', text.strip(), re.ASCII)
    if found is None:
        raise BadQuestionError(
            errno.EINVAL, f'invalid --min-effect "{text}": use percent, as in "10" or "7.5%"'
        )
    return float(found[1]) / 100


def _seconds(text: str) -> float:
    """The 43200 of "43200" or "12h"."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS_S else (text, 's')
    count = natural(number)
    if count is None:
        raise BadQuestionError(
            errno.EINVAL,
            f'invalid --max-duration "{text}": use seconds, or a number with s, m, h or d, as in '
            '"12h"',
        )
    return count * _UNITS_S[unit]


def _planned(
    context: Context,
    who: Optional[str] = None,
    arms: Optional[str] = None,
    signal: Optional[str] = None,
    min_effect: Optional[str] = None,
    max_duration: Optional[str] = None,
) -> ExperimentPlan:
    names = () if arms is None else tuple(name.strip() for name in arms.split(','))
    question = Question(who, names, signal)
    if min_effect is not None:
        question = replace(question, min_effect=_share(min_effect))
    if max_duration is not None:
        question = replace(question, max_duration_s=_seconds(max_duration))
    published, settings = context.tuner.published, context.settings()
    snapshot, inputs = published.snapshot, published.inputs
    if inputs is None:
        raise BusyError(NOT_SAMPLED)
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
