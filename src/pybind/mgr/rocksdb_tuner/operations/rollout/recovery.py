"""Start the recovery of one OSD that failed, or is not safe. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Optional

from ...plan.commands import Action, RestartOsd
from ..phases import Phase
from .batches import watched_batch
from .observation import Observation
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState
from .rules import Rules
from .states import in_flight, recovery_ending, with_osd


def unsafe(state: RolloutState, down: Collection[int]) -> Optional[OsdProgress]:
    """The OSD that is brought to a safe state before an aborted rollout ends; None: all are safe.

    The one in flight, or one that is ``down`` in its soak. A rollback has many in flight: of those,
    the one that is restarting, was not verified yet, or is ``down``.
    """
    osd, back = in_flight(state), state.direction is Direction.BACK
    if osd is not None and not (back and _is_as_before(osd)):
        return osd
    watched = watched_batch(state)
    endangered = (
        state.osds if back else () if watched is None else map(state.by_id.get, watched.osds)
    )
    changed = {OsdStep.VERIFIED, OsdStep.RESTART_DUE}
    return next((o for o in endangered if o and o.step in changed and o.osd_id in down), None)


def _is_as_before(osd: OsdProgress) -> bool:
    """Whether the process of an OSD in a rollback was verified before, and is not restarting."""
    verified = {OsdStep.COLLAPSING, OsdStep.REPINNING, OsdStep.SETTLING}
    return osd.step in verified or (osd.step is OsdStep.RESTART_DUE and osd.restart_needed)


def must_not_wait(
    state: RolloutState, after: RolloutState, actions: Sequence[Action], seen: Observation
) -> bool:
    """Whether a step is taken although it cannot be stored.

    An OSD that is not safe is followed to the point where it does not start. Then its recorded
    entry is restored, and it is started: both can be repeated by a manager that does not know of
    it. All else waits for the store.
    """
    down = seen.cluster.down
    return (
        unsafe(state, down) is not None
        and not after.ended
        and all(
            action.osd_id in down
            if isinstance(action, RestartOsd)
            else after.direction is not Direction.FORWARD
            for action in actions
        )
    )


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
        restart_needed=osd.restart_needed or not (untouched or as_before),
        restarts_asked=0,
        flaps=0,
    )
    return replace(
        with_osd(state, restoring),
        direction=Direction.RECOVER,
        stage=Phase.ROLLING_BACK,
        ending=ending,
    )
