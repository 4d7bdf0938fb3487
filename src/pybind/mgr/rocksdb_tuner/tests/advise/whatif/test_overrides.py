"""Overrides of an operator are parsed, or refused with their name and the valid form."""

from __future__ import annotations

import errno
from contextlib import suppress
from dataclasses import replace
from typing import Any, Optional

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from rocksdb_tuner.advise.whatif.overrides import NO_OVERRIDES, read_overrides
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.workload.records import WorkloadClass


@pytest.mark.parametrize(
    ('text', 'size'),
    [
        ('60G', 60 << 30),
        ('60 GiB', 60 << 30),
        ('60gb', 60 << 30),
        ('1.5T', 3 << 39),
        ('512M', 512 << 20),
        ('1073741824', 1 << 30),
        ('0', 0),
    ],
)
def test_sizes_are_bytes_with_suffixes_of_ceph(text: str, size: int) -> None:
    assert read_overrides(db_size=text).db_bytes == size


@pytest.mark.parametrize(
    ('message', 'named'),
    [
        ({'db_size': '60 apples'}, 'db-size: "60 apples" is not a size'),
        ({'wal_size': '-1'}, 'wal-size: "-1" is not a size'),
        ({'wal_size': ''}, 'wal-size: "" is not a size'),
        ({'memory': '4'}, 'memory must be 896M to 1024P, not "4"'),
        ({'data': '0'}, 'data must be 1 to'),
        ({'ingest': '9999P'}, 'ingest must be 1 to'),
        ({'key_size': '0'}, 'key-size must be 1 to'),
        ({'cores': 0}, 'cores must be 1 to 1024 for one OSD, not 0'),
        ({'cfs': 'm(0)'}, 'cfs: at character 0, .*: expected a name and 1 to 1024 shards'),
        ({'cfs': 'm=x'}, 'cfs: '),
    ],
)
def test_invalid_override_is_named_with_the_valid_form(message: dict[str, Any], named: str) -> None:
    with pytest.raises(BadQuestionError, match=named) as refusal:
        read_overrides(**message)
    assert refusal.value.errno == errno.EINVAL


@for_any(st.text(max_size=40), st.sampled_from(['db_size', 'memory', 'ingest', 'cfs', 'workload']))
def test_any_text_is_parsed_or_refused(text: str, name: str) -> None:
    message: dict[str, Any] = {name: text}
    # Any other error would be shown to the operator as one of the module.
    with suppress(BadQuestionError):
        read_overrides(**message)


@pytest.mark.parametrize(
    ('name', 'field', 'least', 'too_little', 'most', 'too_much'),
    [
        ('db_size', 'db_bytes', ('0', 0), None, ('1024P', 1 << 60), '1025P'),
        ('wal_size', 'wal_bytes', ('0', 0), None, ('1024P', 1 << 60), '1025P'),
        ('memory', 'memory_bytes', ('896M', 896 << 20), '895M', ('1024P', 1 << 60), '1025P'),
        ('data', 'data_bytes', ('1', 1), '0', ('1024P', 1 << 60), '1025P'),
        ('ingest', 'wal_bytes_per_s', ('1', 1), '0', ('1T', 1 << 40), '1025G'),
        ('key_size', 'bytes_per_key', ('1', 1), '0', ('1G', 1 << 30), '1025M'),
    ],
)
def test_each_size_has_bounds(
    name: str,
    field: str,
    least: tuple[str, int],
    too_little: Optional[str],
    most: tuple[str, int],
    too_much: str,
) -> None:
    for text, size in (least, most):
        found = read_overrides(**{name: text})  # type: ignore[arg-type]
        assert found == replace(NO_OVERRIDES, **{field: size})  # type: ignore[arg-type]
    shown = name.replace('_', '-')
    for text in filter(None, (too_little, too_much)):
        with pytest.raises(BadQuestionError) as refusal:
            read_overrides(**{name: text})  # type: ignore[arg-type]
        assert str(refusal.value) == (f'{shown} must be {least[0]} to {most[0]}, not "{text}"')


def test_workload_and_column_families_are_parsed() -> None:
    found = read_overrides(workload=WorkloadClass.RGW_METADATA, cfs='m(3)')
    assert found.workload is WorkloadClass.RGW_METADATA
    assert found.columns is not None
    assert [(column.name, column.shards) for column in found.columns] == [('default', 1), ('m', 3)]
    with pytest.raises(BadQuestionError, match=r'cfs: ') as refusal:
        read_overrides(cfs='m=a=1,,')
    assert refusal.value.errno == errno.EINVAL
