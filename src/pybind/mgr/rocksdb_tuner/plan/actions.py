"""Actions on the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class SetEntry:
    who: str
    value: str


@dataclass(frozen=True)
class RemoveEntry:
    who: str


@dataclass(frozen=True)
class RestartOsd:
    osd_id: int


Action = Union[SetEntry, RemoveEntry, RestartOsd]
