"""The demo accepts that nothing can be gained, if the module gives a reason."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cluster import Cluster
from harness.demo import Demo, DemoError
from harness.demo_table import Measured, table
from harness.progress import Progress


class Reported:
    """Replaces a cluster: the module recommends nothing, with this conclusion."""

    def __init__(self, conclusion: str | None) -> None:
        self._conclusion = conclusion

    def ceph_json(self, *words: str) -> Any:
        if words == ('rocksdb-tuner', 'recommend'):
            return []
        return {'groups': [{'who': 'osd/class:ssd', 'conclusion': self._conclusion}]}


def demo(conclusion: str | None, errors: int = 0) -> Demo:
    reported: Any = Reported(conclusion)
    cluster: Cluster = reported
    made = Demo(cluster, Progress(), seconds=1)
    client = {'workload': 'rbd-randwrite', 'errors': errors}

    def measure(*_: object, **__: object) -> Measured:
        return Measured(client, (), 'rbd-small-write', 0.9)

    made._measure = measure  # type: ignore[method-assign]
    return made


def test_nothing_to_gain_ends_the_demo_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The conclusion of the group is shown at the end."""
    assert 'nothing to gain' in demo('No option set is certain to gain 10%.').run()
    assert 'osd/class:ssd: No option set is certain to gain 10%.' in capsys.readouterr().out


def test_missing_recommendation_without_a_reason_is_a_failure() -> None:
    """An operator must learn why nothing changes."""
    with pytest.raises(DemoError, match='without a reason'):
        demo(None).run()


def test_client_errors_fail_the_demo_without_a_change_too() -> None:
    """A client that saw errors was not served well."""
    with pytest.raises(DemoError, match='saw 3 errors'):
        demo('Nothing to change.', errors=3).run()


def test_table_shows_changes_in_percent_and_unknown_as_a_dash() -> None:
    """Before and after by name; a client without a 99th percentile has none in the table."""
    client = {'ops_per_s': 200.0, 'latency_ms': {'mean': 2.0}}
    before = Measured(client, ({'kv_sync_ms': 1.0}, {'kv_sync_ms': 3.0}), None, None)
    after = Measured({**client, 'ops_per_s': 220.0}, ({'kv_sync_ms': 1.0},), None, None)
    rows = {line[:34].strip(): line[34:].split() for line in table(before, after).splitlines()}
    assert rows['client operations per s'] == ['200', '220', '+10.0%']
    assert rows['client 99th percentile, ms'] == ['-', '-', '-']
    assert rows['OSD mean: kv_sync mean, ms'] == ['2', '1', '-50.0%']
