"""The answer to each command as text in the requested format.

Every function takes the data to show and the format ("plain", "json" or "json-pretty"), and returns
the text; it raises PresentError for an unknown format.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from enum import Enum
from typing import Callable, Optional, TypeVar, Union

from ..advise.experiment_plan import PlannedExperiment
from ..advise.profiles import Profile
from ..advise.records import OsdFacts, Recommendation
from ..advise.whatif.compare import Comparison
from ..advise.whatif.derive import Derivation
from ..advise.whatif.tree import TreeAnswer
from ..deep.reader import OsdDeepStats
from ..doctor import DoctorCheck
from ..judge.records import SoakPlan, contradiction
from ..observe.trend import GrowthPoints, Trend
from ..operations.compaction.plan import CampaignPlan
from ..options.catalogue import OptionInfo, RelatedOption
from ..options.verdict import Verdict
from ..snapshot import Mode, Snapshot
from . import subjects
from .answers.advice import findings_of, plan_of, recommendation_of, recommendations_of
from .answers.campaign import campaign_plan_of
from .answers.candidates import considered_of
from .answers.experiment_plan import experiment_plan_of
from .answers.explain import check_of, comparison_of, known_options_of, option_of
from .answers.growth import growth_of
from .answers.history import history_of
from .answers.mode import mode_of
from .answers.model import derived_of, model_of
from .answers.offline import overview_of
from .answers.operations import LastOperations, operation_of
from .answers.osd_map import osd_map_of
from .answers.osds import detail_of, rows_of
from .answers.profiles import profile_of, profiles_of
from .answers.status import status_of
from .answers.trend import trends_of
from .answers.workload import workloads_of
from .errors import PresentError
from .health import failing_checks, health_checks
from .layout import harmless
from .tables import advice as advice_tables
from .tables import candidates as candidate_tables
from .tables import changes as change_tables
from .tables import compaction as compaction_tables
from .tables import doctor as doctor_tables
from .tables import experiment as experiment_tables
from .tables import options as option_tables
from .tables import osd as osd_table
from .tables import osds as osd_tables
from .tables import plan as plan_table
from .tables import profiles as profile_tables
from .tables import status as status_tables
from .tables import tree as tree_tables
from .to_json import to_json

__all__ = [
    'FORMATS',
    'Format',
    'PresentError',
    'campaign_plan',
    'candidates',
    'check',
    'check_format',
    'comparison',
    'derivation',
    'doctor',
    'experiment_plan',
    'explain',
    'failing_checks',
    'finding',
    'findings',
    'growth',
    'health_checks',
    'history',
    'mode',
    'model',
    'operation',
    'option_list',
    'osd',
    'osd_map',
    'osds',
    'overview',
    'plan',
    'profile',
    'profile_list',
    'recommend',
    'show',
    'status',
    'trend',
    'workload',
]

_Subject = TypeVar('_Subject')


class Format(str, Enum):
    """An output format."""

    PLAIN = 'plain'
    JSON = 'json'
    JSON_PRETTY = 'json-pretty'


FORMATS = tuple(form.value for form in Format)


def check_format(output_format: str) -> None:
    """Raise PresentError (EINVAL) for an unknown format before anything is done."""
    if output_format not in FORMATS:
        raise PresentError(
            errno.EINVAL, f'invalid format "{output_format}"; formats: {", ".join(FORMATS)}'
        )


def status(snapshot: Snapshot, output_format: str) -> str:
    return _render(status_of, status_tables.status, snapshot, output_format)


def osds(
    snapshot: Snapshot,
    output_format: str,
    selected: Optional[Sequence[OsdFacts]] = None,
    *,
    everything: bool = False,
) -> str:
    """JSON has all ``selected`` OSDs, plain output the first rows, unless ``everything``."""
    rows = subjects.osds_worst_first(snapshot) if selected is None else selected
    return _render(
        lambda s: rows_of(s, rows),
        lambda s: osd_tables.osds(s, rows, everything=everything),
        snapshot,
        output_format,
    )


def osd(
    snapshot: Snapshot, osd_id: int, output_format: str, deep: Optional[OsdDeepStats] = None
) -> str:
    """Raises PresentError (ENOENT) for an OSD that does not exist."""
    check_format(output_format)
    detail = subjects.osd_detail(snapshot, osd_id, deep)
    return _render(detail_of, osd_table.osd, detail, output_format)


def workload(
    snapshot: Snapshot, output_format: str, *, osds: bool = False, everything: bool = False
) -> str:
    """JSON has groups and OSDs, plain output rows of ``osds`` on request."""
    return _render(
        workloads_of,
        lambda s: osd_tables.workload(s, osds=osds, everything=everything),
        snapshot,
        output_format,
    )


def findings(snapshot: Snapshot, output_format: str) -> str:
    return _render(findings_of, advice_tables.findings, snapshot, output_format)


def finding(snapshot: Snapshot, finding_id: str, output_format: str) -> str:
    """All findings with that id; raises PresentError (ENOENT) if there are none."""
    check_format(output_format)
    found = subjects.findings_of(snapshot, finding_id)
    return _render(tuple, advice_tables.finding, found, output_format)


def recommend(snapshot: Snapshot, output_format: str) -> str:
    return _render(recommendations_of, advice_tables.recommend, snapshot, output_format)


def candidates(snapshot: Snapshot, output_format: str) -> str:
    return _render(considered_of, candidate_tables.candidates, snapshot, output_format)


def show(
    recommendation: Recommendation, output_format: str, soak: Optional[SoakPlan] = None
) -> str:
    """``soak`` is None if nothing can be applied here; then no plan is shown."""
    check_format(output_format)
    planned = subjects.plan_if_any(recommendation, soak)
    return _render(
        lambda r: recommendation_of(r, planned),
        lambda r: advice_tables.show(r, planned),
        recommendation,
        output_format,
    )


def plan(recommendation: Recommendation, soak: SoakPlan, output_format: str) -> str:
    """The plan of `apply`; raises PresentError (EINVAL) if no rollout can apply it."""
    check_format(output_format)
    impossible = contradiction(soak)
    if impossible is not None:
        raise PresentError(errno.EINVAL, impossible)
    planned = subjects.plan(recommendation, soak)
    return _render(plan_of, plan_table.plan, planned, output_format)


def operation(last: LastOperations, output_format: str) -> str:
    """The current or last operation: also the answer to commands that control it."""
    return _render(operation_of, change_tables.operation, last, output_format)


def campaign_plan(planned: CampaignPlan, output_format: str) -> str:
    """The answer to a dry run of a compaction."""
    return _render(campaign_plan_of, compaction_tables.campaign_plan, planned, output_format)


def experiment_plan(planned: PlannedExperiment, output_format: str) -> str:
    """The answer to a dry run."""
    return _render(experiment_plan_of, experiment_tables.experiment_plan, planned, output_format)


def history(snapshot: Snapshot, output_format: str) -> str:
    return _render(history_of, change_tables.history, snapshot.history, output_format)


def mode(current: Mode, output_format: str) -> str:
    return _render(mode_of, status_tables.mode, current, output_format)


def profile_list(profiles: Sequence[Profile], output_format: str) -> str:
    return _render(profiles_of, profile_tables.profile_list, profiles, output_format)


def profile(shown: Profile, output_format: str) -> str:
    return _render(profile_of, profile_tables.profile, shown, output_format)


def check(verdict: Verdict, output_format: str) -> str:
    return _render(check_of, option_tables.check, verdict, output_format)


def option_list(options: Sequence[Union[OptionInfo, RelatedOption]], output_format: str) -> str:
    return _render(known_options_of, option_tables.option_list, options, output_format)


def explain(info: Union[OptionInfo, RelatedOption], output_format: str) -> str:
    return _render(option_of, option_tables.explain, info, output_format)


def comparison(compared: Comparison, output_format: str) -> str:
    return _render(comparison_of, option_tables.comparison, compared, output_format)


def model(answer: TreeAnswer, output_format: str) -> str:
    return _render(model_of, tree_tables.tree, answer, output_format)


def derivation(derived: Derivation, output_format: str) -> str:
    return _render(derived_of, tree_tables.derivation, derived, output_format)


def doctor(checks: Sequence[DoctorCheck], output_format: str) -> str:
    return _render(tuple, doctor_tables.doctor, checks, output_format)


def osd_map(snapshot: Snapshot) -> str:
    """JSON only, like the two below: the data of a chart."""
    return _json(osd_map_of(snapshot))


def trend(osds: Sequence[tuple[int, Trend]], device_class: Optional[tuple[str, Trend]]) -> str:
    return _json(trends_of(osds, device_class))


def growth(snapshot: Snapshot, osd_id: int, points: Optional[GrowthPoints]) -> str:
    """Raises PresentError (ENOENT) for an OSD that does not exist."""
    facts = subjects.facts_of(snapshot, osd_id)
    return _json(growth_of(osd_id, points, facts.forecast))


def overview(snapshot: Snapshot, output_format: str) -> str:
    """Several answers in one JSON document."""
    check_format(output_format)
    return _json(overview_of(snapshot), _indent(output_format))


def _indent(output_format: str) -> Optional[int]:
    return 4 if output_format == 'json-pretty' else None


def _json(answer: object, indent: Optional[int] = None) -> str:
    # NaN and infinity are not valid JSON; `to_json` removes them.
    return json.dumps(to_json(answer), indent=indent, allow_nan=False)


def _render(
    answer: Callable[[_Subject], object],
    plain: Callable[[_Subject], str],
    subject: _Subject,
    output_format: str,
) -> str:
    check_format(output_format)
    if output_format == 'plain':
        return harmless(plain(subject))
    return _json(answer(subject), _indent(output_format))
