"""How long memtables take to fill: until then an OSD shows little of its options. Pure."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Optional

from .situation import Situation
from .tree import model_in

__all__ = ['fill_s']


def fill_s(options_from: str, options_to: str, situation: Situation) -> Optional[float]:
    """Seconds from one flush to the next under the present load, in the slower of two option sets.

    None where the load is not known, nothing is written, or there is no model of one of them.
    """
    rate = situation.load.wal_bytes_per_s
    if not rate:
        return None
    # Of a byte a second, and no data, which changes no flush: what was found once holds.
    load = replace(situation.load, wal_bytes_per_s=1.0, data_bytes=None, objects=None)
    asked = replace(situation, load=load)
    fills = [_at_one_byte_per_s(options, asked) for options in (options_from, options_to)]
    known = [fill for fill in fills if fill is not None]
    return float(f'{max(known) / rate:.2g}') if len(known) == len(fills) else None


@lru_cache(maxsize=64)
def _at_one_byte_per_s(options: str, situation: Situation) -> Optional[float]:
    try:
        tree = model_in(situation, options)
    except ValueError:
        return None
    busiest = max(tree.column_families, key=lambda family: family.share or 0.0)
    # Of an unknown workload there is the limit of the WAL alone, which bounds every memtable.
    return tree.wal.fill_s if busiest.flush_every_s is None else busiest.flush_every_s
