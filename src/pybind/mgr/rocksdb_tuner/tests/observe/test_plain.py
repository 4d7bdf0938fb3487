"""The fast ways to a window and to signals give what their plain definitions give."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.history import OsdHistory
from rocksdb_tuner.observe.sample import Sample, names_for
from rocksdb_tuner.observe.signals import signals
from rocksdb_tuner.observe.window import window
from rocksdb_tuner.tests.workload.replay import load

from .plain import OTHERS, plain_signals, plain_window
from .samples import osd_info, sample
from .test_window import samples

#: Growth of a counter between two samples; 0: it stood still, below: it was reset.
_growth = st.integers(-1, 3).map(lambda n: n * 123_457_003)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sample, Sample]:
    """Two samples of a process that mostly can be compared, with counters that stand still."""
    before = draw(samples())
    grown: dict[str, Any] = {}
    for field in Sample._fields[2:]:
        old, by = getattr(before, field), draw(_growth)
        if isinstance(old, tuple):
            grown[field] = (max(0, old[0] + by), max(0, old[1] + by // 1000))
        elif old is not None:
            grown[field] = max(0, old + by)
    apart_s = draw(st.sampled_from((1.0, 5.0, 30.0)))
    return before, before._replace(time_s=before.time_s + apart_s, **grown)


@given(pairs(), st.sampled_from((None, True, False)))
def test_any_two_samples_give_the_same(
    both: tuple[Sample, Sample], dedicated_db: Optional[bool]
) -> None:
    """Windows are equal, and so is each signal that is made of them."""
    assert window(*both) == plain_window(*both)
    history = OsdHistory()
    for one in both:
        history.add(one)
    osd = osd_info(dedicated_db=dedicated_db)  # type: ignore[arg-type]
    _compare(history, dedicated_db, signals(osd, history, None))


def _compare(history: OsdHistory, dedicated_db: object, found: object) -> None:
    expected = plain_signals(history, dedicated_db)  # type: ignore[arg-type]
    for field in expected._fields:
        if field not in OTHERS:
            assert getattr(found, field) == getattr(expected, field), field


@pytest.mark.parametrize('name', ['s3-put', 'rbd-randwrite', 'recovery'])
def test_recorded_osds_give_the_same(name: str) -> None:
    """Every report of real OSDs under clients."""
    histories: dict[int, OsdHistory] = {}
    windows = 0
    names = names_for(load(name).release)._asdict()
    for report in load(name).reports:
        points = report.points
        taken = sample(report.time_s, 0, report.nonce)
        known: dict[str, Any] = {
            field: point[1:] if point.avgcount is not None else point.value
            for field, path in names.items()
            for point in [points.get(path)]
            if point is not None
        }
        history = histories.setdefault(report.osd_id, OsdHistory())
        history.add(taken._replace(**known))
        _compare(history, False, signals(osd_info(), history, None))
        recent = history.recent
        if len(recent) > 1:
            windows += 1
            assert history.short() == plain_window(recent[0], recent[-1])
    assert windows > 20
