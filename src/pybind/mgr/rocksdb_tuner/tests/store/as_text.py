"""The text of a small record, which is under its key alone, and the record of a text."""

from __future__ import annotations

from typing import Any

from rocksdb_tuner.store.stored import Stored
from rocksdb_tuner.tests.fake_cluster import FakeStore


def as_text(record: Any) -> str:
    store = FakeStore()
    Stored(store, 'key', type(record)).save(record)
    (text,) = store.values.values()
    return text
