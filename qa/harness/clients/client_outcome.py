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


def print_outcome(
    *,
    seconds: float,
    began_s: float,
    latencies_s: Sequence[float],
    moved_bytes: int,
    errors: int,
    messages: Sequence[str],
    verified: tuple[str, int, int],
) -> None:
    """Answer; ``verified`` is (how it was verified, what was checked, what of it failed)."""
    ordered_s = sorted(latencies_s)
    what, checked, failed = verified
    mean = round(sum(ordered_s) / len(ordered_s) * 1e3, 3) if ordered_s else None
    print(
        json.dumps(
            {
                'seconds': seconds,
                'began_s': began_s,
                'ops': len(ordered_s),
                'bytes': moved_bytes,
                'latency_ms': {
                    'mean': mean,
                    'p50': _percentile_ms(ordered_s, 0.5),
                    'p99': _percentile_ms(ordered_s, 0.99),
                },
                'errors': errors,
                'error_messages': list(messages[:MAX_MESSAGES]),
                'verified': {'what': what, 'checked': checked, 'failed': failed},
            }
        )
    )


class Client:
    """The results of one client thread; latencies in seconds."""

    def __init__(self) -> None:
        self.latencies_s: list[float] = []
        self.errors: list[str] = []
        self.checked = self.failed = 0


def print_outcome_of(
    clients: Sequence[Client], what: str, *, seconds: float, began_s: float, operation_bytes: int
) -> None:
    """Answer for all ``clients``; ``what`` is how it was verified."""
    errors = [message for client in clients for message in client.errors]
    latencies_s = [latency for client in clients for latency in client.latencies_s]
    print_outcome(
        seconds=seconds,
        began_s=began_s,
        latencies_s=latencies_s,
        moved_bytes=len(latencies_s) * operation_bytes,
        errors=len(errors),
        messages=errors,
        verified=(
            what,
            sum(client.checked for client in clients),
            sum(client.failed for client in clients),
        ),
    )


def _percentile_ms(ordered_s: Sequence[float], fraction: float) -> float | None:
    if not ordered_s:
        return None
    return round(ordered_s[min(len(ordered_s) - 1, int(len(ordered_s) * fraction))] * 1e3, 3)
