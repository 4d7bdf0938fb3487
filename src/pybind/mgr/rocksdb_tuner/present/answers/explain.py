"""RocksDB options, and the check and comparison of option strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional, Union

from ...advise.whatif.compare import Comparison, Side
from ...notes import Among, Count, InPlace, NotEmpty, OsdId
from ...options.catalogue import Danger as FoundDanger
from ...options.catalogue import Member, OptionInfo, RelatedOption, SaneRange
from ...options.problems import Problem
from ...options.verdict import ReleaseVerdict, Verdict
from .options import like, like_if_any

_Info = Union[OptionInfo, RelatedOption]
_Level = Annotated[str, Among(('forbidden', 'caution'))]
#: Options that a rollout changes.
_SET_BY_MODULE = frozenset({'bluestore_rocksdb_options'})


@dataclass(frozen=True)
class CheckedRelease:
    """The result for one release."""

    release: Annotated[str, 'Name of the release.']
    since: Annotated[str, 'First point release with these defaults.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    accepted: Annotated[
        Optional[bool], 'Whether an OSD of this release would start; null if unknown.'
    ]
    errors: Annotated[Count, 'Number of errors.']
    warnings: Annotated[Count, 'Number of warnings.']
    osds: Annotated[
        tuple[OsdId, ...], 'OSDs that run this release; empty if the release was given.'
    ]
    annex: Annotated[
        str,
        'bluestore_rocksdb_options_annex of these OSDs, which Ceph appends to the string; '
        'included in the check.',
    ]


@dataclass(frozen=True)
class Check:
    """Check of an option string, for the release with the worst result."""

    options: Annotated[str, 'The option string as given.']
    release: Annotated[str, 'Release with the worst result.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    accepted: Annotated[Optional[bool], 'Whether an OSD would start with it; null if unknown.']
    effective: Annotated[
        Mapping[str, str],
        'Effective value of every known option; empty if the string is not accepted.',
    ]
    problems: Annotated[tuple[Problem, ...], 'Problems, worst first.']
    releases: Annotated[
        tuple[CheckedRelease, ...],
        NotEmpty(),
        'All checked releases, worst first.',
    ]
    assumptions: Annotated[tuple[str, ...], 'Assumptions in place of unknown facts, in sentences.']


@dataclass(frozen=True)
class OptionHead:
    """An option, in short."""

    option: Annotated[str, 'Name of the option.']
    scope: Annotated[
        str,
        Among(('db', 'cf', 'ceph', 'neighbour')),
        '"db": the whole database; "cf": each column family; "ceph": Ceph\'s own key in the '
        'string; "neighbour": a related Ceph option.',
    ]
    type: Annotated[str, 'Type of its value.']
    unit: Annotated[Optional[str], 'Unit of its value; null: none.']
    meaning: Annotated[str, 'Description of the option.']


@dataclass(frozen=True)
class KnownOption:
    """A known option."""

    head: Annotated[OptionHead, InPlace()]
    danger: Annotated[Optional[_Level], 'Danger of setting it; null: none.']


@dataclass(frozen=True)
class Danger:
    """Why setting an option is dangerous."""

    level: Annotated[_Level, 'Level; "forbidden": the module never sets it.']
    why: Annotated[str, 'Reason.']


@dataclass(frozen=True)
class KnownValue:
    """A valid value of an option."""

    name: Annotated[str, 'The value as written in an option string.']
    starts: Annotated[bool, 'Whether an OSD starts with it.']
    since: Annotated[Optional[str], 'First RocksDB version with this value; null: all known.']


@dataclass(frozen=True)
class StructMember:
    """A member of an option that is a struct."""

    name: Annotated[str, 'Name of the member.']
    type: Annotated[str, 'Type of its value; "ignored": RocksDB ignores it.']
    defaults: Annotated[Mapping[str, str], 'Defaults by RocksDB version.']


@dataclass(frozen=True)
class Option:
    """Full description of an option."""

    head: Annotated[OptionHead, InPlace()]
    danger: Annotated[Optional[Danger], 'Danger of setting it; null: none.']
    defaults: Annotated[
        Mapping[str, Optional[str]],
        'Defaults by RocksDB version, or by release for a related Ceph option; null: unknown.',
    ]
    no_effect: Annotated[
        Mapping[str, Optional[str]],
        'Why setting it has no effect, by RocksDB version; null: it has an effect.',
    ]
    minimum: Annotated[Optional[int], 'RocksDB raises smaller values to this.']
    maximum: Annotated[Optional[int], 'RocksDB lowers larger values to this.']
    values: Annotated[tuple[KnownValue, ...], 'Valid values, if it has a fixed set of them.']
    sane: Annotated[Optional[SaneRange], 'Range of sensible values; null: unknown.']
    set_by_module: Annotated[bool, 'Whether the module may set it.']
    needs_restart: Annotated[bool, 'Whether a change requires an OSD restart.']
    source: Annotated[str, 'Source of this information.']
    change_when: Annotated[str, NotEmpty(), 'When to change it.']
    leave_when: Annotated[str, NotEmpty(), 'When not to change it.']
    deprecated: Annotated[
        Optional[str], 'Version since which it is deprecated; null: not deprecated.'
    ]
    mutable_in_rocksdb: Annotated[
        bool, 'RocksDB can change it at runtime, but Ceph offers no way to do so.'
    ]
    takes_effect: Annotated[
        str,
        Among(('at-once', 'restart', 'mkfs')),
        'When a change takes effect; "restart": at the next start of the OSD; "mkfs": only in new '
        'OSDs.',
    ]
    members: Annotated[tuple[StructMember, ...], 'Members, if it is a struct.']


@dataclass(frozen=True)
class ComparedOption:
    """An option that differs between two strings."""

    option: Annotated[str, 'Name of the option.']
    written_from: Annotated[Optional[str], 'Value in the first string; null: default.']
    written_to: Annotated[Optional[str], 'Value in the second string; null: default.']
    effective_from: Annotated[Optional[str], 'Effective value in the first; null: unknown.']
    effective_to: Annotated[Optional[str], 'Effective value in the second; null: unknown.']
    follows: Annotated[
        bool, 'Both strings set it alike; the effective values differ because of other options.'
    ]
    meaning: Annotated[Optional[str], 'Description; null: not in the catalog.']
    change_when: Annotated[Optional[str], 'When to change it.']
    leave_when: Annotated[Optional[str], 'When not to change it.']
    source: Annotated[Optional[str], 'Source of this information.']


@dataclass(frozen=True)
class Compared:
    """Two option strings, option by option."""

    release: Annotated[str, 'Release of the comparison.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    from_: Side
    to: Side
    refused: Annotated[tuple[str, ...], 'Sides that prevent an OSD of the release from starting.']
    not_judged: Annotated[tuple[str, ...], 'Sides for which it is unknown whether an OSD starts.']
    changes: Annotated[tuple[ComparedOption, ...], 'Options that differ.']


def check_of(verdict: Verdict) -> Check:
    """Whether an OSD would start, the effective values, and the problems."""
    worst = verdict.worst
    return Check(
        options=verdict.text,
        release=worst.release.name,
        rocksdb_version=worst.release.rocksdb_version,
        accepted=worst.result.accepted,
        effective=dict(sorted(worst.result.effective.items())),
        problems=tuple(worst.result.problems),
        releases=tuple(map(_checked_release, verdict.by_release)),
        assumptions=worst.subject.hardware.assumptions,
    )


def known_options_of(options: Sequence[_Info]) -> tuple[KnownOption, ...]:
    return tuple(
        KnownOption(_head(info), info.danger.level if info.danger else None) for info in options
    )


def option_of(info: _Info) -> Option:
    return _related_option(info) if isinstance(info, RelatedOption) else _option(info)


def comparison_of(compared: Comparison) -> Compared:
    return Compared(
        release=compared.release.name,
        rocksdb_version=compared.release.rocksdb_version,
        from_=compared.side_from,
        to=compared.side_to,
        refused=compared.refused,
        not_judged=compared.not_judged,
        changes=tuple(
            like(
                ComparedOption,
                change,
                meaning=change.info.meaning if change.info else None,
                change_when=change.info.change_when if change.info else None,
                leave_when=change.info.leave_when if change.info else None,
                source=change.info.source if change.info else None,
            )
            for change in compared.changes
        ),
    )


def _checked_release(one: ReleaseVerdict) -> CheckedRelease:
    return CheckedRelease(
        release=one.release.name,
        since=one.release.since,
        rocksdb_version=one.release.rocksdb_version,
        accepted=one.result.accepted,
        errors=one.count('error'),
        warnings=one.count('warning'),
        osds=tuple(one.subject.osd_ids),
        annex=one.subject.annex,
    )


def _head(info: _Info) -> OptionHead:
    return OptionHead(
        option=info.name,
        scope='neighbour' if isinstance(info, RelatedOption) else info.scope,
        type=info.value_type if isinstance(info, RelatedOption) else info.value_type.value,
        unit=info.unit,
        meaning=info.meaning,
    )


def _danger(found: Optional[FoundDanger]) -> Optional[Danger]:
    return like_if_any(Danger, found)


def _option(info: OptionInfo) -> Option:
    return like(
        Option,
        info,
        head=_head(info),
        danger=_danger(info.danger),
        defaults={version: facts.default for version, facts in info.versions.items()},
        no_effect={version: facts.no_effect for version, facts in info.versions.items()},
        minimum=info.bounds.minimum if info.bounds else None,
        maximum=info.bounds.maximum if info.bounds else None,
        values=tuple(like(KnownValue, choice) for choice in info.choices),
        sane=info.sane,
        set_by_module=info.assessed,
        takes_effect='restart',
        members=tuple(map(_member, info.members)),
    )


def _member(member: Member) -> StructMember:
    value_type = member.value_type.value if member.value_type else 'ignored'
    return StructMember(member.name, value_type, dict(member.defaults))


def _related_option(info: RelatedOption) -> Option:
    """Fields that do not apply to a related Ceph option are null or empty."""
    return like(
        Option,
        info,
        head=_head(info),
        danger=_danger(info.danger),
        no_effect=dict.fromkeys(info.defaults),
        minimum=None,
        maximum=None,
        values=(),
        sane=None,
        set_by_module=info.name in _SET_BY_MODULE,
        needs_restart=info.takes_effect != 'at-once',
        deprecated=None,
        mutable_in_rocksdb=False,
        members=(),
    )
