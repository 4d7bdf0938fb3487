"""Fill time of memtables, until which options have little effect. Pure."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Optional

from .situation import Situation
from .tree import model_in

__all__ = ['fill_s']


def fill_s(options_from: str, options_to: str, situation: Situation) -> Optional[float]:
    """Seconds between flushes under the current load, with the slower of two option strings.

    None for an unknown load, no writes, or an option string without a model.
    """
    rate = situation.load.wal_bytes_per_s
    if not rate:
        return None
    # Normalized for the cache: 1 byte/s, and no data, which does not affect flushes.
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
    # For an unknown workload only the WAL limit is known, which bounds every memtable.
    return tree.wal.fill_s if busiest.flush_every_s is None else busiest.flush_every_s
