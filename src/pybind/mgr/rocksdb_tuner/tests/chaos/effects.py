"""The effect of each event on the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain, RunningOption
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.storage import EVIDENCE
from rocksdb_tuner.tests.operations.rollout.conftest import ALL, CLASS, refusing, set_profile

from .chaos_events import ChaosEvent
from .cluster import STALE_S, ChaosCluster
from .invariants import Watch
from .topology import Spot
from .world import Killed, NextWrite, World, WriteFault

#: Values set by operators.
OPERATORS = 'write_buffer_size=33554432'
FIRST, SECOND = 'client.a', 'client.b'

#: By how much clocks are wrong.
_JUMPS_S = (40.0, 3600.0, 100_000.0, 4000.0, 200_000.0)
_STALL_S = 95.0
#: Longer than `Limits.boot_s`.
_SLOW_START_S = 400.0
_LATE_S = (15.0, 60.0, 200.0)

_Effect = Callable[[World, Watch, int], object]


def apply_event(world: World, watch: Watch, event: ChaosEvent, osd_id: int) -> bool:
    """Let ``act`` happen, to this OSD; whether the manager refused it."""
    return world.guarded(lambda: _EFFECTS[event](world, watch, osd_id))


# -- managers


def _next_write(fault: WriteFault) -> _Effect:
    # Writes of the store and of entries alternate: the OSD's number selects one.
    return lambda world, _, n: world.next_writes.append(NextWrite(fault, n % 3))


# -- operators


def _pause(actor: str) -> _Effect:
    def pause(world: World, watch: Watch, _: int) -> None:
        world.pause(actor)
        watch.paused()

    return pause


def _resume(world: World, watch: Watch, _: int) -> None:
    _go_on(watch, world.resume)


def _abort(world: World, watch: Watch, _: int) -> None:
    _go_on(watch, lambda: world.abort(FIRST))


def _rollback(world: World, watch: Watch, _: int) -> None:
    _go_on(watch, lambda: world.rollback(None, FIRST))


def _go_on(watch: Watch, work: Callable[[], object]) -> None:
    """Events that end a pause, also if the manager dies once that is stored."""
    try:
        work()
    except Killed:
        watch.resumed()
        raise
    watch.resumed()


def _rollback_unknown(world: World, watch: Watch, _: int) -> None:
    before = world.known
    if not world.guarded(lambda: world.rollback('r999', SECOND)):
        watch.refuted('rollback of r999, which never was, is accepted')
    watch.expect_unchanged(before, world.known, 'rollback r999')


def _apply_another(world: World, watch: Watch, _: int) -> None:
    before = world.known
    if before is None or before.ended:
        return
    request = set_profile(world.cluster, OPERATORS)
    if not world.guarded(lambda: world.begin(request, before.soak)):
        watch.refuted('a second concurrent rollout is accepted')
    watch.expect_unchanged(before, world.known, 'a second apply')


def _operator_removes(world: World, watch: Watch, who: str) -> None:
    if who in world.cluster.entries_of():
        watch.operator_removes(who)


# -- OSDs


def _restart_by_hand(world: World, osd_id: int) -> None:
    if world.cluster.osds[osd_id].up:
        world.cluster.restart_by_hand(osd_id)


def start(world: World, osd_id: int) -> None:
    if not world.cluster.osds[osd_id].up:
        world.cluster.start_osd(osd_id)


def _starts(world: World, watch: Watch, osd_id: int) -> None:
    start(world, osd_id)
    watch.started_by_hand(osd_id)


def _stop(world: World, watch: Watch, osd_id: int) -> None:
    world.cluster.stop_osd(osd_id)
    watch.stopped_by_others(osd_id)


def _of_host(world: World, osd_id: int) -> list[int]:
    host = world.cluster.osds[osd_id].host
    return [n for n, osd in world.cluster.osds.items() if osd.host == host]


def _host_dies(world: World, watch: Watch, osd_id: int) -> None:
    for n in _of_host(world, osd_id):
        _stop(world, watch, n)


def _host_starts(world: World, watch: Watch, osd_id: int) -> None:
    for n in _of_host(world, osd_id):
        _starts(world, watch, n)


def _dies_and_is_out(world: World, watch: Watch, osd_id: int) -> None:
    _stop(world, watch, osd_id)
    world.cluster.osds[osd_id].in_cluster = False


def _marked(world: World, osd_id: int, *, in_cluster: bool) -> None:
    osd = world.cluster.osds[osd_id]
    if osd.in_cluster is not in_cluster:
        osd.in_cluster = in_cluster
        world.cluster._changed()


def _purge(world: World, watch: Watch, osd_id: int) -> None:
    # Redundant ones only: the last of a kind stays.
    if len(world.cluster.osds) > 2:
        world.cluster.purge(osd_id)
        watch.gone(osd_id)


def _replace(world: World, watch: Watch, osd_id: int, device_class: Optional[str] = None) -> None:
    spot = world.cluster.spots[osd_id]
    world.cluster.purge(osd_id)
    watch.gone(osd_id)
    world.cluster.add_at(osd_id, spot._replace(device_class=device_class or spot.device_class))
    watch.joined(osd_id)


def _join(world: World, watch: Watch, osd_id: int, device_class: Optional[str] = None) -> None:
    cluster = world.cluster
    n = max(cluster.osds) + 1
    spot = cluster.spots[osd_id]
    if spot.domain.kind == 'osd':
        spot = spot._replace(domain=FailureDomain('osd', f'osd.{n}'))
    cluster.add_at(n, Spot(spot.host, spot.domain, device_class or spot.device_class, spot.top))
    watch.joined(n)


def _stubborn(world: World, watch: Watch, osd_id: int) -> None:
    watch.beside_itself.add(osd_id)
    stubborn = RunningOption('write_buffer_size=1', 'mon', ignores_mon=False)
    world.cluster.osds[osd_id].stubborn = stubborn


def _overrule(world: World, watch: Watch, osd_id: int) -> None:
    watch.beside_itself.add(osd_id)
    world.cluster.osds[osd_id].conf_file[world.cluster.option] = OPERATORS


def _overrule_next(world: World, watch: Watch, _: int) -> None:
    """An operator writes the ceph.conf of a pending OSD, and restarts it."""
    state = world.known
    pending = next((o for o in state.osds if o.step is OsdStep.PENDING), None) if state else None
    if pending is not None and pending.osd_id in world.cluster.osds:
        _overrule(world, watch, pending.osd_id)
        _restart_by_hand(world, pending.osd_id)


def _mark_down(world: World, watch: Watch, osd_id: int) -> None:
    osd = world.cluster.osds[osd_id]
    if osd.up:
        world.cluster.mark_down(osd_id)
        watch.stopped_by_others(osd_id)
        world.cluster.advance(7)
        world.cluster.mark_down(osd_id, up=not osd.coming)


def heal_osd(world: World, osd_id: int) -> None:
    cluster = world.cluster
    osd = cluster.osds[osd_id]
    osd.broken = osd.silent = False
    osd.stubborn = osd.crashes_after_s = None
    osd.conf_file.clear()
    osd.release = cluster.release
    cluster.slow_starts.pop(osd_id, None)
    cluster.without_metadata.pop(osd_id, None)
    cluster.old_metadata.pop(osd_id, None)
    if not osd.in_cluster:
        _marked(world, osd_id, in_cluster=True)
        start(world, osd_id)


def _metadata_old(world: World, osd_id: int) -> None:
    world.cluster.old_metadata[osd_id] = (world.cluster.now_s + STALE_S, 'reef')


# -- orchestrator, monitors, clocks


def heal_orchestrator(cluster: ChaosCluster) -> None:
    cluster.orchestrator_reason = cluster.orchestrator_restarts = None
    cluster.orchestrator_idle = False
    cluster.orchestrator_delay_s = 1.0
    cluster.errors.pop('orch daemon', None)


def heal_monitors(world: World) -> None:
    world.cluster.errors.clear()
    world.slow_monitors = False


def _lose_evidence(world: World, n: int) -> None:
    for key in world.store.keys(EVIDENCE):
        world.store.values[key] = ('', '{}', '{"version":3}')[n % 3]


def _refuse(prefix: str, error: Optional[CommandError] = None) -> _Effect:
    def refuse(world: World, _: Watch, __: int) -> None:
        world.cluster.errors[prefix] = error or refusing('read-only')

    return refuse


def _set_clock(world: World, by_s: float) -> None:
    world.offset_s += by_s
    world.clients.offset_s = world.cluster.clock_offset_s = world.offset_s


def _of_world(name: str, value: object) -> _Effect:
    return lambda world, _, __: setattr(world, name, value)


def _of_cluster(name: str, value: object) -> _Effect:
    return lambda world, _, __: setattr(world.cluster, name, value)


def _of_osd(name: str, value: object) -> _Effect:
    return lambda world, _, n: setattr(world.cluster.osds[n], name, value)


def _of_clients(name: str, value: object) -> _Effect:
    return lambda world, _, __: setattr(world.clients, name, value)


def _report_rarely(cluster: ChaosCluster, number: int) -> None:
    """A busy cluster: recovery takes longer, too, so that an early step is seen."""
    cluster.pg_report_s = (20.0, 36.0, 60.0, 75.0)[number % 4]
    cluster.recover_s = max(cluster.recover_s, 45.0)


_EFFECTS: Mapping[ChaosEvent, _Effect] = {
    ChaosEvent.FAIL_OVER: lambda w, _, __: w.take_over(),
    ChaosEvent.KILLED_BEFORE_A_WRITE: _next_write(WriteFault.KILLED_BEFORE),
    ChaosEvent.KILLED_AFTER_A_WRITE: _next_write(WriteFault.KILLED_AFTER),
    ChaosEvent.MODULE_RELOADED: lambda w, _, __: w.fail_over(),
    ChaosEvent.MANAGER_STALLS: lambda w, _, __: w.pass_time(_STALL_S),
    ChaosEvent.ADVICE_RAISES: _of_world('advice_fails', value=True),
    ChaosEvent.ADVICE_WORKS: _of_world('advice_fails', value=False),
    ChaosEvent.SAMPLING_RAISES: _of_world('sampling_fails', value=True),
    ChaosEvent.SAMPLING_WORKS: _of_world('sampling_fails', value=False),
    ChaosEvent.PAUSE: _pause(FIRST),
    ChaosEvent.RESUME: _resume,
    ChaosEvent.OTHER_OPERATOR_PAUSES: _pause(SECOND),
    ChaosEvent.OTHER_OPERATOR_RESUMES: _resume,
    ChaosEvent.ABORT: _abort,
    ChaosEvent.ROLLBACK: _rollback,
    ChaosEvent.ROLLBACK_UNKNOWN: _rollback_unknown,
    ChaosEvent.APPLY_ANOTHER: _apply_another,
    ChaosEvent.MODE_OFF: _of_world('may_act', value=False),
    ChaosEvent.MODE_OFF_IN_A_WRITE: _next_write(WriteFault.SWITCHED_OFF),
    ChaosEvent.MODE_ON: _of_world('may_act', value=True),
    ChaosEvent.WINDOW_CLOSES: _of_world('outside_window', 'outside the maintenance window'),
    ChaosEvent.WINDOW_OPENS: _of_world('outside_window', value=None),
    ChaosEvent.DAILY_LIMIT: lambda w, _, n: setattr(w, 'restarts_per_day', 1 + n % 4),
    ChaosEvent.NO_DAILY_LIMIT: _of_world('restarts_per_day', 0),
    ChaosEvent.SETS_OSD: lambda _, watch, n: watch.operator_sets(f'osd.{n}', OPERATORS),
    ChaosEvent.SETS_OSD_MASKED: lambda w, watch, n: watch.operator_sets(
        f'osd.{n}/class:{w.cluster.osds[n].device_class}', OPERATORS
    ),
    ChaosEvent.SETS_ALL: lambda _, watch, __: watch.operator_sets(ALL, OPERATORS),
    ChaosEvent.SETS_GLOBAL: lambda _, watch, __: watch.operator_sets('global', OPERATORS),
    ChaosEvent.SETS_CLASS: lambda _, watch, __: watch.operator_sets(CLASS, OPERATORS),
    ChaosEvent.SETS_HOST: lambda w, watch, n: watch.operator_sets(
        f'osd/host:{w.cluster.osds[n].host}', OPERATORS
    ),
    ChaosEvent.SETS_OTHER_OPTION: lambda w, _, __: w.cluster.operator_sets(
        'osd', '1G', 'osd_memory_target'
    ),
    ChaosEvent.SETS_OTHER_STRING: lambda _, watch, __: watch.operator_sets_other_option(OPERATORS),
    ChaosEvent.REMOVES_OSD: lambda w, watch, n: _operator_removes(w, watch, f'osd.{n}'),
    ChaosEvent.REMOVES_ALL: lambda w, watch, _: _operator_removes(w, watch, ALL),
    ChaosEvent.RESTARTED_BY_HAND: lambda w, _, n: _restart_by_hand(w, n),
    ChaosEvent.OSD_DIES: _stop,
    ChaosEvent.OSD_STARTS: _starts,
    ChaosEvent.HOST_DIES: _host_dies,
    ChaosEvent.HOST_STARTS: _host_starts,
    ChaosEvent.DIES_AND_IS_OUT: _dies_and_is_out,
    ChaosEvent.MARKED_OUT: lambda w, _, n: _marked(w, n, in_cluster=False),
    ChaosEvent.MARKED_IN: lambda w, _, n: _marked(w, n, in_cluster=True),
    ChaosEvent.MARKED_DOWN: _mark_down,
    ChaosEvent.PURGED: _purge,
    ChaosEvent.REPLACED: _replace,
    ChaosEvent.REPLACED_BY_ANOTHER_CLASS: lambda w, watch, n: _replace(w, watch, n, 'hdd'),
    ChaosEvent.JOINS: _join,
    ChaosEvent.ANOTHER_CLASS_JOINS: lambda w, watch, n: _join(w, watch, n, 'hdd'),
    ChaosEvent.BREAKS: _of_osd('broken', value=True),
    ChaosEvent.STUBBORN: _stubborn,
    ChaosEvent.SILENT: _of_osd('silent', value=True),
    ChaosEvent.CRASHES: _of_osd('crashes_after_s', 8.0),
    ChaosEvent.STARTS_SLOWLY: lambda w, _, n: w.cluster.slow_starts.update({n: _SLOW_START_S}),
    ChaosEvent.OVERRULED: _overrule,
    ChaosEvent.NEXT_OVERRULED: _overrule_next,
    ChaosEvent.OF_ANOTHER_RELEASE: _of_osd('release', 'reef'),
    ChaosEvent.METADATA_MISSING: lambda w, _, n: w.cluster.without_metadata.update(
        {n: w.cluster.now_s + STALE_S}
    ),
    ChaosEvent.METADATA_OLD: lambda w, _, n: _metadata_old(w, n),
    ChaosEvent.OSD_HEALED: lambda w, _, n: heal_osd(w, n),
    ChaosEvent.ORCHESTRATOR_GONE: _of_cluster('orchestrator_reason', 'No orchestrator configured'),
    ChaosEvent.ORCHESTRATOR_IDLE: _of_cluster('orchestrator_idle', value=True),
    ChaosEvent.ORCHESTRATOR_LATE: lambda w, _, n: setattr(
        w.cluster, 'orchestrator_delay_s', _LATE_S[n % len(_LATE_S)]
    ),
    ChaosEvent.ORCHESTRATOR_REFUSES: _refuse('orch daemon', refusing('host is offline')),
    ChaosEvent.ORCHESTRATOR_WRONG: lambda w, _, n: setattr(w.cluster, 'orchestrator_restarts', n),
    ChaosEvent.ORCHESTRATOR_BACK: lambda w, _, __: heal_orchestrator(w.cluster),
    ChaosEvent.WRITE_REFUSED: _next_write(WriteFault.REFUSED),
    ChaosEvent.WRITE_ANSWER_LOST: _next_write(WriteFault.ANSWER_LOST),
    ChaosEvent.WRITE_LOST: _next_write(WriteFault.LOST),
    ChaosEvent.WRITE_DELAYED: _next_write(WriteFault.DELAYED),
    ChaosEvent.MONITORS_SLOW: _of_world('slow_monitors', value=True),
    ChaosEvent.REFUSES_SET: _refuse('config set'),
    ChaosEvent.REFUSES_RM: _refuse('config rm'),
    ChaosEvent.REFUSES_DUMP: _refuse('config dump'),
    ChaosEvent.REFUSES_GET: _refuse('config get'),
    ChaosEvent.REFUSES_OK_TO_STOP: _refuse('osd ok-to-stop'),
    ChaosEvent.REFUSES_VERSIONS: _refuse('versions'),
    ChaosEvent.MONITORS_BACK: lambda w, _, __: heal_monitors(w),
    ChaosEvent.STORE_REFUSES: lambda w, _, __: setattr(w.store, 'error', refusing('no space')),
    ChaosEvent.STORE_BACK: lambda w, _, __: setattr(w.store, 'error', None),
    ChaosEvent.STORE_LOSES_EVIDENCE: lambda w, _, n: _lose_evidence(w, n),
    ChaosEvent.FLAG: lambda w, _, n: w.cluster.flags.add(
        ('noout', 'nobackfill', 'norecover')[n % 3]
    ),
    ChaosEvent.NO_FLAG: lambda w, _, __: w.cluster.flags.difference_update(
        {'noout', 'nobackfill', 'norecover'}
    ),
    ChaosEvent.NEARFULL: lambda w, _, n: w.cluster.health.update(
        {('OSD_NEARFULL', 'MON_DOWN', 'PG_DEGRADED')[n % 3]: 'HEALTH_WARN'}
    ),
    ChaosEvent.NO_NEARFULL: lambda w, _, __: w.cluster.health.clear(),
    ChaosEvent.SCRUB_FINDS_DAMAGE: _of_cluster('inconsistent', value=True),
    ChaosEvent.DAMAGE_REPAIRED: _of_cluster('inconsistent', value=False),
    ChaosEvent.UPGRADE_BEGINS: _of_cluster('upgrades_to', 'example/ceph:v18.2.7'),
    ChaosEvent.UPGRADE_ENDS: _of_cluster('upgrades_to', value=None),
    ChaosEvent.CLOCK_FORWARD: lambda w, _, n: _set_clock(w, _JUMPS_S[n % 5]),
    ChaosEvent.CLOCK_BACK: lambda w, _, n: _set_clock(w, -_JUMPS_S[n % 5]),
    ChaosEvent.CLIENTS_STOP: _of_clients('writes_per_s', 0),
    ChaosEvent.CLIENTS_COME: _of_clients('writes_per_s', 100),
    ChaosEvent.NEW_IS_SLOW: _of_clients('factor', 1.5),
    ChaosEvent.OSD_IS_SLOW: lambda w, _, n: w.clients.slow.add(n),
    ChaosEvent.REPORTS_STOP: _of_world('no_reports_reason', 'no OSD reports to this manager'),
    ChaosEvent.REPORTS_ARE_RARE: lambda w, _, n: _report_rarely(w.cluster, n),
    ChaosEvent.REPORTS_ARE_FREQUENT: _of_cluster('pg_report_s', 5.0),
    ChaosEvent.REPORTS_COME: _of_world('no_reports_reason', value=None),
    ChaosEvent.SAMPLES_STOP: lambda w, _, n: w.falls_silent(n),
    ChaosEvent.SAMPLES_COME: lambda w, _, __: w.silent_since_s.clear(),
}
