"""A rollout on a real cluster, under a client whose data are checked, while something goes wrong.

One cluster serves all faults. Each test gets a `Scene`: every OSD runs the same old option string
by one entry, a client writes, and nothing is amiss. Afterwards no write may have failed or be lost,
and nothing of the fault may be left.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import Cluster
from harness.errors import CommandError
from harness.laboratory import Laboratory
from harness.workloads.steady import SteadyWriter, Written
from module_client import ALTERNATE_2019, CHECKOUT, OPTION, ModuleClient
from real_workload import ended

OSDS = 4
HOSTS = 4
#: An entry that decides for all OSDs, and that a recommendation wants gone.
OLD = ('osd', '', ALTERNATE_2019)
WRITES_PER_S = 60
FINAL = ('done', 'failed', 'rolled-back')
#: Between two looks at a rollout: each is a process that costs a quarter of a second of a core,
#: and no step that a test waits for is over sooner.
LOOK_S = 0.8
STATE_KEY = 'mgr/rocksdb_tuner/rollout/current'
#: The options of the orchestrator that make it fail, as they are without any fault.
NO_FAULTS = {
    'refuse': 'false',
    'ignore': 'false',
    'nostart': 'false',
    'synchronous': 'false',
    'hang': '0',
    'delay': '0',
    'instead': '-1',
}
#: Of the cluster's flags, those that a test sets.
FLAGS = ('noout', 'norecover')
#: With so many seconds an OSD that is down stays in.
DOWN_OUT_INTERVAL, NEVER_OUT_S = 'mon_osd_down_out_interval', '3600'
#: Ceph's own default.
NEARFULL_RATIO = 0.85


@dataclass
class Event:
    """One fault in one phase, as it is reported. Unix times."""

    fault: str
    phase: str
    began_s: float
    ended_s: float = 0.0
    #: What happened, in one line.
    happened: str = ''


@dataclass(frozen=True)
class Result:
    """What one fault in one phase did to the client."""

    fault: str
    phase: str
    happened: str
    lasted_s: float
    longest_write_s: float | None
    longest_pause_s: float | None
    writes: int
    failed_writes: int
    #: Of this checkout, None where it is none: a table may hold rows of different commits.
    commit: str | None


@dataclass
class Scene:
    """What a test does its work with."""

    cluster: Cluster
    tuner: ModuleClient
    laboratory: Laboratory
    #: What runs, see `Result`.
    commit: str | None = None
    results: list[Result] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    order: tuple[int, ...] = ()
    wanted: str = ''

    # -- the rollout

    def soak(self, *, batches: bool = False) -> None:
        """Watch the canary for some seconds, and each later batch; else others follow at once."""
        self.set_module_option('batch_soak_max', '10' if batches else '0')
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
        """Begin the rollout of what is recommended; its id."""
        recommendation = self.recommendation()
        self.wanted = recommendation['options_to']
        self.tuner.plain('apply', recommendation['id'])
        state = self.tuner.rollout()
        self.order = tuple(osd['osd'] for osd in state['osds'])
        return str(state['id'])

    def recommendation(self, which: Callable[[Any], bool] = lambda _: True) -> Any:
        """The one to remove an override, once there is such a one."""
        return self.tuner.wait_for_recommendation('remove-override', 90, which)

    @property
    def managers(self) -> tuple[str, ...]:
        return self.cluster.record.spec.mgr_ids

    @property
    def canary(self) -> int:
        return self.order[0]

    def rollout(self) -> Any:
        """The rollout, which a manager that has just taken over may have to read first."""
        return self.tuner.wait_for(self.tuner.rollout, 30, 'a rollout')

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

    def wait_for_action(self, action: str, timeout_s: float = 240.0) -> None:
        """A manager's log says that it is about to do this: sooner than any command could tell."""
        logs = [self.cluster.layout.log(f'mgr.{name}') for name in self.managers]
        outside = [self.cluster.host.outside(path) for path in logs]
        seen = {path: path.stat().st_size for path in outside}

        def told() -> bool:
            for path, begin in seen.items():
                with path.open('rb') as file:
                    file.seek(begin)
                    if f'rollout: {action}'.encode() in file.read():
                        return True
            return False

        self.tuner.wait_for(told, timeout_s, action, every_s=0.05)

    def wait_for_reason(self, *words: str, timeout_s: float = 120.0) -> Any:
        """The rollout waits, and says why in these words."""

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
        """The state in the monitors' store, which no manager is needed to read."""
        return json.loads(self.cluster.ceph('config-key', 'get', STATE_KEY))

    def stored_steps(self) -> dict[int, str]:
        """How far each OSD is by what is stored."""
        state = self.stored()
        columns, strings = state['osds'], state['strings']
        return {n: strings[step] for n, step in zip(columns['id'], columns['step'])}

    # -- what holds at the end

    def running(self) -> dict[int, str]:
        """The option string of each OSD's process, as it says itself; all must be up."""
        # One command is as fast for all of them as for one
        said = self.cluster.ceph('tell', 'osd.*', 'config', 'get', OPTION, '--format', 'json')
        lines = (line.partition(': ') for line in said.splitlines() if line.startswith('osd.'))
        return {int(name[4:]): json.loads(text)[OPTION] for name, _, text in lines}

    def all_run(self, value: str) -> bool:
        return list(self.running().values()) == [value] * OSDS

    def assert_done(self) -> None:
        """Everything is as the recommendation promised."""
        assert self.tuner.entries() == []
        assert self.all_run(self.wanted)

    def assert_as_before(self) -> None:
        """Everything is as before the rollout."""
        assert self.tuner.entries() == [OLD]
        assert self.all_run(ALTERNATE_2019)

    def assert_untouched(self, before: dict[int, int], *but: int) -> None:
        """No process was ended but those of these OSDs."""
        after = self.tuner.nonces()
        assert {n for n in before if before[n] != after[n]} <= set(but)

    def begin_rollback(self) -> None:
        """Take a rollout back while its second OSD is changed."""
        self.apply()
        self.wait_for_step(self.order[1], 'checking', 'settling', 'verified')
        self.tuner.plain('rollback')
        self.wait_for_phase('rolling-back')

    def rolled_back(self) -> None:
        """Take the rollout back, and see that everything is as before."""
        self.tuner.plain('rollback')
        self.wait_for_end('rolled-back')
        self.assert_as_before()

    # -- faults

    @contextlib.contextmanager
    def fault(self, name: str, phase: str) -> Iterator[Event]:
        """What happens here counts as the fault's time, for the client too."""
        event = Event(name, phase, time.time())
        yield event
        event.ended_s = time.time()
        self.events.append(event)
        print(f'{name} in {phase}, {event.ended_s - event.began_s:.0f} s: {event.happened}')

    def orchestrator(self, **faults: str | float) -> None:
        for name, value in faults.items():
            self.tuner.set_orchestrator_fault(name, str(value))

        def is_set(name: str, value: str | float) -> bool:
            found = self.cluster.ceph('config', 'get', 'mgr', f'mgr/test_orchestrator/{name}')
            # Ceph writes a number in a way of its own
            return type(value)(found.strip()) == value

        self.tuner.wait_for(
            lambda: all(is_set(name, value) for name, value in faults.items()),
            20,
            'the faults of the orchestrator set',
        )

    def active_manager(self) -> str:
        return str(self.cluster.ceph_json('mgr', 'stat')['active_name'])

    def kill_active_manager(self) -> dict[int, str]:
        """Kill it without a warning; how far the OSDs were in what it had stored."""
        name = self.active_manager()
        self.cluster.stop_daemon(f'mgr.{name}', kill=True)
        steps = self.stored_steps()
        self.tuner.wait_for(
            lambda: (
                (s := self.cluster.ceph_json('mgr', 'stat'))['available']
                and s['active_name'] != name
            ),
            60,
            'the standby active',
            every_s=0.3,
        )
        self.cluster.start_daemon(f'mgr.{name}')
        self.wait_for_standby()
        return steps

    def disable_module_for(self, seconds: float) -> dict[int, str]:
        """Disable the module, enable it again, and wait until it answers.

        Returns how far the OSDs were meanwhile: nothing goes on.
        """
        self.cluster.ceph('mgr', 'module', 'disable', 'rocksdb_tuner')
        # The managers start themselves anew for it
        time.sleep(seconds / 2)
        steps, before = self.stored_steps(), (self.stored(), self.tuner.entries())
        time.sleep(seconds / 2)
        assert (self.stored(), self.tuner.entries()) == before
        self.cluster.ceph('mgr', 'module', 'enable', 'rocksdb_tuner')
        self.wait_until_answered()
        return steps

    @contextlib.contextmanager
    def without_managers(self) -> Iterator[None]:
        """No manager runs, so that nobody writes over what a test writes to the store."""
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
        """As a crash: no goodbye, and nobody starts it again."""
        self.cluster.stop_daemon(f'osd.{osd_id}', kill=True)
        self.tuner.wait_for(lambda: not self.tuner.osd_up(osd_id), 60, f'osd.{osd_id} down')

    def start_osd(self, osd_id: int) -> None:
        self.cluster.start_daemon(f'osd.{osd_id}')
        self.tuner.wait_for(lambda: self.tuner.osd_up(osd_id), 60, f'osd.{osd_id} up')

    # -- between two tests

    def restore(self) -> None:
        """The same beginning for each test, whatever the one before left."""
        self.laboratory.reset()
        self.events.clear()
        self._start_all()
        self.set_module_option('soak_max', '0')
        self._clear_cluster()
        self.wait_until_answered()
        self._end_rollout()
        self._wait_until_up()
        for section, mask, _ in self.tuner.entries():
            who = f'{section}/{mask}' if mask else section
            self.cluster.ceph('config', 'rm', who, OPTION)
        self.cluster.ceph('config', 'set', 'osd', OPTION, ALTERNATE_2019)
        other = [n for n, found in self.running().items() if found != ALTERNATE_2019]
        # Nobody writes now: all at once
        with ThreadPoolExecutor(max(1, len(other))) as pool:
            list(pool.map(self.cluster.restart_osd, other))
        self._wait_until_quiet()

    def left_over(self) -> list[str]:
        """What is not as every test must leave it, in words."""
        found = []
        running = {daemon.name: daemon.up for daemon in self.cluster.status().daemons}
        found += [f'{name} does not run' for name, up in running.items() if not up]
        osd_map = self.cluster.ceph_json('osd', 'dump')
        found += [f'flag {flag} is set' for flag in FLAGS if flag in osd_map['flags_set']]
        found += [
            f'osd.{o["osd"]} is not up and in' for o in osd_map['osds'] if not o['up'] & o['in']
        ]
        if abs(osd_map['nearfull_ratio'] - NEARFULL_RATIO) > 1e-3:
            found.append(f'nearfull ratio {osd_map["nearfull_ratio"]:g}')
        entries = self.tuner.entries()
        if entries not in ([], [OLD]):
            found.append(f'a mixture of entries: {entries}')
        if not found and len(values := set(self.running().values())) != 1:
            found.append(f'OSDs run {len(values)} different option strings')
        rollout = self.tuner.rollout()
        if rollout and rollout['phase'] not in FINAL:
            found.append(f'the rollout is still {rollout["phase"]}')
        return found

    def _start_all(self) -> None:
        for daemon in self.cluster.status().daemons:
            if not daemon.up:
                self.cluster.start_daemon(daemon.name)

    def _clear_cluster(self) -> None:
        ceph = self.cluster.ceph
        osd_map = self.cluster.ceph_json('osd', 'dump')
        for flag in FLAGS:
            if flag in osd_map['flags_set']:
                ceph('osd', 'unset', flag)
        if abs(osd_map['nearfull_ratio'] - NEARFULL_RATIO) > 1e-3:
            ceph('osd', 'set-nearfull-ratio', str(NEARFULL_RATIO))
        ceph('config', 'set', 'mon', DOWN_OUT_INTERVAL, NEVER_OUT_S)
        for osd in osd_map['osds']:
            if not osd['in']:
                ceph('osd', 'in', str(osd['osd']))
        if 'rocksdb_tuner' not in self.cluster.ceph_json('mgr', 'module', 'ls')['enabled_modules']:
            ceph('mgr', 'module', 'enable', 'rocksdb_tuner')
        for entry in self.cluster.ceph_json('config', 'dump'):
            module, _, name = entry['name'].rpartition('/')
            if module == 'mgr/test_orchestrator' and name in NO_FAULTS:
                # A manager does not notice that the entry of a module's option is removed
                self.tuner.set_orchestrator_fault(name, NO_FAULTS[name])

    def _end_rollout(self) -> None:
        state = self.tuner.rollout()
        if state and state['phase'] not in FINAL:
            self.tuner.plain('rollout', 'abort')
            self.tuner.wait_for_phase(*FINAL, timeout_s=180)

    def _wait_until_quiet(self) -> None:
        self._wait_until_up()
        self.tuner.wait_for_clean(180)
        self.wait_for_standby()

    def _wait_until_up(self) -> None:
        self.tuner.wait_for(
            lambda: self.cluster.ceph_json('osd', 'stat')['num_up_osds'] == OSDS, 90, 'all OSDs up'
        )


@contextlib.contextmanager
def under_clients(scene: Scene) -> Iterator[None]:
    """Clients write meanwhile; at the end all of it must be there, and nothing left over."""
    writer = SteadyWriter(scene.cluster, WRITES_PER_S)
    writer.start()
    try:
        yield
        left = scene.left_over()
        written = writer.stop()
    finally:
        writer.kill()
    scene.results += results_of(scene.events, written, scene.commit)
    assert written.errors == 0, written.messages
    assert written.verified.checked > 0
    assert written.verified.failed == 0, written.messages
    assert left == []


@contextlib.contextmanager
def s3_clients(scene: Scene, seconds: int) -> Iterator[None]:
    """Besides, objects are put through a gateway: no request fails, what is read back is right."""
    command = ['/usr/bin/python3', str(CHECKOUT / 'qa/workload'), 's3-put', '--threads', '1']
    command += ['--seconds', str(seconds), '--dir', str(scene.cluster.dir)]
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


def commit_of_checkout() -> str | None:
    """As git abbreviates it, with a "+" if what runs here is not as committed."""
    git = ['git', '-C', str(CHECKOUT)]
    paths = ['src', 'qa/harness', 'qa/laboratory', 'qa/tests']
    head = subprocess.run(
        [*git, 'rev-parse', '--short', 'HEAD'], check=False, capture_output=True, text=True
    )
    if head.returncode:
        return None
    changed = subprocess.run([*git, 'diff', '--quiet', 'HEAD', '--', *paths], check=False)
    return head.stdout.strip() + '+' * bool(changed.returncode)


def results_of(events: list[Event], written: Written, commit: str | None) -> Iterator[Result]:
    for event in events:
        seen = written.noticed(event.began_s, event.ended_s)
        yield Result(
            event.fault,
            event.phase,
            event.happened,
            round(event.ended_s - event.began_s, 1),
            seen.longest_write_s and round(seen.longest_write_s, 2),
            seen.longest_pause_s and round(seen.longest_pause_s, 2),
            len(written.writes),
            written.verified.failed + written.errors,
            commit,
        )


def save(results: list[Result], path: Path, version: str) -> None:
    """Keep what was measured; of a fault in a phase that was measured before, the newest."""
    known = json.loads(path.read_text())['results'] if path.exists() else []
    newest = {(e['fault'], e['phase']): e for e in (*known, *map(asdict, results))}
    document = {'version': version, 'results': list(newest.values())}
    path.write_text(json.dumps(document, indent=1) + '\n')


def described(state: Any) -> str:
    return '\n'.join(f'{key}: {value!r}' for key, value in state.items())


def eventually(scene: Scene, condition: Callable[[], Any], what: str, timeout_s: float = 60) -> Any:
    return scene.tuner.wait_for(condition, timeout_s, what, every_s=0.5)
