"""The second act of the demo: a stale option string, found and replaced, with a visible gain.

A client writes meanwhile, so that the module recognizes it, predicts, and compares the first
changed OSD with the others: at the end its prediction stands beside its measurement.
"""

from __future__ import annotations

import subprocess
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import osds
from .client import wait_until
from .demo_console import OPTION, Console, DemoError
from .demo_counting import osd_ids

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
LOAD = ('rbd-randwrite', '--seconds', '1200')
#: The shortest soak with enough spans for a verdict: eight of 10 s.
SOAK_S = 80
#: The signal that has to gain, and by how many percent.
SIGNAL, LEAST_GAIN = 'db_bytes_per_txn', 20.0
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
        with self._client():
            self._show_findings()
            recommendation = self._recommended()
            self.console.apply(recommendation)
        self.console.verify(recommendation)
        self._expect_finding(False)
        self.console.show(f'\nThe finding {FINDING} is gone.\n')
        return self._measured(recommendation)

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
        console.set_soak(SOAK_S)
        with console.progress.step('restart all OSDs with it'):
            osds.restart(console.cluster, osd_ids(console.cluster))

    @contextmanager
    def _client(self) -> Iterator[None]:
        self.console.heading('Under load: RBD, 4 KiB random writes')
        command = ['/usr/bin/python3', str(QA / 'workload'), *LOAD]
        command += ['--dir', str(self.console.cluster.dir)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:
            try:
                yield
                if client.poll() is not None:
                    raise DemoError(f'qa/workload ended with status {client.returncode}')
            finally:
                client.terminate()

    def _show_findings(self) -> None:
        console = self.console
        console.heading('What the module finds')
        self._expect_finding(True)
        console.show(console.tuner('findings'))
        console.show('')
        console.show(console.tuner('findings', FINDING))

    def _recommended(self) -> dict[str, Any]:
        """The module's recommendation for the stale string, once it predicts under this load."""
        console = self.console
        console.heading('What is recommended, why, and the exact commands')
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        same = 0
        last: dict[str, Any] = {}
        while time.monotonic() < deadline_s:
            found = [r for r in console.tuner_json('recommend') if r['options_from'] == STALE]
            now = found[0] if found and found[0]['prediction'] else {}
            same = same + 1 if now and now['id'] == last.get('id') else 0
            last = now
            if same >= SETTLED_POLLS:
                console.show(console.tuner('recommend', now['id']))
                return now
            time.sleep(POLL_S)
        decisions = console.tuner_json('status')['decisions']
        raise DemoError(f'no recommendation replaces the stale string: {decisions}')

    def _expect_finding(self, expected: bool) -> None:
        """Wait until the module has read what OSDs run since their restart."""
        wait_until(
            lambda: (FINDING in self._findings()) is expected,
            ANSWER_TIMEOUT_S,
            f'the module {"reports" if expected else "no longer reports"} {FINDING}',
            poll_s=POLL_S,
        )

    def _measured(self, recommendation: dict[str, Any]) -> str:
        """Show prediction beside measurement, both from the module; returns the result."""
        console = self.console
        console.heading('Predicted and measured by the module')
        console.show(console.tuner('history'))
        last = console.tuner_json('history')[-1]
        high = {e['signal']: e['high_percent'] for e in last['measured_effects']}.get(SIGNAL)
        if last['recommendation'] != recommendation['id'] or high is None or high > -LEAST_GAIN:
            raise DemoError(f'the module measured no gain: {last}')
        self._explain(
            'Memtables of 1 MiB fill within seconds. Each is flushed by itself, before newer '
            'values replace the older ones in it, and two files in level 0 start a compaction that '
            'rewrites level 1. With the recommended options, values are replaced in memory, and '
            'what is left is flushed later: a soak of this length sees little of that.'
        )
        return f'found and replaced a stale string: {last["measured"]}.'

    # -- helpers

    def _explain(self, text: str) -> None:
        self.console.show('\n' + textwrap.fill(text, TEXT_WIDTH))

    def _findings(self) -> set[str]:
        return {finding['id'] for finding in self.console.tuner_json('findings')}
