"""Conclusions are drawn again when what they rest on changes, and after `REUSE_S` at the latest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.advise.records import OsdFacts
from rocksdb_tuner.evaluate import AdviceContext, Conclusions
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tick.conclusions import REUSE_S, Basis, KeptConclusions, basis_of
from rocksdb_tuner.workload.records import Workload, WorkloadClass

_RBD = Workload(WorkloadClass.RBD_SMALL_WRITE, 0.9, ())
_CONTEXT = AdviceContext(mode=Mode.RECOMMEND, entries=())


def _osd() -> OsdInfo:
    return FakeCluster(1).cluster_map().osds[0]


def _basis(facts: OsdFacts, workload: Workload = _RBD, pending_s: float = 0.0) -> Basis:
    groups, context = {'ssd': workload}, replace(_CONTEXT, pending_s={0: pending_s})
    return basis_of((facts,), groups, groups, context, {0: 5.0})


class Drawn:
    """Counts how often conclusions are drawn."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Conclusions:
        self.times += 1
        return Conclusions((), (), ())


def test_measured_values_alone_draw_nothing_again_until_the_time_is_over() -> None:
    """New rates, another confidence and a longer wait for a restart are no other basis."""
    kept, drawn, info = KeptConclusions(), Drawn(), _osd()
    first = _basis(OsdFacts(info, Signals(0, write_iops=1.0), _RBD, None))
    sure = _RBD._replace(confidence=0.5)
    second = _basis(OsdFacts(info, Signals(0, write_iops=2.0), sure, None), sure, pending_s=10.0)
    kept.get(first, 100.0, drawn)
    kept.get(second, 100.0 + REUSE_S - 1, drawn)
    assert drawn.times == 1
    kept.get(second, 100.0 + REUSE_S, drawn)
    assert drawn.times == 2


def test_an_osd_or_a_class_that_changes_draws_them_at_once() -> None:
    """An OSD that is down, that has no signals any more, or whose group does something else."""
    info = _osd()
    known = OsdFacts(info, Signals(0), _RBD, None)
    idle = Workload(WorkloadClass.IDLE, 0.9, ())
    others = (
        _basis(known._replace(info=replace(info, up=False))),
        _basis(known._replace(signals=None)),
        _basis(known, idle),
    )
    for other in others:
        kept, drawn = KeptConclusions(), Drawn()
        kept.get(_basis(known), 100.0, drawn)
        kept.get(other, 101.0, drawn)
        assert drawn.times == 2


def test_a_clock_that_goes_backwards_draws_them_again() -> None:
    """The age of what was drawn in the future is unknown."""
    kept, drawn = KeptConclusions(), Drawn()
    basis = _basis(OsdFacts(_osd(), Signals(0), _RBD, None))
    kept.get(basis, 100.0, drawn)
    kept.get(basis, 99.0, drawn)
    assert drawn.times == 2


def test_conclusions_before_a_failure_are_not_shown_after_it() -> None:
    """A failing evaluation leaves nothing to reuse."""
    kept, drawn = KeptConclusions(), Drawn()
    facts = OsdFacts(_osd(), Signals(0), _RBD, None)
    kept.get(_basis(facts), 100.0, drawn)

    def fail() -> Conclusions:
        raise ValueError

    with pytest.raises(ValueError):
        kept.get(_basis(facts._replace(signals=None)), 101.0, fail)
    kept.get(_basis(facts), 102.0, drawn)
    assert drawn.times == 2
