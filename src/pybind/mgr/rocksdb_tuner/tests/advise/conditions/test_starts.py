"""OSDs that were away for long until they were up again: found, but not where the host was away."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.advise.records import OsdFacts, Severity
from rocksdb_tuner.observe.starts import LastStart

from .builders import found, seen


def started(osd_id: int, start: Optional[LastStart], device_class: str = 'ssd') -> OsdFacts:
    return seen(osd_id, info={'device_class': device_class}, more={'last_start': start})


@pytest.mark.parametrize(
    ('start', 'fires'),
    [
        (LastStart(180.0, 190.0, False), True),
        # A possible downtime is no proof.
        (LastStart(179.0, 999.0, False), False),
        (LastStart(9000.0, 9010.0, True), False),
        (LastStart(180.0, 190.0, None), True),
        (LastStart(0.0, 5.0, None), False),
        (None, False),
    ],
)
def test_proven_downtime_counts(start: Optional[LastStart], fires: bool) -> None:
    """And that the other OSDs of its host did not go with it."""
    finding = found(started(0, start)).get('slow-start')
    assert (finding is not None) is fires
    if finding is not None:
        assert (finding.severity, finding.osds) == (Severity.INFO, (0,))
        assert finding.commands == ('ceph tell osd.0 compact',)


def test_start_is_compared_with_the_slowest_other_of_the_class() -> None:
    """Not with itself, with other classes, or with OSDs whose host was away."""
    osds = (
        started(0, LastStart(300.0, 310.0, False)),
        started(1, LastStart(0.0, 10.0, None)),
        started(2, LastStart(5.0, 20.0, False)),
        started(3, LastStart(5.0, 60.0, False)),
        started(4, LastStart(900.0, 910.0, True)),
        started(5, LastStart(100.0, 110.0, False), 'hdd'),
        started(6, None),
    )
    evidence = {e.signal: (e.value, e.unit) for e in found(*osds)['slow-start'].evidence}
    assert evidence == {
        'away_s': (300.0, 's'),
        'away_most_s': (310.0, 's'),
        'others_median_s': (20.0, 's'),
    }
    alone = found(osds[0])['slow-start'].evidence
    assert [e.signal for e in alone] == ['away_s', 'away_most_s']


def test_only_osd_of_its_host_may_have_rebooted_with_the_host() -> None:
    """No other OSD could report it."""
    reported = 'rebooted'
    assert reported in found(started(0, LastStart(300.0, 310.0, None)))['slow-start'].summary
    assert reported not in found(started(0, LastStart(300.0, 310.0, False)))['slow-start'].summary
    both = found(
        started(0, LastStart(300.0, 310.0, False)), started(1, LastStart(400.0, 410.0, None))
    )['slow-start']
    assert both.osds == (1, 0)
    assert 'the host of osd.1' in both.summary
