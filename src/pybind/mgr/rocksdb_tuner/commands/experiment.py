"""Commands that plan and start experiments."""

from __future__ import annotations

import errno
import re
from typing import Optional

from ..advise.experiment_plan import Grounds, PlannedExperiment, Question, plan_for
from ..advise.weighing import bars_of
from ..evaluate import advised
from ..operations.experiment.admission import request_of
from ..operations.experiment.history import measured_arms
from ..present import render
from ..requests import BusyError
from ..units import natural
from .command import Answer, changes, reads
from .context import CommandRefusedError, Context
from .operation import operation_now

_UNITS_S = {'s': 1.0, 'm': 60.0, 'h': 3600.0, 'd': 86400.0}


@reads('experiment plan')
def experiment_plan(
    context: Context,
    who: Optional[str] = None,
    arms: Optional[str] = None,
    signal: Optional[str] = None,
    min_effect: Optional[str] = None,
    max_duration: Optional[str] = None,
) -> Answer:
    """Show how an experiment would compare option strings on a group"""
    planned = _planned(context, _question(who, arms, signal, min_effect, max_duration))
    return lambda form: render.experiment_plan(planned, form)


@changes('experiment start')
def experiment_start(
    context: Context,
    who: Optional[str] = None,
    arms: Optional[str] = None,
    signal: Optional[str] = None,
    min_effect: Optional[str] = None,
    max_duration: Optional[str] = None,
    dry_run: bool = False,
    adopt: bool = False,
) -> Answer:
    """Compare option strings on OSDs of a group, then restore them"""
    planned = _planned(context, _question(who, arms, signal, min_effect, max_duration))
    if dry_run:
        return lambda form: render.experiment_plan(planned, form)
    request = request_of(planned, context.actor, adopt=adopt)
    context.tuner.submit(lambda: context.tuner.operations.start_experiment(request))
    return operation_now(context)


def _question(
    who: Optional[str],
    arms: Optional[str],
    signal: Optional[str],
    min_effect: Optional[str],
    max_duration: Optional[str],
) -> Question:
    known = Question()
    return Question(
        who=who,
        arms=() if arms is None else tuple(name.strip() for name in arms.split(',')),
        signal=signal,
        min_effect=known.min_effect if min_effect is None else _share(min_effect),
        max_duration_s=known.max_duration_s if max_duration is None else _seconds(max_duration),
    )


def _share(text: str) -> float:
    """The 0.1 of "10" or "10%"."""
    found = re.fullmatch(r'(\d+(?:\.\d+)?)%?', text.strip(), re.ASCII)
    if found is None:
        raise CommandRefusedError(
            errno.EINVAL, f'invalid --min-effect "{text}": use percent, as in "10" or "7.5%"'
        )
    return float(found[1]) / 100


def _seconds(text: str) -> float:
    """The 43200 of "43200" or "12h"."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS_S else (text, 's')
    count = natural(number)
    if count is None:
        raise CommandRefusedError(
            errno.EINVAL,
            f'invalid --max-duration "{text}": use seconds, or a number with s, m, h or d, as in '
            '"12h"',
        )
    return count * _UNITS_S[unit]


def _planned(context: Context, question: Question) -> PlannedExperiment:
    published, settings = context.tuner.published, context.settings()
    snapshot, inputs = published.snapshot, published.inputs
    if inputs is None:
        raise BusyError('the module has not sampled the cluster yet; try again in a moment')
    return plan_for(
        question,
        Grounds(
            groups=tuple(advised(group, inputs.advised_on) for group in snapshot.groups),
            osds=snapshot.osds,
            custom_profiles=context.profiles.all(),
            history=context.tuner.work.read,
            least_block_s=settings.soak.least_s,
            bars=bars_of(settings.limits),
            measured=measured_arms(snapshot.history),
        ),
    )
