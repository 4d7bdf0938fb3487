"""Would an OSD start with these options, what would be in effect, and what is unwise in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Iterable, Iterator, Mapping, Optional

from .catalogue import Catalogue, OptionInfo, UnknownRocksDBVersionError, catalogue
from .effective import effective, read_option
from .syntax import OptionSet, OptionSyntaxError, parse
from .values import Reading, ValueNotJudgedError, ValueRefusedError

__all__ = ['CheckResult', 'Problem', 'check', 'safe_to_apply']

_MEASURED = 'measured on 16.2.15, 18.2.7 and 20.2.4'
_DEEP_DIVE = 'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022'

#: Rules whose problems do not keep an OSD from starting, but keep the module from applying.
_BLOCKING_WARNINGS = frozenset(
    {'clamped', 'lenient-number', 'not-assessed', 'empty', 'caution', 'removed-option'}
)
_COMPACTION_THREADS_WITHOUT_REASON = 8
# The advice is "similar"; twice or half as large is the least that anyone would call unlike.
_UNLIKE_FACTOR = 2.0


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or unwise, in an option string."""

    #: "error": it would not start, or is dangerous; "warning"; "info".
    severity: str
    #: Name of the rule, "unknown-option"; stable.
    rule: str
    #: None where it is about the string as a whole.
    option: Optional[str]
    message: str
    source: str


@dataclass(frozen=True)
class CheckResult:
    """The answer for one string and one RocksDB version."""

    #: Whether an OSD would start with it.
    accepted: bool
    #: What would be in effect by option; empty where it is not accepted.
    effective: Mapping[str, str]
    #: Worst first, then in the order of the string.
    problems: tuple[Problem, ...]


def check(text: str, rocksdb_version: str) -> CheckResult:
    """Judge an option string (main and annex combined) for one RocksDB version.

    Of a version outside the measured range it says so, and judges by the nearest measured one.
    """
    known = catalogue()
    problems: list[Problem] = []
    try:
        versions = known.versions_for(rocksdb_version)
    except UnknownRocksDBVersionError as error:
        rocksdb_version = known.measured_versions[-1]
        versions = (rocksdb_version,)
        problems.append(
            Problem(
                'error',
                'unknown-version',
                None,
                f'{error}; what follows holds for {rocksdb_version}',
                'the option catalogue',
            )
        )
    try:
        option_set = parse(text)
    except OptionSyntaxError as error:
        problems.append(Problem('error', 'syntax', None, f'Ceph refuses it: {error}', _MEASURED))
        return CheckResult(False, {}, _sorted(problems))
    refusals = [
        refusal
        for version in versions
        for refusal in _refusals(option_set, version, known, rocksdb_version)
    ]
    problems.extend(dict.fromkeys(refusals))
    values: Mapping[str, str] = {}
    if not refusals:
        values = effective(option_set, rocksdb_version)
        incompatible = (*_incompatible(option_set, values, versions), *_too_many_threads(values))
        problems.extend(incompatible)
        refusals.extend(incompatible)
        problems.extend(_surprises(option_set, values, versions[0], known))
    problems.extend(_dangers(option_set, versions[0], known))
    problems.extend(_about_the_set(option_set))
    for rule in _ADVICE:
        problems.extend(rule(option_set, values))
    return CheckResult(not refusals, {} if refusals else values, _sorted(problems))


def safe_to_apply(text: str, rocksdb_version: str) -> tuple[Problem, ...]:
    """What forbids to apply a string; empty where nothing does.

    Forbidden is all that `check` calls an error, and each value that would not take effect as it
    is written: what RocksDB clamps, reads otherwise, or has removed, and options whose effect on
    BlueStore the catalogue does not assess. An option without effect (``recycle_log_file_num``)
    is no blocker: nothing is lost by it, and the default of Pacific itself has it.
    """
    return tuple(
        problem
        for problem in check(text, rocksdb_version).problems
        if problem.severity == 'error' or problem.rule in _BLOCKING_WARNINGS
    )


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    rank = {'error': 0, 'warning': 1, 'info': 2}
    return tuple(sorted(problems, key=lambda problem: rank[problem.severity]))


def _refusals(
    option_set: OptionSet, version: str, known: Catalogue, rocksdb_version: str
) -> Iterator[Problem]:
    """What keeps a daemon from starting, one option at a time."""
    for name, value in option_set:
        info = known.options.get(name)
        if name.startswith('{'):
            yield _not_judged(name, 'braces around a whole piece are read by some versions only')
            continue
        if info is None or version not in info.versions:
            yield Problem(
                'error',
                'unknown-option',
                name,
                f'RocksDB {rocksdb_version} does not know this option: the OSD would not start'
                + _did_you_mean(name, known),
                _MEASURED,
            )
            continue
        if not info.versions[version].value_read:
            continue
        try:
            read_option(info, value, version)
        except ValueNotJudgedError as unknown:
            yield _not_judged(name, str(unknown))
            continue
        except ValueRefusedError as refusal:
            yield Problem(
                'error',
                'refused-value',
                name,
                f'{refusal}: the OSD would not start',
                _MEASURED,
            )
            continue
        choice = info.choice(value)
        if choice is not None and not choice.starts:
            yield Problem('error', 'not-usable', name, _why_not_usable(info, value), _MEASURED)


def _not_judged(name: str, why: str) -> Problem:
    return Problem(
        'error',
        'not-judged',
        name,
        f'{why}: whether the OSD would start cannot be told, so it counts as refused',
        'the option catalogue',
    )


def _did_you_mean(name: str, known: Catalogue) -> str:
    same = [n for n in known.options if n.lower() == name.lower() and n != name]
    return f'; did you mean {same[0]}?' if same else ''


def _why_not_usable(info: OptionInfo, value: str) -> str:
    if 'compression' in info.name:
        usable = ', '.join(c.name for c in info.choices if c.starts)
        return (
            f"{value} is not built into Ceph's RocksDB: the OSD would not start; "
            f'usable are {usable}'
        )
    return f'an OSD does not open its database with {value}'


def _incompatible(
    option_set: OptionSet, values: Mapping[str, str], versions: tuple[str, ...]
) -> Iterator[Problem]:
    """Combinations that RocksDB refuses to open with."""

    def on(name: str) -> bool:
        return values.get(name) == 'true'

    modern = any(int(version.split('.')[0]) >= 7 for version in versions)
    number = {name: int(values[name]) for name in _OPENING_NUMBERS if name in values}
    combinations = (
        (
            on('allow_mmap_reads') and on('use_direct_reads'),
            'use_direct_reads',
            'does not go together with allow_mmap_reads',
        ),
        (
            on('unordered_write') and on('enable_pipelined_write'),
            'unordered_write',
            'does not go together with enable_pipelined_write',
        ),
        (
            on('two_write_queues') and on('enable_pipelined_write'),
            'two_write_queues',
            'does not go together with enable_pipelined_write',
        ),
        (
            on('inplace_update_support') and on('allow_concurrent_memtable_write'),
            'inplace_update_support',
            'does not go together with allow_concurrent_memtable_write, which is on by default',
        ),
        (
            modern
            and on('use_direct_io_for_flush_and_compaction')
            and number.get('writable_file_max_buffer_size') == 0,
            'use_direct_io_for_flush_and_compaction',
            'does not go together with writable_file_max_buffer_size=0 from RocksDB 7',
        ),
        (
            modern and _written_levels(option_set, versions) < 0,
            'num_levels',
            'must not be negative from RocksDB 7',
        ),
        (number.get('keep_log_file_num') == 0, 'keep_log_file_num', 'must be above 0'),
        (
            number.get('table_cache_numshardbits', 0) >= 20,
            'table_cache_numshardbits',
            'must be below 20',
        ),
        (
            on('error_if_exists'),
            'error_if_exists',
            'refuses a database that exists',
        ),
    )
    for refused, option, why in combinations:
        if refused:
            yield Problem(
                'error',
                'refused-combination',
                option,
                f'{option} {why}: the OSD would not start',
                _MEASURED,
            )


def _written_levels(option_set: OptionSet, versions: tuple[str, ...]) -> int:
    """num_levels before RocksDB corrects it."""
    written = option_set.get('num_levels')
    info = catalogue().options['num_levels']
    return 0 if written is None else int(read_option(info, written, versions[0]).text)


def _too_many_threads(values: Mapping[str, str]) -> Iterator[Problem]:
    """RocksDB starts its threads at opening, and the daemon aborts where it cannot."""
    by_kind = any(int(values.get(name, '-1')) != -1 for name in _THREADS_BY_KIND)
    for name in (*_CEPH_THREADS, *(_THREADS_BY_KIND if by_kind else ('max_background_jobs',))):
        number = int(values.get(name, '0'))
        if number > _MOST_THREADS:
            yield Problem(
                'error',
                'too-many-threads',
                name,
                f'{number} threads cannot be started: the OSD would abort',
                _MEASURED,
            )


_CEPH_THREADS = ('compaction_threads', 'flusher_threads')
#: Where one of these is set, RocksDB does not look at max_background_jobs.
_THREADS_BY_KIND = ('max_background_compactions', 'max_background_flushes')
#: 3072 threads were started and 32768 were not; between them it depends on the host.
_MOST_THREADS = 8192
_OPENING_NUMBERS = (
    'writable_file_max_buffer_size',
    'keep_log_file_num',
    'table_cache_numshardbits',
)


def _surprises(
    option_set: OptionSet, values: Mapping[str, str], version: str, known: Catalogue
) -> Iterator[Problem]:
    """Values that take effect otherwise than written, or not at all."""
    for name, value in option_set:
        info = known.options[name]
        facts = info.versions[version]
        if not facts.value_read:
            if facts.no_effect:
                yield Problem(
                    'warning', 'removed-option', name, f'No effect: {facts.no_effect}', info.source
                )
            continue
        reading = read_option(info, value, version)
        if reading.surprise:
            yield Problem('warning', 'lenient-number', name, reading.surprise, _MEASURED)
        if facts.no_effect:
            if reading.text != facts.default:
                yield Problem(
                    'warning', 'no-effect', name, f'No effect: {facts.no_effect}', info.source
                )
        elif name in values and not _same_value(reading, values[name], info):
            yield Problem(
                'warning',
                'clamped',
                name,
                f'RocksDB silently makes {values[name]} of {value}',
                _MEASURED,
            )


def _same_value(reading: Reading, in_effect: str, info: OptionInfo) -> bool:
    if reading.text == in_effect:
        return True
    # 0 and the largest number but one are RocksDB's ways to ask for the default.
    asks_for_default = reading.number in (0, float((1 << 64) - 2))
    return asks_for_default and info.name in _ASK_FOR_DEFAULT


#: Options of which 0 (or, for times, 2**64 - 2) means "choose": what is chosen is no surprise.
_ASK_FOR_DEFAULT = frozenset(
    {
        'arena_block_size',
        'delayed_write_rate',
        'max_compaction_bytes',
        'periodic_compaction_seconds',
        'soft_pending_compaction_bytes_limit',
        'ttl',
    }
)


def _dangers(option_set: OptionSet, version: str, known: Catalogue) -> Iterator[Problem]:
    for name, value in option_set:
        info = known.options.get(name)
        if info is None or version not in info.versions:
            continue
        number = None
        text = value
        if info.versions[version].value_read:
            try:
                reading = read_option(info, value, version)
            except ValueRefusedError:
                continue
            number, text = reading.number, reading.text
        if (
            info.danger
            and text not in info.danger.harmless_values
            and not _is_default(info, version, text)
        ):
            severity = 'error' if info.danger.level == 'forbidden' else 'warning'
            yield Problem(severity, info.danger.level, name, info.danger.why, info.source)
        elif not info.assessed and not _is_default(info, version, text):
            yield Problem(
                'warning',
                'not-assessed',
                name,
                'Its effect on BlueStore is not assessed: the module does not set it',
                'the option catalogue',
            )
        if (
            info.sane
            and number is not None
            and not (info.sane.minimum <= number <= info.sane.maximum)
            and not (info.bounds and number == info.bounds.exempt)
        ):
            yield Problem(
                'error',
                'out-of-range',
                name,
                f'{text} is outside {info.sane.minimum} to {info.sane.maximum}: {info.sane.why}',
                info.source,
            )


def _is_default(info: OptionInfo, version: str, text: str) -> bool:
    return info.versions[version].default == text


def _about_the_set(option_set: OptionSet) -> Iterator[Problem]:
    if not option_set.items:
        yield Problem(
            'warning',
            'empty',
            None,
            "An empty string gives RocksDB's own defaults (Snappy, 2 memtables of 64 MiB, no limit "
            "of the WAL), not Ceph's; remove the setting to get Ceph's",
            _MEASURED,
        )
    for name, value in option_set.overruled:
        yield Problem(
            'warning',
            'duplicate',
            name,
            f'Given more than once: {value} is overruled by {option_set.get(name)}',
            _MEASURED,
        )


def _jobs_switched_off(option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    older = [
        name
        for name in ('max_background_compactions', 'max_background_flushes')
        if name in option_set and values.get(name) != '-1'
    ]
    if older and 'max_background_jobs' in option_set and values:
        yield Problem(
            'warning',
            'jobs-switched-off',
            'max_background_jobs',
            f'Has no effect beside {" and ".join(older)}',
            'facebook/rocksdb include/rocksdb/options.h, max_background_jobs',
        )


def _too_many_compactions(option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    for name in ('max_background_compactions', 'compaction_threads', 'max_background_jobs'):
        number = int(values.get(name, '0')) if name in option_set else 0
        if number > _COMPACTION_THREADS_WITHOUT_REASON:
            yield Problem(
                'warning',
                'many-threads',
                name,
                f'{number} at once: OSDs have 6 to 10 cores, and clients need them too',
                f'{_DEEP_DIVE}, Alternate Tuning',
            )


def _no_wal_limit(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    if values.get('max_total_wal_size') == '0':
        yield Problem(
            'warning',
            'no-wal-limit',
            'max_total_wal_size',
            'Not set: with column families the WAL grows to eight times the memtables of all of '
            'them, far beyond the 1 GiB that WAL devices are built for',
            f'{_DEEP_DIVE}, Modern Ceph; ceph/ceph#35277',
        )


def _level_0_unlike_level_1(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    names = (
        'write_buffer_size',
        'min_write_buffer_number_to_merge',
        'level0_file_num_compaction_trigger',
    )
    if not all(name in values for name in (*names, 'max_bytes_for_level_base')):
        return
    level_0 = math.prod(int(values[name]) for name in names)
    level_1 = int(values['max_bytes_for_level_base'])
    if level_0 > 0 < level_1 and not 1 / _UNLIKE_FACTOR < level_0 / level_1 < _UNLIKE_FACTOR:
        yield Problem(
            'info',
            'level0-unlike-level1',
            'max_bytes_for_level_base',
            f'Level 0 settles at {level_0} bytes and level 1 at {level_1}: the tree works best '
            'where they are alike',
            f'RocksDB Tuning Guide, Level Style Compaction; {_DEEP_DIVE}, New Tuning Candidate',
        )


def _few_memtables(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    buffers = int(values.get('max_write_buffer_number', '2'))
    merge = int(values.get('min_write_buffer_number_to_merge', '1'))
    if merge > 1 and buffers < 2 * merge:
        yield Problem(
            'warning',
            'few-memtables',
            'max_write_buffer_number',
            f'{buffers} memtables hold less than two flushes of {merge}: writes wait for flushes',
            f'{_DEEP_DIVE}, A Brief History',
        )


_Rule = Callable[[OptionSet, Mapping[str, str]], Iterator[Problem]]
_ADVICE: tuple[_Rule, ...] = (
    _jobs_switched_off,
    _too_many_compactions,
    _no_wal_limit,
    _level_0_unlike_level_1,
    _few_memtables,
)
