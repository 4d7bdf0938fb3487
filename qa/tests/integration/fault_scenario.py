"""A rollout on a real cluster, under a client with verified data, while a fault is injected.

Each test gets a `FaultScenario` on a cluster of its own: every OSD runs the same options, a client
overwrites and reads, and the cluster is healthy. Afterwards no write may have failed or be lost, no
more than one OSD that the test had not stopped itself may have been down at any time, and the
options are those of before or those that were promised. Then all placement groups are
deep-scrubbed, and the store of every OSD is checked.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from shared_cluster import new_cluster

from harness import Cluster, ClusterSpec, integrity, osds
from harness.errors import CommandError
from harness.fault_injection import FaultInjection
from harness.workloads.overwriter import Overwriter, Written
from module_client import ALTERNATE_2019, CHECKOUT, OPTION, ModuleClient
from real_workload import ended
from rocksdb_tuner.operations.rollout.storage import RolloutStorage

#: Debian's RocksDB has no ZSTD: an OSD does not start with it.
UNSTARTABLE = 'compression=kZSTD'
Entry = tuple[str, str, str]


#: On files on a disk that calls itself rotational BlueStore would defer far more writes than on
#: flash. Stores whose OSDs were restarted under these were found damaged (see "Known limits" in
#: doc/dev/rocksdb_tuner/operations.rst).
LIKE_FLASH = (('bluestore_prefer_deferred_size_hdd', '0'),)


def _many(**more: Any) -> ClusterSpec:
    """Each OSD on a host of its own. A manager that is killed comes back while another is ready."""
    spec = ClusterSpec(mons=3, mgrs=3, few_mgr_modules=True, osd_conf=LIKE_FLASH, **more)
    return replace(spec, crush_hosts=spec.osds)


@dataclass(frozen=True)
class Shape:
    """A kind of cluster. A rollout changes the OSDs of the first device class."""

    name: str
    spec: ClusterSpec

    @property
    def members(self) -> tuple[int, ...]:
        """The OSDs that a rollout changes."""
        spec = self.spec
        return tuple(n for n in range(spec.osds) if spec.class_of_osd(n) == spec.pool_class)

    @property
    def whole(self) -> bool:
        """Whether these are all, so that one entry is for all of them."""
        return len(self.members) == self.spec.osds


#: Four OSDs, and a gateway.
PLAIN = Shape('plain', _many(osds=4, rgw=True))
#: Six OSDs in three racks, and two of another class; the client's data are erasure-coded.
WIDE = Shape(
    'wide',
    _many(osds=8, crush_racks=3, device_classes=('ssd', 'ssd', 'ssd', 'hdd'), erasure_code=(2, 1)),
)
#: The change of a rollout: remove an old string, or set the favorite profile.
REMOVE, SET = 'remove-override', 'set-profile'
#: Module options: a rollout in a minute instead of an hour.
QUICK = {
    'sample_interval': '1',
    # On a machine that others keep busy an OSD takes half of it to start
    'restart_timeout': '60',
    'soak_min': '6',
    'soak_max': '0',
    'soak_inconclusive': 'promote',
    # So that the log has its actions
    'log_level': 'info',
}
#: Each block is overwritten within a row. At twice the rate two clusters saturate two cores: an OSD
#: takes 20 seconds to restart, and most of a row is spent waiting for recovery.
WRITES_PER_S, READS_PER_S = 100, 25
FINAL = ('done', 'failed', 'rolled-back')
#: Polling interval of a rollout: no step that a test waits for is shorter.
LOOK_S = 0.3
OURS = 'mgr/rocksdb_tuner/'
STATE_KEY = f'{OURS}rollout/current'


@dataclass
class Event:
    """One fault in one phase, as it is reported. Unix times."""

    fault: str
    phase: str
    began_s: float
    ended_s: float = 0.0
    #: The outcome, in one line.
    happened: str = ''


@dataclass(frozen=True)
class Result:
    """The effects of one fault in one phase on the client."""

    fault: str
    phase: str
    #: Which cluster, and what the rollout was to do.
    shape: str
    kind: str
    happened: str
    lasted_s: float
    longest_write_s: float | None
    longest_pause_s: float | None
    #: Of the whole test that this was a part of, as all that follows.
    writes: int
    overwrites: int
    reads_checked: int
    failed_writes: int
    #: The most OSDs down at once, except for those stopped by the test.
    most_down: int
    #: The commit of this checkout, None if unknown.
    commit: str | None


@dataclass(frozen=True)
class Integrity:
    """The results of deep scrubs and fsck after the test on a cluster."""

    shape: str
    placement_groups: int
    inconsistent: tuple[str, ...]
    osds: int
    fsck: tuple[str, ...]
    commit: str | None

    @property
    def damage(self) -> str:
        """All that is wrong, '' where nothing is."""
        return '\n'.join((*self.inconsistent, *self.fsck))


class MonitorKeys:
    """The module's store, as the monitors have it; for writing while no manager runs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        dumped = json.loads(cluster.ceph('config-key', 'dump', OURS))
        self._values = {key[len(OURS) :]: value for key, value in dumped.items()}

    def get(self, key: str) -> str | None:
        value = self._values.get(key)
        return None if value is None else str(value)

    def set(self, key: str, value: str | None) -> None:
        if value is None:
            self._cluster.ceph('config-key', 'rm', f'{OURS}{key}')
        else:
            self._cluster.ceph('config-key', 'set', f'{OURS}{key}', '-i', '-', stdin=value)

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self._values if key.startswith(prefix))


@dataclass
class FaultScenario:
    """The cluster of a test, and its rollout."""

    cluster: Cluster
    tuner: ModuleClient
    fault_injection: FaultInjection
    shape: Shape = PLAIN
    kind: str = REMOVE
    #: The running code, see `Result`.
    commit: str | None = None
    results: list[Result] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    order: tuple[int, ...] = ()
    wanted: str = ''
    #: The release's default.
    default: str = ''
    #: OSDs that this test takes down itself.
    stopped_by_test: set[int] = field(default_factory=set)

    # -- the rollout

    def soak(self, *, batches: bool = False) -> None:
        """Watch the canary for some seconds, and each later batch; else others follow at once."""
        self.fault_injection.soak_batches(10 if batches else 0)
        self.set_module_option('soak_max', '20')
        self.tuner.wait_for(
            lambda: (
                self.cluster.ceph('config', 'get', 'mgr', 'mgr/rocksdb_tuner/soak_max')
                .strip()
                .startswith('20')
            ),
            20,
            'the soak set',
        )

    def set_module_option(self, name: str, value: str) -> None:
        self.cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)

    def apply(self) -> str:
        """Start the recommended rollout; returns its id."""
        recommendation = self.recommendation()
        self.wanted = recommendation['options_to']
        self.tuner.plain('apply', recommendation['id'])
        state = self.tuner.operation()
        self.order = tuple(osd['osd'] for osd in state['osds'])
        return str(state['id'])

    def recommendation(self, which: Callable[[Any], bool] | None = None) -> Any:
        """The one of the kind that is tested, once there is one: by default, for all members.

        Until a manager has seen all the restarts before, what it recommends is for some of them,
        and not to be applied: the entry to remove decides for the others, too.
        """
        return self.tuner.wait_for_recommendation(self.kind, 90, which or self._for_all_members)

    def _for_all_members(self, recommendation: Any) -> bool:
        return sorted(recommendation['osds']) == list(self.members)

    @property
    def members(self) -> tuple[int, ...]:
        """The OSDs that the rollout changes; those of them that are there."""
        known = self.tuner.nonces()
        return tuple(n for n in self.shape.members if n in known)

    def _entries(self, value: str) -> list[Entry]:
        if not value:
            return []
        if self.shape.whole:
            return [('osd', '', value)]
        return sorted((f'osd.{n}', '', value) for n in self.members)

    @property
    def old(self) -> list[Entry]:
        """The entries before the rollout."""
        return self._entries(ALTERNATE_2019 if self.kind == REMOVE else '')

    @property
    def old_value(self) -> str:
        """The options of the OSDs before the rollout."""
        return ALTERNATE_2019 if self.kind == REMOVE else self.default

    @property
    def managers(self) -> tuple[str, ...]:
        return self.cluster.record.spec.mgr_ids

    @property
    def canary(self) -> int:
        return self.order[0]

    def rollout(self) -> Any:
        """The rollout, which a manager that has just taken over may have to read first."""
        return self.tuner.wait_for(self.tuner.operation, 30, 'a rollout')

    def wait_for_phase(self, *phases: str, timeout_s: float = 240.0) -> Any:
        """The rollout's state once it is in one of these; it must not end before."""

        def there() -> Any:
            state = self.rollout()
            assert state['phase'] in phases or state['phase'] not in FINAL, described(state)
            return state if state['phase'] in phases else None

        return self.tuner.wait_for(there, timeout_s, ' or '.join(phases), LOOK_S)

    def wait_for_step(self, osd_id: int, *steps: str, timeout_s: float = 240.0) -> Any:
        """The same of one OSD's step."""

        def there() -> Any:
            state = self.rollout()
            found = next(osd['step'] for osd in state['osds'] if osd['osd'] == osd_id)
            assert found in steps or state['phase'] not in FINAL, described(state)
            return state if found in steps else None

        what = f'osd.{osd_id} {" or ".join(steps)}'
        return self.tuner.wait_for(there, timeout_s, what, LOOK_S)

    def wait_for_reason(self, *words: str, timeout_s: float = 120.0) -> Any:
        """The rollout waits, with these words in its reason."""

        def there() -> Any:
            state = self.rollout()
            assert state['phase'] not in FINAL, described(state)
            reason = state['paused_reason'] or ''
            return state if all(word in reason for word in words) else None

        return self.tuner.wait_for(there, timeout_s, f'waits for {" ".join(words)}')

    def wait_for_end(self, phase: str, timeout_s: float = 420.0) -> Any:
        state = self.tuner.wait_for_phase(*FINAL, timeout_s=timeout_s)
        assert state['phase'] == phase, described(state)
        return state

    def stored(self) -> Any:
        """What each step of the rollout writes, of which no manager is needed to read it."""
        return json.loads(self.cluster.ceph('config-key', 'get', STATE_KEY))

    def stored_steps(self) -> dict[int, str]:
        """The step of each OSD in the stored rollout, read while no manager writes."""
        state = RolloutStorage(MonitorKeys(self.cluster)).current.load()
        return {osd.osd_id: osd.step.value for osd in state.osds} if state else {}

    # -- what holds at the end

    def running(self) -> dict[int, str]:
        """The option string of each OSD's process, as it reports it; all must be up."""
        # One command is as fast for all of them as for one
        message = self.cluster.ceph('tell', 'osd.*', 'config', 'get', OPTION, '--format', 'json')
        lines = (line.partition(': ') for line in message.splitlines() if line.startswith('osd.'))
        return {int(name[4:]): json.loads(text)[OPTION] for name, _, text in lines}

    def assert_running(self, value: str) -> None:
        """The rollout's OSDs run this, the others what they always ran."""
        found, members = self.running(), self.members
        assert found == {n: value if n in members else self.default for n in found}

    def assert_done(self) -> None:
        """Everything is as the recommendation promised."""
        assert self.tuner.entries() == self._entries(self.wanted if self.kind == SET else '')
        self.assert_running(self.wanted)

    def assert_restored(self) -> None:
        """Everything is as before the rollout."""
        assert self.tuner.entries() == self.old
        self.assert_running(self.old_value)

    def assert_untouched(self, before: dict[int, int], *but: int) -> None:
        """No process was ended but those of these OSDs."""
        after = self.tuner.nonces()
        assert {n for n in before if before[n] != after[n]} <= set(but)

    def hold_collapse(self) -> None:
        """Let the rollout come to the first removal of its collapse; it stays there."""
        self.fault_injection.hold_removals(hold=True)
        self.tuner.wait_for(
            lambda: 'osd' not in {section for section, _, _ in self.tuner.entries()},
            240,
            'the common entry removed',
        )

    def rolled_back(self) -> None:
        """Take the rollout back, and see that everything is as before."""
        self.tuner.plain('rollback')
        self.wait_for_end('rolled-back')
        self.assert_restored()

    # -- faults

    @contextlib.contextmanager
    def fault(self, name: str, phase: str) -> Iterator[Event]:
        """The time of this block counts as the fault's, for the client too."""
        event = Event(name, phase, time.time())
        yield event
        event.ended_s = time.time()
        self.events.append(event)
        print(f'{name} in {phase}, {event.ended_s - event.began_s:.0f} s: {event.happened}')

    def orchestrator(self, **faults: str | float) -> None:
        for name, value in faults.items():
            # With "--" a number may be negative
            option = ('mgr', f'mgr/test_orchestrator/{name}', '--', str(value))
            self.cluster.ceph('config', 'set', *option)

        def is_set(name: str, value: str | float) -> bool:
            found = self.cluster.ceph('config', 'get', 'mgr', f'mgr/test_orchestrator/{name}')
            # Ceph formats numbers in its own way
            return type(value)(found.strip()) == value

        self.tuner.wait_for(
            lambda: all(is_set(name, value) for name, value in faults.items()),
            20,
            'the faults of the orchestrator set',
        )

    def kill_active_manager(self) -> dict[int, str]:
        """Kill it without a warning; how far the OSDs were in what it had stored."""
        name = self.tuner.active_manager()
        self.cluster.stop_daemon(f'mgr.{name}', kill=True)
        steps = self.stored_steps()
        self.tuner.wait_for_takeover(name)
        self.cluster.start_daemon(f'mgr.{name}')
        self.wait_for_standby()
        return steps

    def disable_module_for(self, seconds: float) -> dict[int, str]:
        """Disable the module, enable it again, and wait until it answers.

        Returns how far the OSDs were meanwhile: nothing goes on.
        """
        self.cluster.ceph('mgr', 'module', 'disable', 'rocksdb_tuner')
        # The managers respawn for it
        time.sleep(seconds / 2)
        steps, before = self.stored_steps(), (self.stored(), self.tuner.entries())
        time.sleep(seconds / 2)
        assert (self.stored(), self.tuner.entries()) == before
        self.cluster.ceph('mgr', 'module', 'enable', 'rocksdb_tuner')
        self.wait_until_answered()
        return steps

    @contextlib.contextmanager
    def without_managers(self) -> Iterator[None]:
        """No manager runs, so that none overwrites what a test writes to the store."""
        for name in self.managers:
            self.cluster.stop_daemon(f'mgr.{name}', kill=True)
        try:
            yield
        finally:
            for name in self.managers:
                self.cluster.start_daemon(f'mgr.{name}')
        self.tuner.wait_for(
            lambda: self.cluster.ceph_json('mgr', 'stat')['available'], 60, 'an active manager'
        )
        self.wait_until_answered()

    def wait_for_standby(self) -> None:
        self.tuner.wait_for(
            lambda: (
                (d := self.cluster.ceph_json('mgr', 'dump'))['available'] and len(d['standbys']) > 0
            ),
            60,
            'a standby manager',
        )

    def wait_until_answered(self, timeout_s: float = 240.0) -> None:
        """The module of the active manager answers."""

        def answers() -> bool:
            try:
                self.cluster.ceph('rocksdb-tuner', 'status', timeout_s=15)
            except CommandError:
                return False
            return True

        self.tuner.wait_for(answers, timeout_s, 'the module answers')

    def kill_osd(self, osd_id: int) -> None:
        """As in a crash: without a goodbye or a restart."""
        self.stopped_by_test.add(osd_id)
        self.cluster.stop_daemon(f'osd.{osd_id}', kill=True)
        self.tuner.wait_for(lambda: not self.tuner.osd_up(osd_id), 60, f'osd.{osd_id} down')

    def start_osd(self, osd_id: int) -> None:
        self.cluster.start_daemon(f'osd.{osd_id}')
        self.tuner.wait_for(lambda: self.tuner.osd_up(osd_id), 60, f'osd.{osd_id} up')

    def purge_osd(self, osd_id: int) -> None:
        """It and its data are gone for good."""
        self.stopped_by_test.add(osd_id)
        osds.purge(self.cluster, osd_id)

    def make_osd(self, osd_id: int, device_class: str | None = None) -> None:
        """An OSD on a new disk, up when this returns; None: of the class that belongs there."""
        self.stopped_by_test.add(osd_id)
        osds.make(self.cluster, osd_id, device_class)
        self.tuner.wait_for(lambda: self.tuner.osd_up(osd_id), 60, f'osd.{osd_id} up')

    @contextlib.contextmanager
    def held_start(self, osd_id: int) -> Iterator[None]:
        """The process with which this OSD starts next is suspended: it lives, and is not up.

        It must not be killed.
        """
        name = f'osd.{osd_id}'
        before = self.cluster.status().pid(name)

        def started() -> int | None:
            pid = self.cluster.status().pid(name)
            return pid if pid != before else None

        pid = self.tuner.wait_for(started, 120, f'{name} starts', every_s=0.05)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
            assert not self.tuner.osd_up(osd_id)
            assert self.cluster.status().pid(name) == pid, f'{name} was ended while it started'
        finally:
            os.kill(pid, signal.SIGCONT)

    def most_down(self, since_epoch: int) -> int:
        """The most OSDs down at once, except for those stopped by the test."""
        maps = integrity.osd_maps(self.cluster, since_epoch)
        return max(len(set(down) - self.stopped_by_test) for _, down, _ in maps)

    def epoch(self) -> int:
        return int(self.cluster.ceph_json('osd', 'stat')['epoch'])

    # -- after the test

    def leftovers(self) -> list[str]:
        """The differences from the required state after a test, in words."""
        osd_map = self.cluster.ceph_json('osd', 'dump')
        found = [f'osd.{o["osd"]} is not up' for o in osd_map['osds'] if not o['up']]
        entries = self.tuner.entries()
        if entries not in ([], self.old, self._entries(self.wanted)):
            found.append(f'a mixture of entries: {entries}')
        running = self.running() if not found else {}
        if len(values := {running[n] for n in self.members if n in running}) > 1:
            found.append(f'OSDs run {len(values)} different option strings')
        rollout = self.tuner.operation()
        if rollout and rollout['phase'] not in FINAL:
            found.append(f'the rollout is still {rollout["phase"]}')
        return found

    def check_integrity(self) -> Integrity:
        """Scrub all placement groups in depth and check the store of each OSD; OSDs stay down."""
        for daemon in self.cluster.status().daemons:
            if not daemon.up:
                self.cluster.start_daemon(daemon.name)
        self.tuner.wait_for_clean(180)
        scrub = integrity.deep_scrub(self.cluster)
        checked = integrity.fsck(self.cluster).complaints
        return Integrity(
            self.shape.name,
            scrub.placement_groups,
            scrub.inconsistent,
            len(checked),
            tuple(f'osd.{n}: {text}' for n, text in checked.items() if text),
            self.commit,
        )


@contextlib.contextmanager
def cluster_of(shape: Shape, release: str, kind: str) -> Iterator[FaultScenario]:
    """A cluster with the fault-injecting copy of the module, before a rollout of this kind."""
    commit = commit_of_checkout()
    with tempfile.TemporaryDirectory(prefix='tuner-faults-') as directory:
        fault_injection = FaultInjection(Path(directory))
        fault_injection.set_favorite(recommended=kind == SET)
        spec = replace(shape.spec, release=release, module=str(fault_injection.module))
        with new_cluster(spec, often=True, **QUICK) as tuner:
            ceph = tuner.cluster.ceph
            # And what becomes of that
            ceph('config', 'set', 'mgr', 'mgr/test_orchestrator/log_level', 'info')
            # An OSD that is down stays in
            ceph('config', 'set', 'mon', 'mon_osd_down_out_interval', '3600')
            scenario = FaultScenario(tuner.cluster, tuner, fault_injection, shape, kind, commit)
            (scenario.default,) = set(scenario.running().values())
            for section, _, value in scenario.old:
                ceph('config', 'set', section, OPTION, value)
            if scenario.old:
                # No client writes yet: all at once
                osds.restart(tuner.cluster, shape.members)
            tuner.wait_for_clean(180)
            yield scenario


@contextlib.contextmanager
def under_clients(scenario: FaultScenario) -> Iterator[None]:
    """Clients write meanwhile; at the end all of it must be there, and nothing left over."""
    writer = Overwriter(scenario.cluster, WRITES_PER_S, READS_PER_S)
    epoch = scenario.epoch()
    writer.start()
    try:
        yield
        left = scenario.leftovers()
        written = writer.stop()
    finally:
        writer.kill()
    most_down = scenario.most_down(epoch)
    scenario.results += results_of(scenario, written, most_down)
    assert written.errors == 0, written.messages
    assert written.verified.checked > 0
    assert written.overwrites > 0
    assert written.verified.failed == 0, written.messages
    assert most_down <= 1, f'{most_down} OSDs were down at once'
    assert left == []


@contextlib.contextmanager
def s3_clients(scenario: FaultScenario, seconds: int) -> Iterator[None]:
    """Besides, objects are put through a gateway: no request fails, what is read back is right."""
    command = ['/usr/bin/python3', str(CHECKOUT / 'qa/workload'), 's3-put', '--threads', '1']
    command += ['--seconds', str(seconds), '--dir', str(scenario.cluster.dir)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield
        report = ended(client)
        assert (report['errors'], report['verified']['failed']) == (0, 0), report
        assert report['ops'] > 0
    finally:
        if client.poll() is None:
            client.terminate()
            client.wait(30)


#: The code that a row depends on: a change of a test only affects its own rows.
MEASURED = (
    'src/pybind/mgr/rocksdb_tuner',
    ':(exclude)src/pybind/mgr/rocksdb_tuner/tests',
    'qa/harness',
    'qa/fault_injection',
    'qa/local_orch',
)


def commit_of_checkout() -> str | None:
    """The last one that changed what a row depends on, with a "+" if something is not committed.

    Not that of the checkout: who corrects a document has changed no row.
    """
    git = ['git', '-C', str(CHECKOUT)]
    last = subprocess.run(
        [*git, 'log', '-1', '--format=%h', '--', *MEASURED],
        check=False,
        capture_output=True,
        text=True,
    )
    if last.returncode or not last.stdout.strip():
        return None
    changed = subprocess.run([*git, 'diff', '--quiet', 'HEAD', '--', *MEASURED], check=False)
    return last.stdout.strip() + '+' * bool(changed.returncode)


def results_of(scenario: FaultScenario, written: Written, most_down: int) -> Iterator[Result]:
    for event in scenario.events:
        seen = written.noticed(event.began_s, event.ended_s)
        yield Result(
            event.fault,
            event.phase,
            scenario.shape.name,
            scenario.kind,
            event.happened,
            round(event.ended_s - event.began_s, 1),
            seen.longest_write_s and round(seen.longest_write_s, 2),
            seen.longest_pause_s and round(seen.longest_pause_s, 2),
            len(written.writes),
            written.overwrites,
            written.verified.checked,
            written.verified.failed + written.errors,
            most_down,
            scenario.commit,
        )


def save(rows: list[Result], checks: list[Integrity], path: Path, version: str) -> None:
    """Keep what was measured. A table holds rows of one commit: older ones go.

    Parts of a run add to one table; of a row that was measured before, the newest stays.
    """
    known = json.loads(path.read_text()) if path.exists() else {}
    commits = {row.commit for row in rows} | {check.commit for check in checks}

    def added(name: str, found: list[Any]) -> list[dict[str, Any]]:
        return [*(e for e in known.get(name, []) if e['commit'] in commits), *map(asdict, found)]

    key = ('fault', 'phase', 'shape', 'kind')
    document = {
        'version': version,
        'results': list({tuple(r[k] for k in key): r for r in added('results', rows)}.values()),
        # One of each cluster
        'integrity': added('integrity', checks),
    }
    path.write_text(json.dumps(document, indent=1) + '\n')


def kill_manager(scenario: FaultScenario, phase: str) -> dict[int, str]:
    """Kill the active one, and wait for the next; how far the OSDs were."""
    with scenario.fault('manager killed', phase) as event:
        began_s = time.monotonic()
        steps = scenario.kill_active_manager()
        scenario.wait_until_answered()
        busy = [
            f'osd.{n} {step}'
            for n, step in steps.items()
            if step not in ('pending', 'verified', 'collapsed')
        ]
        event.happened = (
            f'the standby answered after {time.monotonic() - began_s:.0f} s '
            f'({", ".join(busy) or "no OSD in flight"}), and went on'
        )
    return steps


def described(state: Any) -> str:
    return '\n'.join(f'{key}: {value!r}' for key, value in state.items())


def eventually(
    scenario: FaultScenario, condition: Callable[[], Any], what: str, timeout_s: float = 60
) -> Any:
    return scenario.tuner.wait_for(condition, timeout_s, what, every_s=0.5)
