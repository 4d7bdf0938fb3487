"""The measured values of the model match their schema, and cover all its inputs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.lsm.calibration import calibration, workload_of_class
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import columns
from rocksdb_tuner.workload.records import WorkloadClass

SCHEMA = Path(loader.__file__).parent / 'schemas' / 'model.schema.json'


def test_file_matches_its_schema() -> None:
    schema = json.loads(SCHEMA.read_text(encoding='utf-8'))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(loader.load('model'), schema)


def test_every_workload_has_the_columns_of_every_release() -> None:
    for workload in calibration().workloads.values():
        for release in known_releases():
            names = {column.name for column in columns(release.default_cfs)}
            assert names <= {*workload.columns}


def test_every_interval_was_compared_and_is_ordered() -> None:
    quantities = calibration().quantities
    assert quantities
    for name, quantity in quantities.items():
        assert quantity.comparisons >= 5, name
        assert 0 < quantity.low <= quantity.high, name


@pytest.mark.parametrize(
    ('workload', 'measured'),
    [
        (WorkloadClass.RBD_SMALL_WRITE, 'rbd-randwrite'),
        (WorkloadClass.RGW_METADATA, 'omap-heavy'),
        (WorkloadClass.LARGE_WRITE, None),
        (WorkloadClass.UNKNOWN, None),
    ],
)
def test_only_measured_values_represent_a_class(
    workload: WorkloadClass, measured: str | None
) -> None:
    assert workload_of_class(workload.value) == measured


def test_unsharded_workload_is_entirely_in_the_default_column_family() -> None:
    for workload in calibration().workloads.values():
        whole = workload.over(['default']).columns['default']
        assert whole.written_bytes == pytest.approx(workload.written_bytes)
        held = workload.population
        for writes in (1e3, 1e5, 1e7):
            left = sum(
                column.left_bytes(writes, held, 'kNoCompression')
                for column in workload.columns.values()
            )
            assert whole.left_bytes(writes, held, 'kNoCompression') == pytest.approx(left)
