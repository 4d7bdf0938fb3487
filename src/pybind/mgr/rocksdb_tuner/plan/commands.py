"""Exact commands of a rollout and its rollback, as an operator would type them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ..judge.records import SoakPlan
from ..judge.signals import limits
from ..judge.soak import least_soak_s
from ..mgr.records import Daemon
from ..shell import command, quoted
from .actions import Action, RemoveEntry, RestartOsd, SetEntry
from .batches import PlannedBatch, planned_batches
from .entries import own
from .records import OPTION, ChangeRequest
from .request import end_value
from .restarts import manual_command, manual_host

#: From the stop of an OSD to clean PGs: 8 to 15 s to come up and 8 to 23 s to recover, measured on
#: 16.2.15 with small OSDs under client load, plus 10 s until the mgr receives it. Large OSDs take
#: longer.
TYPICAL_RESTART_S = 45.0


def forward_actions(request: ChangeRequest) -> tuple[Action, ...]:
    """All actions of a rollout without failures, in order."""
    targets, final = dict(request.targets), dict(request.final_entries)
    actions: list[Action] = []
    for osd_id in request.order if request.restart else ():
        actions += [SetEntry(own(osd_id), targets[osd_id]), RestartOsd(osd_id)]
    actions += [_entry(who, value) for who, value in request.shared_entries]
    own_entries = request.order if request.restart else (n for n in targets if own(n) in final)
    actions += [RemoveEntry(own(n)) for n in own_entries if end_value(request, n) is None]
    return tuple(actions)


def undo_actions(request: ChangeRequest, before: Mapping[str, str]) -> tuple[Action, ...]:
    """All actions that roll back a completed rollout.

    ``before``: the previous entries of the option by `who`.
    """
    final = dict(request.final_entries)
    touched = (
        *(who for who, _ in request.shared_entries),
        *(own(osd_id) for osd_id in request.order),
    )
    return (
        *(_entry(who, before.get(who)) for who in touched if before.get(who) != final.get(who)),
        *(RestartOsd(osd_id) for osd_id in request.order if request.restart),
    )


def commands(
    actions: tuple[Action, ...],
    orchestrated: bool = True,
    daemons: Optional[Mapping[int, Daemon]] = None,
    option: str = OPTION,
) -> tuple[str, ...]:
    """The commands for ``actions`` on entries of ``option``, with a check after each restart.

    ``orchestrated``: whether an orchestrator restarts daemons; otherwise the restart is a manual
    command, which depends on what runs the OSD: ``daemons`` by OSD id.
    """
    lines: list[str] = []
    for action in actions:
        if isinstance(action, RestartOsd):
            daemon = (daemons or {}).get(action.osd_id)
            host = manual_host(daemon)
            by_hand = manual_command(action.osd_id, daemon)
            lines += [
                f'ceph orch daemon restart osd.{action.osd_id}'
                if orchestrated
                else (f'{by_hand}  # on {quoted(host)}' if host else by_hand),
                f'ceph config show osd.{action.osd_id} {option}',
            ]
        else:
            lines.append(entry_command(action, option))
    return tuple(lines)


def entry_command(action: Action, option: str = OPTION) -> str:
    """The command that writes one entry of the config store."""
    if isinstance(action, SetEntry):
        return f'{command("ceph", "config", "set", action.who, option)} {_quoted(action.value)}'
    assert isinstance(action, RemoveEntry)
    return removal(action.who, option)


def removal(who: str, option: str) -> str:
    """The command that removes one entry of the config store."""
    return command('ceph', 'config', 'rm', who, option)


def expected_duration_s(
    request: ChangeRequest, soak: SoakPlan, restart_s: Optional[float] = None
) -> tuple[float, float]:
    """Minimum and maximum duration of a rollout without closed gates or operator decisions.

    ``restart_s``: measured duration of a restart, if any.
    """
    restarts = len(request.order) if request.restart else 0
    restarts_s = restarts * (TYPICAL_RESTART_S if restart_s is None else restart_s)
    watched = [_watched_s(batch) for batch in planned_batches(request, soak)]
    return restarts_s + sum(least for least, _ in watched), restarts_s + sum(
        most for _, most in watched
    )


def _watched_s(batch: PlannedBatch) -> tuple[float, float]:
    """Minimum and maximum soak of one batch, including the canary's baseline."""
    if not batch.judged and not batch.watched_for_crashes:
        return 0.0, 0.0
    if not batch.judged:
        watched_s = limits().warm_up_s + batch.soak.least_s if batch.soak.least_s > 0 else 0.0
        return watched_s, watched_s
    before_s = limits().warm_up_s + (batch.baseline_s if batch.number == 0 else 0.0)
    least_s = before_s + least_soak_s(batch.soak)
    return least_s, max(least_s, before_s + batch.soak.most_s)


def _entry(who: str, value: Optional[str]) -> Action:
    return RemoveEntry(who) if value is None else SetEntry(who, value)


def _quoted(value: str) -> str:
    """Always quoted, as operators write option strings."""
    word = quoted(value)
    return f"'{word}'" if word == value else word
