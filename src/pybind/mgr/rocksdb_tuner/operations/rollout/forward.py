"""Forward direction: set the entry of one OSD after the other and restart it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Optional

from ...mgr.records import OsdInfo
from ...plan.commands import SetEntry
from ...plan.entries import own
from ...plan.records import overruled, target
from ..absence import Away, absent, absent_of, why_away
from ..gates import without_samples
from ..phases import Outcome, Phase
from .batches import unmeasured_batch, watched_batch
from .collapse import collapse, collapse_osd
from .identity import identity_mismatch, left_behind, start_leaving
from .observation import Observation
from .records import Ending, OsdProgress, OsdStep, RolloutState
from .recovery import start_recovery, unsafe
from .restart import (
    due,
    process_lost,
    restart_due,
    restarting,
    until_settled,
    why_restart_outstanding,
)
from .rules import Rules, Step, why_closed, why_held, write
from .soak import soak
from .states import ended, in_flight, others_changed, waiting, with_osd

_ROLLBACK = 'ceph rocksdb-tuner rollback'
_IN_THE_MIDDLE = frozenset(
    {
        OsdStep.SETTING,
        OsdStep.RESTART_DUE,
        OsdStep.RESTARTING,
        OsdStep.CHECKING,
        OsdStep.SETTLING,
    }
)


def forward(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    osd = in_flight(state)
    if osd is not None:
        return _drive(rules, state, osd, seen)
    if state.ending is not None:
        osd = unsafe(state, seen.cluster.down)
        if osd is not None:
            return Step(start_recovery(rules, state, osd, seen, state.ending))
        return Step(ended(state, state.ending))
    if state.stage is Phase.PLANNED:
        return Step(replace(state, stage=Phase.PREFLIGHT))
    if state.stage is Phase.COLLAPSING:
        return collapse(rules, state, seen)
    return _advance(rules, state, seen)


def _advance(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    """Soak the changed batch, then change the next OSD, or collapse once there is none."""
    for verified in state.osds:
        if verified.step is OsdStep.VERIFIED and absent(seen, verified.osd_id) is Away.GONE:
            return Step(start_leaving(state, verified, why_away(verified.osd_id, Away.GONE)))
    watched = watched_batch(state)
    if watched is not None:
        return soak(state, watched, seen)
    n = following(state, frozenset(absent_of(seen.cluster, state.request.order)))
    if n is None:
        return Step(replace(state, stage=Phase.COLLAPSING, shared_touched=True))
    osd = state.by_id[n]
    away = absent(seen, n)
    if away is not None:
        return _leave_behind(rules, state, osd, away, seen)
    return _start_osd(state, osd, seen)


def following(state: RolloutState, away: frozenset[int]) -> Optional[int]:
    """The next OSD to change; None if none is left.

    OSDs that are ``away`` may return while the others of their batch are changed.
    """
    pending = [osd.osd_id for osd in state.osds if osd.step is OsdStep.PENDING]
    if not pending:
        return None
    batch = next((b for b in state.request.batches if pending[0] in b), (pending[0],))
    here = [n for n in pending if n in batch]
    return next((n for n in here if n not in away), here[0])


def _leave_behind(
    rules: Rules, state: RolloutState, osd: OsdProgress, away: Away, seen: Observation
) -> Step:
    """Leave behind an OSD that has not been changed."""
    n = osd.osd_id
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    reason = why_away(n, away)
    long_s = rules.limits.confirm_s if away is Away.GONE else rules.limits.boot_s
    if seen.absent_s < long_s:
        return Step(waiting(state, f'{reason}: it will be left behind unless it returns'))
    if n == state.request.order[0]:
        text = f'{reason}; it is the canary, so nothing was changed: apply again to use another OSD'
        return Step(ended(state, Ending(Outcome.FAILED, text)))
    return Step(left_behind(state, osd, reason))


def _start_osd(state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Change the next OSD's entry if all gates are open."""
    n = osd.osd_id
    # The window and the daily limit hold only new OSDs, neither an OSD in flight nor a rollback.
    closed = (
        why_closed(state, n, seen)
        or seen.schedule_reason
        or why_restart_outstanding(state)
        or without_samples(seen)
    )
    if closed is not None:
        return Step(waiting(state, closed))
    measured = replace(state, baseline_s=seen.before_s)
    if unmeasured_batch(measured) is not None:
        # Measure its baseline first.
        return Step(measured)
    info = _present(seen, n)
    another = identity_mismatch(state, n, seen)
    if another is not None:
        if others_changed(state):
            return Step(left_behind(state, osd, another))
        return Step(ended(state, Ending(Outcome.FAILED, another)))
    recorded = state.before.by_id[n]
    if info.release != recorded.release:
        reason = f'osd.{n} now runs {info.release}: the plan was made for {recorded.release}'
        return _not_as_planned(state, reason)
    running = seen.running.get(n)
    if running is None:
        return Step(waiting(state, f'cannot read the running options of osd.{n}'))
    if running.beats_config_store:
        return _not_as_planned(state, overruled(state.request, n, running))
    stage = Phase.CANARY if n == state.request.order[0] else Phase.PROMOTING
    setting = replace(osd, step=OsdStep.SETTING, nonce_before=info.nonce)
    return Step(
        with_osd(replace(state, stage=stage), setting),
        (SetEntry(own(n), target(state.request, n)),),
    )


def _not_as_planned(state: RolloutState, reason: str) -> Step:
    """The plan no longer fits: end, or wait if OSDs are already changed."""
    if others_changed(state):
        return Step(waiting(state, f'{reason}; or roll back: "{_ROLLBACK}"'))
    return Step(ended(state, Ending(Outcome.FAILED, reason)))


def _if_gone(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> Optional[Step]:
    """The step if the OSD in flight is gone or was replaced; None if it is present."""
    another = identity_mismatch(state, osd.osd_id, seen) if osd.step in _IN_THE_MIDDLE else None
    if another is not None:
        # Recreated in the middle of its change, it may have started with the new entry.
        reason = f'{another}; it may run the new string until its next restart'
        return Step(start_leaving(state, osd, reason))
    if absent(seen, osd.osd_id) is Away.GONE:
        if state.ending is not None and osd.step is not OsdStep.COLLAPSING:
            # In any mode: an OSD in flight is finished.
            return Step(start_recovery(rules, state, osd, seen, state.ending))
        if osd.step in _IN_THE_MIDDLE:
            return Step(start_leaving(state, osd, why_away(osd.osd_id, Away.GONE)))
    return None


def _drive(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    lost = _if_gone(rules, state, osd, seen)
    if lost is not None:
        return lost
    if osd.step is OsdStep.SETTING:
        return _setting(rules, state, osd, seen)
    if osd.step is OsdStep.RESTART_DUE:
        if state.ending is not None:
            return Step(start_recovery(rules, state, osd, seen, state.ending))
        return restart_due(rules, state, osd, seen)
    if osd.step is OsdStep.RESTARTING:
        return restarting(rules, state, osd, seen)
    if osd.step is OsdStep.CHECKING:
        return _checking(rules, state, osd, seen)
    if osd.step is OsdStep.SETTLING:
        return _settling(rules, state, osd, seen)
    return collapse_osd(rules, state, osd, seen)


def _setting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    if state.ending is not None:
        return Step(start_recovery(rules, state, osd, seen, state.ending))
    who, value = own(osd.osd_id), target(state.request, osd.osd_id)
    if seen.entries.get(who) == value:
        # A process with a new nonce started after the entry was stored.
        return Step(with_osd(state, due(osd, seen)))
    return write(rules, state, seen, who, value)


def _checking(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    lost = process_lost(rules, state, osd, seen)
    if lost is not None:
        return lost
    if seen.waited_s < rules.limits.report_s:
        return Step(state)
    running = seen.running.get(n)
    wanted = target(state.request, n)
    if running and running.source == 'mon' and rules.same_meaning(running.value, wanted):
        return Step(with_osd(state, replace(osd, step=OsdStep.SETTLING)))
    if seen.waited_s < rules.limits.verify_s:
        return Step(state)
    if running is None:
        reason = f'osd.{n} was restarted, but its running options cannot be read'
    elif running.beats_config_store:
        reason = overruled(state.request, n, running)
    else:
        reason = (
            f'osd.{n} was restarted without effect: it runs '
            f'{shlex.quote(running.value)} (source {running.source})'
        )
    return Step(start_recovery(rules, state, osd, seen, Ending(Outcome.FAILED, reason)))


def _settling(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    lost = process_lost(rules, state, osd, seen)
    if lost is not None:
        return lost
    if state.ending is None:
        unsettled = until_settled(rules, state, seen)
        if unsettled is not None:
            return unsettled
    return Step(with_osd(state, replace(osd, step=OsdStep.VERIFIED)))


def _present(seen: Observation, osd_id: int) -> OsdInfo:
    """The OSD; a gate has ensured that it exists."""
    info = seen.osd(osd_id)
    assert info is not None
    return info
