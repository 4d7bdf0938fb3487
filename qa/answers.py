"""Generates files from the answers of the module: their JSON Schemas and the types of the tab.

python3 qa/answers.py      (make answers)

Both are committed beside their source. Tests compare them. Each schema (draft 2020-12) is
self-contained. All properties are required and no others are allowed; values that may be unknown
are nullable.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args

_MGR = Path(__file__).resolve().parents[1] / 'src/pybind/mgr'
if __name__ == '__main__':
    sys.path[:0] = [str(_MGR), str(Path(__file__).resolve().parent / 'doubles')]

from rocksdb_tuner.kinds import Form, Kind, kind_of  # noqa: E402
from rocksdb_tuner.notes import Among, Bounds, NotEmpty, Pattern  # noqa: E402
from rocksdb_tuner.present.to_json import Part, part_of, published_fields  # noqa: E402
from rocksdb_tuner.present.views import IN_TAB, VIEWS, View  # noqa: E402

SCHEMAS = _MGR / 'rocksdb_tuner/present/schemas'
_OSD_PAGE = _MGR / 'dashboard/frontend/src/app/ceph/cluster/osd'
TYPES = _OSD_PAGE / 'osd-rocksdb-tuner/panel/answers.ts'

#: A JSON Schema, by keyword.
Schema = dict[str, Any]

_TYPES: Mapping[Form, Union[str, list[str]]] = {
    Form.TEXT: 'string',
    Form.WHOLE: 'integer',
    Form.NUMBER: 'number',
    Form.FLAG: 'boolean',
    Form.ANYTHING: ['number', 'string', 'boolean', 'array', 'object', 'null'],
}


def json_schema(name: str, view: View) -> Schema:
    """The schema of an answer."""
    defs: dict[str, Schema] = {}
    kind = kind_of(view.kind)
    # The outermost record is inlined.
    part = part_of(kind)
    schema = _schema(kind, defs) if part is None else _object(part, defs)
    described = {'description': view.description} if view.description else {}
    document = {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        '$id': f'urn:ceph:rocksdb-tuner:{name}',
        # That of a command is its words.
        'title': view.title or f'ceph rocksdb-tuner {name.replace("-", " ")}',
        **schema,
        **described,
    }
    return {**document, '$defs': dict(sorted(defs.items()))} if defs else document


def description_of(kind: Kind) -> str:
    """The outermost description; empty if there is none."""
    return next((note for note in reversed(kind.notes) if isinstance(note, str)), '')


def words_of(kind: Kind) -> tuple[Union[str, int], ...]:
    """The permitted values; empty if any value is permitted."""
    for note in kind.notes:
        if isinstance(note, Among):
            return tuple(str(w.value) if isinstance(w, Enum) else w for w in note.words)
    if kind.form is Form.LITERAL:
        return get_args(kind.hint)
    return tuple(member.value for member in kind.hint) if kind.form is Form.ENUM else ()


def _schema(kind: Kind, defs: dict[str, Schema]) -> Schema:
    return _described(kind, _without_description(kind, defs))


def _described(kind: Kind, schema: Schema) -> Schema:
    description = description_of(kind)
    return {**schema, 'description': description} if description else schema


def _without_description(kind: Kind, defs: dict[str, Schema]) -> Schema:
    part = part_of(kind)
    if part is not None:
        return _record(part, defs)
    words = words_of(kind)
    if words:
        constant = kind.form is Form.LITERAL and len(words) == 1
        return {'const': words[0]} if constant else {'enum': list(words)}
    if kind.form is Form.OPTIONAL:
        return _or_null(kind.parts[0], defs)
    if kind.form is Form.LIST:
        least = {'minItems': 1} if NotEmpty() in kind.notes else {}
        items = {} if _is_anything(kind.parts[0]) else {'items': _schema(kind.parts[0], defs)}
        return {'type': 'array', **least, **items}
    if kind.form is Form.MAPPING:
        if _is_anything(kind.parts[1]):
            return {'type': 'object'}
        return {'type': 'object', 'additionalProperties': _schema(kind.parts[1], defs)}
    if kind.form is Form.ONE_OF:
        return {'anyOf': [_schema(one, defs) for one in kind.parts]}
    return _plain(kind)


def _is_anything(kind: Kind) -> bool:
    return kind.form is Form.ANYTHING


def _plain(kind: Kind) -> Schema:
    schema: Schema = {'type': _TYPES[kind.form]}
    for note in kind.notes:
        if isinstance(note, Bounds):
            schema['minimum'] = note.minimum
            if note.maximum is not None:
                schema['maximum'] = note.maximum
        if isinstance(note, Pattern):
            schema['pattern'] = note.regex
        if isinstance(note, NotEmpty):
            schema['minLength'] = 1
    return schema


def _or_null(kind: Kind, defs: dict[str, Schema]) -> Schema:
    part = part_of(kind)
    if part is not None:
        # Not by reference: for two alternatives, validators only report that neither matches.
        return {**_object(part, defs), 'type': ['object', 'null']}
    schema = _schema(kind, defs)
    if 'anyOf' in schema:
        return {'anyOf': [*schema['anyOf'], {'type': 'null'}]}
    if 'enum' in schema:
        return {**schema, 'enum': [*schema['enum'], None]}
    types = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
    return {**schema, 'type': [*dict.fromkeys((*types, 'null'))]}


def _record(part: Part, defs: dict[str, Schema]) -> Schema:
    if part.names or part.blank:
        return _object(part, defs)
    name = part.record.__name__
    if name not in defs:
        defs[name] = _object(part, defs)
    return {'$ref': f'#/$defs/{name}'}


def _object(part: Part, defs: dict[str, Schema]) -> Schema:
    named = {field.name: _schema(field.kind, defs) for field in published_fields(part)}
    return {
        'description': _summary(part.record),
        'type': 'object',
        'additionalProperties': False,
        'required': list(named),
        'properties': named,
    }


def _summary(record: Any) -> str:
    """The rest of a docstring is for readers of the code."""
    return (inspect.getdoc(record) or '').partition('\n\n')[0]


_HEAD = """\
// Generated from the answers of the module by `make answers`. Do not edit.

/** What is not known: everything is null. */
export type OrNulls<T> = { [K in keyof T]: T[K] | null };
"""
_NAMES = {
    Form.TEXT: 'string',
    Form.WHOLE: 'number',
    Form.NUMBER: 'number',
    Form.FLAG: 'boolean',
    Form.ANYTHING: 'unknown',
}


def typescript(views: Iterable[View]) -> str:
    """An interface for each record of ``views``, under its name in Python."""
    records: dict[str, Any] = {}
    for view in views:
        _collect(kind_of(view.kind), records)
    return _HEAD + ''.join(_interface(records[name]) for name in sorted(records))


def _collect(kind: Kind, records: dict[str, Any]) -> None:
    part = part_of(kind)
    if part is None:
        for one in kind.parts:
            _collect(one, records)
        return
    known = records.get(part.record.__name__)
    if known is part.record:
        return
    if known is not None:
        raise TypeError(f'{known} and {part.record} have the same name')
    records[part.record.__name__] = part.record
    for field in published_fields(Part(part.record, (), False)):
        _collect(field.kind, records)


def _interface(record: Any) -> str:
    lines = [*_comment(_summary(record), ''), f'export interface {record.__name__} {{']
    for field in published_fields(Part(record, (), False)):
        lines += _comment(description_of(field.kind), '  ')
        name = field.name if field.name.isidentifier() else repr(field.name)
        lines.append(f'  {name}: {_type(field.kind)};')
    return '\n'.join(['', *lines, '}', ''])


def _comment(text: str, indent: str) -> list[str]:
    return [f'{indent}/** {" ".join(text.split())} */'] if text else []


def _type(kind: Kind) -> str:
    part = part_of(kind)
    if part is not None:
        name = str(part.record.__name__)
        if part.names:
            shown = published_fields(Part(part.record, part.names, False))
            name = f'Pick<{name}, {" | ".join(repr(field.name) for field in shown)}>'
        return f'OrNulls<{name}>' if part.blank else name
    words = words_of(kind)
    if words:
        return ' | '.join(map(repr, words))
    if kind.form is Form.OPTIONAL:
        return f'{_type(kind.parts[0])} | null'
    if kind.form is Form.LIST:
        item = _type(kind.parts[0])
        return f'({item})[]' if ' | ' in item and '<' not in item else f'{item}[]'
    if kind.form is Form.MAPPING:
        return f'Record<string, {_type(kind.parts[1])}>'
    if kind.form is Form.ONE_OF:
        return ' | '.join(map(_type, kind.parts))
    return _NAMES[kind.form]


def results() -> Mapping[Path, str]:
    """The text of each file."""
    schemas = {
        SCHEMAS / f'{name}.schema.json': json.dumps(json_schema(name, view), indent=2) + '\n'
        for name, view in VIEWS.items()
    }
    return {**schemas, TYPES: typescript(VIEWS[name] for name in IN_TAB)}


if __name__ == '__main__':
    for path, text in results().items():
        path.write_text(text)
