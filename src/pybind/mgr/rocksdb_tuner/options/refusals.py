"""Options that RocksDB refuses, or that Ceph fails with. Pure.

Accepted values that are surprising or dangerous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Optional

from .catalogue import Catalogue, OptionInfo, catalogue
from .effective import ambiguous, member_of
from .problems import Problem, problem
from .reading import read_member, read_option
from .syntax import OptionSet
from .values import Reading, ValueNotJudgedError, ValueRefusedError, ValueType

#: The rule for options of which it is unknown whether they are accepted.
NOT_JUDGED = 'not-judged'

_CEPH_THREADS = ('compaction_threads', 'flusher_threads')
#: If one of these is set, RocksDB ignores max_background_jobs.
_THREADS_BY_KIND = ('max_background_compactions', 'max_background_flushes')
#: 3072 threads could be started, 32768 could not; in between it depends on the host.
_MOST_THREADS = 8192
_OPENING_NUMBERS = (
    'memtable_protection_bytes_per_key',
    'block_protection_bytes_per_key',
    'rate_limiter_bytes_per_sec',
    'writable_file_max_buffer_size',
    'keep_log_file_num',
    'table_cache_numshardbits',
    'max_successive_merges',
)


def refusals(
    option_set: OptionSet, version: str, known: Catalogue, rocksdb_version: str
) -> Iterator[Problem]:
    """Options that each keep a daemon from starting."""
    for name, value in option_set:
        info = known.options.get(name)
        if member_of(name, version, known) is None and (
            info is None or version not in info.versions
        ):
            yield _unknown(name, version, known, rocksdb_version)
            continue
        try:
            _read(name, value, version, known)
        except ValueNotJudgedError as unknown:
            yield not_judged(name, str(unknown))
            continue
        except ValueRefusedError as refusal:
            yield problem('refused-value', name, f'{refusal}: the OSD would not start')
            continue
        if info is not None and info.value_type is ValueType.ENUM:
            # compression_per_level overrides compression.
            choice = info.choice(value)
            overruled = name == 'compression' and option_set.get('compression_per_level')
            if choice is not None and not choice.starts and not overruled:
                yield _not_usable(info, value)
        elif info is not None and info.value_type is ValueType.ENUM_LIST:
            for codec in read_option(info, value, version).text.split(':'):
                choice = info.choice(codec)
                if choice is not None and not choice.starts:
                    yield _not_usable(info, codec)


def ambiguities(option_set: OptionSet, version: str) -> Iterator[Problem]:
    for name in ambiguous(option_set, version):
        yield problem(
            'ambiguous',
            name,
            'Given in two forms, and a hash table decides which one RocksDB reads last: the '
            'effective value is unknown',
        )


def _read(name: str, value: str, version: str, known: Catalogue) -> Optional[Reading]:
    """How a known option or member is parsed; None if its value is ignored."""
    named = member_of(name, version, known)
    if named is not None:
        return read_member(*named, value)
    info = known.options[name]
    return read_option(info, value, version) if info.versions[version].value_read else None


def _unknown(name: str, version: str, known: Catalogue, rocksdb_version: str) -> Problem:
    base, dot, _ = name.partition('.')
    info = known.options.get(base)
    if dot and info is not None and info.value_type is ValueType.OBJECT and version != '6.8':
        return not_judged(name, f'the values of {base} are unknown')
    return problem(
        'unknown-option',
        name,
        f'RocksDB {rocksdb_version} does not know this option: the OSD would not start'
        + _did_you_mean(name),
    )


def _not_usable(info: OptionInfo, value: str) -> Problem:
    return problem('not-usable', info.name, _why_not_usable(info, value))


def not_judged(name: Optional[str], why: str) -> Problem:
    return problem(
        NOT_JUDGED,
        name,
        f'{why}: whether the OSD would start is unknown, so the module does not set it',
    )


def _did_you_mean(name: str) -> str:
    same = _by_lower_case().get(name.lower())
    return f'; did you mean {same}?' if same not in (None, name) else ''


@lru_cache(maxsize=1)
def _by_lower_case() -> Mapping[str, str]:
    return {name.lower(): name for name in reversed(tuple(catalogue().options))}


def _why_not_usable(info: OptionInfo, value: str) -> str:
    if 'compression' in info.name:
        usable = ', '.join(c.name for c in info.choices if c.starts)
        return (
            f"{value} is not built into Ceph's RocksDB: the OSD would not start; "
            f'available: {usable}'
        )
    return f'an OSD cannot open its database with {value}'


def incompatible(
    option_set: OptionSet, values: Mapping[str, str], versions: tuple[str, ...]
) -> Iterator[Problem]:
    """Combinations with which RocksDB does not open a database."""

    def on(name: str) -> bool:
        return values.get(name) == 'true'

    modern = any(int(version.split('.')[0]) >= 7 for version in versions)
    number = {name: int(values[name]) for name in _OPENING_NUMBERS if name in values}
    combinations = (
        (
            on('allow_mmap_reads') and on('use_direct_reads'),
            'use_direct_reads',
            'cannot be combined with allow_mmap_reads',
        ),
        (
            on('unordered_write') and on('enable_pipelined_write'),
            'unordered_write',
            'cannot be combined with enable_pipelined_write',
        ),
        (
            on('unordered_write') and values.get('allow_concurrent_memtable_write') == 'false',
            'unordered_write',
            'cannot be combined with allow_concurrent_memtable_write=false',
        ),
        (
            on('unordered_write') and on('manual_wal_flush'),
            'unordered_write',
            'hangs at the first write if combined with manual_wal_flush',
        ),
        (
            on('unordered_write') and number.get('max_successive_merges', 0) > 0,
            'unordered_write',
            'cannot be combined with max_successive_merges above 0',
        ),
        (
            on('two_write_queues') and on('enable_pipelined_write'),
            'two_write_queues',
            'cannot be combined with enable_pipelined_write',
        ),
        (
            on('inplace_update_support') and on('allow_concurrent_memtable_write'),
            'inplace_update_support',
            'cannot be combined with allow_concurrent_memtable_write, which is on by default',
        ),
        (
            modern
            and on('use_direct_io_for_flush_and_compaction')
            and number.get('writable_file_max_buffer_size') == 0,
            'use_direct_io_for_flush_and_compaction',
            'cannot be combined with writable_file_max_buffer_size=0 from RocksDB 7',
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
            values.get('compression_opts.zstd_max_train_bytes', '0') != '0',
            'compression_opts',
            "must not set zstd_max_train_bytes: Ceph's RocksDB is built without Zstandard",
        ),
        *(
            (
                number.get(name, 0) not in (0, 1, 2, 4, 8),
                name,
                'must be 0, 1, 2, 4 or 8',
            )
            for name in ('memtable_protection_bytes_per_key', 'block_protection_bytes_per_key')
        ),
        (
            number.get('rate_limiter_bytes_per_sec') == 0,
            'rate_limiter_bytes_per_sec',
            'must be above 0',
        ),
        (
            # NaN differs from itself when the options file is read back and compared.
            on('fail_if_options_file_error') and 'nan' in values.values(),
            'fail_if_options_file_error',
            'cannot be combined with a value that is not a number',
        ),
        (
            on('error_if_exists'),
            'error_if_exists',
            'does not open an existing database',
        ),
    )
    for refused, option, why in combinations:
        if refused:
            yield problem('refused-combination', option, f'{option} {why}: the OSD would not start')


def _written_levels(option_set: OptionSet, versions: tuple[str, ...]) -> int:
    """num_levels before RocksDB corrects it."""
    written = option_set.get('num_levels')
    info = catalogue().options['num_levels']
    return 0 if written is None else int(read_option(info, written, versions[0]).text)


def too_many_threads(values: Mapping[str, str]) -> Iterator[Problem]:
    """RocksDB starts its threads when it opens a database; the daemon aborts if that fails."""
    by_kind = any(int(values.get(name, '-1')) != -1 for name in _THREADS_BY_KIND)
    for name in (*_CEPH_THREADS, *(_THREADS_BY_KIND if by_kind else ('max_background_jobs',))):
        number = int(values.get(name, '0'))
        if number > _MOST_THREADS:
            yield problem(
                'too-many-threads', name, f'{number} threads cannot be started: the OSD would abort'
            )


#: Options for which 0 (or, for times, 2**64 - 2) selects the default.
_ZERO_IS_DEFAULT = frozenset(
    {
        'arena_block_size',
        'delayed_write_rate',
        'max_compaction_bytes',
        'periodic_compaction_seconds',
        'soft_pending_compaction_bytes_limit',
        'ttl',
    }
)


def surprises(
    option_set: OptionSet, values: Mapping[str, str], version: str, known: Catalogue
) -> Iterator[Problem]:
    """Values that take effect differently than written, or not at all."""
    for name, value in option_set:
        if member_of(name, version, known) is not None:
            continue
        info = known.options[name]
        facts = info.versions[version]
        if not facts.value_read:
            yield problem('removed-option', name, f'No effect: {facts.no_effect}', info.source)
            continue
        reading = read_option(info, value, version)
        if reading.surprise:
            yield problem('lenient-number', name, reading.surprise)
        if facts.no_effect:
            if reading.text != facts.default:
                yield problem('no-effect', name, f'No effect: {facts.no_effect}', info.source)
        elif name in values and not _same_value(reading, values[name], info):
            yield problem('clamped', name, f'RocksDB silently changes {value} to {values[name]}')


def _same_value(reading: Reading, in_effect: str, info: OptionInfo) -> bool:
    if reading.text == in_effect:
        return True
    # 0 and the second-largest number request the default.
    asks_for_default = reading.number in (0, float((1 << 64) - 2))
    return asks_for_default and info.name in _ZERO_IS_DEFAULT


def dangers(option_set: OptionSet, version: str, known: Catalogue) -> Iterator[Problem]:
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
            yield problem(info.danger.level, name, info.danger.why, info.source)
        elif not info.assessed and not _is_default(info, version, text):
            yield problem(
                'not-assessed',
                name,
                'Its effect on BlueStore has not been assessed: the module does not set it',
            )
        if (
            info.sane
            and number is not None
            and not (info.sane.minimum <= number <= info.sane.maximum)
            and not (info.bounds and number == info.bounds.exempt)
        ):
            yield problem(
                'out-of-range',
                name,
                f'{info.spelled(number)} is outside {info.spelled(info.sane.minimum)} to '
                f'{info.spelled(info.sane.maximum)}: {info.sane.why}',
                info.source,
            )


def _is_default(info: OptionInfo, version: str, text: str) -> bool:
    return info.versions[version].default == text


def about_the_set(option_set: OptionSet) -> Iterator[Problem]:
    if not option_set.items:
        yield problem(
            'empty',
            None,
            "An empty string selects RocksDB's own defaults (Snappy, 2 memtables of 64 MiB, no WAL "
            "limit), not Ceph's; to use Ceph's defaults, remove the option",
        )
    for name, value in option_set.overridden:
        yield problem(
            'duplicate',
            name,
            f'Given more than once: {option_set.get(name)} overrides {value}',
        )
