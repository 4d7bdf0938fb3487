"""A rollback on a real cluster restores the running options, whatever the monitor shows."""

from __future__ import annotations

import pytest

from fault_scenario import FaultScenario
from module_client import ALTERNATE_2019, OPTION

pytestmark = pytest.mark.faults


def test_rollback_reaches_every_osd_though_a_mask_has_the_new_string(
    scenario: FaultScenario,
) -> None:
    """No OSD starts with an entry for its device class; the monitor shows it all the same."""
    mask = ('osd', 'class:ssd', scenario.default)
    scenario.cluster.ceph('config', 'set', 'osd/class:ssd', OPTION, scenario.default)
    scenario.recommendation(lambda found: found['kind'] == 'remove-override')
    before = scenario.tuner.entries()
    assert mask in before
    with scenario.fault('mask with the new string', 'rolling-back') as event:
        scenario.apply()
        scenario.wait_for_step(scenario.order[1], 'verified')
        scenario.tuner.plain('rollback')
        scenario.wait_for_end('rolled-back')
        event.happened = 'every OSD was restarted and runs the old string again'
    assert set(scenario.running().values()) == {ALTERNATE_2019}
    assert sorted(scenario.tuner.entries()) == sorted(before)
    scenario.cluster.ceph('config', 'rm', 'osd/class:ssd', OPTION)
