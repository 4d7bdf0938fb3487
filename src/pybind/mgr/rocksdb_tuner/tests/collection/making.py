"""Makes a record of any type, by the types of its fields."""

from __future__ import annotations

from random import Random
from typing import Any, Callable, Optional, get_args, get_origin

from rocksdb_tuner.kinds import Form, Kind, Signed, fields_of
from rocksdb_tuner.observe.trend import GrowthPoints
from rocksdb_tuner.store.codec import NOT_STORED


class Maker:
    """Each text is what ``text`` makes for "type.field".

    Without ``random``, something is in each field and each container.
    """

    def __init__(self, text: Callable[[str], str], random: Optional[Random] = None) -> None:
        self._text = text
        self._random = random

    def make(self, record: type) -> Any:
        if self._random is not None and record is GrowthPoints:
            times_s = sorted({self._random.random() for _ in range(3)})
            return GrowthPoints(tuple(times_s), tuple(map(int, times_s)), 5, 6)
        return record(
            **{
                field.name: None
                # A plan of a plan of a plan.
                if any(part.hint is record for part in field.kind.parts)
                else self._value(field.kind, f'{record.__name__}.{field.name}')
                for field in fields_of(record)
                if field.metadata.get('store') != NOT_STORED['store']
            }
        )

    def _value(self, kind: Kind, place: str) -> Any:
        random = self._random
        if kind.form is Form.TEXT:
            return self._text(place)
        if kind.form is Form.OPTIONAL:
            missing = random is not None and random.random() < 0.5
            return None if missing else self._value(kind.parts[0], place)
        if kind.form is Form.LIST:
            items = (self._value(kind.parts[0], place) for _ in range(self._count()))
            return (get_origin(kind.hint) or tuple)(items)
        if kind.form is Form.FIXED:
            return tuple(self._value(part, place) for part in kind.parts)
        if kind.form is Form.MAPPING:
            key, inner = kind.parts
            return {
                self._value(key, place): self._value(inner, place) for _ in range(self._count())
            }
        if kind.form is Form.RECORD:
            return self.make(kind.hint)
        if kind.form in {Form.ENUM, Form.LITERAL}:
            choices = list(kind.hint) if kind.form is Form.ENUM else get_args(kind.hint)
            return choices[0] if random is None else random.choice(choices)
        if random is None:
            # One OSD under all its names.
            return kind.hint(1)
        if kind.form is Form.NUMBER:
            return random.choice((0.0, random.random(), random.random() * 1e9))
        low = -9 if Signed() in kind.notes else 0
        return random.random() < 0.5 if kind.form is Form.FLAG else random.randint(low, 1 << 50)

    def _count(self) -> int:
        # From 16 records on they are stored as columns.
        return 1 if self._random is None else self._random.choice((0, 1, 2, 17))
