"""JSON objects as texts: long ones are compressed, and damage is reported."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from rocksdb_tuner.store import text as under_test
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.text import PLAIN_MAX_BYTES, pack, unpack


def of_size(size: int) -> dict[str, object]:
    empty = len(json.dumps({'version': 1, 'x': ''}, separators=(',', ':')))
    return {'version': 1, 'x': 'a' * (size - empty)}


@pytest.mark.parametrize('size', [PLAIN_MAX_BYTES, PLAIN_MAX_BYTES + 1, 10 * PLAIN_MAX_BYTES])
def test_packed_text_is_unpacked_and_long_text_compressed(size: int) -> None:
    """From the first byte above the limit on."""
    text = pack(of_size(size))
    assert text.startswith('zlib:') == (size > PLAIN_MAX_BYTES)
    assert unpack(text, 1) == of_size(size)


def test_text_with_a_lone_surrogate_is_written_without_an_error() -> None:
    """Some error text of another program; a surrogate cannot be stored as UTF-8."""
    assert 'broken' in str(unpack(pack({'version': 1, 'x': '\ud800 broken'}), 1)['x'])


def test_non_finite_number_is_not_written() -> None:
    """JSON has no name for it."""
    with pytest.raises(ValueError, match='not JSON compliant'):
        pack({'version': 1, 'x': float('nan')})


@pytest.mark.parametrize(
    ('version', 'shown'),
    [(1, '1'), (5, '5'), (None, 'null'), ('3', '"3"'), (True, 'true'), (3.0, '3.0')],
)
def test_other_versions_are_named_and_not_read(version: object, shown: str) -> None:
    """The error names what this module reads."""
    with pytest.raises(StoredStateError) as error:
        unpack(pack({'version': version}), 2)
    assert str(error.value) == (
        f'it was written in version {shown} of the format; this module reads version 2'
    )


def test_compressed_text_is_read_completely_and_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Data that unpacks beyond the limit could fill the manager's memory."""
    monkeypatch.setattr(under_test, 'UNPACKED_MAX_BYTES', 100_000)
    assert unpack(pack(of_size(100_000)), 1) == of_size(100_000)
    for text in (pack(of_size(100_001)), pack(of_size(90_000))[:-8]):
        with pytest.raises(StoredStateError, match='truncated or too long'):
            unpack(text, 1)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'not JSON'),
        ('{"version":1', 'or truncated'),
        ('[' * 100_000, 'not JSON'),
        ('[]', 'not a JSON object'),
        ('null', 'not a JSON object'),
        ('zlib:!', 'damaged'),
        ('zlib:AAAA', 'damaged'),
        ('zlib:' + base64.b64encode(zlib.compress(b'\xff')).decode(), 'damaged'),
    ],
)
def test_damage_is_reported(text: str, message: str) -> None:
    """In words for the log and the health check."""
    with pytest.raises(StoredStateError, match=message):
        unpack(text, 1)
