"""All files of a collection as one JSON document. Pure."""

from __future__ import annotations

import json

from ..present.answers.report import FORMAT, VERSION, ReportHead
from ..present.to_json import to_json
from .anonymous import anonymous as without_names
from .records import Collection
from .write import files


def report(collection: Collection, *, anonymous: bool, pretty: bool = False) -> str:
    """The document, one file per line; ``anonymous``: with names and addresses replaced."""
    shown = without_names(collection) if anonymous else collection
    head = to_json(ReportHead(FORMAT, VERSION, anonymous))
    assert isinstance(head, dict)
    if pretty:
        whole = {**head, 'files': dict(files(shown))}
        return json.dumps(whole, indent=4, allow_nan=False)
    lines = [f'{_compact(key)}: {_compact(value)}' for key, value in head.items()]
    # One file at a time: the JSON encoder holds the GIL for the whole call.
    inner = [f'{_compact(name)}: {_compact(content)}' for name, content in files(shown)]
    lines.append('"files": {\n' + ',\n'.join(inner) + '\n}')
    return '{\n' + ',\n'.join(lines) + '\n}'


def _compact(value: object) -> str:
    return json.dumps(value, separators=(',', ':'), allow_nan=False)
