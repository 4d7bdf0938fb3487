"""What options do, and what an option string means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional, Union

from ...advise.whatif.compare import Comparison, Side
from ...options.catalogue import Danger as FoundDanger
from ...options.catalogue import Member, OptionInfo
from ...options.problems import Problem as FoundProblem
from ...options.related_options import RelatedOption
from ...options.verdict import ReleaseVerdict, Verdict
from .copies import like, like_if_any
from .notes import Among, Count, InPlace, NotEmpty, OsdId, Pattern

_Info = Union[OptionInfo, RelatedOption]
_Level = Annotated[str, Among(('forbidden', 'caution'))]
#: The one option that a rollout changes.
_SET_BY_MODULE = frozenset({'bluestore_rocksdb_options'})


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, or unwise, in an option string."""

    severity: Annotated[
        str,
        Among(('error', 'warning', 'info')),
        '"error": an OSD would not start, or it is dangerous.',
    ]
    rule: Annotated[str, Pattern('^[a-z0-9-]+$'), 'Id of the rule; stable.']
    option: Annotated[Optional[str], 'null where it is about the string as a whole.']
    message: Annotated[str, 'What is wrong.']
    source: Annotated[str, 'Where that is known from.']


@dataclass(frozen=True)
class CheckedRelease:
    """The result for one release."""

    release: Annotated[str, 'Name of the release.']
    since: Annotated[str, 'First point release with these defaults.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    accepted: Annotated[Optional[bool], 'As above.']
    errors: Annotated[Count, 'How many problems are errors.']
    warnings: Annotated[Count, 'How many are warnings.']
    osds: Annotated[
        tuple[OsdId, ...], 'The OSDs that run it; empty where the release was only requested.'
    ]
    annex: Annotated[
        str,
        'bluestore_rocksdb_options_annex of these OSDs, which Ceph appends to the string; it is '
        'checked with it.',
    ]


@dataclass(frozen=True)
class Check:
    """One option string, checked for the release where it does worst."""

    options: Annotated[str, 'The string as it was given.']
    release: Annotated[str, 'The release that the answer is about.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    accepted: Annotated[
        Optional[bool], 'Whether an OSD would start with it; null where that cannot be told.'
    ]
    effective: Annotated[
        Mapping[str, str],
        'Every known option with the value that would be in effect; empty where the string is not '
        'accepted.',
    ]
    problems: Annotated[tuple[Problem, ...], 'Worst first.']
    releases: Annotated[
        tuple[CheckedRelease, ...],
        NotEmpty(),
        'All releases that were checked, the worst first.',
    ]
    assumptions: Annotated[
        tuple[str, ...], 'What the answer assumes because it is not known, in sentences.'
    ]


@dataclass(frozen=True)
class OptionHead:
    """An option, in short."""

    option: Annotated[str, 'Name of the option.']
    scope: Annotated[
        str,
        Among(('db', 'cf', 'ceph', 'neighbour')),
        '"db": the whole database, "cf": each column family, "ceph": Ceph\'s own key of the '
        'string, "neighbour": an option beside the string.',
    ]
    type: Annotated[str, 'Type of its value.']
    unit: Annotated[Optional[str], 'Unit of its value; null: none.']
    meaning: Annotated[str, 'What it does.']


@dataclass(frozen=True)
class KnownOption:
    """An option that is known."""

    head: Annotated[OptionHead, InPlace()]
    danger: Annotated[Optional[_Level], 'Whether it is dangerous to set; null: no.']


@dataclass(frozen=True)
class Danger:
    """Why it is dangerous to set an option."""

    level: Annotated[_Level, '"forbidden": the module never sets it.']
    why: Annotated[str, 'Why.']


@dataclass(frozen=True)
class KnownValue:
    """A value that an option may have."""

    name: Annotated[str, 'As it is written.']
    starts: Annotated[bool, 'Whether an OSD starts with it.']
    since: Annotated[Optional[str], 'First RocksDB version that has it; null: all known.']


@dataclass(frozen=True)
class SaneRange:
    """Values that are wise."""

    minimum: int
    maximum: int
    why: Annotated[str, 'Why not beyond.']


@dataclass(frozen=True)
class StructMember:
    """A member of an option that is a struct."""

    name: Annotated[str, 'Name of the member.']
    type: Annotated[str, 'Type of its value; "ignored": RocksDB reads none.']
    defaults: Annotated[Mapping[str, str], 'By RocksDB version.']


@dataclass(frozen=True)
class Option:
    """All that is known of one option."""

    head: Annotated[OptionHead, InPlace()]
    danger: Annotated[Optional[Danger], 'Whether it is dangerous to set; null: no.']
    defaults: Annotated[
        Mapping[str, Optional[str]],
        'By RocksDB version, of an option beside the string by release; null where it is not '
        'known.',
    ]
    no_effect: Annotated[
        Mapping[str, Optional[str]],
        'By RocksDB version, why setting it changes nothing; null where it has an effect.',
    ]
    minimum: Annotated[Optional[int], 'RocksDB moves smaller values up to this.']
    maximum: Annotated[Optional[int], 'RocksDB moves larger values down to this.']
    values: Annotated[tuple[KnownValue, ...], 'Where it has a fixed set of values.']
    sane: Annotated[Optional[SaneRange], 'Values that are wise; null: not known.']
    set_by_module: Annotated[bool, 'Whether the module may set it at all.']
    needs_restart: Annotated[bool, 'Whether an OSD must restart for it.']
    source: Annotated[str, 'Where that is known from.']
    change_when: Annotated[str, NotEmpty(), 'When an expert would touch it.']
    leave_when: Annotated[str, NotEmpty(), 'When an expert would leave it alone.']
    deprecated: Annotated[Optional[str], 'Since when it should not be used; null where it may be.']
    mutable_in_rocksdb: Annotated[
        bool, 'RocksDB could change it while it runs; Ceph offers no way.'
    ]
    takes_effect: Annotated[
        str,
        Among(('at-once', 'restart', 'mkfs')),
        '"restart": at the next start of the OSD; "mkfs": only when an OSD is made.',
    ]
    members: Annotated[tuple[StructMember, ...], 'Of a struct.']


@dataclass(frozen=True)
class ComparedSide:
    """One of two option strings."""

    name: Annotated[str, 'Name of the profile, or of the OSD.']
    options: Annotated[str, 'bluestore_rocksdb_options, of an OSD with the annex.']


@dataclass(frozen=True)
class ComparedOption:
    """One option of two strings."""

    option: Annotated[str, 'Name of the option.']
    written_from: Annotated[Optional[str], 'null: left at its default.']
    written_to: Annotated[Optional[str], 'null: left at its default.']
    effective_from: Annotated[Optional[str], 'null: not known.']
    effective_to: Annotated[Optional[str], 'null: not known.']
    follows: Annotated[
        bool, 'Both sides write the same of it: it follows from what else they write.'
    ]
    meaning: Annotated[Optional[str], 'null: the catalogue does not have the option.']
    change_when: Annotated[Optional[str], 'When an expert would touch it.']
    leave_when: Annotated[Optional[str], 'When an expert would leave it alone.']
    source: Annotated[Optional[str], 'Where that is known from.']


@dataclass(frozen=True)
class Compared:
    """Two option strings, option by option."""

    release: Annotated[str, 'Release that they are compared for.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    from_: ComparedSide
    to: ComparedSide
    refused: Annotated[tuple[str, ...], 'Sides that no OSD of the release starts with.']
    not_judged: Annotated[
        tuple[str, ...], 'Sides of which it cannot be told whether an OSD starts with them.'
    ]
    changes: Annotated[tuple[ComparedOption, ...], 'What differs.']


def check_of(verdict: Verdict) -> Check:
    """Three answers apart: would it start, what would be in effect, what is unwise."""
    worst = verdict.worst
    return Check(
        options=verdict.text,
        release=worst.release.name,
        rocksdb_version=worst.release.rocksdb_version,
        accepted=worst.result.accepted,
        effective=dict(sorted(worst.result.effective.items())),
        problems=tuple(map(_problem, worst.result.problems)),
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
        from_=_side(compared.side_from),
        to=_side(compared.side_to),
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


def _side(side: Side) -> ComparedSide:
    return ComparedSide(side.name, side.options)


def _problem(found: FoundProblem) -> Problem:
    return like(Problem, found)


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
        sane=like_if_any(SaneRange, info.sane),
        set_by_module=info.assessed,
        takes_effect='restart',
        members=tuple(map(_member, info.members)),
    )


def _member(member: Member) -> StructMember:
    value_type = member.value_type.value if member.value_type else 'ignored'
    return StructMember(member.name, value_type, dict(member.defaults))


def _related_option(info: RelatedOption) -> Option:
    """What an option beside the string does not have is null or empty."""
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
