"""How long workloads are remembered for advice."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from rocksdb_tuner.advise import decision
from rocksdb_tuner.advise.case import Circumstances
from rocksdb_tuner.advise.memory import (
    LASTING_S,
    LONGEST_WAIT_S,
    STEADY_S,
    SteadyChoice,
    WorkloadMemory,
)
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import UNKNOWN_LIMIT, Decision, GroupFacts
from rocksdb_tuner.advise.weighing import Assessment, Weighing
from rocksdb_tuner.workload.classify import Writer, writer_evidence, writer_of
from rocksdb_tuner.workload.pressure import KV_SYNC_BUSY, measured
from rocksdb_tuner.workload.records import Recognition, Workload, WorkloadClass

from .builders import entry, facts, osd_info, workload
from .test_experimented import WON, assessed

IDLE = workload(WorkloadClass.IDLE)
RBD = workload(WorkloadClass.RBD_SMALL_WRITE)
DAY_S = 86400.0


def recalled(memory: WorkloadMemory, does: Workload, now_s: float) -> Workload:
    """The subject of the advice at ``now_s``, one sample after the last."""
    return memory.recall(Recognition({}, {'ssd': does}), now_s, DAY_S)['ssd']


def unchosen(found: Weighing) -> Weighing:
    return replace(found, weighed=tuple(replace(w, chosen=False) for w in found.weighed))


def lasting(memory: WorkloadMemory, does: Workload, until_s: float) -> Workload:
    """The same after this work went on until ``until_s``."""
    recalled(memory, does, until_s - LASTING_S)
    return recalled(memory, does, until_s)


def test_new_workload_is_no_reason_yet() -> None:
    # A starting gateway resembles bucket index work for that long.
    assert LASTING_S == 30.0
    memory = WorkloadMemory()
    assert recalled(memory, RBD, 0.0).workload_class is WorkloadClass.UNKNOWN
    assert recalled(memory, RBD, LASTING_S - 1).workload_class is WorkloadClass.UNKNOWN
    assert recalled(memory, RBD, LASTING_S) == RBD


def test_idle_group_keeps_the_advice_of_its_last_workload_for_a_day() -> None:
    memory = WorkloadMemory()
    assert recalled(memory, IDLE, 0.0) == IDLE
    lasting(memory, RBD, 100.0)
    assert recalled(memory, IDLE, 110.0) == RBD
    assert recalled(memory, IDLE, 100.0 + DAY_S) == RBD
    assert recalled(memory, IDLE, 101.0 + DAY_S) == IDLE


def test_reading_back_written_data_keeps_the_advice() -> None:
    memory = WorkloadMemory()
    lasting(memory, RBD, 100.0)
    assert lasting(memory, workload(WorkloadClass.READ_MOSTLY), 200.0) == RBD
    assert recalled(memory, IDLE, 210.0) == RBD


def test_unclear_workload_is_not_replaced_by_an_old_certain_one() -> None:
    memory = WorkloadMemory()
    lasting(memory, RBD, 100.0)
    mixed = workload(WorkloadClass.MIXED)
    assert recalled(memory, mixed, 110.0) == mixed


def test_following_workload_of_another_class_is_new() -> None:
    memory = WorkloadMemory()
    rgw = workload(WorkloadClass.RGW_METADATA)
    recalled(memory, RBD, 100.0)
    recalled(memory, RBD, 120.0)
    unknown = Workload(WorkloadClass.UNKNOWN, 0.0, rgw.evidence)
    assert recalled(memory, rgw, 121.0) == unknown
    assert recalled(memory, rgw, 121.0 + LASTING_S - 1) == unknown
    assert recalled(memory, rgw, 121.0 + LASTING_S) == rgw


def test_lasting_doubtful_workload_is_current_unless_it_matches_the_previous_one() -> None:
    doubtful, other = workload(confidence=0.5), workload(WorkloadClass.RGW_METADATA, 0.5)
    memory = WorkloadMemory()
    assert lasting(memory, doubtful, 100.0) == doubtful
    lasting(memory, RBD, 200.0)
    assert recalled(memory, doubtful, 210.0) == RBD
    assert lasting(memory, other, 300.0) == other
    # Until it lasts, the previous workload stays.
    lasting(memory, RBD, 400.0)
    assert recalled(memory, other, 410.0) == RBD
    assert recalled(memory, other, 410.0 + DAY_S) == other
    late = WorkloadMemory()
    lasting(late, RBD, 100.0)
    assert recalled(late, other, 101.0 + DAY_S).workload_class is WorkloadClass.UNKNOWN


def test_each_group_is_remembered_separately() -> None:
    memory = WorkloadMemory()
    for now_s in (0.0, LASTING_S):
        found = memory.recall(Recognition({}, {'ssd': RBD, 'hdd': IDLE}), now_s, DAY_S)
    assert found == {'ssd': RBD, 'hdd': IDLE}
    assert memory.recall(Recognition({}, {'hdd': IDLE}), 99.0, DAY_S) == {'hdd': IDLE}


def test_busiest_time_is_remembered_as_long_as_the_workload() -> None:
    """As a load ends its threads are idle before it is called idle."""
    memory = WorkloadMemory()

    def busy_at(now_s: float, busy: Optional[float]) -> float:
        found = measured(recalled(memory, workload(busy=busy), now_s), KV_SYNC_BUSY)
        assert found is not None
        return found.value

    busy_at(0.0, 0.1)
    assert busy_at(LASTING_S, 0.72) == 0.72
    assert busy_at(LASTING_S + 10, 0.05) == 0.72
    assert busy_at(LASTING_S + 20, None) == 0.72
    assert busy_at(LASTING_S + 40, 0.9) == 0.9
    for hour in range(1, 26):
        last = busy_at(LASTING_S + 40 + 3600 * hour, 0.3)
        assert last == (0.9 if hour <= 24 else 0.3)
    at_night = measured(recalled(memory, IDLE, LASTING_S + 26 * 3600), KV_SYNC_BUSY)
    assert at_night is not None
    assert at_night.value == last


def test_only_the_load_of_the_busiest_time_is_remembered() -> None:
    """All other parts are from the newest sample, each once."""
    memory = WorkloadMemory()
    recalled(memory, workload(busy=0.9), 0.0)
    busiest = recalled(memory, workload(busy=0.9), LASTING_S)
    now = workload(busy=0.1)
    small = now.evidence[0]._replace(value=512.0)
    found = recalled(memory, now._replace(evidence=(small, *now.evidence[1:])), LASTING_S + 10)
    assert found.evidence == (small, busiest.evidence[1])
    # A sample without measurements leaves nothing to remember.
    other = WorkloadMemory()
    lasting(other, workload(busy=None), LASTING_S)
    assert recalled(other, workload(busy=0.05), LASTING_S + 10) == workload(busy=0.05)


def test_mixture_is_remembered_by_its_writer() -> None:
    memory = WorkloadMemory()
    writes = writer_evidence(Writer(WorkloadClass.RBD_SMALL_WRITE, 0.95), 30.0)
    mixed = workload(WorkloadClass.MIXED, 0.7)
    mixed = mixed._replace(evidence=(*mixed.evidence, writes))
    # A new workload has no name yet.
    assert writer_of(recalled(memory, mixed, 0.0)) is None
    # Half of it reads in one sample and less in the next: the writes last.
    recalled(memory, RBD, LASTING_S / 2)
    assert recalled(memory, mixed, LASTING_S).workload_class is WorkloadClass.MIXED
    assert recalled(memory, IDLE, LASTING_S + 60).workload_class is WorkloadClass.MIXED


def test_choice_that_changed_waits_until_it_stays_the_same() -> None:
    """In the first minutes of a load candidates qualify and cease to with each tick."""
    osds = (facts(osd_info()),)
    chosen = assess(GroupFacts('ssd', RBD, osds), Circumstances(osds))
    assert chosen.weighing is not None
    assert chosen.weighing.chosen is not None
    nothing = replace(
        chosen,
        weighing=unchosen(chosen.weighing),
        recommendations=(),
        conclusion=decision.nothing('ssd', '', UNKNOWN_LIMIT),
    )
    steady = SteadyChoice()

    def shown(found: Assessment, now_s: float) -> Assessment:
        (answer,) = steady.of((found,), now_s)
        return answer

    assert shown(chosen, 0.0) == chosen
    assert shown(chosen, 5.0) == chosen
    for found, now_s in ((nothing, 10.0), (nothing, 39.0), (chosen, 41.0), (chosen, 70.0)):
        waiting = shown(found, now_s)
        assert waiting.recommendations == ()
        assert waiting.conclusion.do == 'Wait: the figures of the candidates still change'
    assert shown(chosen, 41.0 + STEADY_S) == chosen
    # The effect of a rollout is no change of mind, and a hazard does not wait.
    ran = chosen.weighing.chosen.options
    applied = facts(osd_info(), ran, 'mon', (entry('osd', ran),))
    after = assess(GroupFacts('ssd', RBD, (applied,)), Circumstances((applied,)))
    assert shown(after, 131.0) == after
    unsafe = f'{ran},disableWAL=true'
    osds = (facts(osd_info(), unsafe, 'mon', (entry('osd', unsafe),)),)
    hazard = assess(GroupFacts('ssd', RBD, osds), Circumstances(osds))
    assert hazard.weighing is not None
    assert shown(hazard, 132.0) == hazard
    assert shown(replace(chosen, weighing=None), 134.0).recommendations != ()


def test_winner_of_an_experiment_does_not_wait_for_the_model() -> None:
    """It is recommended whatever the model prefers at the moment."""
    won, steady = assessed(WON), SteadyChoice()
    assert won.recommendations != ()
    undecided = replace(won, weighing=unchosen(won.weighing))
    assert steady.of((won,), 0.0) == (won,)
    assert steady.of((undecided,), 25.0) == (undecided,)


def test_decision_with_a_reason_of_its_own_does_not_wait() -> None:
    """Only a gain and "nothing to change" depend on the figures of the candidates."""
    osds = (facts(osd_info()),)
    chosen, steady = assess(GroupFacts('ssd', RBD, osds), Circumstances(osds)), SteadyChoice()
    space = Decision('ssd', 'Give the OSDs more space', 'Level 3 does not fit.')
    objected = replace(chosen, recommendations=(), conclusion=space)
    assert steady.of((chosen,), 0.0) == (chosen,)
    assert steady.of((objected,), 5.0) == (objected,)


def test_choice_that_never_stays_the_same_is_shown_now_and_then() -> None:
    """The operator is not told to wait for good."""
    osds = (facts(osd_info()),)
    chosen, steady = assess(GroupFacts('ssd', RBD, osds), Circumstances(osds)), SteadyChoice()
    nothing = replace(
        chosen, recommendations=(), conclusion=decision.nothing('ssd', '', UNKNOWN_LIMIT)
    )
    shown_s = [
        25.0 * at
        for at in range(40)
        if steady.of(((chosen, nothing)[at % 2],), 25.0 * at) == ((chosen, nothing)[at % 2],)
    ]
    assert shown_s == [0.0, LONGEST_WAIT_S, 2 * LONGEST_WAIT_S, 3 * LONGEST_WAIT_S]
