"""What a rollout does where nothing, or little, goes wrong."""

from __future__ import annotations

from rocksdb_tuner.rollout.records import Outcome, Phase

from .conftest import MASK, NEW, Run


def test_a_rollout_ends_with_the_mask_and_every_osd_on_the_new_value(run: Run) -> None:
    run.start()
    state = run.to_the_end()
    assert (state.phase, state.outcome, state.failure) == (Phase.DONE, Outcome.DONE, None)
    assert run.cluster.entries_of() == {MASK: NEW}
    assert [run.cluster.runs(n) for n in range(3)] == [NEW] * 3
