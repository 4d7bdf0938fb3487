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


_SIZES = ('cores', 'memory_target_bytes', 'wal_device_bytes', 'db_device_bytes')


def hardware(words: str) -> Hardware:
    """An OSD by the words in the name of a group; "|" is between the options of two families."""
    given = dict(word.split('=', 1) for word in words.split())
    sizes = {name: int(given.pop(name)) for name in _SIZES if name in given}
    families = given.pop('families', None)
    return Hardware(
        **sizes,
        families=None if families is None else tuple(map(parse, families.split('|'))),
        related_options=tuple(given.items()),
    )


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
    result = check(text, version, hardware(osd))
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
