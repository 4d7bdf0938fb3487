"""Common rules of a rollout: its timeouts, and its blockers."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.operations.rollout.records import Direction
from rocksdb_tuner.operations.rollout.rules import (
    Limits,
    Rules,
    entry,
    repeated_error,
    suppressed_in_mode_off,
    why_held,
)
from rocksdb_tuner.plan.commands import Action, RemoveEntry, RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import same_meaning
from .one_step import observed, other, rollout, without

RULES = Rules(same_meaning)


def test_timeouts_match_the_manual() -> None:
    limits = Limits()
    assert (limits.observe_first_s, limits.confirm_s) == (10.0, 2.0)
    assert (limits.restart_s, limits.boot_s, limits.boot_most_s) == (300.0, 300.0, 3600.0)
    assert (limits.report_s, limits.verify_s) == (5.0, 60.0)
    assert (limits.retry_s, limits.tries, limits.flaps) == (30.0, 3, 2)


@pytest.mark.parametrize(
    ('direction', 'paused_by', 'may_act', 'held'),
    [
        (Direction.FORWARD, None, True, None),
        (Direction.FORWARD, None, False, 'mode'),
        (Direction.FORWARD, 'client.ann', True, 'paused by client.ann'),
        (Direction.FORWARD, 'client.ann', False, 'paused by client.ann'),
        (Direction.BACK, None, False, 'mode'),
        (Direction.BACK, 'client.ann', True, 'paused by client.ann'),
        # A failed OSD gets its entry back despite any pause.
        (Direction.RECOVER, 'client.ann', False, None),
    ],
)
def test_pause_and_mode_off_hold_everything_except_recovery(
    direction: Direction, paused_by: Optional[str], may_act: bool, held: Optional[str]
) -> None:
    cluster = FakeCluster()
    state = rollout(cluster, direction=direction, paused_by=paused_by)
    seen = observed(cluster, may_act=may_act)
    why = why_held(state, seen)
    assert (why is None) is (held is None)
    assert (held or '') in (why or '')
    step = entry(RULES, state, seen, 'osd.0', 'ttl=1')
    assert step is not None
    assert step.state.paused_reason == why
    assert step.actions == ((SetEntry('osd.0', 'ttl=1'),) if why is None else ())


@pytest.mark.parametrize(
    ('direction', 'action', 'up', 'stays'),
    [
        (Direction.FORWARD, SetEntry('osd.0', 'ttl=1'), True, True),
        (Direction.FORWARD, RestartOsd(0), False, True),
        (Direction.BACK, RestartOsd(0), False, True),
        (Direction.RECOVER, SetEntry('osd.0', 'ttl=1'), True, False),
        (Direction.RECOVER, RemoveEntry('osd.0'), True, False),
        (Direction.RECOVER, RestartOsd(0), True, True),
        (Direction.RECOVER, RestartOsd(0), False, False),
        (Direction.RECOVER, RestartOsd(0), None, True),
    ],
)
def test_only_recovery_actions_are_sent_in_mode_off(
    direction: Direction, action: Action, up: Optional[bool], stays: bool
) -> None:
    cluster = FakeCluster()
    seen = observed(cluster)
    seen = without(seen, 0) if up is None else other(seen, 0, up=up)
    assert suppressed_in_mode_off(rollout(cluster, direction=direction), action, seen) is stays


@pytest.mark.parametrize(('errors', 'reported'), [(0, False), (2, False), (3, True), (4, True)])
def test_three_failures_in_a_row_are_reported(errors: int, reported: bool) -> None:
    state = rollout(FakeCluster(), errors=errors, last_error='no answer')
    text = f'{errors} attempts failed, retrying: no answer' if reported else None
    assert repeated_error(RULES, state) == text
    tried = entry(RULES, state, observed(FakeCluster(), entries={'osd.0': 'ttl=1'}), 'osd.0', None)
    assert tried is not None
    assert (tried.state.paused_reason, tried.actions) == (text, (RemoveEntry('osd.0'),))
