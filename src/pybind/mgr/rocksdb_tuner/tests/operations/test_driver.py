"""The driver that all kinds of operation have in common, by a kind that only counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.announce import Progress, Texts
from rocksdb_tuner.operations.driver import STEPS_PER_TICK, OperationDriver
from rocksdb_tuner.operations.phases import OperationRefused, Step
from rocksdb_tuner.tests.fake_cluster import FakeCluster


@dataclass(frozen=True)
class Count:
    operation_id: str
    number: int = 0
    last: int = 3
    paused_by: Optional[str] = None
    request: object = None
    updated_s: float = 0.0

    @property
    def paused_reason(self) -> Optional[str]:
        return self.paused_by

    @property
    def ended(self) -> bool:
        return self.number >= self.last


@dataclass
class Counting(OperationDriver[Count, int, int]):
    """Executes each number, once it is stored."""

    stored: Optional[Count] = None
    #: The events, in order.
    log: list[str] = field(default_factory=list)
    on: bool = True
    #: Writes that fail, and whether they are done all the same.
    refused_writes: int = 0
    done_all_the_same: bool = False
    refuses_ends: bool = False
    #: What is observed.
    samples: int = 0

    KIND = 'count'

    def __post_init__(self) -> None:
        texts: Texts[Count] = Texts(
            lines=lambda *_: (),
            progress=lambda state: Progress('', 0.0),
            failure=lambda _: None,
            waiting=lambda state, waited_s: f'{state.operation_id}: {waited_s:g}',
        )
        super().__init__(FakeCluster(1), texts, lambda: self.on, None)

    def start(self, count: Count) -> Count:
        self._refuse_while_running()
        return self._begin(count)

    def tick(self, samples: int = 0) -> None:
        self.load()
        self.samples = samples
        self._advance(0.0, 0.0)

    def _observe(self, state: Count) -> int:
        return self.samples

    def _waits_at(self, state: Count) -> object:
        return state.number

    def _named(self, state: Count, actor: str) -> Count:
        return replace(state, last=len(actor))

    def _waits_for_operator(self, state: Count) -> bool:
        return state.paused_by is not None

    @property
    def error_text(self) -> Optional[str]:
        return self._error

    def _load(self) -> None:
        self._state = self.stored
        self._unrecorded = self.stored is not None and self.stored.ended

    def _store(self, state: Count) -> None:
        if self.refused_writes:
            self.refused_writes -= 1
            if self.done_all_the_same:
                self.stored = state
            raise CommandError(5, 'no quorum')
        self.stored = state
        self.log.append(f'stored {state.number}')

    def _decide(self, state: Count, seen: int, now_s: float) -> Step[Count, int]:
        if state.paused_by is not None:
            return Step(state)
        # A repeated number is executed again, as for a repeated action.
        reached = max(state.number, seen) if seen else state.number + 1
        return Step(replace(state, number=reached), (reached,))

    def _is_suppressed(self, *_: object) -> bool:
        return True

    def _suppressed_text(self, action: int) -> str:
        return f'{action} is not executed'

    def _act(self, state: Count, action: int, now_s: float) -> bool:
        self.log.append(f'executed {action}')
        return True

    def _announce(self, before: Optional[Count], after: Count) -> None:
        self.log.append(f'announced {before and before.number} -> {after.number}')

    def _conclude(self, state: Count) -> None:
        if self.refuses_ends:
            raise CommandError(30, 'read-only')
        self.log.append(f'kept {state.operation_id}')

    def _paused(self, state: Count, actor: str, now_s: float) -> Count:
        return replace(state, paused_by=actor)

    def _resumed(self, state: Count, now_s: float) -> Count:
        return replace(state, paused_by=None)

    def _aborted(self, state: Count, actor: str, now_s: float) -> Count:
        return replace(state, last=state.number)


def test_each_state_is_stored_and_announced_before_actions_and_the_end_is_stored() -> None:
    driver = Counting()
    driver.start(Count('c1', last=2))
    driver.tick()
    assert driver.log == [
        *('stored 0', 'announced None -> 0'),
        *('stored 1', 'announced 0 -> 1', 'executed 1'),
        *('stored 2', 'announced 1 -> 2', 'executed 2', 'kept c1'),
    ]
    assert not driver.under_way
    driver.tick()
    assert driver.log[-1] == 'kept c1'
    assert driver.log.count('kept c1') == 1


def test_unstored_step_is_not_done_and_an_uncertain_write_is_repeated() -> None:
    driver = Counting()
    driver.start(Count('c1'))
    driver.log.clear()
    driver.refused_writes, driver.done_all_the_same = 1, True
    driver.tick()
    assert (driver.log, driver.error_text) == ([], 'the count cannot continue: no quorum')
    # The state in memory already is what is to be: whether it is stored is not known.
    driver.refused_writes = 1
    with pytest.raises(OperationRefused, match='cannot store the request: no quorum; try again'):
        driver.pause('client.ann', 0.0)
    driver.tick(samples=-1)
    assert driver.log[:2] == ['stored 0', 'announced 0 -> 0']
    assert driver.log[2] == 'executed 0'


def test_tick_ends_after_so_many_steps() -> None:
    driver = Counting()
    driver.start(Count('c1', last=1000))
    driver.tick()
    assert driver.state is not None
    assert driver.state.number == STEPS_PER_TICK


def test_mode_off_after_the_write_stops_the_action_and_reverts_the_state() -> None:
    driver = Counting()
    driver.start(Count('c1'))
    driver.on = False
    driver.tick()
    assert driver.stored == driver.state == Count('c1')
    assert not [line for line in driver.log if line.startswith('executed')]


def test_operators_control_only_running_operations() -> None:
    driver = Counting()
    with pytest.raises(OperationRefused, match='no count is under way'):
        driver.pause('ann', 0.0)
    with pytest.raises(OperationRefused, match='no count is under way'):
        driver.resume(0.0)
    driver.start(Count('c1'))
    with pytest.raises(OperationRefused, match='count c1 is under way: wait for it, or abort it'):
        driver.start(Count('c2'))
    with pytest.raises(OperationRefused, match='the count is not paused; it is running'):
        driver.resume(0.0)
    driver.pause('ann', 0.0)
    driver.tick()
    assert driver.state == Count('c1', paused_by='ann')
    driver.name_actor('c2', 'client.ann')
    driver.name_actor('c1', 'ann')
    assert driver.state == Count('c1', paused_by='ann', last=len('ann'))
    assert driver.why_waiting() == 'c1: 0'
    driver.resume(0.0)
    driver.abort('ann', 0.0)
    assert not driver.under_way
    with pytest.raises(OperationRefused, match='no count is under way'):
        driver.abort('ann', 0.0)


def test_next_operation_starts_only_after_the_last_end_is_stored() -> None:
    driver = Counting()
    driver.start(Count('c1', last=1))
    driver.refuses_ends = True
    driver.tick()
    with pytest.raises(OperationRefused, match='cannot store the end of c1: read-only'):
        driver.start(Count('c2'))
    assert driver.error_text == 'the count cannot continue: read-only'
    driver.refuses_ends = False
    driver.start(Count('c2'))
    assert driver.log.count('kept c1') == 1
    assert driver.state == Count('c2')
    # The new one has not ended.
    driver.pause('ann', 0.0)
    driver.tick()
    assert 'kept c2' not in driver.log


def test_manager_taking_over_keeps_an_end_that_must_not_be_dropped() -> None:
    driver = Counting(stored=Count('c1', number=3))
    driver.tick()
    assert driver.log == ['kept c1']
    driver.load()
    assert driver.state == Count('c1', number=3)
