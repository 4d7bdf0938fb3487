"""Start the recovery of one failed OSD."""

from __future__ import annotations

from dataclasses import replace

from ..phases import Phase
from .observation import Observation
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState
from .rules import Rules
from .states import recovery_ending, with_osd


def start_recovery(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation, ending: Ending
) -> RolloutState:
    """Restore the OSD in flight, then end.

    A pause does not hold the recovery, but everything after it.
    """
    if state.ending not in {None, ending}:
        ending = replace(ending, reason=f'{recovery_ending(state).reason}; {ending.reason}')
    info = seen.osd(osd.osd_id)
    running = seen.running.get(osd.osd_id)
    recorded = state.before.by_id[osd.osd_id]
    untouched = info is not None and info.up and info.nonce == osd.nonce_before
    # The verified process, with a running value that is no longer stale.
    as_before = (
        info is not None
        and info.up
        and info.nonce == osd.nonce_after
        and running is not None
        and rules.same_meaning(running.value, recorded.value)
    )
    restoring = replace(
        osd,
        step=OsdStep.RESTORING,
        restart_needed=not (untouched or as_before),
        restarts_asked=0,
        flaps=0,
    )
    return replace(
        with_osd(state, restoring),
        direction=Direction.RECOVER,
        stage=Phase.ROLLING_BACK,
        ending=ending,
    )
