"""The module's commands as both acts of the demo use them, and the demo's output."""

from __future__ import annotations

import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from .cluster import Cluster
from .progress import Progress

OPTION = 'bluestore_rocksdb_options'
ROLLOUT_TIMEOUT_S = 900.0
REPORT_TIMEOUT_S = 60.0
POLL_S = 2.0
FINAL = frozenset({'done', 'failed', 'rolled-back'})
#: A test machine may be busy.
ANSWER_TIMEOUT_S = 180.0


class DemoError(Exception):
    """A step of the demonstration did not do what it should."""


@dataclass(frozen=True)
class Console:
    """A cluster whose module is asked, and standard output."""

    cluster: Cluster
    progress: Progress

    def tuner(self, *words: str) -> str:
        return self.cluster.ceph('rocksdb-tuner', *words, timeout_s=ANSWER_TIMEOUT_S)

    def tuner_json(self, *words: str) -> Any:
        return self.cluster.ceph_json('rocksdb-tuner', *words, timeout_s=ANSWER_TIMEOUT_S)

    def set_soak(self, longest_s: int) -> None:
        """How long a changed OSD is compared at most; 0: no verdict."""
        options = {'soak_min': '0', 'soak_max': str(longest_s), 'soak_inconclusive': 'promote'}
        for name, value in options.items():
            self.cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)

    def heading(self, text: str) -> None:
        print(f'\n== {text}\n', flush=True)

    def show(self, text: str) -> None:
        print(text.rstrip(), flush=True)

    def apply(self, recommendation: dict[str, Any]) -> None:
        """Roll out a recommendation; returns when every OSD has it."""
        self.heading(f'Apply {recommendation["id"]}, one OSD at a time')
        self.show(self.tuner('apply', recommendation['id']))
        phase = self._wait_for_rollout(FINAL)
        self.show(self.tuner('operation', 'status'))
        if phase != 'done':
            raise DemoError(f'the rollout ended as {phase}')

    def roll_back(self) -> None:
        """Restore what was configured before the last rollout."""
        self.heading('Roll back')
        self.show(self.tuner('rollback'))
        phase = self._wait_for_rollout(FINAL - {'done'})
        if phase != 'rolled-back':
            raise DemoError(f'the rollback ended as {phase}')

    def _wait_for_rollout(self, final: AbstractSet[str]) -> str:
        deadline_s = time.monotonic() + ROLLOUT_TIMEOUT_S
        last, phase = '', 'unknown'
        with self.progress.step('roll out'):
            while time.monotonic() < deadline_s:
                state = self.tuner_json('operation', 'status')
                phase = state['phase']
                batches = ', '.join(f'{b["osds"]} {b["phase"]}' for b in state['batches'])
                line = f'{phase}: {batches}'
                if state['paused_reason']:
                    line += f' ({state["paused_reason"]})'
                if line != last:
                    self.progress.say(f'  {line}')
                    last = line
                if phase in final:
                    break
                if 'operation resume' in (state['paused_reason'] or ''):
                    self.show(self.tuner('operation', 'resume'))
                time.sleep(1)
        return phase

    def verify(self, recommendation: dict[str, Any]) -> None:
        """Every OSD runs the new value, by its own configuration and by its log."""
        self.heading('Verify on every OSD that the new value is the running one')
        wanted = recommendation['options_to']
        removed = recommendation['kind'] == 'remove-override'
        origin = 'default' if removed else 'mon'
        for osd in self.tuner_json('osd'):
            name = f'osd.{osd["osd"]}'
            self._wait_for_value(name, wanted, origin)
            opened = self._last_opened(name)
            if wanted not in opened:
                raise DemoError(f'the log of {name} does not show that RocksDB was opened with it')
            source = 'release default' if removed else 'config store'
            self.show(f'{name}: runs it (source: {source}), confirmed by its log:\n  {opened}')
        self._verify_entries(removed=removed)

    def _wait_for_value(self, name: str, wanted: str, origin: str) -> None:
        """An OSD reports changed sources with a delay: the last entries have just been removed."""
        deadline_s = time.monotonic() + REPORT_TIMEOUT_S
        while True:
            shown = self.cluster.ceph_json('config', 'show-with-defaults', name)
            entry: dict[str, Any] = next((e for e in shown if e['name'] == OPTION), {})
            if (entry.get('value'), entry.get('source')) == (wanted, origin):
                return
            if time.monotonic() > deadline_s:
                raise DemoError(f'{name} does not run the new value: {entry}')
            time.sleep(POLL_S)

    def _last_opened(self, name: str) -> str:
        log = self.cluster.host.outside(self.cluster.layout.log(name))
        lines = log.read_text('utf-8', 'replace').splitlines()
        opened = [line for line in lines if 'opened rocksdb path db options' in line]
        return opened[-1] if opened else ''

    def _verify_entries(self, *, removed: bool) -> None:
        own = [e for e in self.cluster.ceph_json('config', 'dump') if e['name'] == OPTION]
        entries = [(e['section'], e['mask']) for e in own]
        self.show(f'In the config store: {entries or "no entry"}')
        if entries != ([] if removed else [('osd', '')]):
            raise DemoError(
                'the config store still holds an entry'
                if removed
                else 'the config store does not hold exactly one entry, for all OSDs'
            )
