"""The module's published JSON Schemas in the dashboard's format for documenting responses.

That format has neither unions nor enums: null is mentioned in the description, an enum is a string,
and one of several objects has the fields of all of them.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

logger = logging.getLogger(__name__)

#: Next to the dashboard, like every mgr module.
SCHEMAS = Path(__file__).resolve().parents[2] / 'rocksdb_tuner/present/schemas'

#: Placeholder for arbitrary names.
ANY_NAME = '<name>'

_TYPES = {'string': str, 'integer': int, 'number': float, 'boolean': bool}

Described = Union[Dict[str, Any], List[Any]]


def responses(name: str, status: int = 200) -> Optional[Dict[int, Described]]:
    """Responses for ``EndpointDoc``; None if the module's files are not installed.

    The API document has 200 of GET and PUT, 201 and 202 of POST, and omits any other ``status``.
    """
    try:
        schema = json.loads((SCHEMAS / f'{name}.schema.json').read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        # The API works without it.
        logger.warning('the answer "%s" is left undocumented: %s', name, error)
        return None
    return {status: described(schema)}


def described(schema: Dict[str, Any]) -> Described:
    """The schema of an object, or of a list of objects."""
    found = _type(schema, schema.get('$defs', {}))
    return found if isinstance(found, (dict, list)) else {}


def _type(schema: Dict[str, Any], defs: Dict[str, Any]) -> Any:
    """A Python type, [a type], or an object: {name: (type, description)}, [{...}]."""
    if 'anyOf' in schema:
        return _any_of(schema['anyOf'], defs)
    if '$ref' in schema:
        schema = {**defs[schema['$ref'].rsplit('/', 1)[1]], **_without_ref(schema)}
    kind = _kind(schema)
    if kind == 'object':
        names = schema.get('properties')
        if not names:
            # An object with arbitrary names is documented by one optional name: without any name
            # the dashboard writes a list instead.
            values = schema.get('additionalProperties')
            kind_of_all = _type(values, defs) if isinstance(values, dict) else str
            return {ANY_NAME: (kind_of_all, 'One for each name', True)}
        return {name: (_type(part, defs), _text(part, defs)) for name, part in names.items()}
    if kind == 'array':
        items = schema.get('items', {})
        if _kind(items) == 'anything' and 'anyOf' not in items:
            return list
        item = _type(items, defs)
        # The dashboard does not support lists of lists.
        return list if isinstance(item, list) or item is list else [item]
    return _TYPES.get(kind, str)


def _any_of(alternatives: List[Dict[str, Any]], defs: Dict[str, Any]) -> Dict[str, Any]:
    """The fields of any of these objects."""
    objects = [_type(one, defs) for one in alternatives if one.get('type') != 'null']
    return {name: field for one in reversed(objects) for name, field in one.items()}


def _kind(schema: Dict[str, Any]) -> str:
    kind = schema.get('type', 'anything')
    if isinstance(kind, list):
        kind = next((k for k in kind if k != 'null'), 'anything')
    if kind == 'anything' and isinstance(schema.get('const'), int):
        return 'integer'
    if kind == 'anything' and ('$ref' in schema or 'enum' in schema):
        return 'string'
    return str(kind)


def _text(schema: Dict[str, Any], defs: Dict[str, Any]) -> str:
    if 'description' not in schema and '$ref' in schema:
        schema = defs[schema['$ref'].rsplit('/', 1)[1]]
    words = schema.get('enum')
    text = str(schema.get('description', ''))
    if words:
        choices = ', '.join('null' if word is None else str(word) for word in words)
        text = f'{text} One of {choices}.'.strip()
    elif isinstance(schema.get('type'), list) and 'null' in schema['type'] and 'null' not in text:
        text = f'{text} null: unknown.'.strip()
    return text


def _without_ref(schema: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in schema.items() if key != '$ref'}
