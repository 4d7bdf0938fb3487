"""What every client program does alike: it always ends, and it answers in JSON.

Sent to Python in front of the program; see `python_client.text_of`.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from collections.abc import Sequence

#: So many errors are printed in full.
MAX_MESSAGES = 10


def phase(what: str, limit_s: float) -> None:
    """Print the phase for the reader of a failure; exit if it takes too long."""
    print(f'{what}, at most {limit_s:g} s', file=sys.stderr, flush=True)
    faulthandler.dump_traceback_later(limit_s, exit=True)


class Client:
    """The results of one client thread; latencies in seconds."""

    def __init__(self) -> None:
        self.latencies_s: list[float] = []
        self.bytes = 0
        #: Of requests, and of what was read and is not as it should be.
        self.errors: list[str] = []
        self.complaints: list[str] = []
        self.checked = self.failed = 0

    def check(self, good: bool, text: str) -> None:
        self.checked += 1
        if not good:
            self.failed += 1
            self.complaints.append(text)


def print_outcome(clients: Sequence[Client], what: str, *, seconds: float, began_s: float) -> None:
    """Answer for all ``clients``; ``what`` is how it was verified."""
    ordered_s = sorted(latency for client in clients for latency in client.latencies_s)
    errors = [message for client in clients for message in client.errors]
    complaints = [message for client in clients for message in client.complaints]
    mean = round(sum(ordered_s) / len(ordered_s) * 1e3, 3) if ordered_s else None
    outcome = {
        'seconds': seconds,
        'began_s': began_s,
        'ops': len(ordered_s),
        'bytes': sum(client.bytes for client in clients),
        'latency_ms': {
            'mean': mean,
            'p50': _percentile_ms(ordered_s, 0.5),
            'p99': _percentile_ms(ordered_s, 0.99),
        },
        'errors': len(errors),
        'error_messages': [*errors, *complaints][:MAX_MESSAGES],
        'verified': {
            'what': what,
            'checked': sum(client.checked for client in clients),
            'failed': sum(client.failed for client in clients),
        },
    }
    print(json.dumps(outcome))


def _percentile_ms(ordered_s: Sequence[float], fraction: float) -> float | None:
    if not ordered_s:
        return None
    return round(ordered_s[min(len(ordered_s) - 1, int(len(ordered_s) * fraction))] * 1e3, 3)
