"""The way forward: one OSD after the other gets its entry and a restart."""

from __future__ import annotations

import shlex
from dataclasses import replace

from ..mgr.records import OsdInfo
from .batches import planned_batch, watched_batch
from .collapse import collapse, collapse_osd
from .entries import own
from .failing import failing
from .observation import Observation, SetEntry
from .records import Ending, OsdProgress, OsdStep, Outcome, Phase, RolloutState
from .request import overruled, target
from .restart import due, lost_again, restart_due, restarting, until_settled
from .rules import Rules, Step, why_closed, write
from .soak import soak
from .states import ended, first_at, in_flight, others_changed, waiting, with_osd

_ROLLBACK = 'ceph rocksdb-tuner rollback'


def forward(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    osd = in_flight(state)
    if osd is not None:
        return _drive(rules, state, osd, seen)
    if state.ending is not None:
        return Step(ended(state, state.ending))
    if state.stage is Phase.PLANNED:
        return Step(replace(state, stage=Phase.PREFLIGHT))
    if state.stage is Phase.COLLAPSING:
        return collapse(rules, state, seen)
    watched = watched_batch(state)
    if watched is not None:
        return soak(state, watched, seen)
    following = first_at(state, OsdStep.PENDING)
    if following is None:
        return Step(replace(state, stage=Phase.COLLAPSING, shared_touched=True))
    return _begin(state, following, seen)


def _begin(state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Change the next OSD's entry, if everything allows its restart."""
    n = osd.osd_id
    # An OSD that was begun is finished, and what goes back waits neither for the window nor for
    # the next day.
    closed = why_closed(state, n, seen) or seen.not_now
    if closed is not None:
        return Step(waiting(state, closed))
    first = n == state.request.order[0]
    if first and seen.before_s < planned_batch(state.request, state.soak, 0).baseline_s:
        # What the canary will be compared with.
        return Step(replace(state, baseline_s=seen.before_s))
    info = _present(seen, n)
    recorded = next(b for b in state.before.osds if b.osd_id == n)
    if info.release != recorded.release:
        reason = f'osd.{n} now runs {info.release}: this was planned for {recorded.release}'
        return _not_as_planned(state, reason)
    running = seen.running.get(n)
    if running is None:
        return Step(waiting(state, f'what osd.{n} runs cannot be read'))
    if running.beats_config_store:
        return _not_as_planned(state, overruled(state.request, n, running))
    stage = Phase.CANARY if n == state.request.order[0] else Phase.PROMOTING
    begun = replace(osd, step=OsdStep.SETTING, nonce_before=info.nonce)
    return Step(
        with_osd(replace(state, stage=stage), begun), (SetEntry(own(n), target(state.request, n)),)
    )


def _not_as_planned(state: RolloutState, reason: str) -> Step:
    """Somebody made the plan wrong: it ends, or waits where part of it is carried out."""
    if others_changed(state):
        return Step(waiting(state, f'{reason}; or take back what was changed: "{_ROLLBACK}"'))
    return Step(ended(state, Ending(Outcome.FAILED, reason)))


def _drive(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    if osd.step is OsdStep.SETTING:
        return _setting(rules, state, osd, seen)
    if osd.step is OsdStep.RESTART_DUE:
        if state.ending is not None:
            return Step(failing(rules, state, osd, seen, state.ending))
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
        return Step(failing(rules, state, osd, seen, state.ending))
    who, value = own(osd.osd_id), target(state.request, osd.osd_id)
    if seen.entries.get(who) == value:
        # Any process with another nonce started when the entry was in the store already.
        return Step(with_osd(state, due(osd, seen)))
    return write(rules, state, seen, who, value)


def _checking(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    lost = lost_again(rules, state, osd, seen)
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
        reason = f'osd.{n} was restarted, but what it runs cannot be read'
    elif running.beats_config_store:
        reason = overruled(state.request, n, running)
    else:
        reason = (
            f'osd.{n} was restarted without effect: it runs '
            f'{shlex.quote(running.value)} (source {running.source})'
        )
    return Step(failing(rules, state, osd, seen, Ending(Outcome.FAILED, reason)))


def _settling(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    lost = lost_again(rules, state, osd, seen)
    if lost is not None:
        return lost
    if state.ending is None:
        unsettled = until_settled(rules, state, seen)
        if unsettled is not None:
            return unsettled
    return Step(with_osd(state, replace(osd, step=OsdStep.VERIFIED)))


def _present(seen: Observation, osd_id: int) -> OsdInfo:
    """The OSD, where a gate has already made sure that it is there."""
    info = seen.osd(osd_id)
    assert info is not None
    return info
