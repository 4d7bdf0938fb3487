"""What the commands answer: the record of each answer, how it is made, and its table.

The published schemas, the types of the dashboard's tab and the REST API's documentation follow from
`VIEWS`.
"""

from __future__ import annotations

import errno
import json
from enum import Enum
from typing import Annotated, Any, Callable, NamedTuple, Optional, Union

from ..advise.profiles import Profile
from ..advise.records import Finding
from ..advise.whatif.compare import Comparison
from ..doctor import DoctorCheck
from ..kinds import kind_of
from ..notes import Picked
from ..operations.compaction.plan import CampaignPlan
from ..options.catalogue import OptionInfo, RelatedOption
from ..options.verdict import BadQuestionError, Verdict
from . import advice, experiment, model, operations, options, osd, status
from .layout import harmless
from .phrases import COMMAND
from .to_json import to_json


class Format(str, Enum):
    """An output format."""

    PLAIN = 'plain'
    JSON = 'json'
    JSON_PRETTY = 'json-pretty'


FORMATS = tuple(form.value for form in Format)


class View(NamedTuple):
    """An answer."""

    kind: Any
    #: Makes the answer; None: the subject is the answer.
    answer: Optional[Callable[[Any], Any]] = None
    #: Of the subject; None: JSON only.
    table: Optional[Callable[..., str]] = None
    #: The command or request that it answers; empty: the command that its schema is named by.
    title: str = ''
    #: For a list or an optional answer; a record has its own.
    description: str = ''
    #: Whether the dashboard's tab reads it.
    in_tab: bool = False


_PROFILE = Picked(
    *('name', 'title', 'options', 'release_defaults', 'workloads', 'superseded', 'source'),
    *('own', 'own_releases'),
)
#: By the name of their schema.
VIEWS = {
    'status': View(status.Status, status.status_of, status.status, in_tab=True),
    'mode': View(status.ModeInForce, status.mode_of, status.mode),
    'doctor': View(tuple[DoctorCheck, ...], None, status.doctor, description='One row per check.'),
    'report': View(status.Report),
    'offline': View(
        status.Overview,
        status.overview_of,
        title='python3 -m rocksdb_tuner.offline PATH --format json',
    ),
    'osd': View(tuple[osd.OsdRow, ...], osd.rows_of, osd.osds, description='One row per OSD.'),
    'osd-detail': View(osd.OsdDetail, None, osd.osd, f'{COMMAND} osd <id>'),
    'workload': View(osd.Workloads, osd.workloads_of, osd.workload),
    'osd-map': View(
        osd.OsdMap, osd.osd_map_of, title='The map of all OSDs in the Ceph Dashboard', in_tab=True
    ),
    'trend': View(
        tuple[osd.Trend, ...],
        title='Time series of OSDs or of a device class over the last hours',
        description='One series each; empty before the first sample. Every list has as many items '
        'as time_s; null: unknown at that time. For a class: the median over its OSDs for times, '
        'shares and ratios, the mean for all others.',
        in_tab=True,
    ),
    'growth': View(osd.Growth, title='Growth of the DB of an OSD on its device', in_tab=True),
    'findings': View(
        tuple[Finding, ...],
        advice.findings_of,
        advice.findings,
        description='Worst first.',
        in_tab=True,
    ),
    'finding': View(tuple[Finding, ...], None, advice.finding, f'{COMMAND} findings <id>'),
    'recommend': View(
        tuple[advice.Recommendation, ...],
        advice.recommendations_of,
        advice.recommend,
        description='Empty if no change is recommended.',
        in_tab=True,
    ),
    'recommend-detail': View(
        advice.RecommendationInFull, None, advice.show, f'{COMMAND} recommend <id>', in_tab=True
    ),
    'recommend-all': View(
        tuple[advice.Considered, ...],
        advice.considered_of,
        advice.candidates,
        f'{COMMAND} recommend --all',
        in_tab=True,
    ),
    'plan': View(advice.Plan, None, advice.plan, f'{COMMAND} apply <id> --dry-run', in_tab=True),
    'compact-plan': View(
        CampaignPlan,
        None,
        operations.campaign_plan,
        f'{COMMAND} compact --dry-run, and apply <id> --dry-run for a compaction',
    ),
    'experiment-plan': View(
        experiment.ExperimentPlan,
        experiment.experiment_plan_of,
        experiment.experiment_plan,
        f'{COMMAND} experiment plan, and experiment start --dry-run',
        in_tab=True,
    ),
    'operation': View(
        Optional[operations.Operation],
        operations.operation_of,
        operations.operation,
        f'{COMMAND} operation status, and the answer to whatever starts or controls one',
        'The operation under way, or the last one; null before the first.',
        in_tab=True,
    ),
    'history': View(
        tuple[operations.Change, ...],
        operations.history_of,
        operations.history,
        description='Every change, oldest first.',
        in_tab=True,
    ),
    'check': View(Verdict, None, options.check),
    'explain': View(
        Union[OptionInfo, RelatedOption],
        None,
        options.explain,
        f'{COMMAND} explain <option>',
        'An option of the string, or a related one of Ceph.',
    ),
    'explain-ls': View(
        tuple[Union[OptionInfo, RelatedOption], ...],
        None,
        options.option_list,
        f'{COMMAND} explain',
        'One row per option.',
    ),
    'model': View(model.Model, model.model_of, model.tree),
    'profile-derive': View(model.Derived, model.derived_of, model.derivation),
    'profile-diff': View(Comparison, None, options.comparison),
    'profile-ls': View(
        tuple[Annotated[Profile, _PROFILE], ...],
        None,
        options.profile_list,
        description='Best-tested first.',
        in_tab=True,
    ),
    'profile-show': View(Profile, None, options.profile, f'{COMMAND} profile show <name>'),
}


def show(view: str, subject: Any, form: str = Format.JSON, **options: object) -> str:
    """The text of an answer; ``options`` of its table.

    Raises BadQuestionError (EINVAL) for an unknown format.
    """
    if form not in FORMATS:
        raise BadQuestionError(
            errno.EINVAL, f'invalid format "{form}"; formats: {", ".join(FORMATS)}'
        )
    kind, answer, table, *_ = VIEWS[view]
    if form == Format.PLAIN and table is not None:
        return harmless(table(subject, **options))
    made = to_json(subject if answer is None else answer(subject), kind_of(kind))
    # NaN and infinity are not valid JSON; `to_json` removes them.
    return json.dumps(made, indent=4 if form == Format.JSON_PRETTY else None, allow_nan=False)
