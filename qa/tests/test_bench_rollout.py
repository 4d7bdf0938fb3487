"""The bench of rollouts on a large cluster, on a small one."""

from __future__ import annotations

import pytest
from bench_rollout import FAILOVERS_PERCENT, measured


@pytest.mark.parametrize('to_change', [24, 8])
def test_failovers_during_restarts_restart_nothing_twice(to_change: int) -> None:
    """Whether a rollout comes to its end or not, each OSD that it changed was restarted once."""
    found = measured(24, to_change)
    assert found.failovers == len(FAILOVERS_PERCENT) == len(found.load_cpu_ms)
    assert found.most_restarts_of_an_osd == 1
    assert found.changed == to_change <= found.osds_with_new_options
    assert (found.ended == 'done') == (to_change == 24)
    # One entry for all, once every OSD runs it.
    assert (found.entries == 1) == (to_change == 24)
