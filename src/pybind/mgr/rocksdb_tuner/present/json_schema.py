"""The published JSON Schemas (draft 2020-12), generated from the types of the answers.

Each schema is self-contained. All properties are required and no others are allowed; values that
may be unknown are nullable.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Union, get_args

from ..kinds import Field, Form, Kind, fields_of, kind_of
from ..notes import Among, Bounds, NotEmpty, Pattern
from .answers.catalogue import Answer
from .to_json import json_name, shown_in_place

#: A JSON Schema, by keyword.
Schema = dict[str, Any]

_TYPES: Mapping[Form, Union[str, list[str]]] = {
    Form.TEXT: 'string',
    Form.WHOLE: 'integer',
    Form.NUMBER: 'number',
    Form.FLAG: 'boolean',
    Form.ANYTHING: ['number', 'string', 'boolean', 'array', 'object', 'null'],
}


def json_schema(name: str, answer: Answer) -> Schema:
    """The schema of an answer."""
    defs: dict[str, Schema] = {}
    kind = kind_of(answer.kind)
    # The outermost record is inlined.
    schema = _object(kind.hint, defs) if kind.form is Form.RECORD else _schema(kind, defs)
    described = {'description': answer.description} if answer.description else {}
    document = {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        '$id': f'urn:ceph:rocksdb-tuner:{name}',
        'title': answer.title,
        **schema,
        **described,
    }
    return {**document, '$defs': dict(sorted(defs.items()))} if defs else document


def published_fields(record: Any) -> Iterator[Field]:
    """Fields as in JSON, with the fields of inlined records."""
    for field in fields_of(record):
        if shown_in_place(field.kind):
            yield from published_fields(field.kind.hint)
        else:
            yield field


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
    if kind.form is Form.RECORD:
        return _record(kind.hint, defs)
    if kind.form is Form.ONE_OF:
        return {'anyOf': [_record(part.hint, defs) for part in kind.parts]}
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
    if kind.form is Form.RECORD:
        # Not by reference: for two alternatives, validators only report that neither matches.
        return {**_object(kind.hint, defs), 'type': ['object', 'null']}
    schema = _schema(kind, defs)
    if 'anyOf' in schema:
        return {'anyOf': [*schema['anyOf'], {'type': 'null'}]}
    if 'enum' in schema:
        return {**schema, 'enum': [*schema['enum'], None]}
    return {**schema, 'type': [schema['type'], 'null']}


def _record(record: Any, defs: dict[str, Schema]) -> Schema:
    name = record.__name__
    if name not in defs:
        defs[name] = _object(record, defs)
    return {'$ref': f'#/$defs/{name}'}


def _object(record: Any, defs: dict[str, Schema]) -> Schema:
    named = {json_name(f): _schema(f.kind, defs) for f in published_fields(record)}
    return {
        'description': inspect.getdoc(record),
        'type': 'object',
        'additionalProperties': False,
        'required': list(named),
        'properties': named,
    }
