"""When a waiting operation raises an alarm, and the remedy it names. Pure.

Gates are meant to close, so a closed gate is not an alarm at first. A gate that stays closed is
one: no operation waits for hours unnoticed.
"""

from __future__ import annotations

from .gates import remedy_for

#: Recovery after a restart, a scrub that blocks ok-to-stop, and load peaks end sooner than this.
ACTION_AFTER_S = 600.0
#: How long a gate may stay closed. Recovery of an OSD and a scrub end sooner as a rule; the health
#: check can be muted for a longer one.
GATE_ALARM_AFTER_S = 1800.0


def gate_stays_closed(waited_s: float) -> bool:
    return waited_s >= GATE_ALARM_AFTER_S


def with_remedy(reason: str, kind: str, may_abort: bool = True) -> str:
    """A persistent reason to wait, with its remedy."""
    abort = f'"ceph rocksdb-tuner operation abort" ends the {kind}' if may_abort else None
    return '; '.join(part for part in (reason, remedy_for(reason), abort) if part is not None)
