"""Snapshots of clusters in the states that answers must be able to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from hypothesis import strategies as st

from rocksdb_tuner.advise.decision import wait_for
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import (
    Decision,
    Finding,
    FindingEvidence,
    GroupFacts,
    Kind,
    Limit,
    OsdFacts,
    OsdOptions,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Resource,
    Risk,
    Severity,
)
from rocksdb_tuner.advise.weighing import (
    RESOURCES,
    Assessment,
    Bars,
    Origin,
    Usage,
    Weighed,
    Weighing,
    weigh,
)
from rocksdb_tuner.doctor import Environment
from rocksdb_tuner.judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    Predicted,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.lsm.records import Estimate
from rocksdb_tuner.mgr.records import FailureDomain, ManagerInfo, OsdInfo
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.operations.compaction.machine import Limits
from rocksdb_tuner.operations.compaction.plan import CampaignPlan, Guard, PlannedOsd
from rocksdb_tuner.operations.compaction.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    planned,
)
from rocksdb_tuner.operations.experiment.records import ExperimentState
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import (
    Before,
    Direction,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.plan.experiment_design import ExperimentPlan
from rocksdb_tuner.plan.records import ANNEX, ChangeKind, ChangeRequest
from rocksdb_tuner.snapshot import Mode, Sampling, Snapshot
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

NOW_S = 1_770_000_000.25

PACIFIC_DEFAULT = (
    'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
    'recycle_log_file_num=4,write_buffer_size=268435456,writable_file_max_buffer_size=0,'
    'compaction_readahead_size=2097152,max_background_compactions=2,max_total_wal_size=1073741824'
)
ANNEX_VALUE = 'compression=kLZ4Compression'
LZ4 = (
    'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6,'
    'compaction_style=kCompactionStyleLevel,write_buffer_size=16777216,max_background_jobs=4,'
    'level0_file_num_compaction_trigger=8,max_bytes_for_level_base=1073741824,'
    'max_bytes_for_level_multiplier=8,compaction_readahead_size=2MB,max_total_wal_size=1073741824,'
    'writable_file_max_buffer_size=0'
)

SMALL_WRITES = Workload(
    WorkloadClass.RBD_SMALL_WRITE,
    0.9234567890123,
    (
        Evidence('write_bytes_avg', 4096.0, 'bytes', 60.0, 'Clients write 4 KiB at a time.'),
        Evidence('write_iops', 812.3456789, 'operations/s', 60.0, 'Writes are 97% of operations.'),
        Evidence('pools', 1.0, 'pools', 60.0, 'Of the pools on these OSDs, rbd is the one in use.'),
    ),
)
METADATA = Workload(
    WorkloadClass.RGW_METADATA,
    0.81,
    (Evidence('rw_iops', 95.0, 'operations/s', 60.0, 'Bucket index calls are 41% of operations.'),),
)

#: There is no data besides the snapshot.
ENVIRONMENT = Environment(
    host=None,
    orchestrated=None,
    orchestrator_reason=None,
    tab_unplaced=True,
    metrics_url=None,
    metrics_enabled=True,
)


def info(osd_id: int, host: Optional[str] = None, device_class: Optional[str] = 'ssd') -> OsdInfo:
    return OsdInfo(
        osd_id=osd_id,
        up=True,
        in_cluster=True,
        nonce=1000 + osd_id,
        host=host or 'node1',
        device_class=device_class,
        version='16.2.15',
        release='pacific',
        dedicated_db=False,
        dedicated_wal=False,
        db_device_bytes=None,
        objectstore='bluestore',
        failure_domain=FailureDomain('host', host or 'node1'),
    )


def signals(osd_id: int) -> Signals:
    return Signals(
        osd_id=osd_id,
        window_s=10.000213,
        sampled_s=NOW_S - 3.141592653589793,
        kv_sync_ms=0.7312345678901234,
        kv_sync_busy=0.4312345678901234,
        kv_flush_ms=0.31,
        commit_ms=2.4,
        write_iops=271.123456789,
        read_iops=8.0,
        rw_iops=0.0,
        rw_bytes_per_s=0.0,
        write_bytes_per_s=1110521.9,
        read_bytes_per_s=32768.0,
        write_bytes_avg=4096.0,
        read_bytes_avg=4096.0,
        op_w_latency_ms=4.9,
        recovery_ops_per_s=0.0,
        recovery_bytes_per_s=0.0,
        wal_bytes_per_s=3355443.2,
        sst_bytes_per_s=1258291.2,
        slow_bytes_per_s=0.0,
        wal_bytes_per_client_byte=3.02,
        wal_bytes_per_write_op=12376.4,
        compaction_bytes_per_s=734003.2,
        compaction_source='estimated',
        compaction_window_s=600.0,
        db_write_amp=1.3751234567,
        db_write_amp_window_s=3600.0,
        db_device_shared=True,
        db_used_bytes=1288490188,
        db_total_bytes=None,
        wal_used_bytes=134217728,
        wal_total_bytes=None,
        slow_used_bytes=0,
        slow_total_bytes=None,
    )


def options(osd_id: int, profile: Optional[str] = 'pacific-default') -> OsdOptions:
    return OsdOptions(
        osd_id=osd_id,
        running=PACIFIC_DEFAULT,
        source='default',
        next_start=PACIFIC_DEFAULT,
        deciding_who=None,
        pending_restart=False,
        overruled=False,
        annex='',
        next_annex='',
        annex_who=None,
        starts=True,
        culprits=(),
        unknown_entry=None,
        profile=profile,
    )


def facts(osd_id: int, host: Optional[str] = None, device_class: Optional[str] = 'ssd') -> OsdFacts:
    return OsdFacts(
        info(osd_id, host, device_class), signals(osd_id), SMALL_WRITES, options(osd_id)
    )


SOAK = SoakPlan(600.0, 3600.0, batches=SoakPlan(300.0, 900.0, Inconclusive.PROMOTE))


def weighing() -> Weighing:
    """A choice with one of each kind: what runs, chosen, short, ruled out, and not better."""

    def weighed(name: str, origin: Origin, *gains: float, infeasible: str = '') -> Weighed:
        known = profile(name) if origin is Origin.PROFILE else None
        usages = tuple(
            Usage(resource, Estimate(gain - 0.06, gain, gain + 0.06))
            for resource, gain in zip((Resource.KV_SYNC, Resource.DB_DEVICE), gains)
        )
        options, named = ('ttl=1', None) if known is None else (known.options, known.name)
        return Weighed(name, origin, options, named, (infeasible,) if infeasible else (), usages)

    return weigh(
        (
            weighed('bluestore-default-pacific', Origin.RUNNING),
            weighed('variant-2022-d', Origin.PROFILE, 0.81, 0.79),
            weighed('variant-2022-c', Origin.PROFILE, 0.85, 1.19),
            weighed(
                'lz4-2025',
                Origin.PROFILE,
                infeasible='A level that is on the DB device now would no longer fit.',
            ),
            weighed('derived', Origin.DERIVED, 0.81, 0.65),
        ),
        Resource.KV_SYNC,
        Bars(),
    )


def recommendation(osds: tuple[int, ...] = (0, 1, 2), device_class: str = 'ssd') -> Recommendation:
    who = f'osd/class:{device_class}'
    name = 'bluestore_rocksdb_options'
    return Recommendation(
        recommendation_id=f'{device_class}-1a2b3c',
        kind=Kind.SET_PROFILE,
        who=who,
        osds=osds,
        profile='lz4-64x16m-2025',
        options_from=PACIFIC_DEFAULT,
        options_to=LZ4,
        reasons=(
            Reason('Clients write 4 KiB at a time.', 'measured'),
            Reason(
                'Small write buffers that are merged before they are flushed keep short-lived '
                'keys out of the LSM tree, so less is compacted.',
                'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Write Path',
            ),
        ),
        predictions=(
            Prediction(
                '4 KiB random write IOPS',
                'write_iops',
                23.4,
                0.0,
                23.4,
                '60 NVMe OSDs on 10 nodes, Ceph 17.2; published 2022, not measured on this '
                'hardware',
            ),
        ),
        risk=Risk.MEDIUM,
        priority=Priority.NOW,
        change=ChangeRequest(
            recommendation_id=f'{device_class}-1a2b3c',
            kind=ChangeKind.SET_PROFILE,
            who=who,
            targets=tuple((osd_id, LZ4) for osd_id in osds),
            order=osds,
            final_entries=((who, LZ4),),
            actor='',
        ),
        commands=(
            f"ceph config set osd.0 {name} '{LZ4}'",
            'ceph orch daemon restart osd.0',
            f'ceph config show osd.0 {name}',
            f"ceph config set {who} {name} '{LZ4}'",
            f'ceph config rm osd.0 {name}',
        ),
        undo_commands=(f'ceph config rm {who} {name}', 'ceph orch daemon restart osd.0'),
        decision=Decision(
            who,
            'Change the options from default to lz4-64x16m-2025',
            'Clients write 4 KiB at a time.',
            '4 KiB random write IOPS +23% (0 to +23%)',
            'none expected',
            f'medium: restarts {len(osds)} OSDs, one at a time',
            f'ceph rocksdb-tuner apply {device_class}-1a2b3c',
        ),
    )


def assessment(advice: Recommendation, weighed: Optional[Weighing] = None) -> Assessment:
    return Assessment('osd/class:ssd', advice.decision, (advice,), weighed)


def nothing_recommended(who: str, because: str) -> Assessment:
    return Assessment(who, wait_for(who, 'no change is possible yet', because), ())


def changing(advice: Recommendation, **what: object) -> Recommendation:
    """The same with another change to apply."""
    assert advice.change is not None
    return replace(advice, change=replace(advice.change, **what))  # type: ignore[arg-type]


FINDINGS = (
    Finding(
        'different-options',
        Severity.INFO,
        'OSDs of class ssd run 2 different option strings; osd.2 differ from the rest',
        (2,),
        (FindingEvidence('osd.2', LZ4, 'option string', None),),
        'Give all OSDs of the class one entry, osd/class:ssd, and remove the others.',
        'Ceph documentation, Configuration Sources',
    ),
    Finding(
        'unstartable-options',
        Severity.ERROR,
        'osd.1 would not start again with the options set for osd.1',
        (1,),
        (FindingEvidence('bluestore_rocksdb_options', 'compression=kFoo', 'option string', None),),
        'ceph config rm osd.1 bluestore_rocksdb_options',
        'Measured on 16.2.15: the monitor accepts any string, the OSD does not',
    ),
    Finding(
        'spillover',
        Severity.WARNING,
        'osd.0 keeps 3.2 GiB of RocksDB on the slow device',
        (0,),
        (FindingEvidence('slow_used_bytes', 3435973836, 'bytes', None),),
        'Give the OSD a larger DB device, or compact: ceph tell osd.0 compact',
        'Ceph documentation, BLUEFS_SPILLOVER',
    ),
)


def by_annex() -> Recommendation:
    """Compression alone, for a cluster that runs the default."""
    made = changing(
        recommendation(),
        recommendation_id='osd-4d5e6f',
        who='osd',
        targets=tuple((osd_id, ANNEX_VALUE) for osd_id in (0, 1, 2)),
        final_entries=(('osd', ANNEX_VALUE),),
        option=ANNEX,
    )
    return replace(
        made,
        recommendation_id='osd-4d5e6f',
        who='osd',
        decision=replace(
            made.decision,
            who='osd',
            do=f'Set {ANNEX_VALUE}',
            next_command='ceph rocksdb-tuner apply osd-4d5e6f',
        ),
        profile=None,
        options_to=f'{PACIFIC_DEFAULT},{ANNEX_VALUE}',
        annex=ANNEX_VALUE,
        commands=(f'ceph config set osd {ANNEX} {ANNEX_VALUE}',),
        undo_commands=(f'ceph config rm osd {ANNEX}',),
    )


def annex_rollout() -> RolloutState:
    made, advice = rollout(who='osd'), by_annex()
    request = replace(
        made.request,
        recommendation_id=advice.recommendation_id,
        targets=advice.targets,
        final_entries=advice.final_entries,
        option=ANNEX,
        strings=(advice.options_from, advice.options_to),
    )
    return replace(made, request=request)


def rollout(osds: tuple[int, ...] = (0, 1, 2), who: str = 'osd/class:ssd') -> RolloutState:
    """A rollout whose first OSD is done and whose second restarts."""
    steps = [OsdStep.VERIFIED, OsdStep.RESTARTING]
    return RolloutState(
        rollout_id='20260202-024000-ssd',
        request=ChangeRequest(
            recommendation_id='ssd-1a2b3c',
            kind=ChangeKind.SET_PROFILE,
            who=who,
            targets=tuple((osd_id, LZ4) for osd_id in osds),
            order=osds,
            final_entries=((who, LZ4),),
            actor='operator',
            prediction='4 KiB random write IOPS 0 to +23%',
        ),
        before=Before(
            entries=(),
            osds=tuple(OsdBefore(n, PACIFIC_DEFAULT, 'default', 'pacific') for n in osds),
        ),
        osds=tuple(
            OsdProgress(osd_id, steps[place] if place < len(steps) else OsdStep.PENDING)
            for place, osd_id in enumerate(osds)
        ),
        started_s=NOW_S - 90,
        updated_s=NOW_S - 2,
        stage=Phase.PROMOTING,
    )


def waiting_rollout() -> RolloutState:
    return replace(
        rollout(),
        paused_reason='no orchestrator can restart daemons: restart osd.1 yourself, on node1',
        last_error='No orchestrator configured (try `ceph orch set backend`)',
    )


def failed_rollout() -> RolloutState:
    return replace(
        rollout(),
        osds=(OsdProgress(0, OsdStep.RESTORED, restarts_asked=2), OsdProgress(1), OsdProgress(2)),
        stage=Phase.FAILED,
        direction=Direction.RECOVER,
        soak=SOAK,
        soaked_s=3600.0,
        judgement=Judgement(
            Verdict.INCONCLUSIVE,
            (
                SignalVerdict('op_w_latency_ms', Effect.UNCLEAR, -4.0, -19.0, 14.5),
                SignalVerdict('kv_sync_ms_per_txn', Effect.SAME, 1.0, -2.0, 4.0),
                SignalVerdict('db_used_bytes', Effect.UNCLEAR),
            ),
            missing=('client write latency: precision',),
        ),
        outcome=Outcome.FAILED,
        failure='osd.0 did not come back within 300 s; its entry was removed and it runs again',
    )


def compacting() -> CampaignState:
    """A campaign whose first OSD compacts."""
    osds = ((0, info(0, 'node0').place), (1, info(1, 'node1').place))
    request = CampaignRequest('osd-compact-1a2b3c', 'osd', LZ4, osds, 'operator')
    made = planned('c8', request, NOW_S - 7800)
    first = replace(made.osds[0], step=CompactionStep.COMPACTING, asked=1)
    return replace(made, osds=(first, *made.osds[1:]), stage=Phase.CANARY)


def compaction_plan() -> CampaignPlan:
    """What the campaign would take with one OSD without room and a closed guard."""
    osds = (
        PlannedOsd(0, 'node0', info(0).failure_domain, 10**9, 10**10, None),
        PlannedOsd(1, 'node1', None, 10**9, 10**8, 'its DB device has no room'),
    )
    guards = (
        Guard('mode', True, None),
        Guard('flags and health', False, 'flags set on the cluster: noout'),
        Guard('client write latency', None, 'measured for 60s before the first OSD'),
    )
    return CampaignPlan(compacting().request, osds, guards, Limits())


HISTORY = (
    HistoryRecord(
        rollout_id='20260131-120000-ssd',
        time_s=NOW_S - 86400 * 2,
        recommendation_id='ssd-ffeedd',
        who='osd/class:ssd',
        options_from=PACIFIC_DEFAULT,
        options_to=LZ4,
        actor='auto-apply',
        outcome=Outcome.ROLLED_BACK,
        reason='asked for by operator',
        prediction='4 KiB random write IOPS 0 to +23%',
        measured='worse: client write latency +31% (+26 to +36%)',
        predicted=Predicted('4 KiB random write IOPS', 0.0, 23.0),
        judgement=Judgement(
            Verdict.WORSE, (SignalVerdict('op_w_latency_ms', Effect.WORSE, 31.0, 26.0, 36.0),)
        ),
    ),
    HistoryRecord(
        rollout_id='20260202-024000-ssd',
        time_s=NOW_S - 90,
        recommendation_id='ssd-1a2b3c',
        who='osd/class:ssd',
        options_from=LZ4,
        options_to=PACIFIC_DEFAULT,
        actor='operator',
        outcome=Outcome.WAITING,
        reason=None,
        prediction=None,
        measured=None,
    ),
)


def small_cluster() -> Snapshot:
    """Three OSDs of class ssd with small RBD writes, everything known, one recommendation."""
    osds = tuple(facts(osd_id) for osd_id in range(3))
    return Snapshot(
        taken_s=NOW_S,
        mode=Mode.RECOMMEND,
        release='pacific',
        sampling=Sampling(10.0, 3, 3.141592653589793, 0.3812345),
        osds=osds,
        groups=(GroupFacts('ssd', SMALL_WRITES, osds),),
        findings=FINDINGS,
        assessments=(assessment(recommendation()),),
        rollout=rollout(),
        history=HISTORY,
        managers=(
            ManagerInfo('x', 'node1', active=True, has_module=True),
            ManagerInfo('y', None, active=False, has_module=False),
        ),
        limitations=('mgr.y on node2 cannot run this module.',),
        notices=('The stored state "rollout" is not JSON; set aside as "broken/rollout".',),
    )


def operating(
    rollout: Optional[RolloutState] = None,
    campaign: Optional[CampaignState] = None,
    waits_for: Optional[str] = None,
    experiment: Optional[ExperimentState] = None,
) -> Snapshot:
    """With the last operation of each kind; ``waits_for``: what the campaign waits for."""
    return replace(
        small_cluster(),
        rollout=rollout,
        campaign=campaign,
        campaign_waits_for=waits_for,
        experiment=experiment,
    )


def large_cluster() -> Snapshot:
    """Five hosts with long names, 60 OSDs of two classes, DB devices, a mixture of options."""
    osds = []
    for osd_id in range(60):
        device_class = 'ssd' if osd_id % 12 < 4 else 'hdd'
        base = facts(osd_id, f'ceph-osd-{osd_id // 12:02d}.rack7.dc2.example.com', device_class)
        assert base.signals is not None
        assert base.options is not None
        slow_bytes = 3435973836 if osd_id == 17 else 0
        measured = base.signals._replace(
            db_device_shared=False,
            db_used_bytes=(20 + osd_id) << 30,
            db_total_bytes=120 << 30,
            slow_used_bytes=slow_bytes,
            slow_total_bytes=12 << 40,
            write_iops=37.5 * (osd_id + 1),
            wal_bytes_per_s=1e6 * osd_id,
        )
        own = base.options
        if osd_id in {5, 6}:
            own = replace(own, source='mon', deciding_who=f'osd.{osd_id}', profile=None)
        if osd_id in {4, 9}:
            own = replace(own, next_start=LZ4, pending_restart=True, deciding_who='osd/class:hdd')
        base = base._replace(
            info=replace(base.info, dedicated_db=True, db_device_bytes=120 << 30),
            signals=measured,
            options=own,
            workload=METADATA if device_class == 'hdd' else SMALL_WRITES,
        )
        if osd_id == 33:
            base = base._replace(info=replace(base.info, up=False), signals=None, workload=None)
        osds.append(base)
    by_class = {
        name: tuple(o for o in osds if o.info.device_class == name) for name in ('hdd', 'ssd')
    }
    ssd_ids = tuple(o.info.osd_id for o in by_class['ssd'])
    return Snapshot(
        taken_s=NOW_S,
        mode=Mode.AUTO_APPLY,
        release='pacific',
        sampling=Sampling(20.0, 59, 4.0, 7.9),
        osds=tuple(osds),
        groups=(
            GroupFacts('hdd', METADATA, by_class['hdd']),
            GroupFacts('ssd', SMALL_WRITES, by_class['ssd']),
        ),
        findings=FINDINGS,
        assessments=(
            nothing_recommended('osd/class:hdd', 'osd.4, osd.9 did not yet restart.'),
            assessment(recommendation(ssd_ids), weighing()),
        ),
        rollout=rollout(ssd_ids),
        history=HISTORY,
        managers=(),
        limitations=(),
        notices=(),
    )


def empty_cluster() -> Snapshot:
    """A module that was just loaded: nothing was read."""
    return Snapshot(
        taken_s=NOW_S,
        mode=Mode.RECOMMEND,
        release=None,
        sampling=Sampling(10.0, 0, None, None),
        osds=(),
        groups=(),
        findings=(),
        assessments=(),
        rollout=None,
        history=(),
        managers=(),
        limitations=(),
        notices=(),
    )


def switched_off() -> Snapshot:
    return replace(empty_cluster(), mode=Mode.OFF, release='pacific')


def fresh_cluster() -> Snapshot:
    """OSDs are known from the maps; the first windows are not there yet."""
    osds = tuple(
        OsdFacts(info(osd_id), Signals(osd_id, sampled_s=NOW_S - 0.5), None, None)
        for osd_id in range(3)
    )
    return replace(
        empty_cluster(),
        release='pacific',
        sampling=Sampling(10.0, 3, 0.5, None),
        osds=osds,
        groups=(GroupFacts('ssd', None, osds),),
        assessments=(
            nothing_recommended('osd/class:ssd', 'No OSD of the group is up with known options.'),
        ),
    )


def partial_cluster() -> Snapshot:
    """One OSD is down, one never booted and has no class, one is overruled by ceph.conf."""
    down = facts(0)._replace(info=replace(info(0), up=False), signals=None, workload=None)
    never = OsdFacts(
        OsdInfo(1, False, False, None, None, None, None, None, None, None, None, None),
        None,
        None,
        None,
    )
    overruled = facts(2)._replace(
        options=replace(
            options(2, profile=None),
            source='file',
            overruled=True,
            annex='compaction_readahead_size=2MB',
            next_start=None,
        ),
        signals=signals(2)._replace(compaction_source=None, compaction_bytes_per_s=None),
    )
    osds = (down, never, overruled)
    unknown = Workload(WorkloadClass.UNKNOWN, 0.0, ())
    return replace(
        small_cluster(),
        osds=osds,
        groups=(GroupFacts('ssd', unknown, (down, overruled)),),
        assessments=(nothing_recommended('osd/class:ssd', 'No workload has lasted long enough.'),),
        rollout=failed_rollout(),
    )


def all_snapshots() -> dict[str, Snapshot]:
    """Every state by its name."""
    return {
        'small': small_cluster(),
        'large': large_cluster(),
        'empty': empty_cluster(),
        'off': switched_off(),
        'fresh': fresh_cluster(),
        'partial': partial_cluster(),
    }


# Always known, so never NaN or infinite.
_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_CONFIDENCE = st.floats(0, 1)
# An `object` is what a finding's condition measured: a number, a text, or several.
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()

for _record, _strategy in (
    (Sampling, st.builds(Sampling, interval_s=_FINITE)),
    (Workload, st.builds(Workload, confidence=_CONFIDENCE)),
    (Limit, st.builds(Limit, confidence=_CONFIDENCE)),
    # Figures go into the places that the wording has for them, which is no matter of types.
    (Evidence, st.builds(Evidence, figures=st.just(()))),
    (
        Prediction,
        st.builds(Prediction, estimate_percent=_FINITE, low_percent=_FINITE, high_percent=_FINITE),
    ),
    (
        Signals,
        st.builds(
            Signals,
            **{
                name: st.none() | st.floats() | st.integers(0, 2**63)
                for name in Signals._fields
                if name not in {'osd_id', 'compaction_source', 'db_device_shared'}
                and not name.endswith('_bytes')
            },
            **{
                name: st.none() | st.integers(0, 2**63)
                for name in Signals._fields
                if name.endswith('_bytes')
            },
            compaction_source=st.sampled_from([None, 'measured', 'estimated']),
            db_device_shared=st.none() | st.booleans(),
        ),
    ),
    (
        FindingEvidence,
        st.builds(
            FindingEvidence,
            value=_SCALARS | st.lists(_SCALARS, max_size=3),
            unit=st.sampled_from(['bytes', 'ms', 'ratio', 'option string', '']) | st.text(),
        ),
    ),
    # Relative changes of the resources used by an option set.
    (
        Usage,
        st.builds(
            Usage,
            resource=st.sampled_from(sorted(RESOURCES)),
            ratio=st.builds(Estimate, *[st.floats(0.01, 100)] * 3),
        ),
    ),
    (Bars, st.builds(Bars, st.floats(0, 1), st.floats(0, 1))),
    # A share, which `--min-effect` bounds, and a plan, as of every experiment.
    (
        ExperimentPlan,
        st.builds(
            ExperimentPlan,
            min_effect=st.floats(0, 10),
            detectable_percent=st.none() | st.floats(0, 10),
            unsafe_percent=st.none() | st.floats(0, 10),
        ),
    ),
    (Weighing, st.builds(Weighing, resource=st.sampled_from(sorted(RESOURCES)))),
    # At least one OSD, as in every request that was accepted.
    (
        ChangeRequest,
        st.builds(ChangeRequest, order=st.lists(st.integers(0), min_size=1, max_size=3).map(tuple)),
    ),
):
    st.register_type_strategy(_record, _strategy)


def _few(record: type) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(st.from_type(record), max_size=2).map(tuple)


def any_snapshot() -> st.SearchStrategy[Snapshot]:
    """Snapshots of any field values that the records' types allow."""
    return st.builds(
        Snapshot,
        osds=_few(OsdFacts),
        groups=_few(GroupFacts),
        findings=_few(Finding),
        assessments=_few(Assessment),
        history=_few(HistoryRecord),
    )
