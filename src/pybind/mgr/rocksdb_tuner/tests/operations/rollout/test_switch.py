"""Mode off in the middle of a tick: what was decided before it is not sent after it."""

from __future__ import annotations

from typing import Callable

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.storage import CLOCK, CURRENT
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import NEW, OLD, Run, set_profile

BAD = 'write_buffer_size=foo'


class Switched(Run):
    """The operator's switch is turned as soon as a state that fits is stored."""

    def __init__(self) -> None:
        self.on = True
        super().__init__()
        self.driver._changes_allowed = lambda: self.on

    def switch_off_once(self, fits: Callable[[RolloutState], bool]) -> None:
        def stored(before: object, state: RolloutState) -> None:
            self.announcer.changed(before, state)  # type: ignore[arg-type]
            if fits(state):
                self.on = False

        self.driver._on_change = stored


@pytest.mark.parametrize('nth', range(12))
def test_nothing_is_sent_after_mode_off_between_two_effects(nth: int) -> None:
    """Whichever store it is: each of them comes right before something is sent, or does not."""
    run = Switched()
    run.start()
    run.until(lambda s: s.phase is not Phase.PLANNED)
    writes = iter(range(nth))
    sent: list[str] = []

    def count(key: str) -> None:
        if key == CURRENT and run.on and next(writes, None) is None:
            run.on = False
            sent.extend(run.cluster.commands)

    run.store.on_set = count
    for _ in range(200):
        run.tick()
    assert not run.on
    assert run.cluster.commands == sent
    run.store.on_set = lambda key: None
    run.on = True
    assert run.run_to_end().phase is Phase.DONE
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {NEW}


def test_unsent_restart_is_not_awaited_as_sent() -> None:
    run = Switched()
    run.start()
    run.switch_off_once(lambda s: any(o.restarts_asked for o in s.osds))
    run.until(lambda s: not run.on)
    assert not [c for c in run.cluster.commands if 'restart' in c]
    assert not any(osd.restarts_asked for osd in run.state.osds)
    run.driver._on_change = run.announcer.changed
    run.on = True
    at_s = run.cluster.now_s
    run.until(lambda s: bool([c for c in run.cluster.commands if 'restart' in c]))
    assert run.cluster.now_s - at_s < 60


@pytest.mark.parametrize(
    'step', [OsdStep.RESTORING, OsdStep.RESTART_DUE, OsdStep.RESTARTING, OsdStep.CHECKING]
)
def test_osd_that_does_not_start_is_recovered_in_mode_off(step: OsdStep) -> None:
    """Also if mode off is set between storing an action and executing it."""
    run = Switched()
    run.start(set_profile(run.cluster, BAD))
    run.switch_off_once(lambda s: s.direction is Direction.RECOVER and s.osds[0].step is step)
    run.until(lambda s: s.ended)
    assert not run.on
    assert run.cluster.down == set()
    assert run.cluster.entries_of() == {}
    assert run.cluster.runs(0) == DEFAULTS['pacific']


@pytest.mark.parametrize('counted', [False, True])
def test_failed_osd_that_is_up_is_not_restarted_after_mode_off(
    counted: bool,
) -> None:
    """It is up: its rollback can wait."""
    run = Switched()
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    # The new process does not run what it should.
    run.cluster.osds[0].stubborn = RunningOption(OLD, 'mon', ignores_mon=False)

    def asks(state: RolloutState) -> bool:
        step = state.osds[0].step
        return state.direction is Direction.RECOVER and step is OsdStep.RESTARTING

    def turn_off(key: str) -> None:
        run.on = run.on and not (key == CLOCK and asks(run.state))

    if counted:
        run.store.on_set = turn_off
    else:
        run.switch_off_once(asks)
    run.until(lambda s: not run.on)
    run.cluster.osds[0].stubborn = None
    boots = run.cluster.osds[0].boots
    for _ in range(300):
        run.tick()
    assert run.cluster.osds[0].boots == boots
    # Its next start options are the previous ones.
    assert run.cluster.entries_of() == {}
    run.store.on_set = lambda key: None
    run.driver._on_change = run.announcer.changed
    run.on = True
    assert run.run_to_end().phase is Phase.FAILED
    assert run.cluster.osds[0].boots == boots + 1
    assert run.cluster.runs(0) == DEFAULTS['pacific']


def test_restart_is_not_sent_if_mode_off_is_set_while_it_is_counted() -> None:
    """Its count is one more write, which may take a monitor seconds."""
    run = Switched()
    run.start()

    def turn_off(key: str) -> None:
        run.on = run.on and key != CLOCK

    run.store.on_set = turn_off
    for _ in range(100):
        run.tick()
    assert not run.on
    assert not [c for c in run.cluster.commands if 'restart' in c]
    run.store.on_set = lambda key: None
    run.on = True
    assert run.run_to_end().phase is Phase.DONE
