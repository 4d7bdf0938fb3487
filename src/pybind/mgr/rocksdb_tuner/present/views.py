"""What the commands answer: the record of each answer, how it is made, and its plain text.

The published schemas, the types of the dashboard's tab and the REST API's documentation follow from
`VIEWS`.
"""

from __future__ import annotations

import errno
import json
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any, Callable, NamedTuple, Optional, Union

from ..advise.profiles import Profile
from ..advise.records import Finding
from ..advise.weighing import Assessment
from ..advise.whatif.compare import Comparison
from ..advise.whatif.derive import Derivation
from ..doctor import DoctorCheck
from ..kinds import kind_of
from ..notes import Picked
from ..operations.compaction.plan import CampaignPlan
from ..options.catalogue import OptionInfo, RelatedOption
from ..options.verdict import BadQuestionError, Verdict
from . import advice, experiment, operations, options, osd, status
from .layout import harmless, outline
from .phrases import COMMAND, worst_first
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
    #: The plain text of the subject, or the names that an outline of the answer has; None: JSON.
    plain: Union[Callable[..., str], tuple[str, ...], None] = None
    #: The command or request that it answers; empty: the command that its schema is named by.
    title: str = ''
    #: For a list or an optional answer; a record has its own.
    description: str = ''


_PROFILE = Picked(
    *('name', 'title', 'options', 'release_defaults', 'workloads', 'superseded', 'source'),
    *('own', 'own_releases'),
)
_SITUATION = ('osd', 'release', 'rocksdb_version')
_OPTION = Union[OptionInfo, RelatedOption]
#: By the name of their schema.
VIEWS = {
    'status': View(status.Status, status.status_of, status.status),
    'mode': View(status.ModeInForce, status.ModeInForce, status.mode),
    'doctor': View(tuple[DoctorCheck, ...], None, status.doctor, description='One row per check.'),
    'report': View(status.Report),
    'osd': View(tuple[osd.OsdRow, ...], osd.rows_of, osd.osds, description='One row per OSD.'),
    'osd-detail': View(osd.OsdDetail, None, osd.osd, f'{COMMAND} osd <id>'),
    'workload': View(osd.Workloads, osd.workloads_of, osd.workload),
    'osd-map': View(osd.OsdMap, osd.osd_map_of, title='The map of all OSDs in the Ceph Dashboard'),
    'trend': View(
        tuple[osd.Trend, ...],
        title='Time series of OSDs or of a device class over the last hours',
        description='One series each; empty before the first sample. Every list has as many items '
        'as time_s; null: unknown at that time. For a class: the median over its OSDs for times, '
        'shares and ratios, the mean for all others.',
    ),
    'growth': View(osd.Growth, title='Growth of the DB of an OSD on its device'),
    'findings': View(
        tuple[Finding, ...],
        lambda snapshot: worst_first(snapshot.findings),
        advice.findings,
        description='Worst first.',
    ),
    'recommend': View(
        tuple[advice.Recommendation, ...],
        advice.recommendations_of,
        advice.recommend,
        description='Empty if no change is recommended.',
    ),
    'recommend-detail': View(
        advice.RecommendationInFull, advice.in_full, advice.show, f'{COMMAND} recommend <id>'
    ),
    'recommend-all': View(
        tuple[Assessment, ...],
        attrgetter('assessments'),
        advice.candidates,
        f'{COMMAND} recommend --all',
    ),
    'plan': View(advice.Plan, None, advice.plan, f'{COMMAND} apply <id> --dry-run'),
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
    ),
    'operation': View(
        Optional[operations.Operation],
        operations.operation_of,
        operations.operation,
        f'{COMMAND} operation status, and the answer to whatever starts or controls one',
        'The operation under way, or the last one; null before the first.',
    ),
    'history': View(
        tuple[operations.Change, ...],
        operations.history_of,
        operations.history,
        description='Every change, oldest first.',
    ),
    'check': View(Verdict, None, options.check),
    'explain': View(
        _OPTION,
        None,
        (),
        f'{COMMAND} explain <option>',
        'An option of the string, or a related one of Ceph.',
    ),
    'explain-ls': View(
        tuple[_OPTION, ...], None, options.option_list, f'{COMMAND} explain', 'One row per option.'
    ),
    'model': View(
        options.Model,
        options.model_of,
        (
            *(*_SITUATION, 'profile', 'write_amplification', 'space_amplification'),
            *('kv_sync_time', 'dynamic_level_bytes', 'wal', 'memtables', 'levels', 'db_device'),
            *('level0', 'column_families', 'assumptions'),
        ),
    ),
    'profile-derive': View(
        Derivation,
        None,
        (
            *(*_SITUATION, 'workload', 'options', 'equals', 'nearest', 'differences', 'choices'),
            'assumptions',
        ),
    ),
    'profile-diff': View(Comparison, None, options.comparison),
    'profile-ls': View(
        tuple[Annotated[Profile, _PROFILE], ...],
        None,
        options.profile_list,
        description='Best-tested first.',
    ),
    'profile-show': View(
        Profile,
        None,
        (
            *('name', 'title', 'options', 'release_defaults', 'superseded', 'own_releases'),
            *('source', 'cautions', 'hardware', 'suitability', 'evidence'),
        ),
        f'{COMMAND} profile show <name>',
    ),
}
#: What the dashboard's tab reads.
IN_TAB = (
    *('status', 'osd-map', 'trend', 'growth', 'findings', 'recommend', 'recommend-detail'),
    *('recommend-all', 'plan', 'experiment-plan', 'operation', 'history', 'profile-ls'),
)


def show(view: str, subject: Any, form: str = Format.JSON, **options: object) -> str:
    """The text of an answer; ``options`` of its plain text.

    Raises BadQuestionError (EINVAL) for an unknown format.
    """
    if form not in FORMATS:
        raise BadQuestionError(
            errno.EINVAL, f'invalid format "{form}"; formats: {", ".join(FORMATS)}'
        )
    kind, answer, plain, *_ = VIEWS[view]
    if form == Format.PLAIN and plain is not None and not isinstance(plain, tuple):
        return harmless(plain(subject, **options))
    made: Any = to_json(subject if answer is None else answer(subject), kind_of(kind))
    if form == Format.PLAIN and isinstance(plain, tuple):
        return harmless(outline(made, plain))
    # NaN and infinity are not valid JSON; `to_json` removes them.
    return json.dumps(made, indent=4 if form == Format.JSON_PRETTY else None, allow_nan=False)
