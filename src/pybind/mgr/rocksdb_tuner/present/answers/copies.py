"""Builds answers from records with fields of the same names."""

from __future__ import annotations

from typing import Any, Optional, TypeVar

from ...kinds import fields_of

_T = TypeVar('_T')


def like(answer: type[_T], record: object, **others: object) -> _T:
    """An ``answer`` with the fields of ``record`` that have the same names, and ``others``."""
    kind: Any = answer
    same = {f.name: getattr(record, f.name) for f in fields_of(kind) if f.name not in others}
    return answer(**same, **others)


def like_if_any(answer: type[_T], record: Optional[object]) -> Optional[_T]:
    return None if record is None else like(answer, record)
