"""OSD names in texts."""

from __future__ import annotations

from collections.abc import Iterable


def name_osds(osd_ids: Iterable[int], limit: int = 8) -> str:
    """ "osd.1, osd.2 and 30 more": at most ``limit`` names."""
    ids = sorted(osd_ids)
    names = ', '.join(f'osd.{i}' for i in ids[:limit])
    return names if len(ids) <= limit else f'{names} and {len(ids) - limit} more'
