"""A report is written as recorded, and read as it was collected."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner import present
from rocksdb_tuner.collection.records import Collection
from rocksdb_tuner.collection.report import UnreadableError, read_report, report
from rocksdb_tuner.version import VERSION

from .making import Maker
from .whole import GOLDEN, whole

SCHEMA = json.loads((Path(present.__file__).parent / 'schemas/report.schema.json').read_text())


@pytest.mark.parametrize('name', ['report', 'anonymous'])
def test_report_is_written_as_recorded(name: str) -> None:
    """A part or an OSD per line, so that a difference shows where it is."""
    written = report(whole(), anonymous=name == 'anonymous')
    golden = (GOLDEN / f'{name}.json').read_text(encoding='utf-8').rstrip('\n')
    assert written == golden.replace('"module_version": "?"', f'"module_version": "{VERSION}"')
    pretty = report(whole(), anonymous=name == 'anonymous', pretty=True)
    assert pretty == json.dumps(json.loads(written), indent=4)
    jsonschema.validate(json.loads(written), SCHEMA)


@given(st.randoms(use_true_random=True), st.lists(st.text(max_size=12), min_size=1, max_size=3))
@settings(max_examples=25)
def test_any_collection_is_read_as_it_was_written(random: Random, texts: list[str]) -> None:
    collection: Collection = Maker(lambda _: random.choice(texts), random).make(Collection)
    text = report(collection, anonymous=False)
    assert read_report(json.loads(text)) == collection
    assert read_report(json.loads(report(collection, anonymous=True)))


def _of_growth(**changes: object) -> dict[str, Any]:
    growth = {'times_s': [1, 2], 'used_bytes': [3, 4], 'total_bytes': 5, 'slow_used_bytes': 6}
    return {'module': {'growth': {'1': {**growth, **changes}}}}


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'format': 'x'}, 'is not the output of "ceph rocksdb-tuner report": its "format" is not'),
        ({'version': 2}, 'has version 2, but this program reads version 1: use the release of the'),
        ({'collection': None}, 'is damaged: "collection" is null instead of an object'),
        ({'collection': {'osds': {'x': {}}}}, '"collection.osds.x" is not a number'),
        ({'collection': {'module': {'mode': 'x'}}}, '"collection.module.mode" is "x" instead of o'),
        (
            {'collection': {'cluster_map': {'osds': [{'osd_id': 0.5}]}}},
            '"collection.cluster_map.osds[0].osd_id" is 0.5 instead of a non-negative integer',
        ),
        ({'collection': _of_growth(times_s=[1])}, '"growth.1" has different numbers of "used_byt'),
        ({'collection': _of_growth(times_s=[], used_bytes=[])}, '"growth.1" has different'),
        ({'collection': _of_growth(times_s=[2, 1])}, '"times_s" that are not ascending'),
        ({'collection': _of_growth(times_s=[2, 2])}, '"times_s" that are not ascending'),
    ],
)
def test_damage_is_named(changes: dict[str, Any], message: str) -> None:
    document = json.loads(report(whole(), anonymous=False))
    with pytest.raises(UnreadableError) as error:
        read_report(_merged(document, changes))
    assert message in str(error.value)


def _merged(document: Any, changes: Any) -> Any:
    if isinstance(document, dict) and isinstance(changes, dict):
        return {**document, **{k: _merged(document.get(k), v) for k, v in changes.items()}}
    return changes


def test_other_documents_are_refused() -> None:
    others: tuple[object, ...] = (None, [], 'x', {})
    for document in others:
        with pytest.raises(UnreadableError):
            read_report(document)


def test_fields_of_a_later_module_are_ignored() -> None:
    """A report is read with an older release as far as that knows what is in it."""
    document = json.loads(report(whole(), anonymous=False))
    document['collection']['added'] = document['collection']['module']['added'] = 1
    assert read_report(document) == whole()
