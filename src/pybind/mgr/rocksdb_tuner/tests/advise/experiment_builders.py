"""Groups with a history of noise, for tests of experiments."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Optional

from rocksdb_tuner.advise.experiment_plan import Grounds
from rocksdb_tuner.advise.profiles import Profile
from rocksdb_tuner.advise.records import GroupFacts, Limit, OsdFacts
from rocksdb_tuner.advise.weighing import Bars
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.observe.load_history import KeptWork, Work

from .builders import group, workload
from .test_choice import RBD, osd

STEP_S = 300.0


def member(osd_id: int, hosts: int = 8, **changes: Any) -> OsdFacts:
    host = f'node{osd_id % hosts}'
    signals = {'write_iops': 100.0, 'wal_bytes_per_s': 6e6}
    found = osd(
        osd_id, host=host, failure_domain=FailureDomain('host', host), signals=signals, **changes
    )
    assert found.details is not None
    return found._replace(details=found.details._replace(pgs=33))


def noisy(
    osd_ids: Iterable[int], noise: float = 0.02, intervals: int = 48, seed: int = 1
) -> KeptWork:
    """Every signal of every OSD varies by ``noise`` from interval to interval."""
    chance = random.Random(seed)
    times_s = tuple(STEP_S * number for number in range(intervals + 1))

    def work() -> Work:
        kv_sync, latency, written = (chance.gauss(1, noise) for _ in range(3))
        return Work(60 * kv_sync, 90e3, 30e3, 150 * latency, 9e9 * written, 3e10)

    return KeptWork(times_s, STEP_S, {n: tuple(work() for _ in range(intervals)) for n in osd_ids})


def grounds(
    *osds: OsdFacts,
    noise: float = 0.02,
    intervals: int = 48,
    kept: Optional[KeptWork] = None,
    limit: Optional[Limit] = None,
    custom: Sequence[Profile] = (),
    share: float = 0.25,
    least_block_s: float = 600.0,
) -> Grounds:
    """24 OSDs on 8 hosts unless others are given."""
    members = osds or tuple(member(n) for n in range(24))
    found: GroupFacts = group(*members, does=workload(RBD))
    if limit is not None:
        found = replace(found, limit=limit)
    return Grounds(
        groups=(found,),
        osds=members,
        custom_profiles=tuple(custom),
        history=lambda ids: noisy(ids, noise, intervals) if kept is None else kept,
        share=share,
        least_block_s=least_block_s,
        bars=Bars(),
    )
