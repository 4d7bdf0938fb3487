"""Published tuning profiles: options, suitability and published measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Mapping, Optional

from ..knowledge import loader
from ..notes import Count, Share
from ..options.catalogue import catalogue
from ..options.grammar import same_meaning
from ..options.releases import KnownRelease
from ..workload.records import WorkloadClass


class UnknownProfileError(KeyError):
    """No profile of this name; the message lists the known ones."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        return f'no profile {self.name!r}; known profiles: {", ".join(self.known)}'


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
    """One published figure."""

    workload: WorkloadClass
    metric: str
    unit: str
    #: A profile's name, or a description.
    baseline: str
    #: None if only the change was published.
    baseline_value: Optional[float]
    value: float
    change_percent: float
    setup: str
    #: Whether `predict` uses the figure if all of the following match.
    headline: bool
    source: Source
    #: Effective options of the baseline.
    baseline_options: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Names of the measured releases; empty: unknown.
    releases: tuple[str, ...] = ()
    #: Empty: unknown.
    hardware: tuple[Storage, ...] = ()


@dataclass(frozen=True)
class SuitabilityRule:
    """Suitability of a profile for a workload and RocksDB versions (inclusive)."""

    workload: WorkloadClass
    rocksdb_min: Annotated[str, 'Oldest RocksDB version.']
    rocksdb_max: Annotated[Optional[str], 'Newest RocksDB version; null: no upper limit.']
    only_as_release_default: Annotated[
        bool, "Whether this applies only if it is the release's own default."
    ]
    score: Annotated[
        Share, 'Rank among profiles for the same workload and release, 0..1; not a probability.'
    ]
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

    experiment_id: str
    #: FSID of the cluster.
    cluster: Optional[str]
    #: ISO 8601, UTC.
    started: Optional[str]
    who: str
    release: Optional[str]
    workload: Optional[str]
    hardware: Optional[str]
    #: The judged signal, and its change relative to the old option string.
    signal: str
    change_percent: Optional[float]
    low_percent: Optional[float]
    high_percent: Optional[float]


@dataclass(frozen=True)
class Profile:
    """A named option string."""

    name: str
    title: str
    #: `bluestore_rocksdb_options`, exactly as published.
    options: str
    #: Names of the releases whose default it is.
    release_defaults: tuple[str, ...]
    suitability: tuple[SuitabilityRule, ...]
    hardware: Hardware
    evidence: tuple[PublishedEvidence, ...]
    cautions: tuple[str, ...]
    #: Why it should no longer be used, if so. `recognize` sets it for the release.
    superseded: Optional[str]
    #: First RocksDB version with ``superseded``.
    superseded_from_rocksdb: Optional[str]
    source: str
    #: Releases of a custom profile. Empty: built-in.
    own_releases: tuple[str, ...] = ()
    #: None: not from an experiment.
    provenance: Optional[Provenance] = None

    @property
    def own(self) -> bool:
        """Whether it is a custom profile; only an experiment can make one recommended."""
        return bool(self.own_releases)


@dataclass(frozen=True)
class Suitability:
    #: 0..1: ranks profiles for one workload and release; not a probability.
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class PublishedEffect:
    """The published effect of a profile on a workload, against a baseline."""

    metric: str
    change_percent: float
    #: Setup and source.
    basis: str


@lru_cache(maxsize=1)
def profiles() -> tuple[Profile, ...]:
    """All built-in profiles, the best-tested first."""
    return tuple(_profile(entry) for entry in loader.load('profiles')['profiles'])


def profile(name: str) -> Profile:
    """The built-in profile of this name; raises `UnknownProfileError`."""
    for known in profiles():
        if known.name == name:
            return known
    raise UnknownProfileError(name, [known.name for known in profiles()])


@lru_cache(maxsize=1)
def cores_that_lose() -> int:
    """Cores per OSD at which all tuned profiles are slower, according to published tests."""
    return max(known.hardware.loses_at_cores_per_osd or 0 for known in profiles())


def few_cores(cores: Optional[int]) -> bool:
    """Whether OSDs have too few cores for tuned profiles; False if unknown."""
    return cores is not None and cores <= cores_that_lose()


# Called for every OSD at every tick, with a handful of strings.
@lru_cache(maxsize=128)
def recognize(options_text: str, release: Optional[KnownRelease]) -> Optional[Profile]:
    """The profile that is equivalent to an option string; None if there is none.

    The release's default is reported as that default, even if it equals a published tuning.
    ``superseded`` of the result is for ``release``.
    """
    version = release.rocksdb_version if release else catalogue().measured_versions[-1]
    matches = [p for p in profiles() if same_meaning(p.options, options_text, version)]
    if not matches:
        return None
    own_default = release is not None and same_meaning(
        release.default_options, options_text, version
    )
    # Another release's default was chosen deliberately: prefer the name of the tuning.
    matches.sort(key=lambda p: bool(p.release_defaults) != own_default)
    found = matches[0]
    if release is None or own_default or not _is_superseded(found, release):
        return replace(found, superseded=None)
    return found


def _is_superseded(found: Profile, release: KnownRelease) -> bool:
    since = found.superseded_from_rocksdb
    return since is not None and _order(since) <= _order(release.rocksdb_version)


def suits(
    candidate: Profile, workload_class: WorkloadClass, release: KnownRelease
) -> Optional[Suitability]:
    """Suitability of a profile for a workload on a release; None if unknown."""
    version = _order(release.rocksdb_version)
    for rule in candidate.suitability:
        if rule.workload is not workload_class or version < _order(rule.rocksdb_min):
            continue
        if rule.rocksdb_max is not None and version > _order(rule.rocksdb_max):
            continue
        if rule.only_as_release_default and not same_meaning(
            candidate.options, release.default_options, release.rocksdb_version
        ):
            continue
        return Suitability(rule.score, rule.reasons)
    return None


def predict(
    candidate: Profile,
    workload_class: WorkloadClass,
    *,
    release: KnownRelease,
    storage: Optional[Storage],
    running: Mapping[str, str],
) -> Optional[PublishedEffect]:
    """The published effect of a change to a profile; None if there is none.

    A figure applies to the same workload, release and storage, and only if its baseline options
    are in effect. ``running`` are the effective options.
    """
    for figure in candidate.evidence:
        if (
            figure.headline
            and figure.workload is workload_class
            and release.name in figure.releases
            and storage in figure.hardware
            and figure.baseline_options
            and all(running.get(name) == v for name, v in figure.baseline_options.items())
        ):
            source = figure.source
            return PublishedEffect(
                metric=figure.metric,
                change_percent=figure.change_percent,
                basis=(
                    f'{figure.setup}, against {figure.baseline}; {source.author}, '
                    f'{source.title}, {source.year}, {source.section}'
                ),
            )
    return None


def _profile(entry: Mapping[str, Any]) -> Profile:
    superseded = entry['superseded'] or {}
    return Profile(
        name=entry['name'],
        title=entry['title'],
        options=entry['options'],
        release_defaults=tuple(entry['release_defaults']),
        suitability=tuple(
            SuitabilityRule(
                **{
                    **rule,
                    'workload': WorkloadClass(rule['workload']),
                    'reasons': tuple(rule['reasons']),
                }
            )
            for rule in entry['suitability']
        ),
        hardware=Hardware(
            entry['hardware']['loses_at_cores_per_osd'], tuple(entry['hardware']['notes'])
        ),
        evidence=tuple(
            PublishedEvidence(
                **{
                    **figure,
                    'workload': WorkloadClass(figure['workload']),
                    'source': Source(**figure['source']),
                    'releases': tuple(figure['releases']),
                    'hardware': tuple(Storage(name) for name in figure['hardware']),
                }
            )
            for figure in entry['evidence']
        ),
        cautions=tuple(entry['cautions']),
        superseded=superseded.get('why'),
        superseded_from_rocksdb=superseded.get('from_rocksdb'),
        source=entry['source'],
    )


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))
