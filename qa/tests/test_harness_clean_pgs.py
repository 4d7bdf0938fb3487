"""When all placement groups of a cluster are clean, from what its monitors and manager answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from harness import Cluster


class Answers:
    """A cluster with one pool of 8 placement groups, in these states."""

    def __init__(self, states: dict[str, int]) -> None:
        self._states = states

    def ceph_json(self, *words: str) -> Any:
        if words == ('osd', 'dump'):
            return {'pools': [{'pool_name': 'rbd', 'pg_num': 8}]}
        assert words == ('status',)
        states = [{'state_name': name, 'count': count} for name, count in self._states.items()]
        return {'pgmap': {'pgs_by_state': states} if states else {}}


@pytest.mark.parametrize(
    ('states', 'clean'),
    [
        ({'active+clean': 8}, True),
        ({'active+clean': 6, 'active+clean+scrubbing+deep': 2}, True),
        ({'active+clean': 7, 'peering': 1}, False),
        ({'active+clean': 5}, False),
        ({}, False),
    ],
    ids=['clean', 'scrubbed', 'peering', 'not-all-reported', 'none-reported'],
)
def test_all_placement_groups_count_reported_or_not(states: dict[str, int], clean: bool) -> None:
    """The manager's summary lacks the placement groups of a new pool at first."""
    cluster = cast('Cluster', Answers(states))
    assert Cluster.pgs_are_clean(cluster) is clean
