"""Published tuning profiles: options, suitability and published measurements."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Annotated, Mapping, Optional

from ..knowledge import loader
from ..notes import Count, Named, Time
from ..options.catalogue import catalogue
from ..options.grammar import same_meaning
from ..options.releases import KnownRelease
from ..options.verdict import BadQuestionError
from ..store.codec import OMITTABLE, decode
from ..workload.records import WorkloadClass

#: Names the default of a release, whatever it is.
DEFAULT = 'default'


@dataclass(frozen=True)
class Source:
    """A publication."""

    title: Annotated[str, 'Title.']
    author: Annotated[str, 'Author.']
    year: Annotated[int, 'Year.']
    section: Annotated[str, 'Section.']
    url: Annotated[Optional[str], 'URL; null: none.']


class Storage(str, Enum):
    """Storage of an OSD."""

    #: All flash, regardless of the interface.
    NVME = 'nvme'
    SSD_DB_HDD = 'ssd-db+hdd'
    HDD = 'hdd'


@dataclass(frozen=True)
class PublishedEvidence:
    """A published measurement."""

    workload: Annotated[WorkloadClass, 'Workload of the measurement.']
    metric: Annotated[str, 'Metric of the measurement.']
    unit: Annotated[str, 'Unit of the values.']
    baseline: Annotated[str, 'Baseline of the comparison.']
    baseline_value: Annotated[
        Optional[float], 'Value of the baseline; null: only the change was published.'
    ]
    value: Annotated[float, 'Measured value.']
    change_percent: Annotated[float, 'Change relative to the baseline, in percent.']
    setup: Annotated[str, 'Hardware and load of the measurement.']
    headline: Annotated[bool, 'Whether predictions use this measurement.']
    source: Annotated[Source, 'The publication.']
    baseline_options: Annotated[
        Mapping[str, str],
        'Effective options of the baseline; predictions use the measurement only if these are '
        'in effect.',
    ] = field(default_factory=dict, hash=False)
    releases: Annotated[tuple[str, ...], 'Releases of the measurement; empty: unknown.'] = ()
    hardware: Annotated[tuple[Storage, ...], 'Hardware of the measurement; empty: unknown.'] = ()

    def applies(self, release: KnownRelease, running: Mapping[str, str]) -> bool:
        """Whether it was measured on this release, with the baseline that is ``running``."""
        baseline = self.baseline_options.items()
        known = release.name in self.releases and bool(baseline)
        return known and all(running.get(name) == value for name, value in baseline)

    @property
    def basis(self) -> str:
        source = self.source
        return (
            f'{self.setup}, against {self.baseline}; {source.author}, {source.title}, '
            f'{source.year}, {source.section}'
        )


@dataclass(frozen=True)
class SuitabilityRule:
    """Suitability of a profile for a workload and RocksDB versions (inclusive)."""

    workload: Annotated[WorkloadClass, 'The workload.']
    rocksdb_min: Annotated[str, 'Oldest RocksDB version.']
    rocksdb_max: Annotated[Optional[str], 'Newest RocksDB version; null: no upper limit.']
    reasons: Annotated[tuple[str, ...], 'Reasons.']


@dataclass(frozen=True)
class Hardware:
    """Hardware that a profile suits."""

    loses_at_cores_per_osd: Annotated[
        Optional[Count], 'A loss was published for this number of cores per OSD, or fewer.'
    ]
    notes: Annotated[tuple[str, ...], 'Further notes.']


@dataclass(frozen=True)
class Provenance:
    """The experiment that found a custom profile; None: unknown, or not bounded."""

    experiment_id: Annotated[str, Named('experiment'), 'Id of the experiment.']
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
class Profile:
    """A named option string."""

    name: Annotated[str, 'Name of the profile.']
    title: Annotated[str, 'Short description.']
    options: Annotated[str, 'bluestore_rocksdb_options, exactly as published.']
    release_defaults: Annotated[tuple[str, ...], 'Releases with this profile as the default.']
    suitability: Annotated[tuple[SuitabilityRule, ...], 'Workloads that it suits.']
    hardware: Annotated[Hardware, 'Hardware that it suits.']
    evidence: Annotated[tuple[PublishedEvidence, ...], 'Published measurements.']
    cautions: Annotated[tuple[str, ...], 'Cautions.']
    #: `recognize` sets it for the release.
    superseded: Annotated[Optional[str], 'Why it should no longer be used; null: not superseded.']
    superseded_from_rocksdb: Annotated[
        Optional[str], 'RocksDB version from which it is superseded.'
    ]
    source: Annotated[str, 'Publication of the profile.']
    own_releases: Annotated[
        tuple[str, ...], 'Releases of a custom profile; empty for a built-in profile.'
    ] = field(default=(), metadata=OMITTABLE)
    provenance: Annotated[
        Optional[Provenance], 'The experiment that found it; null: not from an experiment.'
    ] = field(default=None, metadata=OMITTABLE)

    @property
    def own(
        self,
    ) -> Annotated[
        bool, 'Whether it is a custom profile; only an experiment can make one recommended.'
    ]:
        return bool(self.own_releases)

    @property
    def workloads(
        self,
    ) -> Annotated[tuple[WorkloadClass, ...], 'Workloads that it is designed for.']:
        return tuple(dict.fromkeys(rule.workload for rule in self.suitability))


@lru_cache(maxsize=1)
def profiles() -> tuple[Profile, ...]:
    """All built-in profiles, the best-tested first."""
    return tuple(decode(Profile, entry) for entry in loader.load('profiles')['profiles'])


def profile(name: str, among: Sequence[Profile] = ()) -> Profile:
    """The profile of this name, by default a built-in one; raises BadQuestionError (ENOENT)."""
    known = {each.name: each for each in among or profiles()}
    if name not in known:
        raise BadQuestionError(
            errno.ENOENT, f'no profile {name!r}; known profiles: {", ".join(known)}'
        )
    return known[name]


@lru_cache(maxsize=64)
def few_cores(cores: Optional[int]) -> bool:
    """Whether OSDs have so few cores that all tuned profiles lose, as published; None: unknown."""
    losing = max(known.hardware.loses_at_cores_per_osd or 0 for known in profiles())
    return cores is not None and cores <= losing


# Called for every OSD at every tick, with a handful of strings.
@lru_cache(maxsize=1024)
def recognize(options_text: str, release: Optional[KnownRelease]) -> Optional[Profile]:
    """The profile that is equivalent to an option string; None if there is none.

    ``superseded`` of the result is for ``release``, and never for its own default.
    """
    version = release.rocksdb_version if release else catalogue().measured_versions[-1]
    found = next((p for p in profiles() if same_meaning(p.options, options_text, version)), None)
    if found is None or release is None:
        return found and replace(found, superseded=None)
    since = found.superseded_from_rocksdb
    is_default = same_meaning(release.default_options, options_text, version)
    if since is not None and _order(since) <= _order(version) and not is_default:
        return found
    return replace(found, superseded=None)


@lru_cache(maxsize=1024)
def suits(
    candidate: Profile, workload_class: WorkloadClass, release: KnownRelease
) -> Optional[SuitabilityRule]:
    """Suitability of a profile for a workload on a release; None if unknown."""
    version = _order(release.rocksdb_version)
    for rule in candidate.suitability:
        newest = _order(rule.rocksdb_max or release.rocksdb_version)
        if rule.workload is workload_class and _order(rule.rocksdb_min) <= version <= newest:
            return rule
    return None


def predict(
    candidate: Profile,
    workload_class: WorkloadClass,
    *,
    release: KnownRelease,
    storage: Optional[Storage],
    running: Mapping[str, str],
) -> Optional[PublishedEvidence]:
    """The published effect of a change to a profile; None if there is none.

    A figure applies to the same workload, release and storage, and only if its baseline options
    are in effect. ``running`` are the effective options.
    """
    return next(
        (
            figure
            for figure in candidate.evidence
            if figure.headline
            and figure.workload is workload_class
            and storage in figure.hardware
            and figure.applies(release, running)
        ),
        None,
    )


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))
