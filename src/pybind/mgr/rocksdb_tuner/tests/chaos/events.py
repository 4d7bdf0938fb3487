"""The events of a schedule: faults of the cluster and its managers, and actions of operators."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain, RunningOption
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.storage import EVIDENCE
from rocksdb_tuner.tests.operations.rollout.conftest import ALL, CLASS, refusing, set_profile

from .cluster import STALE_S, ChaosCluster
from .faults import Killed, NextWrite, WriteFault
from .topology import Spot

if TYPE_CHECKING:
    from .invariants import Watch
    from .world import World

#: Values set by operators.
OPERATORS = 'write_buffer_size=33554432'
FIRST, SECOND = 'client.a', 'client.b'

#: By how much clocks are wrong.
_JUMPS_S = (40.0, 3600.0, 100_000.0, 4000.0, 200_000.0)
_STALL_S = 95.0
#: Longer than `Limits.boot_s`.
_SLOW_START_S = 400.0
_LATE_S = (15.0, 60.0, 200.0)

_Effect = Callable[['World', 'Watch', int], object]


class Effect(NamedTuple):
    happens: _Effect
    #: The event that ends a lasting one.
    ends: str = ''


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


def heal(world: World, watch: Watch) -> frozenset[int]:
    """Everything works again, and nothing is held.

    Every second OSD that is down and out comes back; the others are returned.
    """
    cluster = world.cluster
    world.next_writes.clear()
    dead = frozenset(n for n in cluster.down if not cluster.osds[n].in_cluster and n % 2 == 0)
    for n in set(cluster.osds) - dead:
        heal_osd(world, n)
    heal_orchestrator(cluster)
    heal_monitors(world)
    cluster.flags -= {'noout', 'nobackfill', 'norecover'}
    cluster.health.clear()
    cluster.upgrades_to = None
    cluster.inconsistent = False
    cluster.makes_do = bool(watch.others | dead)
    world.store.error = None
    world.may_act = True
    world.outside_window = world.no_reports_reason = None
    world.restarts_per_day = 0
    return dead


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


class ChaosEvent(Enum):
    """What may happen, in the order in which it is drawn."""

    def __reduce_ex__(self, _: object) -> tuple[object, ...]:
        # By name: effects cannot be sent to another process.
        return getattr, (ChaosEvent, self.name)

    # -- managers
    FAIL_OVER = Effect(lambda w, _, __: w.take_over())
    KILLED_BEFORE_A_WRITE = Effect(_next_write(WriteFault.KILLED_BEFORE))
    KILLED_AFTER_A_WRITE = Effect(_next_write(WriteFault.KILLED_AFTER))
    MODULE_RELOADED = Effect(lambda w, _, __: w.fail_over())
    MANAGER_STALLS = Effect(lambda w, _, __: w.pass_time(_STALL_S))
    ADVICE_RAISES = Effect(_of_world('advice_fails', value=True), 'ADVICE_WORKS')
    ADVICE_WORKS = Effect(_of_world('advice_fails', value=False))
    SAMPLING_RAISES = Effect(_of_world('sampling_fails', value=True), 'SAMPLING_WORKS')
    SAMPLING_WORKS = Effect(_of_world('sampling_fails', value=False))
    # -- operators, of whom there are two
    PAUSE = Effect(_pause(FIRST), 'RESUME')
    RESUME = Effect(_resume)
    OTHER_OPERATOR_PAUSES = Effect(_pause(SECOND), 'RESUME')
    OTHER_OPERATOR_RESUMES = Effect(partial(_resume))
    ABORT = Effect(_abort)
    ROLLBACK = Effect(_rollback)
    ROLLBACK_UNKNOWN = Effect(_rollback_unknown)
    APPLY_ANOTHER = Effect(_apply_another)
    MODE_OFF = Effect(_of_world('may_act', value=False), 'MODE_ON')
    MODE_OFF_IN_A_WRITE = Effect(_next_write(WriteFault.SWITCHED_OFF), 'MODE_ON')
    MODE_ON = Effect(_of_world('may_act', value=True))
    WINDOW_CLOSES = Effect(
        _of_world('outside_window', 'outside the maintenance window'), 'WINDOW_OPENS'
    )
    WINDOW_OPENS = Effect(_of_world('outside_window', value=None))
    DAILY_LIMIT = Effect(
        lambda w, _, n: setattr(w, 'restarts_per_day', 1 + n % 4), 'NO_DAILY_LIMIT'
    )
    NO_DAILY_LIMIT = Effect(_of_world('restarts_per_day', 0))
    # -- entries that others change
    SETS_OSD = Effect(lambda _, watch, n: watch.operator_sets(f'osd.{n}', OPERATORS))
    SETS_OSD_MASKED = Effect(
        lambda w, watch, n: watch.operator_sets(
            f'osd.{n}/class:{w.cluster.osds[n].device_class}', OPERATORS
        )
    )
    SETS_ALL = Effect(lambda _, watch, __: watch.operator_sets(ALL, OPERATORS))
    SETS_GLOBAL = Effect(lambda _, watch, __: watch.operator_sets('global', OPERATORS))
    SETS_CLASS = Effect(lambda _, watch, __: watch.operator_sets(CLASS, OPERATORS))
    SETS_HOST = Effect(
        lambda w, watch, n: watch.operator_sets(f'osd/host:{w.cluster.osds[n].host}', OPERATORS)
    )
    SETS_OTHER_OPTION = Effect(
        lambda w, _, __: w.cluster.operator_sets('osd', '1G', 'osd_memory_target')
    )
    #: Of the string and its annex, the one that the rollout does not change.
    SETS_OTHER_STRING = Effect(lambda _, watch, __: watch.operator_sets_other_option(OPERATORS))
    REMOVES_OSD = Effect(lambda w, watch, n: _operator_removes(w, watch, f'osd.{n}'))
    REMOVES_ALL = Effect(lambda w, watch, _: _operator_removes(w, watch, ALL))
    # -- OSDs
    RESTARTED_BY_HAND = Effect(lambda w, _, n: _restart_by_hand(w, n))
    OSD_DIES = Effect(_stop, 'OSD_STARTS')
    OSD_STARTS = Effect(_starts)
    HOST_DIES = Effect(_host_dies, 'HOST_STARTS')
    HOST_STARTS = Effect(_host_starts)
    DIES_AND_IS_OUT = Effect(_dies_and_is_out)
    MARKED_OUT = Effect(lambda w, _, n: _marked(w, n, in_cluster=False), 'MARKED_IN')
    MARKED_IN = Effect(lambda w, _, n: _marked(w, n, in_cluster=True))
    MARKED_DOWN = Effect(_mark_down)
    PURGED = Effect(_purge)
    REPLACED = Effect(_replace)
    REPLACED_BY_ANOTHER_CLASS = Effect(lambda w, watch, n: _replace(w, watch, n, 'hdd'))
    JOINS = Effect(_join)
    ANOTHER_CLASS_JOINS = Effect(lambda w, watch, n: _join(w, watch, n, 'hdd'))
    BREAKS = Effect(_of_osd('broken', value=True))
    STUBBORN = Effect(_stubborn)
    SILENT = Effect(_of_osd('silent', value=True))
    CRASHES = Effect(_of_osd('crashes_after_s', 8.0))
    STARTS_SLOWLY = Effect(lambda w, _, n: w.cluster.slow_starts.update({n: _SLOW_START_S}))
    OVERRULED = Effect(_overrule)
    NEXT_OVERRULED = Effect(_overrule_next)
    OF_ANOTHER_RELEASE = Effect(_of_osd('release', 'reef'))
    METADATA_MISSING = Effect(
        lambda w, _, n: w.cluster.without_metadata.update({n: w.cluster.now_s + STALE_S})
    )
    METADATA_OLD = Effect(lambda w, _, n: _metadata_old(w, n))
    OSD_HEALED = Effect(lambda w, _, n: heal_osd(w, n))
    # -- orchestrator
    ORCHESTRATOR_GONE = Effect(
        _of_cluster('orchestrator_reason', 'No orchestrator configured'), 'ORCHESTRATOR_BACK'
    )
    ORCHESTRATOR_IDLE = Effect(_of_cluster('orchestrator_idle', value=True), 'ORCHESTRATOR_BACK')
    ORCHESTRATOR_LATE = Effect(
        lambda w, _, n: setattr(w.cluster, 'orchestrator_delay_s', _LATE_S[n % len(_LATE_S)])
    )
    ORCHESTRATOR_REFUSES = Effect(
        _refuse('orch daemon', refusing('host is offline')), 'ORCHESTRATOR_BACK'
    )
    ORCHESTRATOR_WRONG = Effect(lambda w, _, n: setattr(w.cluster, 'orchestrator_restarts', n))
    ORCHESTRATOR_BACK = Effect(lambda w, _, __: heal_orchestrator(w.cluster))
    # -- monitors, and what they keep
    WRITE_REFUSED = Effect(_next_write(WriteFault.REFUSED))
    WRITE_ANSWER_LOST = Effect(_next_write(WriteFault.ANSWER_LOST))
    WRITE_LOST = Effect(_next_write(WriteFault.LOST))
    WRITE_DELAYED = Effect(_next_write(WriteFault.DELAYED))
    MONITORS_SLOW = Effect(_of_world('slow_monitors', value=True), 'MONITORS_BACK')
    REFUSES_SET = Effect(_refuse('config set'), 'MONITORS_BACK')
    REFUSES_RM = Effect(_refuse('config rm'), 'MONITORS_BACK')
    REFUSES_DUMP = Effect(_refuse('config dump'), 'MONITORS_BACK')
    #: Nothing asks for it: `config get` shows entries with a mask, with which no OSD starts.
    REFUSES_GET = Effect(_refuse('config get'), 'MONITORS_BACK')
    REFUSES_OK_TO_STOP = Effect(_refuse('osd ok-to-stop'), 'MONITORS_BACK')
    REFUSES_VERSIONS = Effect(_refuse('versions'), 'MONITORS_BACK')
    MONITORS_BACK = Effect(lambda w, _, __: heal_monitors(w))
    STORE_REFUSES = Effect(
        lambda w, _, __: setattr(w.store, 'error', refusing('no space')), 'STORE_BACK'
    )
    STORE_BACK = Effect(lambda w, _, __: setattr(w.store, 'error', None))
    STORE_LOSES_EVIDENCE = Effect(lambda w, _, n: _lose_evidence(w, n))
    # -- the cluster as a whole
    FLAG = Effect(
        lambda w, _, n: w.cluster.flags.add(('noout', 'nobackfill', 'norecover')[n % 3]), 'NO_FLAG'
    )
    NO_FLAG = Effect(
        lambda w, _, __: w.cluster.flags.difference_update({'noout', 'nobackfill', 'norecover'})
    )
    NEARFULL = Effect(
        lambda w, _, n: w.cluster.health.update(
            {('OSD_NEARFULL', 'MON_DOWN', 'PG_DEGRADED')[n % 3]: 'HEALTH_WARN'}
        ),
        'NO_NEARFULL',
    )
    NO_NEARFULL = Effect(lambda w, _, __: w.cluster.health.clear())
    SCRUB_FINDS_DAMAGE = Effect(_of_cluster('inconsistent', value=True), 'DAMAGE_REPAIRED')
    DAMAGE_REPAIRED = Effect(_of_cluster('inconsistent', value=False))
    UPGRADE_BEGINS = Effect(_of_cluster('upgrades_to', 'example/ceph:v18.2.7'), 'UPGRADE_ENDS')
    UPGRADE_ENDS = Effect(_of_cluster('upgrades_to', value=None))
    CLOCK_FORWARD = Effect(lambda w, _, n: _set_clock(w, _JUMPS_S[n % 5]))
    CLOCK_BACK = Effect(lambda w, _, n: _set_clock(w, -_JUMPS_S[n % 5]))
    CLIENTS_STOP = Effect(_of_clients('writes_per_s', 0), 'CLIENTS_COME')
    CLIENTS_COME = Effect(_of_clients('writes_per_s', 100))
    NEW_IS_SLOW = Effect(_of_clients('factor', 1.5))
    OSD_IS_SLOW = Effect(lambda w, _, n: w.clients.slow.add(n))
    REPORTS_STOP = Effect(
        _of_world('no_reports_reason', 'no OSD reports to this manager'), 'REPORTS_COME'
    )
    REPORTS_COME = Effect(_of_world('no_reports_reason', value=None))
    #: Of one OSD, which works.
    SAMPLES_STOP = Effect(lambda w, _, n: w.falls_silent(n))
    SAMPLES_COME = Effect(lambda w, _, __: w.silent_since_s.clear())
    REPORTS_ARE_RARE = Effect(lambda w, _, n: _report_rarely(w.cluster, n), 'REPORTS_ARE_FREQUENT')
    REPORTS_ARE_FREQUENT = Effect(_of_cluster('pg_report_s', 5.0))


def named(names: str) -> frozenset[ChaosEvent]:
    """The events of these names."""
    return frozenset(map(ChaosEvent.__getitem__, names.split()))


#: These go through the manager, between two samples, are read once a tick, or take time; all others
#: may happen within a sample.
REQUESTS = named(
    'FAIL_OVER MODULE_RELOADED MANAGER_STALLS PAUSE RESUME OTHER_OPERATOR_PAUSES '
    'OTHER_OPERATOR_RESUMES ABORT ROLLBACK ROLLBACK_UNKNOWN APPLY_ANOTHER MODE_OFF MODE_ON '
    'WINDOW_CLOSES WINDOW_OPENS DAILY_LIMIT NO_DAILY_LIMIT REPORTS_STOP REPORTS_COME '
    'SAMPLES_STOP SAMPLES_COME MARKED_DOWN'
)
#: Only the whole loop has what these break.
OF_THE_LOOP = named('ADVICE_RAISES ADVICE_WORKS SAMPLING_RAISES SAMPLING_WORKS')
#: Events after the end of a rollout; all others are then the operator's business.
AFTER_THE_END = named('ROLLBACK FAIL_OVER MODULE_RELOADED ROLLBACK_UNKNOWN')
#: Lasting events, and the events that end them.
ENDS_WITH = {event: ChaosEvent[event.value.ends] for event in ChaosEvent if event.value.ends}


def apply_event(world: World, watch: Watch, event: ChaosEvent, osd_id: int) -> bool:
    """Let it happen, to this OSD; whether the manager refused it."""
    return world.guarded(lambda: event.value.happens(world, watch, osd_id))
