"""Profiles: known option strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.profiles import (
    Hardware,
    Profile,
    PublishedEvidence,
    Source,
    Storage,
    SuitabilityRule,
)
from ...notes import InPlace, Time
from ...workload.records import WorkloadClass
from ..summaries import suited_workloads
from .options import like


@dataclass(frozen=True)
class ProfileSummary:
    """A profile, in brief."""

    name: Annotated[str, 'Name of the profile.']
    title: Annotated[str, 'Short description.']
    options: Annotated[str, 'bluestore_rocksdb_options, exactly as published.']
    release_defaults: Annotated[tuple[str, ...], 'Releases with this profile as the default.']
    workloads: Annotated[tuple[WorkloadClass, ...], 'Workloads that it is designed for.']
    superseded: Annotated[Optional[str], 'Why it should no longer be used; null: not superseded.']
    source: Annotated[str, 'Publication of the profile.']
    own: Annotated[
        bool, 'Whether it is a custom profile; only an experiment can make one recommended.'
    ]
    own_releases: Annotated[
        tuple[str, ...], 'Releases of a custom profile; empty for a built-in profile.'
    ]


@dataclass(frozen=True)
class OptionValue:
    """An option with a value."""

    option: Annotated[str, 'Name of the option.']
    value: Annotated[str, 'Its value.']


@dataclass(frozen=True)
class Published:
    """A published measurement."""

    workload: WorkloadClass
    metric: Annotated[str, 'Metric of the measurement.']
    unit: Annotated[str, 'Unit of the values.']
    baseline: Annotated[str, 'Baseline of the comparison.']
    baseline_value: Annotated[
        Optional[float], 'Value of the baseline; null: only the change was published.'
    ]
    baseline_options: Annotated[
        tuple[OptionValue, ...],
        'Effective options of the baseline; predictions use the measurement only if these are in '
        'effect.',
    ]
    value: Annotated[float, 'Measured value.']
    change_percent: Annotated[float, 'Change relative to the baseline, in percent.']
    setup: Annotated[str, 'Hardware and load of the measurement.']
    releases: Annotated[tuple[str, ...], 'Releases of the measurement; empty: unknown.']
    hardware: Annotated[tuple[Storage, ...], 'Hardware of the measurement; empty: unknown.']
    headline: Annotated[bool, 'Whether predictions use this measurement.']
    source: Source


@dataclass(frozen=True)
class Provenance:
    """The experiment that found a custom profile."""

    experiment: Annotated[str, 'Id of the experiment.']
    cluster: Annotated[Optional[str], 'FSID of the cluster; null: unknown.']
    started: Annotated[Optional[Time], 'Start of the experiment. ISO 8601, UTC.']
    who: Annotated[str, 'Config mask of the group.']
    release: Annotated[Optional[str], 'Release of the group; null: unknown.']
    workload: Annotated[Optional[str], 'Workload of the group; null: unknown.']
    hardware: Annotated[Optional[str], 'Storage of the group; null: unknown.']
    signal: Annotated[str, 'The judged signal that was compared.']
    change_percent: Annotated[Optional[float], 'Its change; null: unknown.']
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.']
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.']


@dataclass(frozen=True)
class ProfileInFull:
    """A profile with its suitability and published measurements."""

    summary: Annotated[ProfileSummary, InPlace()]
    suitability: Annotated[tuple[SuitabilityRule, ...], 'Workloads that it suits.']
    hardware: Hardware
    evidence: Annotated[tuple[Published, ...], 'Published measurements.']
    cautions: Annotated[tuple[str, ...], 'Cautions.']
    superseded_from_rocksdb: Annotated[
        Optional[str], 'RocksDB version from which it is superseded.'
    ]
    provenance: Annotated[
        Optional[Provenance], 'The experiment that found it; null: not from an experiment.'
    ]


def profiles_of(profiles: Sequence[Profile]) -> tuple[ProfileSummary, ...]:
    """Best-tested first."""
    return tuple(map(_summary, profiles))


def profile_of(shown: Profile) -> ProfileInFull:
    return ProfileInFull(
        summary=_summary(shown),
        suitability=shown.suitability,
        hardware=shown.hardware,
        evidence=tuple(map(_published, shown.evidence)),
        cautions=shown.cautions,
        superseded_from_rocksdb=shown.superseded_from_rocksdb,
        provenance=None
        if shown.provenance is None
        else like(Provenance, shown.provenance, experiment=shown.provenance.experiment_id),
    )


def _summary(shown: Profile) -> ProfileSummary:
    return like(ProfileSummary, shown, workloads=suited_workloads(shown))


def _published(figure: PublishedEvidence) -> Published:
    return like(
        Published,
        figure,
        baseline_options=tuple(
            OptionValue(name, value) for name, value in figure.baseline_options.items()
        ),
    )
