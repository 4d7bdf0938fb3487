"""CPU time of what other modules do in the same manager: `ceph counter-cost`.

For `bench_tick_real.py`. One source for all releases: commands are declared as in Pacific, which
later releases still read.
"""

import errno
import json
import time
from typing import Any, Callable, ClassVar, Dict, List, Tuple

from mgr_module import MgrModule

PREFIX = 'counter-cost'


def cpu_ms(work: Callable[[], Any]) -> float:
    """CPU time of this thread."""
    before_s = time.thread_time()
    work()
    return 1000 * (time.thread_time() - before_s)


class Module(MgrModule):
    COMMANDS: ClassVar[List[Dict[str, str]]] = [
        {
            'cmd': PREFIX,
            'desc': 'Show the CPU time of reading all counters, and of the prometheus module',
            'perm': 'r',
        }
    ]

    def handle_command(self, inbuf: str, cmd: Dict[str, Any]) -> Tuple[int, str, str]:  # noqa: ARG002 - of the API
        if cmd['prefix'] != PREFIX:
            return -errno.EINVAL, '', 'unknown command'
        found = {
            'all_counters_ms': cpu_ms(self._all_counters),
            'prometheus_ms': cpu_ms(lambda: self.remote('prometheus', 'collect')),
        }
        return 0, json.dumps(found), ''

    def _all_counters(self) -> Any:
        """As the prometheus module reads them."""
        # Pacific has one kind; later releases call those without labels so.
        api: Any = self
        if hasattr(api, 'get_unlabeled_perf_counters'):
            return api.get_unlabeled_perf_counters(services=('osd',))
        return api.get_all_perf_counters(services=('osd',))
