"""The value of an option as RocksDB's parser reads it.

RocksDB's silent corrections of options when it opens a database.

The rules of SanitizeOptions() in db/column_family.cc and db/db_impl/db_impl_open.cc, tested against
the output of real daemons (`tests/options/data`).
"""

from __future__ import annotations

import re
from typing import Optional

from .catalogue import Catalogue, Member, OptionInfo
from .syntax import OptionSet
from .values import (
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


def read_option(info: OptionInfo, value: str, measured_version: str) -> Reading:
    """Parse the value of an option of the catalog.

    The text of a struct is ``{member=value;...}`` with the members that are set. Raises
    `ValueRefusedError`, or `ValueNotJudgedError` if it is unknown whether the value is refused.
    """
    value_type, choices = info.value_type, info.choice_names(measured_version)
    modern = major(measured_version) >= 7
    if value_type is ValueType.STRUCT:
        members = read_members(info, value, measured_version)
        return Reading('{' + ';'.join(f'{k}={v}' for k, v in sorted(members.items())) + '}')
    if value_type is ValueType.INT_LIST:
        return Reading(read_list(value, ValueType.INT, (), trims=modern))
    if value_type is ValueType.ENUM_LIST:
        return Reading(read_list(value, ValueType.ENUM, choices, trims=modern))
    if value_type is ValueType.OBJECT:
        return read_object(info, value, measured_version)
    return read_value(value, value_type, choices)


def read_object(info: OptionInfo, value: str, version: str) -> Reading:
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


def read_member(info: OptionInfo, member: Member, value: str) -> Reading:
    """Parse a struct member that is given by name, as ``compression_opts.level`` (RocksDB 7)."""
    if member.value_type is None:
        return Reading(value)
    try:
        return read_value(value, member.value_type, tuple(c.name for c in member.choices))
    except ValueNotJudgedError:
        raise ValueNotJudgedError(
            f'the module cannot validate the form of {info.name}.{member.name}'
        ) from None


def read_members(info: OptionInfo, value: str, version: str) -> dict[str, str]:
    known = {m.name: m for m in info.members if version in m.defaults}
    return read_struct(
        info.name,
        value,
        {name: member.value_type for name, member in known.items()},
        {name: tuple(c.name for c in member.choices) for name, member in known.items()},
        major(version),
    )


def major(version: str) -> int:
    """The major version of RocksDB."""
    return int(version.partition('.')[0])


_UNSET_SECONDS = (1 << 64) - 2
_THIRTY_DAYS_S = 30 * 24 * 3600
_INT_MAX = (1 << 31) - 1
_LEVEL_STYLE = 'kCompactionStyleLevel'
_FIFO_STYLE = 'kCompactionStyleFIFO'
_UNIVERSAL_STYLE = 'kCompactionStyleUniversal'


class Sanitizer:
    """Applies RocksDB's silent corrections, in RocksDB's order."""

    def __init__(
        self, values: dict[str, str], option_set: OptionSet, version: str, known: Catalogue
    ) -> None:
        self._values = values
        self._written = option_set
        self._version = version
        self._known = known
        self._before_7 = major(version) < 7

    def run(self) -> dict[str, str]:
        self._sanitize_memtables()
        self._sanitize_levels()
        self._sanitize_compaction()
        self._sanitize_database()
        return self._values

    def _number(self, name: str) -> int:
        return int(self._values[name])

    def _set(self, name: str, number: int) -> None:
        self._values[name] = str(number)

    def _written_number(self, name: str) -> Optional[int]:
        """The value in the string, before corrections; None if it is not set."""
        written = self._written.get(name)
        if written is None:
            return None
        return int(read_option(self._known.options[name], written, self._version).text)

    def _clamp(self, name: str) -> None:
        bounds = self._known.options[name].bounds
        assert bounds is not None
        number = self._number(name)
        if number == bounds.exempt:
            return
        number = max(number, bounds.minimum)
        if bounds.maximum is not None:
            number = min(number, bounds.maximum)
        self._set(name, number)

    def _sanitize_memtables(self) -> None:
        self._clamp('write_buffer_size')
        write_buffer_size = self._number('write_buffer_size')
        if not self._written_number('arena_block_size'):
            block = write_buffer_size // 8
            if not self._before_7:
                block = min(block, 1 << 20)
            self._set('arena_block_size', -(-block // 4096) * 4096)
        # RocksDB uses max_write_buffer_number here before it corrects that option.
        buffers = self._number('max_write_buffer_number')
        # A C++ int wraps around.
        below = _INT_MAX if buffers == -_INT_MAX - 1 else buffers - 1
        merge = min(self._number('min_write_buffer_number_to_merge'), below)
        if not self._before_7 and self._values['atomic_flush'] == 'true':
            merge = 1
        self._set('min_write_buffer_number_to_merge', max(merge, 1))
        self._clamp('max_write_buffer_number')
        self._sanitize_history(write_buffer_size)
        ratio = float(self._values['memtable_prefix_bloom_size_ratio'])
        self._values['memtable_prefix_bloom_size_ratio'] = f'{min(max(ratio, 0.0), 0.25):f}'

    def _sanitize_history(self, write_buffer_size: int) -> None:
        buffers = self._number('max_write_buffer_number')
        size_to_maintain = self._number('max_write_buffer_size_to_maintain')
        if size_to_maintain < 0:
            self._set('max_write_buffer_size_to_maintain', buffers * write_buffer_size)
        elif size_to_maintain == 0 and self._number('max_write_buffer_number_to_maintain') < 0:
            self._set('max_write_buffer_number_to_maintain', buffers)

    def _sanitize_levels(self) -> None:
        style = self._values['compaction_style']
        if style == _LEVEL_STYLE:
            self._clamp('num_levels')
        else:
            self._set('num_levels', max(self._number('num_levels'), 1))
            self._values['level_compaction_dynamic_level_bytes'] = 'false'
        if style == _FIFO_STYLE:
            if self._before_7:
                self._set('num_levels', 1)
            # This also raises level0_stop_writes_trigger, below.
            self._set('level0_slowdown_writes_trigger', _INT_MAX)
        if float(self._values['max_bytes_for_level_multiplier']) <= 0:
            self._values['max_bytes_for_level_multiplier'] = '1.000000'
        trigger = self._number('level0_file_num_compaction_trigger') or 1
        slowdown = max(self._number('level0_slowdown_writes_trigger'), trigger)
        self._set('level0_file_num_compaction_trigger', trigger)
        self._set('level0_slowdown_writes_trigger', slowdown)
        self._set(
            'level0_stop_writes_trigger', max(self._number('level0_stop_writes_trigger'), slowdown)
        )

    def _sanitize_compaction(self) -> None:
        if not self._written_number('max_compaction_bytes'):
            size = self._number('target_file_size_base') * 25
            self._set('max_compaction_bytes', size % (1 << 64))
        soft = self._number('soft_pending_compaction_bytes_limit')
        hard = self._number('hard_pending_compaction_bytes_limit')
        if soft == 0 or 0 < hard < soft:
            self._set('soft_pending_compaction_bytes_limit', hard)
        self._sanitize_ages()

    def _sanitize_ages(self) -> None:
        """File ages that trigger compaction; styles other than level combine both options."""
        style = self._values['compaction_style']
        ttl, periodic = (
            _UNSET_SECONDS if written is None else written
            for written in map(self._written_number, ('ttl', 'periodic_compaction_seconds'))
        )
        if ttl == _UNSET_SECONDS:
            ttl = 0 if style == _FIFO_STYLE else _THIRTY_DAYS_S
        if style == _FIFO_STYLE:
            if ttl == 0:
                if periodic == _UNSET_SECONDS:
                    periodic = _THIRTY_DAYS_S
                ttl = periodic
            elif periodic != 0:
                ttl = min(ttl, periodic)
        elif style == _UNIVERSAL_STYLE and ttl != 0:
            periodic = min(ttl, periodic or ttl)
        self._set('ttl', ttl)
        self._set('periodic_compaction_seconds', 0 if periodic == _UNSET_SECONDS else periodic)

    def _recycling_modes(self) -> frozenset[str]:
        """Recovery modes in which RocksDB can recycle log files."""
        modes = {'kSkipAnyCorruptedRecords'}
        if self._before_7:
            modes.add('kTolerateCorruptedTailRecords')
        if _order(self._version) >= (9, 1):
            modes.add('kPointInTimeRecovery')
        return frozenset(modes)

    def _sanitize_database(self) -> None:
        self._clamp('max_open_files')
        limit = self._written_number('rate_limiter_bytes_per_sec')
        if not self._written_number('delayed_write_rate'):
            self._set('delayed_write_rate', 16 << 20 if limit is None else limit)
        if limit is not None and self._number('bytes_per_sync') == 0:
            self._set('bytes_per_sync', 1 << 20)
        archived = self._number('WAL_ttl_seconds') > 0 or self._number('WAL_size_limit_MB') > 0
        if archived or self._values['wal_recovery_mode'] not in self._recycling_modes():
            self._set('recycle_log_file_num', 0)
        if self._values['allow_2pc'] == 'true':
            self._values['avoid_flush_during_recovery'] = 'false'
        if self._values['paranoid_checks'] == 'false':
            self._values['skip_checking_sst_file_sizes_on_db_open'] = 'true'
        direct = self._values['use_direct_reads'] == 'true'
        if direct and self._number('compaction_readahead_size') == 0:
            self._set('compaction_readahead_size', 2 << 20)
        if self._before_7 and self._number('compaction_readahead_size') > 0:
            self._values['new_table_reader_for_compaction_inputs'] = 'true'


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))
