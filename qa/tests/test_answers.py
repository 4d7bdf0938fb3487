"""Answers are declared once: the published schemas follow, and every record explains itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from answers import json_schema
from rocksdb_tuner import present
from rocksdb_tuner.kinds import Kind, kind_of
from rocksdb_tuner.present.to_json import part_of, published_fields
from rocksdb_tuner.present.views import VIEWS

SCHEMAS = Path(present.__file__).parent / 'schemas'


@pytest.mark.parametrize('name', sorted(VIEWS))
def test_committed_schema_is_current(name: str) -> None:
    """`make answers` regenerates it."""
    kept = json.loads((SCHEMAS / f'{name}.schema.json').read_text())
    assert kept == json_schema(name, VIEWS[name])


def records_of(kind: Kind) -> Iterator[Any]:
    part = part_of(kind)
    if part is None:
        for one in kind.parts:
            yield from records_of(one)
    else:
        yield part.record
        for field in published_fields(part):
            yield from records_of(field.kind)


@pytest.mark.parametrize('name', sorted(VIEWS))
def test_every_answer_record_is_frozen_and_documented(name: str) -> None:
    """The docstring is the description in the schema, the REST API and the tab."""
    found = set(records_of(kind_of(VIEWS[name].kind)))
    assert found
    for record in found:
        assert issubclass(record, tuple) or record.__dataclass_params__.frozen
        # The default docstring of `dataclass`.
        assert not record.__doc__.startswith(f'{record.__name__}(')
