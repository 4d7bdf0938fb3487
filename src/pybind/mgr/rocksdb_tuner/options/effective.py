"""The effective values of an option set in an open database.

RocksDB changes values silently: it clamps them, orders triggers and disables options that cannot be
combined. A running OSD has no command that shows the result, so it is computed here.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Iterator, Mapping, Optional

from .catalogue import Catalogue, Member, OptionInfo, catalogue
from .reading import Sanitizer, major, read_member, read_members, read_object, read_option
from .syntax import OptionSet, unwrapped
from .values import ValueRefusedError, ValueType

_INTEGER_TYPES = (
    ValueType.UINT8,
    ValueType.UINT64,
    ValueType.UINT32,
    ValueType.INT,
    ValueType.INT64,
)


#: The option, and its older name.
_MEMTABLES = ('memtable_factory', 'memtable')


def as_read_by(option_set: OptionSet, rocksdb_version: str) -> OptionSet:
    """The set as parsed by this version of RocksDB."""
    pieces = unwrapped(option_set) if major(rocksdb_version) >= 7 else option_set.items
    return option_set if pieces == option_set.items else OptionSet.of(pieces)


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


def member_of(name: str, version: str, known: Catalogue) -> Optional[tuple[OptionInfo, Member]]:
    """The struct and the member for a name of the form ``option.member``, else None."""
    base, dot, rest = name.partition('.')
    info = known.options.get(base)
    if not dot or info is None or major(version) < 7:
        return None
    member = info.member(rest)
    return (info, member) if member and version in member.defaults else None


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
    known = catalogue()
    tables = [
        _effective_in(seen, version, known)
        for version in known.versions_for(rocksdb_version)
        for seen in _orders(option_set, version)
    ]
    first = tables[0]
    return {
        name: value
        for name, value in first.items()
        if all(table.get(name) == value for table in tables[1:])
    }


def _orders(option_set: OptionSet, version: str) -> Iterator[OptionSet]:
    """The orders in which this version may read the set; several if the order matters."""
    yield as_read_by(option_set, version)
    if ambiguous(option_set, version):
        yield OptionSet.of(reversed(unwrapped(option_set)))


def _effective_in(seen: OptionSet, version: str, known: Catalogue) -> dict[str, str]:
    values = dict(_defaults(version))
    for name, written in seen:
        try:
            _set_value(values, name, written, version, known)
        except ValueRefusedError as refusal:
            raise ValueRefusedError(f'{name}: {refusal}') from None
    if all(name in seen for name in _MEMTABLES):
        # A hash table decides which one RocksDB reads last.
        values.pop(_MEMTABLES[0], None)
    return Sanitizer(values, seen, version, known).run()


def _set_value(
    values: dict[str, str], name: str, written: str, version: str, known: Catalogue
) -> None:
    named = member_of(name, version, known)
    if named is not None:
        values[name] = read_member(*named, written).text
        return
    info = known.options.get(name)
    facts = info.versions.get(version) if info else None
    if info is None or facts is None or not facts.value_read:
        return
    if facts.no_effect is not None and info.value_type not in _INTEGER_TYPES:
        return
    if info.value_type is ValueType.STRUCT:
        members = read_members(info, written, version)
        values.update({f'{name}.{member}': value for member, value in members.items()})
    elif info.value_type is ValueType.OBJECT:
        # RocksDB may change the text, so the effective value is unknown.
        values.pop(name, None)
        read_object(info, written, version)
        if name in _MEMTABLES and major(version) >= 7:
            _set_memtable(values, written)
    else:
        values[name] = read_option(info, written, version).text


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
