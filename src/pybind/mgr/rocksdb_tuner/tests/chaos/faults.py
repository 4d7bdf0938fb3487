"""A manager that may be killed before and after each of its writes, which monitors may refuse."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Callable, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import OperationRefused
from rocksdb_tuner.requests import BusyError
from rocksdb_tuner.tests.fake_cluster import FakeCluster

#: How long a monitor that is slow keeps a manager waiting.
DELAY_S = 17.0


class Killed(BaseException):
    """The manager's process ends here. Not an Exception: nothing may catch it."""


class WriteFault(Enum):
    """The fault of one write, of the store or of the config store, or of a restart request."""

    KILLED_BEFORE = auto()
    KILLED_AFTER = auto()
    REFUSED = auto()
    #: It took effect, and the manager is told that it failed.
    ANSWER_LOST = auto()
    #: The manager is told that it took effect, and it did not: of entries only.
    LOST = auto()
    DELAYED = auto()
    #: The operator switches the mode off meanwhile.
    SWITCHED_OFF = auto()


@dataclass
class NextWrite:
    """A fault of one write to come."""

    fault: WriteFault
    #: Writes that go well before it.
    writes: int


class Mortal:
    """What the worlds of all kinds of operation have in common."""

    cluster: FakeCluster
    may_act: bool
    #: The offset of the manager's clock from the elapsed time.
    offset_s = 0.0
    #: Every write takes `DELAY_S`.
    slow_monitors = False

    def __init__(self) -> None:
        self.next_writes: list[NextWrite] = []

    @property
    def clock_s(self) -> float:
        return self.cluster.now_s + self.offset_s

    def fail_over(self) -> None:
        raise NotImplementedError

    def take_over(self) -> None:
        """Another manager becomes active, which may be killed at once, too."""
        with suppress(Killed):
            self.fail_over()
            return
        self.take_over()

    def guarded(self, work: Callable[[], object]) -> bool:
        """``work`` of a manager that may die in it; whether that was refused."""
        try:
            work()
        except (OperationRefused, BusyError):
            return True
        except Killed:
            self.take_over()
        return False

    def due(self) -> Optional[WriteFault]:
        """The fault of this write, one of those to come."""
        due = next((found for found in self.next_writes if found.writes == 0), None)
        for found in self.next_writes:
            found.writes -= 1
        self.next_writes = [found for found in self.next_writes if found.writes >= 0]
        return None if due is None else due.fault

    def faulty(self, operation: Callable[..., None], *, entry: bool) -> Callable[..., None]:
        """A write that may fail; ``entry``: of an entry, or a request, which may be lost."""

        def operate(*args: Any) -> None:
            fault = self.due()
            if fault is WriteFault.KILLED_BEFORE:
                raise Killed
            if fault is WriteFault.REFUSED:
                raise CommandError(5, 'read-only file system')
            if fault is WriteFault.DELAYED or self.slow_monitors:
                self.cluster.advance(DELAY_S)
            if fault is not WriteFault.LOST or not entry:
                operation(*args)
            if fault is WriteFault.SWITCHED_OFF:
                self.may_act = False
            if fault is WriteFault.ANSWER_LOST:
                raise CommandError(110, 'the answer of the monitor was lost')
            if fault is WriteFault.KILLED_AFTER:
                raise Killed

        operate.mortal = True  # type: ignore[attr-defined]
        return operate
