"""The results for option strings, values and column families, and their messages, in full.

`data/golden.json` has the answers to many texts at the edges of each rule. Where real binaries were
run on the same text (`oracle`), they agree. After an intended change of answers, ``python -m
rocksdb_tuner.tests.options.golden`` regenerates them: review the difference. A new text is added
with null as its answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Mapping, Optional

from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.effective import effective
from rocksdb_tuner.options.problems import Hardware
from rocksdb_tuner.options.syntax import (
    OptionSyntaxError,
    ShardingSyntaxError,
    columns,
    combine,
    format,  # noqa: A004
    parse,
    split_piece,
    unwrapped,
)
from rocksdb_tuner.options.values import (
    ValueNotJudgedError,
    ValueRefusedError,
    ValueType,
    read_list,
    read_struct,
    read_value,
)

GOLDEN = Path(__file__).parent / 'data' / 'golden.json'

#: Group of texts to each text to its answer.
Answers = Mapping[str, Mapping[str, Any]]

_CHOICES = ('kOne', 'kTwo')
_MEMBERS = {'a': ValueType.INT, 'b': ValueType.BOOL, 'old': None, 'e': ValueType.ENUM}
_VERSIONS = ('6.8', '7.9', '9.10')
_MIB, _GIB = 1 << 20, 1 << 30


def osds() -> Mapping[str, Hardware]:
    """OSDs by the name of a group of texts."""
    return {
        'a small OSD': Hardware(
            cores=2,
            memory_target_bytes=2 * _GIB,
            wal_device_bytes=512 * _MIB,
            db_device_bytes=_GIB,
            families=(parse(''), parse(''), parse('write_buffer_size=16M')),
        ),
        'an OSD without a WAL device': Hardware(db_device_bytes=512 * _MIB),
        'an OSD of one core': Hardware(cores=1),
        'an OSD with odd families': Hardware(
            families=(parse('ttl=x'), parse('max_write_buffer_number=20'), parse('')),
            memory_target_bytes=_GIB,
            wal_device_bytes=2 * _GIB,
        ),
        'short logs, no autotuning': Hardware(
            related_options=(
                ('osd_min_pg_log_entries', '99'),
                ('osd_max_pg_log_entries', '10'),
                ('bluestore_cache_autotune', 'False'),
                ('bluestore_cache_kv_ratio', '0.2'),
                ('bluestore_cache_meta_ratio', '0.7'),
            )
        ),
        'logs of 100, autotuning': Hardware(
            related_options=(
                ('osd_min_pg_log_entries', '100'),
                ('osd_max_pg_log_entries', 'many'),
                ('bluestore_cache_autotune', '1'),
                ('bluestore_cache_kv_ratio', '0.2'),
            )
        ),
        'a ratio alone': Hardware(related_options=(('bluestore_cache_meta_ratio', '0.7'),)),
        'autotuning by 0': Hardware(related_options=(('bluestore_cache_autotune', '0'),)),
    }


def of_text(_group: str, text: str) -> Any:
    """Names and values, those that a later RocksDB sees instead, and the canonical form."""
    try:
        found = parse(text)
    except OptionSyntaxError as error:
        return {
            'piece': error.piece,
            'position': error.position,
            'problem': error.problem,
            'expected': error.expected,
            'said': str(error),
        }
    answer: dict[str, Any] = {'items': _lists(found.items), 'format': format(found)}
    if found.overridden:
        answer['overruled'] = _lists(found.overridden)
    if unwrapped(found) != found.items:
        answer['unwrapped'] = _lists(unwrapped(found))
    return answer


def of_piece(_group: str, piece: str) -> Any:
    split = split_piece(piece)
    return None if split is None else list(split)


def of_two(main: str, annex: str) -> str:
    return combine(main, annex)


def of_value(type_name: str, value: str) -> Any:
    value_type = ValueType(type_name)
    try:
        reading = read_value(value, value_type, _CHOICES)
    except ValueNotJudgedError as unknown:
        return f'not judged: {unknown}'
    except ValueRefusedError as refusal:
        return f'refused: {refusal}'
    return [reading.text, repr(reading.number), reading.surprise]


def of_list(group: str, value: str) -> Any:
    try:
        if group == 'names':
            return read_list(value, ValueType.ENUM, _CHOICES, trims=True)
        return read_list(value, ValueType.INT, (), trims=group == 'RocksDB 7')
    except ValueRefusedError as refusal:
        return {'refused': str(refusal)}


def of_struct(group: str, value: str) -> Any:
    """``group`` is the struct, and the major version of RocksDB."""
    name, _, major = group.partition(' ')
    try:
        return read_struct(name, value, _MEMBERS, {'e': _CHOICES}, int(major))
    except ValueRefusedError as refusal:
        return f'refused: {refusal}'


def of_sharding(_group: str, text: str) -> Any:
    try:
        found = columns(text)[1:]
        return [[c.name, c.shards, format(c.options)] for c in found]
    except (ShardingSyntaxError, OptionSyntaxError) as error:
        return f'refused: {error}'


def of_effect(group: str, text: str) -> Any:
    """The differences from the default; the default itself for the empty text."""
    version = group.partition(' ')[0]
    try:
        values = effective(parse(text), version)
    except ValueRefusedError as refusal:
        return f'refused: {refusal}'
    default = effective(parse(''), version) if text else {}
    changed = {name: value for name, value in values.items() if default.get(name) != value}
    gone: dict[str, Optional[str]] = {name: None for name in default if name not in values}
    return dict(sorted({**changed, **gone}.items()))


def of_check(group: str, text: str) -> Any:
    """The messages; ``group`` is a version, the subject, and an OSD that would run it."""
    about, _, osd = group.partition(', ')
    version = about.partition(' ')[0]
    result = check(text, version, osds()[osd]) if osd else check(text, version)
    return {
        'accepted': result.accepted,
        'problems': [[p.severity, p.rule, p.option, p.message] for p in result.problems],
    }


SECTIONS: Mapping[str, Callable[[str, str], Any]] = {
    'texts': of_text,
    'pieces': of_piece,
    'two': of_two,
    'values': of_value,
    'lists': of_list,
    'structs': of_struct,
    'shardings': of_sharding,
    'effects': of_effect,
    'checks': of_check,
}


def recorded() -> Mapping[str, Answers]:
    content: Mapping[str, Answers] = json.loads(GOLDEN.read_text(encoding='utf-8'))
    return content


def answers(section: str, group: str) -> dict[str, Any]:
    """Regenerate the answers to the recorded texts."""
    return {text: SECTIONS[section](group, text) for text in recorded()[section][group]}


def _lists(pairs: tuple[tuple[str, str], ...]) -> list[list[str]]:
    return [list(pair) for pair in pairs]


def _written(content: Mapping[str, Answers]) -> str:
    """A text a line."""

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=True)

    sections = []
    for section, groups in content.items():
        parts = []
        for group, found in groups.items():
            lines = ',\n'.join(f'   {line(text)}: {line(answer)}' for text, answer in found.items())
            parts.append(f'  {line(group)}: {{\n{lines}\n  }}')
        sections.append(f' {line(section)}: {{\n' + ',\n'.join(parts) + '\n }')
    return '{\n' + ',\n'.join(sections) + '\n}\n'


if __name__ == '__main__':
    anew = {
        section: {group: answers(section, group) for group in groups}
        for section, groups in recorded().items()
    }
    GOLDEN.write_text(_written(anew), encoding='utf-8')
