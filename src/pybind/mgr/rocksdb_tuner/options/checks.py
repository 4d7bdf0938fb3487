"""Validate an option string: whether an OSD starts with it, effective values, and problems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Iterable, Mapping, Optional

from .advice import advice
from .catalogue import UnknownRocksDBVersionError, catalogue
from .effective import as_read_by, effective
from .hardware import Hardware
from .problems import Problem, problem
from .refusals import (
    NOT_JUDGED,
    about_the_set,
    ambiguities,
    dangers,
    incompatible,
    not_judged,
    refusals,
    surprises,
    too_many_threads,
)
from .syntax import OptionSet, OptionSyntaxError, parse

__all__ = ['TEXT_MAX_BYTES', 'CheckResult', 'Problem', 'check', 'safe_to_apply']

#: All options of RocksDB with their defaults take less than 6000. Longer text is not an option
#: string, and parsing it would delay the caller.
TEXT_MAX_BYTES = 8192
#: Default: hardware of the OSD is unknown.
NOTHING_KNOWN = Hardware()
#: If only these are found, it is unknown whether an OSD starts, or with which effective values.
_UNKNOWN_OUTCOME = frozenset({NOT_JUDGED, 'ambiguous'})
#: Rules whose problems do not keep an OSD from starting, but keep the module from applying it.
_BLOCKING_WARNINGS = frozenset(
    {
        *('clamped', 'lenient-number', 'not-assessed', 'empty', 'caution', 'removed-option'),
        *('unknown-version', *_UNKNOWN_OUTCOME),
    }
)


@dataclass(frozen=True)
class CheckResult:
    """Result for one string and one RocksDB version."""

    accepted: Annotated[Optional[bool], 'Whether an OSD would start with it; null if unknown.']
    #: Effective values by option (``option.member`` for structs); empty unless accepted.
    effective: Annotated[
        Mapping[str, str],
        'Effective value of every known option; empty if the string is not accepted.',
    ]
    problems: Annotated[tuple[Problem, ...], 'Problems, worst first.']


def check(text: str, rocksdb_version: str, hardware: Hardware = NOTHING_KNOWN) -> CheckResult:
    """Check an option string (main and annex combined) for one RocksDB version.

    ``hardware``: the OSD that would run it. A version outside the measured range is reported, and
    checked as the nearest measured one.
    """
    size = len(text.encode(errors='replace'))
    if size > TEXT_MAX_BYTES:
        why = f'{size} bytes is longer than all options of RocksDB together'
        return CheckResult(None, {}, (not_judged(None, why),))
    found = _check_text(text, rocksdb_version)
    more = (
        advice(found.option_set, found.values, found.rocksdb_version, hardware)
        if found.option_set is not None
        else ()
    )
    effective_values = found.values if found.accepted else {}
    return CheckResult(found.accepted, effective_values, _sorted((*found.problems, *more)))


@dataclass(frozen=True)
class _TextResult:
    """Result that depends on the string alone."""

    accepted: Optional[bool]
    problems: tuple[Problem, ...]
    #: None if Ceph cannot parse it.
    option_set: Optional[OptionSet]
    #: Empty if refused.
    values: Mapping[str, str]
    #: The nearest measured version if the given one is outside the measured range.
    rocksdb_version: str


# One recommendation checks dozens of strings, each with and without hardware.
@lru_cache(maxsize=128)
def _check_text(text: str, rocksdb_version: str) -> _TextResult:
    known = catalogue()
    problems: list[Problem] = []
    try:
        versions = known.versions_for(rocksdb_version)
    except UnknownRocksDBVersionError as error:
        rocksdb_version = known.measured_versions[-1]
        versions = (rocksdb_version,)
        problems.append(
            problem('unknown-version', None, f'{error}; evaluated as {rocksdb_version}')
        )
    try:
        option_set = parse(text)
    except OptionSyntaxError as error:
        problems.append(problem('syntax', None, f'Ceph refuses the string: {error}'))
        return _TextResult(False, tuple(problems), None, {}, rocksdb_version)
    refused = [
        refusal
        for version in versions
        for refusal in refusals(as_read_by(option_set, version), version, known, rocksdb_version)
    ]
    refused.extend(ambiguities(option_set, versions[0]))
    option_set = as_read_by(option_set, versions[0])
    problems.extend(dict.fromkeys(refused))
    values: Mapping[str, str] = {}
    if not refused:
        values = effective(option_set, rocksdb_version)
        refused.extend(incompatible(option_set, values, versions))
        refused.extend(too_many_threads(values))
        problems.extend(refused)
        problems.extend(surprises(option_set, values, versions[0], known))
    problems.extend(dangers(option_set, versions[0], known))
    problems.extend(about_the_set(option_set))
    return _TextResult(_accepted(refused), tuple(problems), option_set, values, rocksdb_version)


def _accepted(refused: Iterable[Problem]) -> Optional[bool]:
    rules = {refusal.rule for refusal in refused}
    if not rules:
        return True
    return None if rules <= _UNKNOWN_OUTCOME else False


def safe_to_apply(text: str, rocksdb_version: str) -> tuple[Problem, ...]:
    """Problems that forbid applying a string.

    These are all errors of `check`, and values that do not take effect as written: clamped, parsed
    differently or removed, and options without an assessed effect on BlueStore. An option without
    effect (``recycle_log_file_num``) does not block: it is harmless, and part of Pacific's default.
    """
    return tuple(
        found
        for found in check(text, rocksdb_version).problems
        if found.severity == 'error' or found.rule in _BLOCKING_WARNINGS
    )


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    rank = {'error': 0, 'warning': 1, 'info': 2}
    return tuple(sorted(problems, key=lambda found: rank[found.severity]))
