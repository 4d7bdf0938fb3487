"""The types of the dashboard's tab, generated from the types of the answers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ..kinds import Form, Kind, kind_of
from .answers.catalogue import Answer
from .json_schema import description_of, published_fields, words_of
from .to_json import json_name

_HEAD = '// Generated from the answers of the module by `make answers`. Do not edit.\n'
_TYPES = {
    Form.TEXT: 'string',
    Form.WHOLE: 'number',
    Form.NUMBER: 'number',
    Form.FLAG: 'boolean',
    Form.ANYTHING: 'unknown',
}


def typescript(answers: Iterable[Answer]) -> str:
    """An interface for each record of ``answers``, under its name in Python."""
    records: dict[str, Any] = {}
    for answer in answers:
        _collect(kind_of(answer.kind), records)
    return _HEAD + ''.join(_interface(records[name]) for name in sorted(records))


def _collect(kind: Kind, records: dict[str, Any]) -> None:
    for part in kind.parts:
        _collect(part, records)
    if kind.form is not Form.RECORD:
        return
    record = kind.hint
    known = records.setdefault(record.__name__, record)
    if known is not record:
        raise TypeError(f'{known} and {record} have the same name')
    for field in published_fields(record):
        _collect(field.kind, records)


def _interface(record: Any) -> str:
    lines = [*_comment(inspect.getdoc(record) or '', ''), f'export interface {record.__name__} {{']
    for field in published_fields(record):
        lines += _comment(description_of(field.kind), '  ')
        name = json_name(field)
        lines.append(f'  {name if name.isidentifier() else repr(name)}: {_type(field.kind)};')
    return '\n'.join(['', *lines, '}', ''])


def _comment(text: str, indent: str) -> list[str]:
    return [f'{indent}/** {" ".join(text.split())} */'] if text else []


def _type(kind: Kind) -> str:
    words = words_of(kind)
    if words:
        return ' | '.join(map(repr, words))
    if kind.form is Form.OPTIONAL:
        return f'{_type(kind.parts[0])} | null'
    if kind.form is Form.LIST:
        item = _type(kind.parts[0])
        return f'({item})[]' if ' | ' in item else f'{item}[]'
    if kind.form is Form.MAPPING:
        return f'Record<string, {_type(kind.parts[1])}>'
    if kind.form is Form.ONE_OF:
        return ' | '.join(map(_type, kind.parts))
    return kind.hint.__name__ if kind.form is Form.RECORD else _TYPES[kind.form]
