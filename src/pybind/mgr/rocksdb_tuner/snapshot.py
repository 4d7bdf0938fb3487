"""The module's state at one time, published once per tick.

Command handlers read the newest snapshot: they never wait for a monitor or for the tick.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Optional, Union

from .advise.facts import first_remove
from .advise.records import Finding, GroupFacts, OsdFacts, Recommendation
from .advise.weighing import Assessment
from .mgr.records import ManagerInfo
from .notes import Amount, Count
from .observe.report_interval import Reports
from .operations.compaction.records import CampaignState
from .operations.experiment.records import ExperimentState
from .operations.history import HistoryRecord
from .operations.rollout.automatic import Refusal
from .operations.rollout.records import RolloutState
from .options.verdict import BadQuestionError
from .steps import StepFailure

State = Union[RolloutState, CampaignState, ExperimentState]


class Mode(str, Enum):
    """Operating mode; each includes the previous ones."""

    OFF = 'off'
    OBSERVE = 'observe'
    RECOMMEND = 'recommend'
    AUTO_APPLY = 'auto-apply'


@dataclass(frozen=True)
class Sampling:
    """Sampling of the OSDs."""

    interval_s: Annotated[
        Optional[Amount],
        'Interval between two samples in seconds; null without sampling, as in offline.',
    ]
    osds: Annotated[Count, 'OSDs with at least one usable sample.']
    last_sample_age_s: Annotated[
        Optional[Amount], 'Age of the newest report of an OSD, in seconds.'
    ]
    tick_ms: Annotated[
        Optional[Amount],
        'CPU time of a sampling with its share of the evaluations, in milliseconds.',
    ]
    report_interval_s: Annotated[
        Optional[Amount],
        'Measured interval between two reports of an OSD (mgr_stats_period), in seconds; null '
        'if unknown, as in offline.',
    ] = None
    reports: Annotated[
        Optional[Reports],
        'Whether OSDs report often enough: ok, slow (too rarely to be judged) or none; null '
        'if unknown, as in offline.',
    ] = None


@dataclass(frozen=True)
class Snapshot:
    #: None offline, if the files do not have it.
    taken_s: Optional[float]
    mode: Mode
    #: Release of the active mgr, None if unknown.
    release: Optional[str]
    sampling: Sampling
    osds: tuple[OsdFacts, ...]
    groups: tuple[GroupFacts, ...]
    findings: tuple[Finding, ...]
    assessments: tuple[Assessment, ...]
    rollout: Optional[RolloutState]
    history: tuple[HistoryRecord, ...]
    #: Active and standby mgrs.
    managers: tuple[ManagerInfo, ...]
    #: Limitations in this environment, such as an unknown release.
    limitations: tuple[str, ...]
    #: Problems with stored data, such as a quarantined record.
    notices: tuple[str, ...]
    #: Why the module options prevent any change; None if they do not.
    impossible: Optional[str] = None
    #: Findings that lasted long enough to raise a health check.
    alarms: tuple[Finding, ...] = ()
    #: The current or last compaction campaign.
    campaign: Optional[CampaignState] = None
    #: Why auto-apply skips recommendations; empty in other modes.
    auto_apply_refusals: tuple[Refusal, ...] = ()
    #: An operator has acknowledged the outcome of the rollout.
    rollout_acknowledged: bool = False
    #: Operator action that the rollout requires to continue.
    rollout_waits: Optional[str] = None
    #: The same for the compaction campaign.
    campaign_waits: Optional[str] = None
    #: OSDs that the campaign is waiting for without operator action, and for how long.
    campaign_waits_for: Optional[str] = None
    #: The current or last experiment, and the operator action that it requires to continue.
    experiment: Optional[ExperimentState] = None
    experiment_waits: Optional[str] = None
    #: Failing parts of the module, whose data is missing or stale.
    failing: tuple[StepFailure, ...] = ()
    #: Time of the operations, the notices and the failing parts; everything else is from `taken_s`.
    #: None: all is from `taken_s`.
    published_s: Optional[float] = None

    @property
    def operation(self) -> Optional[State]:
        """The operation under way, or else the last one."""
        found = [s for s in (self.rollout, self.experiment, self.campaign) if s is not None]
        # While a campaign ends for a rollback, an operator asks about the rollback.
        under_way = next((state for state in found if not state.ended), None)
        return under_way or max(found, key=lambda state: state.started_s, default=None)

    @property
    def recommendations(self) -> tuple[Recommendation, ...]:
        return tuple(r for a in self.assessments for r in a.recommendations)

    @property
    def all_notices(self) -> tuple[str, ...]:
        """Limitations and problems of the module, in sentences."""
        return (*self.limitations, *self.notices, *(step.sentence for step in self.failing))


def recommendation_named(snapshot: Snapshot, recommendation_id: str) -> Recommendation:
    """Raises BadQuestionError for an unknown recommendation."""
    known = {r.recommendation_id: r for r in snapshot.recommendations}
    if recommendation_id in known:
        return known[recommendation_id]
    missing = f'recommendation "{recommendation_id}" does not exist'
    for osd in snapshot.osds:
        if osd.options and osd.options.starts is False:
            why = first_remove([osd.info.osd_id], osd.options)
            raise BadQuestionError(errno.ENOENT, f'{missing}: {why}')
    # The "ssd" of "ssd-93b407".
    place = recommendation_id.rpartition('-')[0]
    changed = [one for one in sorted(known) if one.rpartition('-')[0] == place]
    if changed:
        missing += ': if it was shown before, it has changed since; review '
        raise BadQuestionError(
            errno.ENOENT, f'{missing}"ceph rocksdb-tuner recommend {changed[0]}"'
        )
    held = (a.conclusion for a in snapshot.assessments if not a.recommendations)
    waiting = [f'{d.who}: {d.do}' for d in held if d.waits]
    choices = ', '.join(sorted(known)) or '; '.join(waiting) or 'none at present'
    raise BadQuestionError(errno.ENOENT, f'{missing}; recommendations: {choices}')
