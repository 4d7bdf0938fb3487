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
from .to_json import to_json


class Format(str, Enum):
    """An output format."""

    PLAIN = 'plain'
    JSON = 'json'
    JSON_PRETTY = 'json-pretty'


FORMATS = tuple(form.value for form in Format)


class View(NamedTuple):
    """An answer."""

    #: The command or request that it answers.
    title: str
    kind: Any
    #: Makes the answer; None: the subject is the answer.
    answer: Optional[Callable[[Any], Any]] = None
    #: Of the subject; None: JSON only.
    table: Optional[Callable[..., str]] = None
    #: For a list or an optional answer; a record has its own.
    description: str = ''
    #: Whether the dashboard's tab reads it.
    in_tab: bool = False


_PROFILE = Picked(
    'name',
    'title',
    'options',
    'release_defaults',
    'workloads',
    'superseded',
    'source',
    'own',
    'own_releases',
)
#: By the name of their schema.
VIEWS = {
    'status': View(
        'ceph rocksdb-tuner status', status.Status, status.status_of, status.status, in_tab=True
    ),
    'mode': View('ceph rocksdb-tuner mode', status.ModeInForce, status.mode_of, status.mode),
    'doctor': View(
        'ceph rocksdb-tuner doctor',
        tuple[DoctorCheck, ...],
        None,
        status.doctor,
        'One row per check.',
    ),
    'report': View('ceph rocksdb-tuner report', status.Report),
    'offline': View(
        'python3 -m rocksdb_tuner.offline PATH --format json', status.Overview, status.overview_of
    ),
    'osd': View(
        'ceph rocksdb-tuner osd', tuple[osd.OsdRow, ...], osd.rows_of, osd.osds, 'One row per OSD.'
    ),
    'osd-detail': View('ceph rocksdb-tuner osd <id>', osd.OsdDetail, None, osd.osd),
    'workload': View('ceph rocksdb-tuner workload', osd.Workloads, osd.workloads_of, osd.workload),
    'osd-map': View(
        'The map of all OSDs in the Ceph Dashboard', osd.OsdMap, osd.osd_map_of, in_tab=True
    ),
    'trend': View(
        'Time series of OSDs or of a device class over the last hours',
        tuple[osd.Trend, ...],
        description='One series each; empty before the first sample. Every list has as many items '
        'as time_s; null: unknown at that time. For a class: the median over its OSDs for times, '
        'shares and ratios, the mean for all others.',
        in_tab=True,
    ),
    'growth': View('Growth of the DB of an OSD on its device', osd.Growth, in_tab=True),
    'findings': View(
        'ceph rocksdb-tuner findings',
        tuple[Finding, ...],
        advice.findings_of,
        advice.findings,
        'Worst first.',
        in_tab=True,
    ),
    'finding': View('ceph rocksdb-tuner findings <id>', tuple[Finding, ...], None, advice.finding),
    'recommend': View(
        'ceph rocksdb-tuner recommend',
        tuple[advice.Recommendation, ...],
        advice.recommendations_of,
        advice.recommend,
        'Empty if no change is recommended.',
        in_tab=True,
    ),
    'recommend-detail': View(
        'ceph rocksdb-tuner recommend <id>',
        advice.RecommendationInFull,
        None,
        advice.show,
        in_tab=True,
    ),
    'recommend-all': View(
        'ceph rocksdb-tuner recommend --all',
        tuple[advice.Considered, ...],
        advice.considered_of,
        advice.candidates,
        in_tab=True,
    ),
    'plan': View(
        'ceph rocksdb-tuner apply <id> --dry-run', advice.Plan, None, advice.plan, in_tab=True
    ),
    'compact-plan': View(
        'ceph rocksdb-tuner compact --dry-run, and apply <id> --dry-run for a compaction',
        CampaignPlan,
        None,
        operations.campaign_plan,
    ),
    'experiment-plan': View(
        'ceph rocksdb-tuner experiment plan, and experiment start --dry-run',
        experiment.ExperimentPlan,
        experiment.experiment_plan_of,
        experiment.experiment_plan,
        in_tab=True,
    ),
    'operation': View(
        'ceph rocksdb-tuner operation status, and the answer to whatever starts or controls one',
        Optional[operations.Operation],
        operations.operation_of,
        operations.operation,
        'The operation under way, or the last one; null before the first.',
        in_tab=True,
    ),
    'history': View(
        'ceph rocksdb-tuner history',
        tuple[operations.Change, ...],
        operations.history_of,
        operations.history,
        'Every change, oldest first.',
        in_tab=True,
    ),
    'check': View('ceph rocksdb-tuner check', Verdict, None, options.check),
    'explain': View(
        'ceph rocksdb-tuner explain <option>',
        Union[OptionInfo, RelatedOption],
        None,
        options.explain,
        'An option of the string, or a related one of Ceph.',
    ),
    'explain-ls': View(
        'ceph rocksdb-tuner explain',
        tuple[Union[OptionInfo, RelatedOption], ...],
        None,
        options.option_list,
        'One row per option.',
    ),
    'model': View('ceph rocksdb-tuner model', model.Model, model.model_of, model.tree),
    'profile-derive': View(
        'ceph rocksdb-tuner profile derive', model.Derived, model.derived_of, model.derivation
    ),
    'profile-diff': View('ceph rocksdb-tuner profile diff', Comparison, None, options.comparison),
    'profile-ls': View(
        'ceph rocksdb-tuner profile ls',
        tuple[Annotated[Profile, _PROFILE], ...],
        None,
        options.profile_list,
        'Best-tested first.',
        in_tab=True,
    ),
    'profile-show': View('ceph rocksdb-tuner profile show <name>', Profile, None, options.profile),
}


def show(view: str, subject: Any, form: str = Format.JSON, **options: object) -> str:
    """The text of an answer; ``options`` of its table.

    Raises BadQuestionError (EINVAL) for an unknown format.
    """
    if form not in FORMATS:
        raise BadQuestionError(
            errno.EINVAL, f'invalid format "{form}"; formats: {", ".join(FORMATS)}'
        )
    _, kind, answer, table, *_ = VIEWS[view]
    if form == Format.PLAIN and table is not None:
        return harmless(table(subject, **options))
    made = to_json(subject if answer is None else answer(subject), kind_of(kind))
    # NaN and infinity are not valid JSON; `to_json` removes them.
    return json.dumps(made, indent=4 if form == Format.JSON_PRETTY else None, allow_nan=False)
