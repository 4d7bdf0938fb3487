"""Helpers for tests of the module in a real mgr: its commands, and waiting for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from harness import Cluster
from harness.client import wait_until

CHECKOUT = Path(__file__).resolve().parents[3]
SCHEMAS = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/present/schemas'
OPTION = 'bluestore_rocksdb_options'
ALTERNATE_2019 = (
    'compression=kNoCompression,max_write_buffer_number=32,min_write_buffer_number_to_merge=2,'
    'recycle_log_file_num=32,compaction_style=kCompactionStyleLevel,write_buffer_size=67108864,'
    'target_file_size_base=67108864,max_background_compactions=31,'
    'level0_file_num_compaction_trigger=8,level0_slowdown_writes_trigger=32,'
    'level0_stop_writes_trigger=64,max_bytes_for_level_base=536870912,compaction_threads=32,'
    'max_bytes_for_level_multiplier=8,flusher_threads=8,compaction_readahead_size=2MB'
)


class ModuleClient:
    """The module's commands on one cluster; every JSON answer is checked against its schema."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def json(self, *words: str, schema: str) -> Any:
        document = self.cluster.ceph_json('rocksdb-tuner', *words)
        jsonschema.validate(document, json.loads((SCHEMAS / f'{schema}.schema.json').read_text()))
        return document

    def stale_override(self, release: str) -> str:
        """An option string that gives way to the default of the release, whichever that is."""
        name = 'bluestore-default-pacific' if release == 'pacific' else 'lz4-2025'
        default = self.json('profile', 'show', name, schema='profile-show')['options']
        return f'{default},compaction_readahead_size=0'

    def plain(self, *words: str) -> str:
        text = self.cluster.ceph('rocksdb-tuner', *words)
        assert all(len(line) <= 80 for line in text.splitlines() if "'" not in line), text
        assert '--all' in words or len(text.splitlines()) <= 40, text
        return text

    def refused(self, *words: str) -> tuple[int, str]:
        """Exit status (an errno) and error text of a command that must fail."""
        code, text = self.answer(words)
        assert code != 0, text
        return code, text

    def answer(self, words: Sequence[str]) -> tuple[int, str]:
        """Exit status of a command, 0 or an errno, and its answer or error text."""
        done = self.cluster.client.run('ceph', 'rocksdb-tuner', *words, check=False)
        assert 'Traceback' not in done.stderr
        return done.returncode, done.stderr if done.returncode else done.stdout

    def status(self) -> Any:
        return self.json('status', schema='status')

    def osds(self) -> Any:
        return self.json('osd', schema='osd')

    def recommendations(self) -> Any:
        return self.json('recommend', schema='recommend')

    def operation(self) -> Any:
        return self.json('operation', 'status', schema='operation')

    def group_workload(self) -> Any:
        """{class, confidence} of the one group, None while nothing is known."""
        groups = self.status()['groups']
        return groups[0]['workload'] if groups else None

    def entries(self) -> list[tuple[str, str, str]]:
        """The config store's entries for the option: (section, mask, value)."""
        return sorted(
            (e['section'], e['mask'], e['value'])
            for e in self.cluster.ceph_json('config', 'dump')
            if e['name'] == OPTION
        )

    def running(self, osd_id: int) -> tuple[str, str]:
        """(value, source) in the running OSD, as `config show` has it."""
        shown = self.cluster.ceph_json('config', 'show', f'osd.{osd_id}')
        entry = next((e for e in shown if e['name'] == OPTION), None)
        if entry is None or entry['source'] == 'default':
            return self.cluster.ceph('config', 'show', f'osd.{osd_id}', OPTION).strip(), 'default'
        return entry['value'], entry['source']

    def nonces(self) -> dict[int, int]:
        osd_map = self.cluster.ceph_json('osd', 'dump')
        return {o['osd']: o['public_addrs']['addrvec'][0]['nonce'] for o in osd_map['osds']}

    def wait_for(
        self, condition: Callable[[], Any], timeout_s: float, what: str, every_s: float = 1.0
    ) -> Any:
        """`wait_until`, with fewer questions to the manager; the status if it fails."""
        return wait_until(condition, timeout_s, what, detail=self._status_text, poll_s=every_s)

    def _status_text(self) -> str:
        _, answer = self.answer(['status'])
        return answer

    def wait_for_recommendation(
        self, kind: str, timeout_s: float = 60, which: Callable[[Any], bool] = lambda _: True
    ) -> Any:
        def found() -> Any:
            return next((r for r in self.recommendations() if r['kind'] == kind and which(r)), None)

        return self.wait_for(found, timeout_s, f'a recommendation of kind {kind}')

    def wait_for_successor(self, osd_id: int, timeout_s: float = 60) -> tuple[Any, list[Any]]:
        """What replaces a superseded string of one OSD, and the entries that it leaves.

        The default since Reef; on Pacific, an entry with that.
        """

        def found() -> Any:
            changes = (r for r in self.recommendations() if r['kind'] != 'compact')
            return next((r for r in changes if r['osds'] == [osd_id]), None)

        change = self.wait_for(found, timeout_s, f'a change of osd.{osd_id}')
        removed = change['kind'] == 'remove-override'
        return change, [] if removed else [(f'osd.{osd_id}', '', change['options_to'])]

    def wait_for_phase(self, *phases: str, timeout_s: float = 240) -> Any:
        def found() -> Any:
            state = self.operation()
            return state if state and state['phase'] in phases else None

        return self.wait_for(found, timeout_s, f'phase {" or ".join(phases)}')

    def wait_for_clean(self, timeout_s: float = 90) -> None:
        self.wait_for(self.cluster.pgs_are_clean, timeout_s, 'all PGs active+clean')

    def restart_all(self) -> None:
        """Restart every OSD through the orchestrator, without a wait in between."""
        self.restart(*self.nonces())
        self.wait_for_clean()

    def restart(self, *osd_ids: int) -> None:
        """Restart OSDs through the orchestrator; they are up when this returns."""
        before = self.nonces()
        for osd_id in osd_ids:
            self.cluster.ceph('orch', 'daemon', 'restart', f'osd.{osd_id}')

        def restarted() -> bool:
            now = self.nonces()
            return all(self.osd_up(n) and now[n] != before[n] for n in osd_ids)

        # On a disk that calls itself rotational it replays deferred writes.
        self.wait_for(restarted, 180, f'{osd_ids} restarted')

    def remove_entries(self) -> None:
        """Leave every OSD running its release's default, with no entry for the option."""
        entries = self.entries()
        for section, mask, _ in entries:
            self.cluster.ceph('config', 'rm', f'{section}/{mask}' if mask else section, OPTION)
        # No OSD starts with an entry that has a mask
        sections = {section for section, mask, _ in entries if not mask}
        changed = [n for n in self.nonces() if sections & {'global', 'osd', f'osd.{n}'}]
        if changed:
            self.restart(*changed)
            self.wait_for_clean()

    def active_manager(self) -> str:
        """Its name; '' while there is none."""
        return str(self.cluster.ceph_json('mgr', 'stat')['active_name'])

    def wait_for_takeover(self, before: str) -> None:
        """Until another manager than this one is active."""

        def taken_over() -> bool:
            found = self.cluster.ceph_json('mgr', 'stat')
            return bool(found['available'] and found['active_name'] != before)

        self.wait_for(taken_over, 60, 'the standby active', every_s=0.3)

    def osd_up(self, osd_id: int) -> bool:
        osds = self.cluster.ceph_json('osd', 'dump')['osds']
        return bool(next(o for o in osds if o['osd'] == osd_id)['up'])
