"""Everything the module knows at one time, published once a tick.

Command handlers only read the newest snapshot: they never wait for a monitor or for the tick.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Optional

from .advise.assessment import Assessment
from .advise.records import Finding, GroupFacts, OsdFacts, Recommendation
from .mgr.records import ManagerInfo
from .operations.compaction.records import CampaignState
from .operations.history import HistoryRecord
from .operations.rollout.automatic import Refusal
from .operations.rollout.records import RolloutState
from .steps import StepFailure


class Mode(str, Enum):
    """How much the module may do; each includes those before it."""

    OFF = 'off'
    OBSERVE = 'observe'
    RECOMMEND = 'recommend'
    AUTO_APPLY = 'auto-apply'


@dataclass(frozen=True)
class Sampling:
    #: None where nothing is sampled: what is known was read from files.
    interval_s: Optional[float]
    #: OSDs with at least one usable sample.
    osds: int
    last_sample_age_s: Optional[float]
    #: CPU time of the last tick's sampling and evaluating.
    tick_ms: Optional[float]


@dataclass(frozen=True)
class Snapshot:
    #: None where files do not tell.
    taken_s: Optional[float]
    mode: Mode
    #: Release of the active mgr, None where the module does not know it.
    release: Optional[str]
    sampling: Sampling
    osds: tuple[OsdFacts, ...]
    groups: tuple[GroupFacts, ...]
    findings: tuple[Finding, ...]
    assessments: tuple[Assessment, ...]
    rollout: Optional[RolloutState]
    history: tuple[HistoryRecord, ...]
    #: The active manager and the standbys.
    managers: tuple[ManagerInfo, ...]
    #: What limits the module where it runs (a release that it does not know, say).
    limitations: tuple[str, ...]
    #: What is wrong with what the module keeps (a stored state set aside, say).
    notices: tuple[str, ...]
    #: Why nothing can be applied as the module options are; None if it can.
    impossible: Optional[str] = None
    #: The findings that lasted long enough to be health checks.
    alarms: tuple[Finding, ...] = ()
    #: The compaction campaign under way, or the last one.
    campaign: Optional[CampaignState] = None
    #: Why auto-apply leaves what is recommended; empty in other modes.
    auto_apply_refusals: tuple[Refusal, ...] = ()
    #: An operator has taken note of how the rollout ended.
    rollout_acknowledged: bool = False
    #: What the operator has to do for the rollout to go on.
    rollout_waits: Optional[str] = None
    #: The same for the compaction campaign.
    campaign_waits: Optional[str] = None
    #: What the campaign waits for that nothing holds up: its OSDs, and for how long.
    campaign_waits_for: Optional[str] = None
    #: Parts of the module that do not work now: what they tell is missing, or old.
    failing: tuple[StepFailure, ...] = ()
    #: When the rollout, the campaign, the notices and what fails were last looked at; everything
    #: else is of `taken_s`. None: together with it.
    published_s: Optional[float] = None

    @property
    def recommendations(self) -> tuple[Recommendation, ...]:
        return tuple(r for a in self.assessments for r in a.recommendations)

    def without_recommendation(self, recommendation_id: str) -> Snapshot:
        return replace(
            self,
            assessments=tuple(
                replace(
                    assessment,
                    recommendations=tuple(
                        r
                        for r in assessment.recommendations
                        if r.recommendation_id != recommendation_id
                    ),
                )
                for assessment in self.assessments
            ),
        )
