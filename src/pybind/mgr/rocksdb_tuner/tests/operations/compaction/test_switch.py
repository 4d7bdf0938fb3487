"""Mode off in the middle of a tick of a campaign."""

from __future__ import annotations

import logging

import pytest

from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.operations.phases import Outcome

from .conftest import Run


def test_compaction_decided_before_mode_off_is_not_sent_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    run = Run()
    run.driver._changes_allowed = lambda: on
    on = True
    run.start()

    def turn_off(key: str) -> None:
        nonlocal on
        # The state is stored first, with the OSD about to be requested.
        on = on and CompactionStep.COMPACTING.value not in str(run.store.values.get(key))

    stored = run.store.set

    def store(key: str, value: object) -> None:
        stored(key, value)  # type: ignore[arg-type]
        turn_off(key)

    run.store.set = store  # type: ignore[method-assign]
    for _ in range(100):
        run.tick()
    assert not on
    assert run.cluster.compactions.requested == []
    text = 'compaction campaign c1: not sent in mode off: Compact(osd_id=0)'
    assert set(caplog.messages) == {text}
    # Once in a tick.
    assert len(caplog.messages) <= 100
    assert run.state.in_flight == ()
    run.store.set = stored  # type: ignore[method-assign]
    on = True
    for _ in range(400):
        run.tick()
    assert run.state.outcome is Outcome.DONE
    assert sorted(run.cluster.compactions.requested) == [0, 1, 2, 3]
