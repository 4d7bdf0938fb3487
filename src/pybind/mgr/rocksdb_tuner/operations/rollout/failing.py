"""One OSD failed: it alone is brought back to what it had."""

from __future__ import annotations

from dataclasses import replace

from ..phases import Phase
from .observation import Observation
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState
from .rules import Rules
from .states import the_ending, with_osd


def failing(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation, ending: Ending
) -> RolloutState:
    """Put the OSD in flight back to what it had, then end.

    A pause does not hold that, but all that comes after it.
    """
    if state.ending not in {None, ending}:
        ending = replace(ending, reason=f'{the_ending(state).reason}; {ending.reason}')
    info = seen.osd(osd.osd_id)
    running = seen.running.get(osd.osd_id)
    recorded = next(b for b in state.before.osds if b.osd_id == osd.osd_id)
    untouched = info is not None and info.up and info.nonce == osd.nonce_before
    # The process that was checked, for long enough to be believed.
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
