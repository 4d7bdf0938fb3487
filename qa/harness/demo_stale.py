"""The second act of the demo: a stale option string, found and replaced, with a visible gain.

The load has the same number of requests before and after. Bytes and CPU time of threads are
compared, which a busy machine does not change; its operations per second say little.
"""

from __future__ import annotations

import json
import subprocess
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import osds
from .demo_console import OPTION, Console, DemoError
from .demo_counting import counted, osd_ids
from .demo_table import Load, counted_table

QA = Path(__file__).resolve().parent.parent
#: The default from before Pacific, with memtables of 1 instead of 256 MiB to save memory, and with
#: a level 0 that is compacted at two files.
STALE = (
    'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
    'recycle_log_file_num=4,write_buffer_size=1048576,writable_file_max_buffer_size=0,'
    'compaction_readahead_size=2097152,max_background_compactions=2,'
    'level0_file_num_compaction_trigger=2'
)
FINDING = 'unwise-options'
REQUESTS = 2400
KEYS = 100
#: Each key is rewritten about eight times. Both runs end with the same request, however fast.
LOAD = (
    *('rados-omap', '--requests', str(REQUESTS), '--threads', '8'),
    *('--objects', '32', '--keys', str(KEYS), '--key-space', '1000'),
)
LOAD_TIMEOUT_S = 600
LEAST_GAIN = 0.2
ANSWER_TIMEOUT_S = 180.0
POLL_S = 5.0
TEXT_WIDTH = 90
#: Until the module's answer holds, although the load has just ended.
SETTLED_POLLS = 3


@dataclass(frozen=True)
class StaleString:
    """The act, on a cluster in whatever state the first one has left it."""

    console: Console

    def run(self) -> str:
        """The result, in a sentence."""
        self._set()
        before = self._load('The load on it')
        self._show_findings()
        recommendation = self._recommended()
        self.console.apply(recommendation)
        self.console.verify(recommendation)
        after = self._load('The same load again')
        saved = self._compare(before, after)
        self._expect_no_finding()
        self.console.show(self.console.tuner('history'))
        return f'found and replaced a stale string, which saves {saved:.0%} of all DB writes.'

    # -- steps

    def _set(self) -> None:
        console = self.console
        console.heading('A stale option string')
        self._explain(
            'Option strings outlive their reason. This one is the default from before Pacific, but '
            'its memtables have 1 instead of 256 MiB, to save memory. Monitors accept it, OSDs '
            'start with it, and Ceph itself has no health check for it:'
        )
        console.show(f"\nceph config set osd {OPTION} '{STALE}'")
        console.cluster.ceph('config', 'set', 'osd', OPTION, STALE)
        with console.progress.step('restart all OSDs with it'):
            osds.restart(console.cluster, osd_ids(console.cluster))

    def _load(self, title: str) -> Load:
        console = self.console
        console.heading(f'{title}: librados, {REQUESTS:,} requests that set {KEYS} omap keys each')
        command = ['/usr/bin/python3', str(QA / 'workload'), *LOAD]
        command += ['--seconds', str(LOAD_TIMEOUT_S), '--dir', str(console.cluster.dir)]
        began = counted(console.cluster)
        with console.progress.step(f'run rados-omap, {REQUESTS} requests'):
            client = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        spent = counted(console.cluster).since(began)
        if client.returncode != 0:
            raise DemoError(f'qa/workload rados-omap ended with status {client.returncode}')
        requests = json.loads(client.stdout)['ops']
        if requests < REQUESTS:
            raise DemoError(f'the client ended after {requests} of {REQUESTS} requests')
        console.show(console.tuner('osd'))
        return Load(requests, spent)

    def _show_findings(self) -> None:
        console = self.console
        console.heading('What the module finds')
        if FINDING not in self._findings():
            raise DemoError(f'the module does not report {FINDING}')
        console.show(console.tuner('finding', 'ls'))
        console.show('')
        console.show(console.tuner('findings', FINDING))

    def _recommended(self) -> dict[str, Any]:
        """The module's recommendation for the stale string."""
        console = self.console
        console.heading('What is recommended, why, and the exact commands')
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        same = 0
        last: dict[str, Any] = {}
        while time.monotonic() < deadline_s:
            found = [r for r in console.tuner_json('recommend') if r['options_from'] == STALE]
            now = found[0] if found else {}
            same = same + 1 if now and now['id'] == last.get('id') else 0
            last = now
            if same >= SETTLED_POLLS:
                console.show(console.tuner('recommend', now['id']))
                return now
            time.sleep(POLL_S)
        conclusions = [group['conclusion'] for group in console.tuner_json('status')['groups']]
        raise DemoError(f'no recommendation replaces the stale string: {conclusions}')

    def _compare(self, before: Load, after: Load) -> float:
        """Print the table; returns the share of the bytes written to the DB that are saved."""
        self.console.heading('Before and after: the same requests, counted by all OSDs together')
        self.console.show(counted_table(before, after))
        surely = 1 - (after.db_bytes + after.unflushed_bytes) / before.db_bytes
        if surely < LEAST_GAIN:
            raise DemoError(f'the new options save only {surely:.0%} of the DB writes')
        self._explain(
            'Memtables of 1 MiB fill within seconds. Each is flushed by itself, before newer '
            'values replace the older ones in it, and two files in level 0 start a compaction that '
            'rewrites level 1. With the recommended options, values are replaced in memory. What '
            'the memtables still hold will be flushed later: at most '
            f'{after.unflushed_bytes:,.0f} bytes per request, which is still {surely:.0%} less. '
            'Inserts into larger memtables take the kv_sync thread longer; the last row is the '
            'balance.'
        )
        return 1 - after.db_bytes / before.db_bytes

    def _expect_no_finding(self) -> None:
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        while FINDING in self._findings():
            if time.monotonic() > deadline_s:
                raise DemoError(f'the module still reports {FINDING}')
            time.sleep(POLL_S)
        self.console.show(f'\nThe finding {FINDING} is gone.\n')

    # -- helpers

    def _explain(self, text: str) -> None:
        self.console.show('\n' + textwrap.fill(text, TEXT_WIDTH))

    def _findings(self) -> set[str]:
        return {finding['id'] for finding in self.console.tuner_json('findings')}
