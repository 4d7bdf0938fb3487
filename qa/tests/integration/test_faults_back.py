"""What takes a rollout back on a real cluster, whatever the monitor shows."""

from __future__ import annotations

import pytest

from fault_scene import Scene
from module_client import ALTERNATE_2019, OPTION

pytestmark = pytest.mark.faults


def test_rollback_reaches_every_osd_though_a_mask_has_the_new_string(scene: Scene) -> None:
    """No OSD starts with an entry for its device class; the monitor shows it all the same."""
    mask = ('osd', 'class:ssd', scene.default)
    scene.cluster.ceph('config', 'set', 'osd/class:ssd', OPTION, scene.default)
    scene.recommendation(lambda found: found['kind'] == 'remove-override')
    before = scene.tuner.entries()
    assert mask in before
    with scene.fault('mask with the new string', 'rolling-back') as event:
        scene.apply()
        scene.wait_for_step(scene.order[1], 'verified')
        scene.tuner.plain('rollback')
        scene.wait_for_end('rolled-back')
        event.happened = 'every OSD was restarted and runs the old string again'
    assert set(scene.running().values()) == {ALTERNATE_2019}
    assert sorted(scene.tuner.entries()) == sorted(before)
    scene.cluster.ceph('config', 'rm', 'osd/class:ssd', OPTION)
