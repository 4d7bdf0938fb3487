"""What an operator says of an OSD is read, or refused with its name and what would be right."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from rocksdb_tuner.advise.given import NOTHING, given
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
def test_sizes_are_bytes_with_the_suffixes_of_ceph(text: str, size: int) -> None:
    assert given(db_size=text).db_bytes == size


def test_what_is_not_said_is_not_known() -> None:
    assert given() == NOTHING


@pytest.mark.parametrize(
    ('said', 'named'),
    [
        ({'db_size': '60 apples'}, 'db-size: "60 apples" is no size'),
        ({'wal_size': '-1'}, 'wal-size: "-1" is no size'),
        ({'wal_size': ''}, 'wal-size: "" is no size'),
        ({'memory': '4'}, 'memory must be 896M to 1024P, not "4"'),
        ({'data': '0'}, 'data must be 1 to'),
        ({'ingest': '9999P'}, 'ingest must be 1 to'),
        ({'key_size': '0'}, 'key-size must be 1 to'),
        ({'cores': 0}, 'cores must be 1 to 1024 for one OSD, not 0'),
        ({'workload': 'nope'}, '"nope" is no workload; workloads: idle'),
        ({'cfs': 'm(0)'}, "cfs: column 'm' with 0 shards"),
        ({'cfs': 'm=x'}, 'cfs: '),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(said: dict[str, Any], named: str) -> None:
    with pytest.raises(BadQuestionError, match=named) as refusal:
        given(**said)
    assert refusal.value.errno == errno.EINVAL


@for_any(st.text(max_size=40), st.sampled_from(['db_size', 'memory', 'ingest', 'cfs', 'workload']))
def test_any_text_is_read_or_refused(text: str, name: str) -> None:
    said: dict[str, Any] = {name: text}
    # Any other error would be shown to the operator as one of the module.
    with suppress(BadQuestionError):
        given(**said)
