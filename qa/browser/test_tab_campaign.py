"""A real compaction campaign, started, paused and watched in the tab."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from module_client import ALTERNATE_2019, OPTION, ModuleClient
from omap_data import POOL, leave_old_data
from visitor import PANEL, Visitor

# What its releases have by default compresses, and an override here does not.
pytestmark = [pytest.mark.integration, pytest.mark.compresses]

#: Of each of 300 objects, with 1000 bytes each.
KEYS = 600
#: One OSD compacts for some seconds, and is watched for 30 more; clients are watched for 60 before.
OSD_MS = 180_000


def test_real_campaign_is_shown_osd_by_osd_paused_and_resumed(
    admin: Visitor, tuner: ModuleClient
) -> None:
    offer = offered(tuner)
    page = admin.page
    panel = page.locator(PANEL)
    facts = page.locator(f'{PANEL} .rt-facts', has_text='Reclaimed')

    def answer(button: str, action: str) -> None:
        page.get_by_role('button', name=button).click()
        dialog = page.get_by_role('dialog')
        dialog.get_by_role('button', name=action, exact=True).click()
        expect(dialog).to_have_count(0)

    admin.open_tab()
    item = admin.recommendation(offer['id'])
    item.locator('summary').click()
    item.get_by_role('button', name='Apply …').click()
    page.get_by_role('dialog').get_by_role('button', name='Compact', exact=True).click()
    expect(panel).to_contain_text('Compaction campaign in progress')
    expect(facts).to_contain_text('0 of 3')
    first, *others = offer['osds']
    expect(admin.row(first)).to_contain_text(re.compile('compacting|settling'), timeout=OSD_MS)
    for osd in others:
        expect(admin.row(osd)).to_contain_text('pending')
    admin.shot('real-campaign-first')

    answer('Pause …', 'Pause')
    expect(panel).to_contain_text('Waiting: ')
    # What runs is watched to its end, and no other begins.
    expect(admin.row(first)).to_contain_text('done', timeout=OSD_MS)
    tuner.wait_for(lambda: not {'compacting', 'settling'} & set(steps(tuner)), 120, 'nothing runs')
    held = steps(tuner)
    # On a slow machine the second had started before the pause.
    assert held in (['done', 'pending', 'pending'], ['done', 'done', 'pending'])
    expect(facts).to_contain_text(f'{held.count("done")} of 3')
    admin.shot('real-campaign-paused')
    assert admin.violations() == []

    answer('Resume …', 'Resume')
    expect(page.get_by_role('button', name='Pause …')).to_be_visible()
    expect(facts).to_contain_text('2 of 3', timeout=OSD_MS)
    expect(panel).to_contain_text('Last compaction campaign', timeout=OSD_MS)
    state = tuner.operation()
    assert (state['outcome'], steps(tuner)) == ('done', ['done'] * 3)
    # Of 180 MB of values that LZ4 makes a twentieth of; what is left depends on what RocksDB
    # rewrote before by itself.
    assert state['used_before_bytes'] - state['used_after_bytes'] > 20e6
    expect(panel).to_contain_text('Reclaimed')
    expect(page.locator(f'{PANEL} details[data-id="{offer["id"]}"]')).to_have_count(0)
    page.locator(f'{PANEL} summary', has_text='OSDs in compaction order').click()
    expect(admin.row(1)).to_contain_text('(DB -')
    admin.shot('real-campaign-done')
    assert admin.violations() == []
    assert admin.our_errors() == []


def steps(tuner: ModuleClient) -> list[str]:
    return [osd['phase'] for osd in tuner.operation()['osds']]


def offered(tuner: ModuleClient) -> dict[str, Any]:
    """What the module offers after osd.1, full of old data, was given what all others run."""
    cluster = tuner.cluster
    cluster.ceph('osd', 'pool', 'create', POOL, '16')
    # What clients wrote before would call for another set than the default
    cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/workload_memory', '0')
    cluster.ceph('config', 'set', 'osd.1', OPTION, ALTERNATE_2019)
    tuner.restart(1)
    tuner.wait_for_clean()
    leave_old_data(tuner, KEYS)
    change, _ = tuner.wait_for_successor(1, timeout_s=120)
    tuner.plain('apply', change['id'])
    assert tuner.wait_for_phase('done', 'failed')['phase'] == 'done'
    found: dict[str, Any] = tuner.wait_for_recommendation('compact')
    return found
