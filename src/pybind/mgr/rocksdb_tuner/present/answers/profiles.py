"""Profiles: known option strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.profiles import Profile, PublishedEvidence, Storage
from ...workload.records import WorkloadClass
from ..summaries import suited_workloads
from .copies import like
from .notes import Count, InPlace, Share


@dataclass(frozen=True)
class ProfileSummary:
    """A profile, in short."""

    name: Annotated[str, 'Name of the profile.']
    title: Annotated[str, 'What it is, in a few words.']
    options: Annotated[str, 'bluestore_rocksdb_options, word for word as published.']
    release_defaults: Annotated[tuple[str, ...], 'Releases whose default it is.']
    workloads: Annotated[tuple[WorkloadClass, ...], 'Workloads for which it was made.']
    superseded: Annotated[Optional[str], 'Why it should no longer be used; null where it may.']
    source: Annotated[str, 'Where it was published.']
    own: Annotated[bool, 'An operator added it; the module never recommends it.']
    own_releases: Annotated[
        tuple[str, ...], 'Releases that a custom profile is for; empty for a built-in one.'
    ]


@dataclass(frozen=True)
class Suitability:
    """For what a profile is suited."""

    workload: WorkloadClass
    rocksdb_min: Annotated[str, 'Oldest RocksDB version.']
    rocksdb_max: Annotated[Optional[str], 'Newest RocksDB version; null for all later ones.']
    only_as_release_default: Annotated[bool, "Holds only where it is the release's own default."]
    score: Annotated[Share, '0..1: compares profiles for one workload and release; no probability.']
    reasons: Annotated[tuple[str, ...], 'Why.']


@dataclass(frozen=True)
class ProfileHardware:
    """For what hardware a profile is."""

    loses_at_cores_per_osd: Annotated[
        Optional[Count], 'With this many cores or fewer for each OSD a loss was published.'
    ]
    notes: Annotated[tuple[str, ...], 'What else is known.']


@dataclass(frozen=True)
class OptionValue:
    """An option with a value."""

    option: Annotated[str, 'Name of the option.']
    value: Annotated[str, 'Its value.']


@dataclass(frozen=True)
class Source:
    """Where something was published."""

    title: Annotated[str, 'Title.']
    author: Annotated[str, 'Author.']
    year: Annotated[int, 'Year.']
    section: Annotated[str, 'Where in it.']
    url: Annotated[Optional[str], 'Address; null: none.']


@dataclass(frozen=True)
class Published:
    """A published measurement."""

    workload: WorkloadClass
    metric: Annotated[str, 'What was measured.']
    unit: Annotated[str, 'Unit of the values.']
    baseline: Annotated[str, 'What it was compared with.']
    baseline_value: Annotated[Optional[float], 'null where only the change was published.']
    baseline_options: Annotated[
        tuple[OptionValue, ...],
        'Options in effect in the baseline; a prediction goes by the figure only where they are '
        'in effect.',
    ]
    value: Annotated[float, 'What was measured.']
    change_percent: Annotated[float, 'Change against the baseline, in percent.']
    setup: Annotated[str, 'Hardware and load of the measurement.']
    releases: Annotated[
        tuple[str, ...], 'Releases that it was measured on; empty where that is not known.'
    ]
    hardware: Annotated[
        tuple[Storage, ...], 'Hardware that it was measured on; empty where that is not known.'
    ]
    headline: Annotated[bool, 'The figure that predictions go by.']
    source: Source


@dataclass(frozen=True)
class ProfileInFull:
    """A profile with whom it suits and what was published of it."""

    summary: Annotated[ProfileSummary, InPlace()]
    suitability: Annotated[tuple[Suitability, ...], 'For what it is suited.']
    hardware: ProfileHardware
    evidence: Annotated[tuple[Published, ...], 'What was measured and published.']
    cautions: Annotated[tuple[str, ...], 'What to look out for.']
    superseded_from_rocksdb: Annotated[
        Optional[str], 'RocksDB version from which it is superseded.'
    ]


def profiles_of(profiles: Sequence[Profile]) -> tuple[ProfileSummary, ...]:
    """The best-tested first."""
    return tuple(map(_summary, profiles))


def profile_of(shown: Profile) -> ProfileInFull:
    return ProfileInFull(
        summary=_summary(shown),
        suitability=tuple(like(Suitability, rule) for rule in shown.suitability),
        hardware=like(ProfileHardware, shown.hardware),
        evidence=tuple(map(_published, shown.evidence)),
        cautions=shown.cautions,
        superseded_from_rocksdb=shown.superseded_from_rocksdb,
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
        source=like(Source, figure.source),
    )
