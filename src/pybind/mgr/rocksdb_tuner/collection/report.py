"""A collection as one JSON document. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from ..kinds import fields_of
from ..store.codec import StoredStateError, as_json, decode, encode, encode_field
from ..version import VERSION as MODULE_VERSION
from .anonymous import anonymous as without_names
from .records import Collection

FORMAT: Final = 'ceph-rocksdb-tuner-report'
VERSION: Final = 1


class UnreadableError(Exception):
    """Files are damaged, of the wrong kind or missing; has one sentence for each."""

    def __init__(self, *problems: str) -> None:
        super().__init__('; '.join(problems))
        self.problems = problems


def report(collection: Collection, *, anonymous: bool, pretty: bool = False) -> str:
    """The document, one OSD per line; ``anonymous``: without names and free text."""
    shown = without_names(collection) if anonymous else collection
    head = {
        'format': FORMAT,
        'version': VERSION,
        'anonymous': anonymous,
        'module_version': MODULE_VERSION,
    }
    lines = [f'{as_json(name)}: {as_json(value)}' for name, value in head.items()]
    parts = ',\n'.join(_parts(shown))
    whole = ',\n'.join([*lines, f'"collection": {{\n{parts}\n}}'])
    text = f'{{\n{whole}\n}}'
    return json.dumps(json.loads(text), indent=4) if pretty else text


def _parts(collection: Collection) -> Iterator[str]:
    # One part at a time: the JSON encoder holds the GIL for the whole call.
    for field in fields_of(Collection):
        if field.name == 'osds':
            osds = (f'"{osd_id}": {as_json(encode(o))}' for osd_id, o in collection.osds.items())
            yield '"osds": {\n' + ',\n'.join(osds) + '\n}'
        else:
            yield f'"{field.name}": {as_json(encode_field(collection, field.name))}'


def read_report(document: object) -> Collection:
    """The collection of a parsed document of `report`; raises UnreadableError."""
    if not isinstance(document, dict) or document.get('format') != FORMAT:
        raise UnreadableError(
            f'is not the output of "ceph rocksdb-tuner report": its "format" is not "{FORMAT}"'
        )
    if document.get('version') != VERSION:
        raise UnreadableError(
            f'has version {document.get("version")}, but this program reads version {VERSION}: use '
            'the release of the module that wrote the file, or a newer one'
        )
    try:
        collection = decode(Collection, document.get('collection'), place='collection')
    except StoredStateError as error:
        raise UnreadableError(f'is damaged: {error}') from None
    for osd_id, growth in collection.module.growth.items() if collection.module else ():
        times_s = list(growth.times_s)
        if not times_s or len(times_s) != len(growth.used_bytes) or times_s != sorted(set(times_s)):
            raise UnreadableError(
                f'is damaged: "growth.{osd_id}" has different numbers of "used_bytes" and '
                '"times_s", or "times_s" that are not ascending'
            )
    return collection
