"""Exact commands of a rollout and its rollback, as an operator would type them.

Actions on the cluster.

The command that restarts an OSD, depending on what runs it.

Steps of a recommendation, which remain stable once displayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Optional, Union

from ..judge.records import (
    SoakPlan,
    block_length_s,
    least_soak_s,
    planned_block_s,
    warm_up_s,
)
from ..judge.signals import limits
from ..mgr.records import Daemon, Place
from ..observe.report_interval import DEFAULT, ReportInterval
from ..shell import command, quoted
from .batches import PlannedBatch, planned_batches
from .entries import is_for_a_class, own
from .order import canary_first, domains_of, in_batches, matched_controls, typical_of
from .records import ANNEX, OPTION, ChangeKind, ChangeRequest, end_value, target


@dataclass(frozen=True)
class SetEntry:
    who: str
    value: str


@dataclass(frozen=True)
class RemoveEntry:
    who: str


@dataclass(frozen=True)
class RestartOsd:
    osd_id: int


Action = Union[SetEntry, RemoveEntry, RestartOsd]


#: An unknown OSD is assumed to run under systemd alone, as installed by packages.
UNKNOWN = Daemon(None)


def manual_command(osd_id: int, daemon: Optional[Daemon], verb: str = 'restart') -> str:
    """The command for an operator to ``verb`` an OSD without an orchestrator.

    To be run on the OSD's host, unless it runs in a pod: Rook's deployments are named after their
    OSD, and a rollout of one restarts the pod. cephadm finds the unit, whose name includes the
    cluster's fsid.
    """
    daemon = daemon or UNKNOWN
    if daemon.pod_namespace is not None:
        deployment = f'deploy/rook-ceph-osd-{osd_id}'
        return command('kubectl', '-n', daemon.pod_namespace, 'rollout', 'restart', deployment)
    if daemon.containerized:
        return f'cephadm unit --name osd.{osd_id} {verb}'
    return f'systemctl {verb} ceph-osd@{osd_id}'


def manual_host(daemon: Optional[Daemon]) -> Optional[str]:
    """The host that `manual_command` is for; None: any, or unknown."""
    return None if daemon is None or daemon.pod_namespace is not None else daemon.host


def restart_command(osd_id: int, daemon: Optional[Daemon]) -> str:
    """The command that restarts an OSD: through the orchestrator, if one runs it."""
    if daemon is not None and daemon.containerized and daemon.pod_namespace is None:
        return f'ceph orch daemon restart osd.{osd_id}'
    return manual_command(osd_id, daemon)


#: From the stop of an OSD to clean PGs: 8 to 15 s to come up and 8 to 23 s to recover, measured on
#: 16.2.15 with small OSDs under client load, plus 10 s until the mgr receives it. Large OSDs take
#: longer.
TYPICAL_RESTART_S = 45.0


def forward_actions(request: ChangeRequest) -> tuple[Action, ...]:
    """All actions of a rollout without failures, in order."""
    actions: list[Action] = []
    for n in request.order if request.restart else ():
        actions += [SetEntry(own(n), target(request, n)), RestartOsd(n)]
    actions += [entry_action(who, value) for who, value in request.shared_entries]
    final = request.final_by_who
    own_entries = (
        request.order if request.restart else (n for n in request.order if own(n) in final)
    )
    actions += [RemoveEntry(own(n)) for n in own_entries if end_value(request, n) is None]
    return tuple(actions)


def undo_actions(request: ChangeRequest, before: Mapping[str, str]) -> tuple[Action, ...]:
    """All actions that roll back a completed rollout.

    ``before``: the previous entries of the option by `who`.
    """
    final = request.final_by_who
    touched = (
        *(who for who, _ in request.shared_entries),
        *(own(osd_id) for osd_id in request.order),
    )
    return (
        *(
            entry_action(who, before.get(who))
            for who in touched
            if before.get(who) != final.get(who)
        ),
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
    request: ChangeRequest, soak: SoakPlan, reports: ReportInterval = DEFAULT
) -> tuple[float, float]:
    """Minimum and maximum duration of a rollout without closed gates or operator decisions."""
    restarts_s = TYPICAL_RESTART_S * (len(request.order) if request.restart else 0)
    watched = [_watched_s(batch, reports) for batch in planned_batches(request, soak)]
    return restarts_s + sum(least for least, _ in watched), restarts_s + sum(
        most for _, most in watched
    )


def _watched_s(batch: PlannedBatch, reports: ReportInterval) -> tuple[float, float]:
    """Minimum and maximum soak of one batch, including the canary's baseline."""
    if not batch.judged and not batch.watched_for_crashes:
        return 0.0, 0.0
    if not batch.judged:
        watched_s = warm_up_s(reports) + batch.soak.least_s if batch.soak.least_s > 0 else 0.0
        return watched_s, watched_s
    # Blocks are longer where OSDs report rarely.
    blocks_s = limits().least_blocks * block_length_s(planned_block_s(batch.soak), reports)
    least_s = max(least_soak_s(batch.soak), blocks_s)
    before_s = warm_up_s(reports) + (least_s if batch.number == 0 else 0.0)
    return before_s + least_s, before_s + max(least_s, batch.soak.most_s)


def entry_action(who: str, value: Optional[str]) -> Action:
    """The action that sets the entry of ``who`` to ``value``; None: removes it."""
    return RemoveEntry(who) if value is None else SetEntry(who, value)


def _quoted(value: str) -> str:
    """Always quoted, as operators write option strings."""
    word = quoted(value)
    return f"'{word}'" if word == value else word


#: More than the number of recommendations that an operator would read.
_REMEMBERED = 32
#: Fewer client writes per second count as idle.
_NOISE_IOPS = 1.0


class Change(NamedTuple):
    """A change: everything that its steps depend on, except for the load of the OSDs."""

    recommendation_id: str
    kind: ChangeKind
    who: str
    options_from: str
    options_to: str
    #: The config store entries in force.
    deciding_entries: tuple[str, ...]
    restart: bool
    orchestrated: bool
    places: tuple[tuple[int, Place], ...]
    #: Value to write to or remove from the annex; None: ``options_to`` goes to the option itself.
    annex: Optional[str] = None
    #: For the commands of manual restarts.
    daemons: tuple[tuple[int, Daemon], ...] = ()

    @property
    def option(self) -> str:
        """The changed option."""
        return OPTION if self.annex is None else ANNEX

    @property
    def value(self) -> str:
        return self.options_to if self.annex is None else self.annex


class Steps(NamedTuple):
    """The steps of a change, as in `Recommendation`."""

    #: Without prediction and actor.
    request: ChangeRequest
    commands: tuple[str, ...]
    undo_commands: tuple[str, ...]


class ShownSteps:
    """Steps of the current recommendations, kept between ticks.

    OSDs with a similar load swap places at every tick, but an operator must get the displayed plan.
    The steps are recomputed only for a different change, if the canary is no longer typical of its
    group, or if it could have more typical controls.
    """

    def __init__(self) -> None:
        self._steps: dict[Change, Steps] = {}

    def of(self, change: Change, write_iops: Mapping[int, Optional[float]]) -> Steps:
        """``write_iops`` by OSD id, None or missing if unknown."""
        known = self._steps.pop(change, None)
        if known is None or not _still_good(known, write_iops):
            known = _steps(change, write_iops)
        # The newest is last, so the first is dropped.
        self._steps[change] = known
        if len(self._steps) > _REMEMBERED:
            del self._steps[next(iter(self._steps))]
        return known


def _still_good(steps: Steps, write_iops: Mapping[int, Optional[float]]) -> bool:
    known = {
        osd_id: max(iops, _NOISE_IOPS) for osd_id, iops in write_iops.items() if iops is not None
    }
    order, controls = steps.request.order, steps.request.controls
    typical = typical_of(order, known)
    if order[0] not in typical:
        # With no known load there is no better canary.
        return not typical
    return len(typical.intersection(controls)) == min(len(controls), len(typical) - 1)


def _steps(change: Change, write_iops: Mapping[int, Optional[float]]) -> Steps:
    places, daemons = dict(change.places), dict(change.daemons)
    order = canary_first(places, write_iops)
    batches = in_batches(order, places)
    request = ChangeRequest(
        recommendation_id=change.recommendation_id,
        kind=change.kind,
        who=change.who,
        targets=tuple((osd_id, change.value) for osd_id in order),
        order=order,
        final_entries=_final_entries(change, order),
        actor='',
        restart=change.restart,
        controls=matched_controls(order, write_iops, limits().most_controls),
        batches=batches,
        domains=domains_of(batches, places),
        option=change.option,
    )
    before = {
        entry: change.options_from if change.annex is None else change.annex
        for entry, _ in request.final_entries
        if entry in change.deciding_entries
    }
    forward, undo = (
        commands(actions, change.orchestrated, daemons, request.option)
        for actions in (forward_actions(request), undo_actions(request, before))
    )
    return Steps(request, forward, undo)


def _final_entries(change: Change, order: tuple[int, ...]) -> tuple[tuple[str, Optional[str]], ...]:
    """Final config store entries, in sections that OSDs start with."""
    if change.kind is ChangeKind.REMOVE_OVERRIDE:
        return tuple((entry, None) for entry in change.deciding_entries)
    if is_for_a_class(change.who):
        return tuple((f'osd.{osd_id}', change.value) for osd_id in order)
    return ((change.who, change.value),)
