"""The module's published JSON Schemas, in the form in which the dashboard documents answers.

That form knows neither unions nor words: null is said in the description, and what may be one of
some words is a text.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

logger = logging.getLogger(__name__)

#: Beside the dashboard, where every mgr module is.
SCHEMAS = Path(__file__).resolve().parents[2] / 'rocksdb_tuner/present/schemas'

#: Stands for names that are not known beforehand.
ANY_NAME = '<name>'

_TYPES = {'string': str, 'integer': int, 'number': float, 'boolean': bool}

Described = Union[Dict[str, Any], List[Any]]


def responses(name: str, status: int = 200) -> Optional[Dict[int, Described]]:
    """What ``EndpointDoc`` takes as its responses; None where the module's files are not there.

    Its document has 200 of GET and PUT, 201 and 202 of POST, and leaves any other ``status`` out.
    """
    try:
        schema = json.loads((SCHEMAS / f'{name}.schema.json').read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        # The API works all the same.
        logger.warning('the answer "%s" is left undocumented: %s', name, error)
        return None
    return {status: described(schema)}


def described(schema: Dict[str, Any]) -> Described:
    """A schema of an object, or of a list of such."""
    found = _type(schema, schema.get('$defs', {}))
    return found if isinstance(found, (dict, list)) else {}


def _type(schema: Dict[str, Any], defs: Dict[str, Any]) -> Any:
    """A type of Python, [a type], or what has names: {name: (type, description)}, [{...}]."""
    if '$ref' in schema:
        schema = {**defs[schema['$ref'].rsplit('/', 1)[1]], **_without_ref(schema)}
    kind = _kind(schema)
    if kind == 'object':
        names = schema.get('properties')
        if not names:
            # An object of any names is told by one that it need not have: without a name the
            # dashboard writes a list instead.
            values = schema.get('additionalProperties')
            kind_of_all = _type(values, defs) if isinstance(values, dict) else str
            return {ANY_NAME: (kind_of_all, 'One for each name', True)}
        return {name: (_type(part, defs), _text(part, defs)) for name, part in names.items()}
    if kind == 'array':
        if 'items' not in schema or _kind(schema['items']) == 'anything':
            return list
        item = _type(schema['items'], defs)
        # The dashboard has no lists of lists.
        return list if isinstance(item, list) or item is list else [item]
    return _TYPES.get(kind, str)


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
        text = f'{text} null: not known.'.strip()
    return text


def _without_ref(schema: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in schema.items() if key != '$ref'}
