"""Which release each daemon runs, where, and what may follow it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness import ClusterSpec, UsageError
from harness.chroot import MACHINE
from harness.errors import CancelledError
from harness.hosts import START_COMMAND, Hosts
from harness.layout import Layout, Record
from harness.releases import RELEASES
from harness.upgrade import packages_for, steps

DAEMONS = ('mon.a', 'mon.b', 'mgr.x', 'mgr.y', 'osd.0', 'osd.1', 'osd.2', 'client.rgw.a')
SPEC = ClusterSpec(mons=2, mgrs=2, osd_releases=('pacific', 'reef', 'tentacle'))
RECORD = Record('running', 'fsid', 16000, '/nowhere/run', SPEC, DAEMONS)
REEF = RELEASES['reef']


def test_each_daemon_has_its_release() -> None:
    """As specified, until it is moved."""
    moved = replace(RECORD, moved=(('mon.a', 'reef'), ('osd.0', 'tentacle')))
    found = {name: moved.release_of(name) for name in ('mon.a', 'mon.b', 'osd.0', 'osd.1', 'mgr.x')}
    assert found == {
        'mon.a': 'reef', 'mon.b': 'pacific', 'osd.0': 'tentacle', 'osd.1': 'reef',
        'mgr.x': 'pacific',
    }  # fmt: skip


def test_daemons_are_upgraded_in_the_documented_order() -> None:
    """Monitors, managers (together), OSDs, gateways, in any requested order."""
    asked = ['client.rgw.a', 'osd.1', 'mgr', 'mon']
    assert steps(RECORD, REEF, asked) == (
        ('mon.a',), ('mon.b',), ('mgr.x', 'mgr.y'), ('osd.1',), ('client.rgw.a',),
    )  # fmt: skip
    assert steps(replace(RECORD, spec=ClusterSpec()), REEF, ['osd']) == (
        ('osd.0',), ('osd.1',), ('osd.2',),
    )  # fmt: skip


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['osd.9', 'mon'], r'no osd\.9 in this cluster: mon\.a, '),
        (['mds'], 'no mds in this cluster'),
        (['mgr.x'], 'upgrade all of them, by mgr'),
        (['osd'], r'osd\.2 runs tentacle: its data cannot go back to reef'),
    ],
)
def test_impossible_upgrades_are_refused_before_any_change(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        steps(RECORD, REEF, words)


def test_programs_are_installed_before_a_daemon_is_stopped() -> None:
    """The packages to install follow from the types of the daemons."""
    assert packages_for(['mon.a', 'osd.1'], dashboard=False) == ['core']
    assert packages_for(['mgr.x', 'client.rgw.a'], dashboard=True) == ['core', 'rgw', 'dashboard']


def test_orchestrators_start_each_osd_with_its_own_programs(tmp_path: Path) -> None:
    """The command is for the machine's own root, to which each manager has a way."""
    paths = Layout(tmp_path, tmp_path / 'run')
    hosts = Hosts(tmp_path, RECORD)
    commands = {}
    for osd in ('osd.0', 'osd.1'):
        paths.data(osd).mkdir(parents=True)
        hosts.write_start_command(paths, osd)
        commands[osd] = json.loads((paths.data(osd) / START_COMMAND).read_text())
    start = ['ceph-osd', '-i', '0', '-c', str(paths.conf)]
    assert commands['osd.0'] == start
    assert commands['osd.1'][-5:] == ['ceph-osd', '-i', '1', '-c', str(paths.conf)]
    assert commands['osd.1'][0] == 'unshare'
    assert 'chroots/reef' in ' '.join(commands['osd.1'])
    hosts.follow(replace(RECORD, moved=(('mgr.x', 'reef'), ('osd.0', 'reef'))))
    assert str(MACHINE) in ' '.join(hosts.of('mgr.x').command(['ceph-mgr']))
    assert str(MACHINE) not in ' '.join(hosts.of('osd.0').command(['ceph-osd']))


def test_cancel_reaches_the_hosts_of_every_release(tmp_path: Path) -> None:
    """Also those that nothing has run on yet."""
    hosts = Hosts(tmp_path, RECORD)
    pacific = hosts.of('osd.0')
    assert pacific.run(['true']).returncode == 0
    hosts.cancel()
    for daemon in ('osd.0', 'osd.1', 'osd.2', 'mgr.x'):
        with pytest.raises(CancelledError):
            hosts.of(daemon).run(['true'])
    hosts.resume()
    assert pacific.run(['true']).returncode == 0
