"""The options of a string as a version of RocksDB reads them, and their values in an open database.

RocksDB changes values silently: it clamps them, orders triggers and disables options that cannot be
combined. A running OSD has no command that shows the result, so it is computed here, by the rules
of SanitizeOptions() in db/column_family.cc and db/db_impl/db_impl_open.cc, tested against the
output of real daemons (`tests/options/data`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Iterator, Mapping, NamedTuple, Optional

from .catalogue import Member, OptionInfo, VersionFacts, catalogue
from .syntax import OptionSet, unwrapped
from .values import (
    INTEGER_TYPES,
    Reading,
    ValueNotJudgedError,
    ValueRefusedError,
    ValueType,
    read_list,
    read_struct,
    read_value,
)

#: Without blanks and braces, which versions read differently.
_PLAIN_MEMBERS = re.compile(r'[a-z_0-9]+=[\w.-]+(?:;[a-z_0-9]+=[\w.-]+)*', re.ASCII)


class Piece(NamedTuple):
    """One option of a string, or one member of a struct (``compression_opts.level``)."""

    name: str
    written: str
    info: Optional[OptionInfo]
    member: Optional[Member]
    #: None for a member, and for a name that the version does not know.
    facts: Optional[VersionFacts]
    #: None if the value is refused, or not read.
    reading: Optional[Reading]
    refusal: Optional[ValueRefusedError]


# A check reads each string several times.
@lru_cache(maxsize=64)
def pieces(option_set: OptionSet, version: str) -> tuple[Piece, ...]:
    """All options of a set as this (measured) version reads them."""
    return tuple(_piece(name, written, version) for name, written in option_set)


def _piece(name: str, written: str, version: str) -> Piece:
    base, dot, rest = name.partition('.')
    info = catalogue().options.get(name)
    facts = info.versions.get(version) if info else None
    struct = catalogue().options.get(base) if dot and major(version) >= 7 else None
    member = struct.member(rest) if struct else None
    member = member if member and version in member.defaults else None
    reading = refusal = None
    try:
        if member is not None:
            reading = _read_member(name, member, written)
        elif info is not None and facts is not None and facts.value_read:
            reading = read_option(info, written, version)
    except ValueRefusedError as error:
        refusal = error
    return Piece(name, written, info, member, facts, reading, refusal)


_ELEMENTS = {ValueType.INT_LIST: ValueType.INT, ValueType.ENUM_LIST: ValueType.ENUM}


def read_option(info: OptionInfo, value: str, measured_version: str) -> Reading:
    """Parse the value of an option of the catalog.

    The text of a struct is ``{member=value;...}`` with the members that are set. Raises
    `ValueRefusedError`, or `ValueNotJudgedError` if it is unknown whether the value is refused.
    """
    value_type, choices = info.value_type, info.choice_names(measured_version)
    modern = major(measured_version) >= 7
    if value_type is ValueType.STRUCT:
        known = [m for m in info.members if measured_version in m.defaults]
        members = read_struct(
            info.name,
            value,
            {member.name: member.value_type for member in known},
            {member.name: _names(member) for member in known},
            major(measured_version),
        )
        text = '{' + ';'.join(f'{k}={v}' for k, v in sorted(members.items())) + '}'
        return Reading(text, members=members)
    element = _ELEMENTS.get(value_type)
    if element is not None:
        return Reading(read_list(value, element, choices, trims=modern))
    if value_type is ValueType.OBJECT:
        return _read_object(info, value, measured_version)
    return read_value(value, value_type, choices)


def _read_object(info: OptionInfo, value: str, version: str) -> Reading:
    rule = info.object_rules[version]
    taken = rule.takes(value)
    if taken is None and rule.members and _PLAIN_MEMBERS.fullmatch(value):
        # The last value of a member wins.
        given = dict(piece.split('=') for piece in value.split(';'))
        taken = given.keys() <= rule.members.keys() or None
        for member, text in given.items() if taken else ():
            read_value(text, rule.members[member])
    if taken is None:
        raise ValueNotJudgedError(f'the module cannot validate the form of {value!r}')
    if not taken:
        raise ValueRefusedError(f'RocksDB {version} cannot open a database with {value!r}')
    return Reading(value)


def _read_member(name: str, member: Member, value: str) -> Reading:
    if member.value_type is None:
        return Reading(value)
    try:
        return read_value(value, member.value_type, _names(member))
    except ValueNotJudgedError:
        raise ValueNotJudgedError(f'the module cannot validate the form of {name}') from None


def _names(member: Member) -> tuple[str, ...]:
    return tuple(choice.name for choice in member.choices)


def major(version: str) -> int:
    """The major version of RocksDB."""
    return int(version.partition('.')[0])


#: The option, and its older name.
_MEMTABLES = ('memtable_factory', 'memtable')


def as_read_by(option_set: OptionSet, rocksdb_version: str) -> OptionSet:
    """The set as parsed by this version of RocksDB."""
    items = unwrapped(option_set) if major(rocksdb_version) >= 7 else option_set.items
    return option_set if items == option_set.items else OptionSet.of(items)


def ambiguous(option_set: OptionSet, rocksdb_version: str) -> tuple[str, ...]:
    """Names that are given in two forms, so that the effective value is unknown.

    From version 7: a struct and one of its members, or a name with and without braces. Ceph passes
    the pieces on in the order of a hash table.
    """
    if major(rocksdb_version) < 7:
        return ()
    names = [name for name, _ in unwrapped(option_set)]
    times = Counter(names)
    twice = [name for name in names if times[name] > 1]
    bases = [base for base, dot, _ in (name.partition('.') for name in names) if dot]
    return tuple(dict.fromkeys((*twice, *(base for base in bases if base in times))))


def effective(option_set: OptionSet, rocksdb_version: str) -> Mapping[str, str]:
    """Effective values of all options of the catalog, by name.

    Numbers are written out (``2MB`` is ``2097152``), booleans are true and false, and enums have
    the names of RocksDB's parser. Options that are unknown, or have an unknown value, are omitted:
    also values on which two versions next to an unmeasured one differ, and ambiguous ones.

    Raises `ValueRefusedError` for a value that RocksDB refuses, `UnknownRocksDBVersionError` for a
    version outside the measured range.
    """
    return dict(_effective(option_set, rocksdb_version))


# A cluster runs a handful of strings, which are compared for each OSD in each tick.
@lru_cache(maxsize=128)
def _effective(option_set: OptionSet, rocksdb_version: str) -> dict[str, str]:
    first, *others = (
        _effective_in(seen, version)
        for version in catalogue().versions_for(rocksdb_version)
        for seen in _orders(option_set, version)
    )
    return {
        name: value
        for name, value in first.items()
        if all(table.get(name) == value for table in others)
    }


def _orders(option_set: OptionSet, version: str) -> Iterator[OptionSet]:
    """The orders in which this version may read the set; several if the order matters."""
    yield as_read_by(option_set, version)
    if ambiguous(option_set, version):
        yield OptionSet.of(reversed(unwrapped(option_set)))


def _effective_in(seen: OptionSet, version: str) -> dict[str, str]:
    values = dict(_defaults(version))
    found = pieces(seen, version)
    for piece in found:
        _set_value(values, piece, version)
    if all(name in seen for name in _MEMTABLES):
        # A hash table decides which one RocksDB reads last.
        values.pop(_MEMTABLES[0], None)
    written = {piece.name: piece.reading.text for piece in found if piece.reading is not None}
    return _Sanitizer(values, written, version).run()


def _set_value(values: dict[str, str], piece: Piece, version: str) -> None:
    info, facts, name = piece.info, piece.facts, piece.name
    ignored = facts is not None and facts.no_effect is not None
    if info is not None and ignored and info.value_type not in INTEGER_TYPES:
        return
    if piece.refusal is not None:
        raise ValueRefusedError(f'{name}: {piece.refusal}')
    if piece.reading is None:
        return
    if info is None:
        values[name] = piece.reading.text
    elif info.value_type is ValueType.STRUCT:
        values.update({f'{name}.{m}': value for m, value in piece.reading.members.items()})
    elif info.value_type is ValueType.OBJECT:
        # RocksDB may change the text, so the effective value is unknown.
        values.pop(name, None)
        if name in _MEMTABLES and major(version) >= 7:
            _set_memtable(values, piece.written)
    else:
        values[name] = piece.reading.text


def _set_memtable(values: dict[str, str], written: str) -> None:
    """SkipListFactory::GetId(): RocksDB 7 shows the parameter, unless it is 0."""
    kind, _, lookahead = written.partition(':')
    values.pop(_MEMTABLES[0], None)
    if kind in ('skip_list', 'SkipListFactory'):
        shown = f':{int(lookahead)}' if int(lookahead or 0) else ''
        values[_MEMTABLES[0]] = f'SkipListFactory{shown}'


@lru_cache(maxsize=8)
def _defaults(version: str) -> Mapping[str, str]:
    options = catalogue().options.values()
    values = {
        info.name: facts.default
        for info in options
        for facts in [info.versions.get(version)]
        if facts is not None and facts.default is not None
    }
    members = {
        f'{info.name}.{member.name}': member.defaults[version]
        for info in options
        for member in info.members
        if version in member.defaults and member.value_type not in (None, ValueType.OBJECT)
    }
    return {**values, **members}


_UNSET_SECONDS = (1 << 64) - 2
_THIRTY_DAYS_S = 30 * 24 * 3600
_INT_MAX = (1 << 31) - 1
_LEVEL_STYLE = 'kCompactionStyleLevel'
_FIFO_STYLE = 'kCompactionStyleFIFO'
_UNIVERSAL_STYLE = 'kCompactionStyleUniversal'


@dataclass
class _Sanitizer:
    """Applies RocksDB's silent corrections, in RocksDB's order."""

    _values: dict[str, str]
    #: Canonical values in the string, before corrections.
    _written: Mapping[str, str]
    _version: str

    def run(self) -> dict[str, str]:
        self._sanitize_memtables()
        self._sanitize_levels()
        self._sanitize_compaction()
        self._sanitize_database()
        return self._values

    @property
    def _before_7(self) -> bool:
        return major(self._version) < 7

    def _number(self, name: str) -> int:
        return int(self._values[name])

    def _set(self, **numbers: int) -> None:
        self._values.update({name: str(number) for name, number in numbers.items()})

    def _written_number(self, name: str) -> Optional[int]:
        """None if it is not in the string."""
        return int(self._written[name]) if name in self._written else None

    def _clamp(self, name: str) -> None:
        bounds = catalogue().options[name].bounds
        assert bounds is not None
        number = self._number(name)
        if number != bounds.exempt:
            number = max(number, bounds.minimum)
            self._set(**{name: min(number, bounds.maximum or number)})

    def _sanitize_memtables(self) -> None:
        self._clamp('write_buffer_size')
        write_buffer_size = self._number('write_buffer_size')
        if not self._written_number('arena_block_size'):
            block = min(write_buffer_size // 8, write_buffer_size if self._before_7 else 1 << 20)
            self._set(arena_block_size=-(-block // 4096) * 4096)
        # RocksDB uses max_write_buffer_number here before it corrects that option.
        buffers = self._number('max_write_buffer_number')
        # A C++ int wraps around.
        below = _INT_MAX if buffers == -_INT_MAX - 1 else buffers - 1
        merge = min(self._number('min_write_buffer_number_to_merge'), below)
        if not self._before_7 and self._values['atomic_flush'] == 'true':
            merge = 1
        self._set(min_write_buffer_number_to_merge=max(merge, 1))
        self._clamp('max_write_buffer_number')
        buffers = self._number('max_write_buffer_number')
        size_to_maintain = self._number('max_write_buffer_size_to_maintain')
        if size_to_maintain < 0:
            self._set(max_write_buffer_size_to_maintain=buffers * write_buffer_size)
        elif size_to_maintain == 0 and self._number('max_write_buffer_number_to_maintain') < 0:
            self._set(max_write_buffer_number_to_maintain=buffers)
        ratio = float(self._values['memtable_prefix_bloom_size_ratio'])
        self._values['memtable_prefix_bloom_size_ratio'] = f'{min(max(ratio, 0.0), 0.25):f}'

    def _sanitize_levels(self) -> None:
        style = self._values['compaction_style']
        if style == _LEVEL_STYLE:
            self._clamp('num_levels')
        else:
            self._set(num_levels=max(self._number('num_levels'), 1))
            self._values['level_compaction_dynamic_level_bytes'] = 'false'
        if style == _FIFO_STYLE:
            if self._before_7:
                self._set(num_levels=1)
            # This also raises level0_stop_writes_trigger, below.
            self._set(level0_slowdown_writes_trigger=_INT_MAX)
        if float(self._values['max_bytes_for_level_multiplier']) <= 0:
            self._values['max_bytes_for_level_multiplier'] = '1.000000'
        trigger = self._number('level0_file_num_compaction_trigger') or 1
        slowdown = max(self._number('level0_slowdown_writes_trigger'), trigger)
        self._set(
            level0_file_num_compaction_trigger=trigger,
            level0_slowdown_writes_trigger=slowdown,
            level0_stop_writes_trigger=max(self._number('level0_stop_writes_trigger'), slowdown),
        )

    def _sanitize_compaction(self) -> None:
        if not self._written_number('max_compaction_bytes'):
            size = self._number('target_file_size_base') * 25
            self._set(max_compaction_bytes=size % (1 << 64))
        soft = self._number('soft_pending_compaction_bytes_limit')
        hard = self._number('hard_pending_compaction_bytes_limit')
        if soft == 0 or 0 < hard < soft:
            self._set(soft_pending_compaction_bytes_limit=hard)
        # File ages that trigger compaction; styles other than level combine both options.
        style = self._values['compaction_style']
        ttl, periodic = (
            _UNSET_SECONDS if written is None else written
            for written in map(self._written_number, ('ttl', 'periodic_compaction_seconds'))
        )
        if ttl == _UNSET_SECONDS:
            ttl = 0 if style == _FIFO_STYLE else _THIRTY_DAYS_S
        if style == _FIFO_STYLE:
            if ttl == 0:
                ttl = periodic = _THIRTY_DAYS_S if periodic == _UNSET_SECONDS else periodic
            elif periodic != 0:
                ttl = min(ttl, periodic)
        elif style == _UNIVERSAL_STYLE and ttl != 0:
            periodic = min(ttl, periodic or ttl)
        periodic = 0 if periodic == _UNSET_SECONDS else periodic
        self._set(ttl=ttl, periodic_compaction_seconds=periodic)

    def _sanitize_database(self) -> None:
        self._clamp('max_open_files')
        limit = self._written_number('rate_limiter_bytes_per_sec')
        if not self._written_number('delayed_write_rate'):
            self._set(delayed_write_rate=16 << 20 if limit is None else limit)
        if limit is not None and self._number('bytes_per_sync') == 0:
            self._set(bytes_per_sync=1 << 20)
        # Recovery modes in which RocksDB can recycle log files.
        modes = {'kSkipAnyCorruptedRecords'}
        if self._before_7:
            modes.add('kTolerateCorruptedTailRecords')
        if tuple(map(int, self._version.split('.'))) >= (9, 1):
            modes.add('kPointInTimeRecovery')
        archived = self._number('WAL_ttl_seconds') > 0 or self._number('WAL_size_limit_MB') > 0
        if archived or self._values['wal_recovery_mode'] not in modes:
            self._set(recycle_log_file_num=0)
        if self._values['allow_2pc'] == 'true':
            self._values['avoid_flush_during_recovery'] = 'false'
        if self._values['paranoid_checks'] == 'false':
            self._values['skip_checking_sst_file_sizes_on_db_open'] = 'true'
        direct = self._values['use_direct_reads'] == 'true'
        if direct and self._number('compaction_readahead_size') == 0:
            self._set(compaction_readahead_size=2 << 20)
        if self._before_7 and self._number('compaction_readahead_size') > 0:
            self._values['new_table_reader_for_compaction_inputs'] = 'true'
