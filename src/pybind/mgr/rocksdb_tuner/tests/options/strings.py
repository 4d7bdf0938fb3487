"""Option strings to ask the real binaries about: from the catalogue, and real ones spoiled.

The same seed gives the same strings as long as the catalogue is the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Optional

from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.options.catalogue import Member, OptionInfo, catalogue
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import CEPH_KEYS
from rocksdb_tuner.options.values import ValueType

#: Excluded: Ceph sets them itself, or they name folders and objects of this machine.
EXCLUDED = frozenset(
    {
        *('wal_dir', 'db_log_dir', 'db_host_id', 'create_if_missing'),
        *('statistics', 'rate_limiter', 'env'),
    }
)
#: What would start thousands of threads, take memory or last long keeps within these.
SMALL = {
    'max_file_opening_threads': ('1', '2', '16'),
    'table_cache_numshardbits': ('0', '4', '6', '10'),
    # Bounded by the limits of the process and of the memory of the machine.
    'max_open_files': ('-1', '0', '1', '19', '20', '1000', '1K', '-7', '10.5', 'x', ''),
    'log_readahead_size': ('0', '1', '4K', '2MB', '64M', '1.5', 'x', '', '{1M}'),
    'manifest_preallocation_size': (
        '0',
        '1',
        '64K',
        '4MB',
        '16777216',
        '4.5M',
        '-',
        'x',
        '',
        '1 M',
    ),
    'max_subcompactions': ('0', '1', '4', '16'),
    'max_background_jobs': ('-1', '0', '1', '2', '4', '8', '16'),
    'max_background_compactions': ('-1', '0', '1', '2', '16', '31'),
    'max_background_flushes': ('-1', '0', '1', '2', '8'),
    'compaction_threads': ('1', '4', '32', '1K', '1Ki', '4k', '-1', '4.5', 'x', '{4}', '', '8B'),
    'flusher_threads': ('1', '4', '8', '256', '+4', '-1', '4 4', 'x', '{8}', ''),
    'num_levels': ('-1', '0', '1', '2', '7', '12', '64'),
    'inplace_update_num_locks': ('1', '100', '10000'),
    'rate_limiter_bytes_per_sec': ('0', '1M', '100MB', '1G', '1TB', 'x', '18446744073709551615'),
    'memtable_huge_page_size': ('0',),
    'max_bgerror_resume_count': ('0', '1', '2147483647'),
    'stats_history_buffer_size': ('0', '1M'),
    'max_sequential_skip_in_iterations': ('0', '8', '100'),
    'memtable_protection_bytes_per_key': ('0', '1', '2', '3', '4', '8', '08', '16', '256', '-1'),
    'block_protection_bytes_per_key': ('0', '1', '2', '3', '4', '8', '16', '256'),
    'compact_on_mount': ('true', 'false', 'TRUE', '1', '0', '-1', 'yes', '{true}', ''),
    'disableWAL': ('true', 'false', 'False', '1', '0', 'no', '{false}', ''),
    'daily_offpeak_time_utc': ('', '23:30-03:00'),
    'persist_stats_to_disk': ('false', '0', 'False'),
}
#: Negative ones compact without end; 0 has write stalls from the start.
LEVEL_0 = ('0', '1', '2', '4', '8', '20', '36', '64', '8k', '1e3', '4.5', 'x', '', '2147483648')
NUMBERS = (
    *('0', '1', '-1', '2', '3', '4', '8', '16', '64', '100', '65536', '1048576', '2MB', '2m'),
    *('64KB', '16777216', '256M', '1G', '4.5G', '3G', '1T', '1TB', '64 MB', '2MiB', '1e9', '+7'),
    *('0x10', '010', ' 5', '5 ', '5x', 'x', 'abc', '', '--1', '1,5', '2147483647', '2147483648'),
    *('4294967295', '4294967296', '9223372036854775808', '18446744073709551614'),
    *('18446744073709551615', '18446744073709551616', '\u0663', '1_000', '{8}', '{{8}}', '{8M}'),
)
DOUBLES = ('0', '1', '8', '10', '0.5', '2.5', '-3', '1e2', '1e999', '1e-999', '.5', '5.', '1k', '')
ODD_DOUBLES = ('nan', 'inf', '-inf', '0x1p3', 'x', '1 0', '+2', '1e', '0.25', '0.3', '\t4')
BOOLS = ('true', 'false', '1', '0', 'True', 'FALSE', '2', 'yes', '', ' true', '{true}', 'true ')
IDENTIFIERS = ('', 'nullptr', 'foo', 'kFoo')
GLUE = (',', ',', ',', ';', ' , ', ', ', '; ', ',\n', ' ;\t')
SPOILS = ',;={} \n\t.-+0kMx\u00e9"\''


def real_strings() -> tuple[str, ...]:
    """Strings that clusters run or that were published."""
    found = [release.default_options for release in known_releases()]
    found += [profile.options for profile in profiles()]
    return tuple(dict.fromkeys(text for text in found if text))


def strings(version: str, seed: int, count: int) -> list[str]:
    """``count`` different strings for one RocksDB version."""
    choose = random.Random(f'{version} {seed}')
    real = real_strings()
    found: dict[str, None] = {}
    while len(found) < count:
        kind = choose.random()
        if kind < 0.6:
            text = _from_catalogue(version, choose)
        elif kind < 0.75:
            text = f'{choose.choice(real)}{choose.choice(GLUE)}{_from_catalogue(version, choose)}'
        else:
            text = _spoiled(choose.choice(real), choose)
        if '\0' not in text:
            found[text] = None
    return list(found)


def _from_catalogue(version: str, choose: random.Random) -> str:
    # Mostly options of this version; one in twenty of another one, or with a typing error.
    known = [o for o in catalogue().options.values() if o.name not in EXCLUDED]
    mine = [o for o in known if version in o.versions]
    pieces = []
    for _ in range(choose.choice((1, 1, 1, 2, 2, 3, 4, 6))):
        info = choose.choice(mine if choose.random() < 0.97 else known)
        name, value = info.name, _value(info, version, choose)
        if info.members and choose.random() < 0.2:
            member = choose.choice(info.members)
            name, value = f'{name}.{member.name}', _member_value(member, choose)
        if choose.random() < 0.02:
            name = _spoiled_once(name, choose)
        piece = f'{name}={value}'
        if choose.random() < 0.02:
            piece = f'{{{piece}}}'
        pieces.append(piece)
    return choose.choice(GLUE).join(pieces)


def _value(info: OptionInfo, version: str, choose: random.Random) -> str:
    facts = info.versions.get(version)
    if info.name in SMALL:
        return choose.choice(SMALL[info.name])
    if info.name.startswith('level0_'):
        return choose.choice(LEVEL_0)
    if facts and facts.default and choose.random() < 0.2:
        return facts.default
    if info.value_type is ValueType.STRUCT:
        return _struct_value(info, choose)
    if info.value_type in (ValueType.ENUM, ValueType.ENUM_LIST):
        names = [c.name for c in info.choices]
        if info.value_type is ValueType.ENUM_LIST:
            return ':'.join(choose.choices([*names[:6], 'kNoCompression'], k=choose.randint(1, 7)))
        return choose.choice([*names, *names, *IDENTIFIERS, f'{{{names[0]}}}', names[0].lower()])
    if info.value_type is ValueType.INT_LIST:
        return ':'.join(choose.choices(('1', '2', '10', '1k', '0', 'x'), k=choose.randint(1, 9)))
    return _scalar(info.value_type, choose)


def _scalar(value_type: Optional[ValueType], choose: random.Random) -> str:
    if value_type is ValueType.BOOL:
        return choose.choice(BOOLS)
    if value_type is ValueType.DOUBLE:
        return choose.choice(DOUBLES if choose.random() < 0.7 else ODD_DOUBLES)
    if value_type in (ValueType.STRING, ValueType.OBJECT, None):
        return choose.choice(IDENTIFIERS)
    # Plain numbers of every size, and those at the edges of the readers.
    if choose.random() < 0.35:
        return (
            f'{choose.getrandbits(choose.randint(1, 40))}{choose.choice(["", "", "K", "m", "G"])}'
        )
    return choose.choice(NUMBERS)


def _member_value(member: Member, choose: random.Random) -> str:
    if member.choices:
        return choose.choice([*(c.name for c in member.choices), 'kFoo'])
    return _scalar(member.value_type, choose)


def _struct_value(info: OptionInfo, choose: random.Random) -> str:
    if info.name.endswith('compression_opts') and choose.random() < 0.5:
        numbers = choose.choices(('-14', '0', '1', '32767', '4', '1k', ''), k=choose.randint(1, 5))
        if choose.random() < 0.3:
            numbers += choose.choices(('true', 'false', '0', '1', '2'), k=choose.randint(1, 4))
        return ':'.join(numbers)
    if choose.random() < 0.1:
        return choose.choice(('', '5', 'foo', '{}', '{ }'))
    members = choose.sample(info.members, k=min(len(info.members), choose.randint(1, 3)))
    pieces = [f'{m.name}={_member_value(m, choose)}' for m in members]
    return '{' + choose.choice((';', ';', '; ')).join(pieces) + choose.choice(('}', '}', ';}'))


def _spoiled(text: str, choose: random.Random) -> str:
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        text = _spoiled_once(text, choose)
    return text


def _spoiled_once(text: str, choose: random.Random) -> str:
    at = choose.randrange(len(text) + 1)
    after = at + 1
    kind = choose.randrange(9)
    pieces = text.split(',')
    if kind == 0:
        return text[:at] + choose.choice(SPOILS) + text[at:]
    if kind == 1:
        return text[:at] + text[after:]
    if kind == 2:
        return text[:at] + text[at:after].swapcase() + text[after:]
    if kind == 3:
        return text[:at]
    if kind == 4:
        choose.shuffle(pieces)
        return ','.join(pieces)
    if kind == 5:
        return ','.join([*pieces, choose.choice(pieces)])
    if kind == 6:
        return text.replace(',', choose.choice(GLUE))
    return _with_another_value(pieces, choose)


def _with_another_value(pieces: Sequence[str], choose: random.Random) -> str:
    changed = list(pieces)
    at = choose.randrange(len(changed))
    name = changed[at].partition('=')[0]
    info = catalogue().options.get(name)
    if info is not None and name not in EXCLUDED:
        changed[at] = f'{name}={_value(info, "7.9", choose)}'
    return ','.join(changed)


assert set(SMALL) >= CEPH_KEYS
