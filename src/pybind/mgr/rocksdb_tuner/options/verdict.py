"""Validation of an option string for one or more releases."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Mapping, Optional, Union

from ..notes import Count, InPlace, Named, NotEmpty, OsdId
from .catalogue import OptionInfo, RelatedOption, catalogue, related_options
from .checks import NOTHING_KNOWN, TEXT_MAX_BYTES, CheckResult, check
from .problems import Hardware
from .releases import KnownRelease, announced_release, known_releases, release_of
from .syntax import in_force

_VERSION = re.compile(r'\d{1,9}\.\d{1,9}(\.\d{1,9})?', re.ASCII)
_NEWEST = 999


class BadQuestionError(ValueError):
    """Invalid query; the message names the valid choices.

    ``errno``: ENOENT if the object does not exist, else EINVAL.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.errno = code


@dataclass(frozen=True)
class Subject:
    """OSDs of one release that would run an option string, or a hypothetical one."""

    release: Annotated[KnownRelease, InPlace()]
    osd_ids: Annotated[
        tuple[OsdId, ...],
        Named('osds'),
        'OSDs that run this release; empty if the release was given.',
    ] = ()
    hardware: Hardware = NOTHING_KNOWN
    annex: Annotated[
        str,
        'bluestore_rocksdb_options_annex of these OSDs, which Ceph appends to the string; '
        'included in the check.',
    ] = ''


@dataclass(frozen=True)
class ReleaseVerdict:
    """The result for one release."""

    subject: Annotated[Subject, InPlace()]
    #: What these OSDs would parse: the string with their annex.
    text: str
    result: Annotated[CheckResult, InPlace('accepted')]

    @property
    def release(self) -> KnownRelease:
        return self.subject.release

    def count(self, severity: str) -> int:
        return sum(problem.severity == severity for problem in self.result.problems)

    @property
    def errors(self) -> Annotated[Count, 'Number of errors.']:
        return self.count('error')

    @property
    def warnings(self) -> Annotated[Count, 'Number of warnings.']:
        return self.count('warning')


@dataclass(frozen=True)
class Verdict:
    """Check of an option string, for the release with the worst result."""

    text: Annotated[str, Named('options'), 'The option string as given.']
    by_release: Annotated[
        tuple[ReleaseVerdict, ...],
        Named('releases'),
        NotEmpty(),
        'All checked releases, worst first.',
    ]

    @property
    def worst(self) -> ReleaseVerdict:
        return self.by_release[0]

    @property
    def release(self) -> Annotated[KnownRelease, InPlace('name', 'rocksdb_version')]:
        return self.worst.release

    @property
    def result(self) -> Annotated[CheckResult, InPlace()]:
        return self.worst.result

    @property
    def assumptions(
        self,
    ) -> Annotated[tuple[str, ...], 'Assumptions in place of unknown facts, in sentences.']:
        return self.worst.subject.hardware.assumptions


def judge(text: str, releases: Iterable[KnownRelease]) -> Verdict:
    """Check ``text`` for OSDs of unknown hardware of each of the releases (at least one).

    Raises BadQuestionError for a text longer than any option string.
    """
    return judge_for(text, (Subject(release) for release in dict.fromkeys(releases)))


def judge_for(text: str, subjects: Iterable[Subject]) -> Verdict:
    """Check ``text`` for each of the subjects (at least one).

    Raises BadQuestionError for a text longer than any option string.
    """
    size = len(text.encode(errors='replace'))
    if size > TEXT_MAX_BYTES:
        raise BadQuestionError(
            errno.EINVAL,
            f'the option string has {size} bytes, more than all options of RocksDB together; at '
            f'most {TEXT_MAX_BYTES} are allowed',
        )
    verdicts = []
    for subject in subjects:
        whole = in_force(text, subject.annex)
        result = check(whole, subject.release.rocksdb_version, subject.hardware)
        verdicts.append(ReleaseVerdict(subject, whole, result))
    return Verdict(text, tuple(sorted(verdicts, key=_badness)))


def _badness(verdict: ReleaseVerdict) -> tuple[int, int, int]:
    # False, then None, then True.
    rank = {False: 0, None: 1, True: 2}[verdict.result.accepted]
    return (rank, -verdict.count('error'), -verdict.count('warning'))


def releases_to_judge(
    named: Optional[str], running: Iterable[Optional[KnownRelease]]
) -> tuple[KnownRelease, ...]:
    """The named release, else the releases of the OSDs, else all known releases."""
    if named is not None:
        return (find_release(named),)
    return tuple(dict.fromkeys(r for r in running if r is not None)) or known_releases()


def find_release(text: str) -> KnownRelease:
    """A release by name ("reef": the newest of them) or number ("18.2", "18.2.1").

    Raises BadQuestionError if it is unknown.
    """
    known = known_releases()
    by_name = [release for release in known if release.name == text.lower()]
    if by_name:
        return by_name[-1]
    if _VERSION.fullmatch(text):
        # Of a line, the newest one.
        found = release_of(text if text.count('.') == 2 else f'{text}.{_NEWEST}', None)
        if found is not None:
            return found
    announced = announced_release(text)
    if announced is not None:
        raise BadQuestionError(
            errno.EINVAL,
            f'{announced.label} has not been measured and cannot be validated; it is announced '
            f'with RocksDB {announced.rocksdb_version}. The closest measured release is '
            f'{announced.judge_as}',
        )
    names = ', '.join(dict.fromkeys(release.name for release in known))
    raise BadQuestionError(errno.EINVAL, f'unknown release "{text}"; known releases: {names}')


def all_options() -> Mapping[str, Union[OptionInfo, RelatedOption]]:
    """Options of the string, then the related options of Ceph."""
    return {**catalogue().options, **related_options()}


def find_option(name: str) -> Union[OptionInfo, RelatedOption]:
    """An option of the string or a related one; raises BadQuestionError with similar names."""
    options = all_options()
    if name in options:
        return options[name]
    close = difflib.get_close_matches(name.lower(), options, n=3, cutoff=0.6)
    hint = (
        f'did you mean {" or ".join(close)}?'
        if close
        else '"explain" without an argument lists all options'
    )
    raise BadQuestionError(errno.ENOENT, f'unknown option "{name}"; {hint}')
