"""When an operation that waits becomes an alarm, and what an operator can do about it. Pure.

A closed gate is no alarm at once: that is what gates are for. One that stays closed is: no
operation waits for hours in silence.
"""

from __future__ import annotations

from .gates import way_out

#: The recovery after a restart, a scrub that ok-to-stop minds, and load peaks are over sooner.
ACTION_AFTER_S = 600.0


def gate_stays_closed(waited_s: float, gate_alarm_after_s: float) -> bool:
    """``gate_alarm_after_s`` is how long a gate may stay closed, 0 for ever."""
    return 0 < gate_alarm_after_s <= waited_s


def with_remedy(
    reason: str, kind: str, may_abort: bool = True, command: str = 'rollout abort'
) -> str:
    """A reason to wait that does not go away, and what to do about it."""
    give_up = f'"ceph rocksdb-tuner {command}" ends the {kind}' if may_abort else None
    return '; '.join(part for part in (reason, way_out(reason), give_up) if part is not None)
