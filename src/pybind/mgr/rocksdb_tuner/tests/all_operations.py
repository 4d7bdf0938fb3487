"""A counter that older recordings and simple clusters lack, from those that they have."""

from __future__ import annotations

from typing import Callable, Optional

from rocksdb_tuner.mgr.records import CounterPoint

#: An OSD counts each client operation as one of these.
KINDS = ('osd.op_w', 'osd.op_r', 'osd.op_rw')


def all_operations(point: Callable[[str], Optional[CounterPoint]]) -> Optional[CounterPoint]:
    """`ALL_OPERATIONS`: the sum of the three kinds in all releases; None without one of them."""
    found = [point(path) for path in KINDS]
    known = [one for one in found if one is not None]
    if len(known) < len(KINDS):
        return None
    return CounterPoint(known[0].time_s, sum(one.value for one in known), None)
