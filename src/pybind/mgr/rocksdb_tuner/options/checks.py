"""Validate an option string: whether an OSD starts with it, effective values, and problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Optional

from .advice import advice
from .catalogue import OptionInfo, UnknownRocksDBVersionError, catalogue
from .effective import Piece, ambiguous, as_read_by, effective, major, pieces
from .problems import Hardware, Problem, combinations, problem
from .syntax import OptionSet, OptionSyntaxError, parse
from .values import ValueNotJudgedError, ValueType

__all__ = ['TEXT_MAX_BYTES', 'CheckResult', 'Problem', 'check', 'safe_to_apply']

#: All options of RocksDB with their defaults take less than 6000. Longer text is not an option
#: string, and parsing it would delay the caller.
TEXT_MAX_BYTES = 8192
NOTHING_KNOWN = Hardware()
#: If only these are found, it is unknown whether an OSD starts, or with which effective values.
_UNKNOWN_OUTCOME = frozenset({'not-judged', 'ambiguous'})
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
        return CheckResult(None, {}, (problem('not-judged', None, why=why),))
    found = _check_text(text, rocksdb_version)
    problems = list(found.problems)
    if found.option_set is not None:
        problems += advice(found.option_set, found.values, found.rocksdb_version, hardware)
    rank = {'error': 0, 'warning': 1, 'info': 2}
    return CheckResult(
        found.accepted,
        found.values if found.accepted else {},
        tuple(sorted(problems, key=lambda one: rank[one.severity])),
    )


@dataclass(frozen=True)
class _TextResult:
    """Result that depends on the string alone."""

    accepted: Optional[bool]
    problems: tuple[Problem, ...]
    #: None if Ceph cannot parse it.
    option_set: Optional[OptionSet]
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
        problems.append(problem('unknown-version', None, error=error, version=rocksdb_version))
    try:
        option_set = parse(text)
    except OptionSyntaxError as error:
        problems.append(problem('syntax', None, error=error))
        return _TextResult(False, tuple(problems), None, {}, rocksdb_version)
    refused = [
        found
        for version in versions
        for piece in pieces(as_read_by(option_set, version), version)
        for found in _refusals(piece, version, option_set, rocksdb_version)
    ]
    refused += [problem('ambiguous', name) for name in ambiguous(option_set, versions[0])]
    option_set = as_read_by(option_set, versions[0])
    read = pieces(option_set, versions[0])
    problems.extend(dict.fromkeys(refused))
    values: Mapping[str, str] = {}
    if not refused:
        values = effective(option_set, rocksdb_version)
        refused = [*_incompatible(read, values, versions), *_too_many_threads(values)]
        problems += refused
        problems += [found for piece in read for found in _surprises(piece, values)]
    problems += [found for piece in read for found in _dangers(piece)]
    problems += _about_the_set(option_set)
    rules = {refusal.rule for refusal in refused}
    accepted = None if rules and rules <= _UNKNOWN_OUTCOME else not rules
    return _TextResult(accepted, tuple(problems), option_set, values, rocksdb_version)


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


def _refusals(
    piece: Piece, version: str, option_set: OptionSet, rocksdb_version: str
) -> Iterator[Problem]:
    """Options that each keep a daemon from starting."""
    name, info = piece.name, piece.info
    if piece.member is None and piece.facts is None:
        yield _unknown(name, version, rocksdb_version)
    elif isinstance(piece.refusal, ValueNotJudgedError):
        yield problem('not-judged', name, why=piece.refusal)
    elif piece.refusal is not None:
        yield problem('refused-value', name, error=piece.refusal)
    elif info is not None and piece.reading is not None:
        # compression_per_level overrides it.
        unused = name == 'compression' and option_set.get('compression_per_level')
        is_enum = info.value_type in (ValueType.ENUM, ValueType.ENUM_LIST) and not unused
        for codec in piece.reading.text.split(':') if is_enum else ():
            choice = info.choice(codec)
            if choice is not None and not choice.starts:
                yield problem('not-usable', name, _why_not_usable(info, codec))


def _unknown(name: str, version: str, rocksdb_version: str) -> Problem:
    known = catalogue().options
    base, dot, _ = name.partition('.')
    info = known.get(base)
    if dot and info is not None and info.value_type is ValueType.OBJECT and version != '6.8':
        return problem('not-judged', name, why=f'the values of {base} are unknown')
    same = next((other for other in known if other.lower() == name.lower()), None)
    return problem(
        'unknown-option',
        name,
        f'RocksDB {rocksdb_version} does not know this option: the OSD would not start'
        + (f'; did you mean {same}?' if same not in (None, name) else ''),
    )


def _why_not_usable(info: OptionInfo, value: str) -> str:
    if 'compression' in info.name:
        usable = ', '.join(c.name for c in info.choices if c.starts)
        return (
            f"{value} is not built into Ceph's RocksDB: the OSD would not start; "
            f'available: {usable}'
        )
    return f'an OSD cannot open its database with {value}'


def _incompatible(
    read: Iterable[Piece], values: Mapping[str, str], versions: tuple[str, ...]
) -> Iterator[Problem]:
    """Combinations with which RocksDB does not open a database."""
    newest = max(map(major, versions))
    refused = [
        (known.option, known.why)
        for known in combinations()
        if newest >= known.since
        and all(
            name in values and re.fullmatch(pattern, values[name], re.ASCII)
            for name, pattern in known.when.items()
        )
    ]
    # Before RocksDB corrects it.
    levels = [int(p.reading.text) for p in read if p.name == 'num_levels' and p.reading]
    if newest >= 7 and min(levels, default=0) < 0:
        refused.append(('num_levels', 'must not be negative from RocksDB 7'))
    if values.get('fail_if_options_file_error') == 'true' and 'nan' in values.values():
        # NaN differs from itself when the options file is read back and compared.
        why = 'cannot be combined with a value that is not a number'
        refused.append(('fail_if_options_file_error', why))
    for option, why in refused:
        yield problem('refused-combination', option, f'{option} {why}: the OSD would not start')


#: If one of these is set, RocksDB ignores max_background_jobs.
_THREADS_BY_KIND = ('max_background_compactions', 'max_background_flushes')
#: 3072 threads could be started, 32768 could not; in between it depends on the host.
_MOST_THREADS = 8192


def _too_many_threads(values: Mapping[str, str]) -> Iterator[Problem]:
    """RocksDB starts its threads when it opens a database; the daemon aborts if that fails."""
    by_kind = any(int(values.get(name, '-1')) != -1 for name in _THREADS_BY_KIND)
    kinds = _THREADS_BY_KIND if by_kind else ('max_background_jobs',)
    for name in ('compaction_threads', 'flusher_threads', *kinds):
        number = int(values.get(name, '0'))
        if number > _MOST_THREADS:
            yield problem('too-many-threads', name, threads=number)


#: Options for which 0 (or, for times, 2**64 - 2) selects the default.
_ZERO_IS_DEFAULT = frozenset(
    (
        *('arena_block_size', 'delayed_write_rate', 'max_compaction_bytes', 'ttl'),
        *('periodic_compaction_seconds', 'soft_pending_compaction_bytes_limit'),
    )
)


def _surprises(piece: Piece, values: Mapping[str, str]) -> Iterator[Problem]:
    """Values that take effect differently than written, or not at all."""
    name, info, facts, reading = piece.name, piece.info, piece.facts, piece.reading
    if info is None or facts is None:
        return
    why = str(facts.no_effect)
    if reading is None:
        yield problem('removed-option', name, source=info.source, why=why)
        return
    if reading.surprise:
        yield problem('lenient-number', name, reading.surprise)
    if facts.no_effect:
        if reading.text != facts.default:
            yield problem('no-effect', name, source=info.source, why=why)
    elif values.get(name, reading.text) != reading.text and not (
        name in _ZERO_IS_DEFAULT and reading.number in (0, float((1 << 64) - 2))
    ):
        yield problem('clamped', name, written=piece.written, value=values[name])


def _dangers(piece: Piece) -> Iterator[Problem]:
    name, info, facts, reading = piece.name, piece.info, piece.facts, piece.reading
    if info is None or facts is None or piece.refusal is not None:
        return
    number, text = (reading.number, reading.text) if reading else (None, piece.written)
    default = facts.default == text
    if info.danger and text not in info.danger.harmless_values and not default:
        yield problem(info.danger.level, name, info.danger.why, info.source)
    elif not info.assessed and not default:
        yield problem('not-assessed', name)
    sane = info.sane
    if (
        sane is not None
        and number is not None
        and not sane.minimum <= number <= sane.maximum
        and not (info.bounds and number == info.bounds.exempt)
    ):
        yield problem(
            'out-of-range',
            name,
            source=info.source,
            value=info.spelled(number),
            minimum=info.spelled(sane.minimum),
            maximum=info.spelled(sane.maximum),
            why=sane.why,
        )


def _about_the_set(option_set: OptionSet) -> Iterator[Problem]:
    if not option_set.items:
        yield problem('empty', None)
    for name, value in option_set.overridden:
        yield problem('duplicate', name, winner=option_set.get(name) or '', value=value)
