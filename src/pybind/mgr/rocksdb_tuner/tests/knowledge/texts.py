"""The texts of the conditions, in the form of the knowledge files."""

from __future__ import annotations

from typing import Any

from rocksdb_tuner.advise.conditions.registry import conditions


def texts_of_conditions() -> list[dict[str, Any]]:
    return [
        {
            'id': known.condition_id,
            'title': known.title,
            'remedy': known.remedy,
            'commands': list(known.commands),
            'do_not': known.do_not,
            'source': known.source,
            'thresholds': [[t.meaning, t.source] for t in known.thresholds.values()],
        }
        for known in conditions().values()
    ]
