"""Converts versioned JSON objects to stored texts and back.

Long texts are compressed. Decoding validates everything: an unsupported version or a damaged text
raises a `StoredStateError`.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

from .errors import StoredStateError

#: Longer texts are compressed.
PLAIN_MAX_BYTES = 40000
_COMPRESSED = 'zlib:'
#: Limit for decompression; the module never writes more.
UNPACKED_MAX_BYTES = 64 * 1024 * 1024
#: Compression level: good trade-off between CPU time and size.
_LEVEL = 6


def pack(document: Mapping[str, object]) -> str:
    """Encode a document; lone surrogates, which UTF-8 lacks, are escaped."""
    plain = json.dumps(document, ensure_ascii=False, separators=(',', ':'), allow_nan=False)
    raw = plain.encode('utf-8', 'backslashreplace')
    if len(raw) <= PLAIN_MAX_BYTES:
        return raw.decode()
    return _COMPRESSED + base64.b64encode(zlib.compress(raw, _LEVEL)).decode('ascii')


def unpack(text: str, supported: int) -> dict[str, Any]:
    """Decode a text of `pack` with this "version"; raises StoredStateError."""
    if text.startswith(_COMPRESSED):
        text = _decompressed(text.removeprefix(_COMPRESSED))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f'it is not JSON, or truncated ({error})') from error
    if not isinstance(document, dict):
        raise StoredStateError('it is not a JSON object')
    version = document.get('version')
    if type(version) is not int or version != supported:
        raise StoredStateError(
            f'it was written in version {json.dumps(version)[:20]} of the format; this module '
            f'reads version {supported}'
        )
    return document


def _decompressed(text: str) -> str:
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(base64.b64decode(text, validate=True), UNPACKED_MAX_BYTES)
        if not unpacker.eof:
            raise StoredStateError('its compressed text is truncated or too long')
        return raw.decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise StoredStateError(f'its compressed text is damaged ({error})') from error
