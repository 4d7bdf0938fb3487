"""Overrides of an operator are parsed, or refused with their name and the valid form."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from rocksdb_tuner.advise.whatif.situation import read_overrides
from rocksdb_tuner.options.verdict import BadQuestionError


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
