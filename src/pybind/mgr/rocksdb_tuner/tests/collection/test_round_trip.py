"""Collected data is read as it was written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings

from rocksdb_tuner import present
from rocksdb_tuner.collection.read import SourceFile, read, unpack
from rocksdb_tuner.collection.records import Collection, ModuleState
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.collection.write import files
from rocksdb_tuner.workload.records import Workload

from ..present import experiment_samples
from ..present.samples import rollout
from .samples import collections
from .whole import GOLDEN

SCHEMA = json.loads((Path(present.__file__).parent / 'schemas/report.schema.json').read_text())


def comparable(collection: Collection) -> Collection:
    """Without what is written for people, or follows again from the rest."""
    return replace(
        collection,
        history=(),
        rollout=None,
        experiment=None,
        orchestrated=None,
        osds={i: osd for i, osd in collection.osds.items() if osd != type(osd)()},
        module=None if collection.module is None else _without_evidence(collection.module),
    )


def _without_evidence(state: ModuleState) -> ModuleState:
    osds = {
        i: m._replace(believed=Workload(m.believed.workload_class, m.believed.confidence, ()))
        if m.candidate is m.believed.workload_class
        else m
        for i, m in state.memories.osds.items()
    }
    groups = {
        name: m._replace(believed=Workload(m.believed.workload_class, m.believed.confidence, ()))
        if m.candidate is m.believed.workload_class
        else m
        for name, m in state.memories.groups.items()
    }
    return replace(state, memories=state.memories._replace(osds=osds, groups=groups))


@given(collections())
@settings(max_examples=100)
def test_a_document_holds_what_was_collected(collection: Collection) -> None:
    text = report(collection, anonymous=False)
    found = read(unpack('report.json', text.encode()))
    assert comparable(found.collection) == comparable(collection)
    assert found.ignored == ()
    assert json.loads(text) == json.loads(report(collection, anonymous=False, pretty=True))


@given(collections())
@settings(max_examples=100)
def test_a_folder_of_the_same_files_holds_the_same(collection: Collection) -> None:
    sources = [
        SourceFile(
            name,
            content.encode() if isinstance(content, str) else json.dumps(content).encode(),
            modified_s=0.0,
        )
        for name, content in files(collection)
    ]
    assert comparable(read(sources).collection) == comparable(collection)


@given(collections())
@settings(max_examples=100)
def test_a_report_of_the_module_is_what_its_schema_says(
    collection: Collection,
) -> None:
    if collection.module is not None and collection.entries is not None:
        whole = replace(
            collection,
            health_codes=frozenset(),
            rollout=rollout(),
            experiment=experiment_samples.measuring(),
        )
        jsonschema.validate(json.loads(report(whole, anonymous=True)), SCHEMA)


@pytest.mark.parametrize(
    ('name', 'content'),
    [
        ('history.json', [{'id': 'r1'}]),
        ('operation.json', {'kind': 'rollout', 'phase': 'done'}),
        ('module.json', {}),
        ('osd_dump.json', []),
        ('osd.3.config_show.json', {}),
        ('osd.3.kv_stats.7.0.txt', 5),
        ('notes.txt', 'x'),
    ],
)
def test_schema_refuses_a_malformed_file(name: str, content: object) -> None:
    """The module's own output is described to the last name, as in its other answers."""
    document = json.loads((GOLDEN / 'report.json').read_text())
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(document)
    document['files'][name] = content
    assert not validator.is_valid(document)
