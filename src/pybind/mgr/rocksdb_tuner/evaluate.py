"""Draws conclusions from cluster data: groups, findings and recommendations. Pure.

Shared by the module, with measured data, and `offline`, with data from files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Mapping, Optional

from .advise.case import Circumstances
from .advise.compaction import compaction_advice
from .advise.conditions import ClusterFacts, SetupFindings, findings
from .advise.facts import groups
from .advise.limit import with_limit
from .advise.profiles import Profile
from .advise.recommend import assess
from .advise.records import Decision, GroupFacts, OsdFacts
from .advise.weighing import Assessment, bars_of
from .collection.records import Collection
from .operations.experiment.announce import measured_arms
from .options.releases import KnownRelease, release_of
from .plan.commands import ShownSteps
from .snapshot import Mode, Sampling, Snapshot
from .workload.records import Workload

#: Modes with recommendations.
ADVISING = frozenset({Mode.RECOMMEND, Mode.AUTO_APPLY})


def unknown_manager(version: str, name: str) -> Optional[str]:
    """Why nothing is recommended under a mgr of this release; None: it is known."""
    if release_of(version, name) is not None:
        return None
    return (
        f'This manager runs Ceph {version} ({name}), a release unknown to this module: the module '
        'measures, but recommends and changes nothing.'
    )


def snapshot_of(
    collection: Collection,
    osds: tuple[OsdFacts, ...],
    release: Optional[KnownRelease],
    sampling: Sampling,
) -> Snapshot:
    """Before any conclusion.

    ``osds`` are those of the collection, as interpreted; ``release`` and ``sampling`` those of the
    module, or what files say of them.
    """
    module = collection.module
    return Snapshot(
        taken_s=collection.taken_s,
        mode=module.mode if module else Mode.RECOMMEND,
        release=release.name if release else None,
        sampling=sampling,
        osds=osds,
        groups=(),
        findings=(),
        assessments=(),
        rollout=collection.rollout,
        history=collection.history,
        managers=module.managers if module else (),
        limitations=collection.limitations,
        notices=module.notices if module else (),
        campaign=collection.campaign,
        experiment=collection.experiment,
    )


def conclude(
    snapshot: Snapshot,
    collection: Collection,
    workloads: Mapping[str, Workload],
    advised_on: Mapping[str, Workload],
    *,
    custom_profiles: Sequence[Profile] = (),
    known_setup: Optional[SetupFindings] = None,
    shown_steps: Optional[ShownSteps] = None,
) -> Snapshot:
    """``snapshot`` with groups, recommendations and findings, worst first.

    ``workloads`` has the current workload of each device class, ``advised_on`` the one to base
    recommendations on. The last two keep state from one evaluation to the next.
    """
    module, osds = collection.module, snapshot.osds
    no_advice = unknown_manager(module.manager_version, module.manager_release) if module else None
    found_groups = tuple(with_limit(group) for group in groups(osds, workloads))
    assessments: list[Assessment] = []
    known: set[str] = set()
    for group in found_groups if snapshot.mode in ADVISING else ():
        if no_advice is not None:
            decision = Decision(group.who, 'Update the module', no_advice)
            assessments.append(Assessment(group.who, decision, ()))
            continue
        found = _assessment(
            advised(group, advised_on), osds, collection, custom_profiles, shown_steps
        )
        # Groups that share an entry want the same removal, which is one change.
        new = tuple(r for r in found.recommendations if r.recommendation_id not in known)
        known.update(r.recommendation_id for r in new)
        assessments.append(replace(found, recommendations=new))
    now_s, pending_since_s = collection.taken_s or 0.0, module.pending_since_s if module else {}
    cluster = ClusterFacts(
        osds,
        collection.entries or (),
        health_codes=collection.health_codes if osds else frozenset(),
        alerting=collection.alerting,
        pending_s={n: now_s - since_s for n, since_s in pending_since_s.items()},
        groups=found_groups,
        advised={n for a in assessments for r in a.recommendations for n in r.osds},
    )
    found_findings = findings(cluster, known_setup or SetupFindings())
    return replace(
        snapshot, groups=found_groups, findings=found_findings, assessments=tuple(assessments)
    )


def advised(group: GroupFacts, advised_on: Mapping[str, Workload]) -> GroupFacts:
    """``group`` with the workload to base recommendations on, which may be an earlier one."""
    workload = advised_on.get(group.device_class)
    return with_limit(replace(group, workload=workload)) if workload != group.workload else group


def _assessment(
    group: GroupFacts,
    osds: tuple[OsdFacts, ...],
    collection: Collection,
    custom_profiles: Sequence[Profile],
    shown_steps: Optional[ShownSteps],
) -> Assessment:
    module = collection.module
    rollout_under_way = module is not None and module.rollout_under_way
    assessment = assess(
        group,
        Circumstances(
            osds,
            collection.orchestrated,
            shown_steps or ShownSteps(),
            custom_profiles,
            bars_of(module.limits if module else {}),
            measured_arms(collection.history),
        ),
        rollout_under_way=rollout_under_way,
    )
    compaction = None if rollout_under_way else compaction_advice(group, collection.history)
    if compaction is None:
        return assessment
    return replace(assessment, recommendations=(*assessment.recommendations, compaction))
