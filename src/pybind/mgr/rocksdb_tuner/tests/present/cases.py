"""What each screen shows of a special state, by what the state is; recorded in `data/golden`.

A title says what the text below it has to show: read it there when the recorded text changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocksdb_tuner.advise.decision import nothing
from rocksdb_tuner.advise.records import (
    UNKNOWN_LIMIT,
    Finding,
    Limit,
    Recommendation,
    Resource,
    Severity,
)
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.deep.reader import OPTIONS, OsdDeepStats
from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.judge.records import Inconclusive, Judgement, SoakPlan, Verdict
from rocksdb_tuner.lsm.records import Devices, Load
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details, WriteLatency
from rocksdb_tuner.observe.kv_stats import DeepStats, parse_deep_stats
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.observe.trend import Forecast, Outlook
from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.operations.experiment.announce import record_of
from rocksdb_tuner.operations.experiment.records import Stage
from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import Direction, OsdProgress, OsdStep, RolloutState
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.plan.experiment_design import Refusal
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import findings_named, plan_of
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.present.operations import next_step
from rocksdb_tuner.present.osd import detail_of
from rocksdb_tuner.snapshot import Mode, Snapshot
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from . import experiment_samples as experiments
from . import samples

DATA = Path(__file__).parents[1] / 'observe/data'
GIB = 1 << 30
SMALL = samples.small_cluster()
BUSY = Evidence('kv_sync_busy', 0.9, 'ratio', 30.0, 'The kv_sync threads are 90% busy.')
REEF = next(r for r in known_releases() if r.since == '18.2.4')
KNOWN = Situation(
    REEF,
    WorkloadClass.RGW_METADATA,
    Devices(dedicated_db=True, dedicated_wal=True, db_bytes=60 * GIB, wal_bytes=GIB),
    memory_target_bytes=4 * GIB,
    cores=6,
    load=Load('omap-heavy', wal_bytes_per_s=2e6, bytes_per_key=250.0, data_bytes=20.0 * GIB),
    osd_id=7,
)
TWO_BETTER = (Verdict.BETTER, Verdict.BETTER)
WAITS_FOR = 'osd.0 has been compacting for 2h 10m and has not answered'


def plain(view: str, subject: Any, **options: object) -> str:
    return views.show(view, subject, 'plain', **options)


def pretty(view: str, subject: Any) -> str:
    return views.show(view, subject, 'json-pretty')


def limited(resource: Resource, *evidence: Evidence, part: str = '') -> Snapshot:
    limit = Limit(resource, 0.95, evidence, part or None)
    return replace(SMALL, groups=tuple(replace(group, limit=limit) for group in SMALL.groups))


def first_osd(**changes: Any) -> str:
    """The first OSD in full."""
    osds = (SMALL.osds[0]._replace(**changes), *SMALL.osds[1:])
    return plain('osd-detail', detail_of(replace(SMALL, osds=osds), 0))


def finding(*findings: Finding) -> str:
    """In the list, and in full."""
    snapshot = replace(SMALL, findings=findings)
    found = findings_named(snapshot, findings[0].finding_id)
    return f'{plain("findings", snapshot)}\n{plain("findings", found, whole=True)}'


def recommended(advice: Recommendation) -> str:
    return plain('recommend-detail', advice)


def planned(
    osds: tuple[int, ...] = (0, 1, 2), soak: SoakPlan = samples.SOAK, **changes: Any
) -> str:
    advice = samples.changing(samples.recommendation(osds=osds), **changes)
    return plain('plan', plan_of(advice, soak)).partition('\nBefore each restart')[0]


def rollout(state: RolloutState) -> str:
    return plain('operation', samples.operating(state))


def history(**changes: Any) -> str:
    return plain('history', (replace(samples.HISTORY[0], **changes),))


def sampled_in_detail() -> Snapshot:
    """The small cluster with all data of detailed samples."""
    latency = WriteLatency(
        60.0, 4.9, 0.6, 0.34, 3.6, 0.07, 0.004, 0.004, 2.3, 1.2, 0.0003, 0.76
    )  # fmt: skip
    closer = samples.facts(0)._replace(
        details=Details(1.0, latency, 0.02, 900, 3 << 30, 4 << 30),
        forecast=FILLING,
        rocksdb_times=RocksdbTimes(300.0, 0.0, 0.58, 0.024),
        sharded=False,
        last_start=LastStart(250.0, 258.5, False),
    )
    return replace(SMALL, osds=(closer, *SMALL.osds[1:]))


FILLING = Forecast(Outlook.FILLING, 1e9, 86400.0, 49, 1e9, 5e8, 2e9, 864000.0, 432000.0, 1728000.0)


def watched(number: int) -> RolloutState:
    """The OSDs of this batch, and of those before, are changed; it is watched."""
    state = samples.rollout()
    racks = (FailureDomain('rack', 'r1'), FailureDomain('rack', 'r2'))
    steps = [OsdStep.VERIFIED, *[OsdStep.VERIFIED if number else OsdStep.PENDING] * 2]
    return replace(
        state,
        request=replace(state.request, batches=((0,), (1, 2)), domains=racks, controls=(1, 2)),
        osds=tuple(OsdProgress(osd_id, step) for osd_id, step in enumerate(steps)),
        stage=Phase.PROMOTING if number else Phase.SOAKING,
        soak=samples.SOAK,
        soaked_s=120.0,
        batch_soaked_s=60.0,
        verdicts=(Verdict.BETTER,) * number,
    )


def steps() -> str:
    """What an operator waits for, or the next command, of every operation in every state."""
    running, campaign = samples.rollout(), samples.compacting()
    failed = samples.operating(samples.failed_rollout())
    pending = tuple(replace(osd, step=CompactionStep.PENDING) for osd in campaign.osds)
    going_back = (OsdProgress(0, OsdStep.RESTORING), OsdProgress(1, OsdStep.RESTORED))
    undecided = Judgement(Verdict.INCONCLUSIVE, missing=('client writes',))
    inconclusive = 'the verdict on osd.0 is inconclusive'
    paused: Any = {'paused_by': 'operator', 'paused_reason': 'paused by operator'}
    slow = 'client writes take more than 1.5 times the 2.0 ms before'
    measuring = experiments.measuring()
    crashed = replace(
        experiments.ended(), stage=Stage.FAILED, failure='osd.3 crashed', conclusion=None
    )
    states: Mapping[str, Snapshot] = {
        'none': samples.operating(),
        **{
            f'rollout: {name}': samples.operating(state)
            for name, state in {
                'restarting': running,
                'canary watched': watched(0),
                'batch watched': watched(1),
                'begun': replace(running, osds=(OsdProgress(0),), stage=Phase.PREFLIGHT),
                'paused': replace(running, **paused),
                'undecided': replace(watched(0), judgement=undecided, paused_reason=inconclusive),
                'closed gate': replace(running, paused_reason='flags set on the cluster: noout'),
                'restart by hand': samples.waiting_rollout(),
                'mode off': replace(running, paused_reason=NOT_ALLOWED),
                'going back': replace(running, direction=Direction.BACK, osds=going_back),
                'merging': replace(
                    watched(1), stage=Phase.COLLAPSING, verdicts=(Verdict.BETTER,) * 2
                ),
                'done': replace(running, stage=Phase.DONE),
            }.items()
        },
        'rollout: failed': failed,
        'rollout: failed and acknowledged': replace(failed, rollout_acknowledged=True),
        **{
            f'compaction: {name}': samples.operating(None, state)
            for name, state in {
                'one OSD': campaign,
                'between two': replace(campaign, osds=pending),
                'paused': replace(campaign, **paused),
                'slow writes': replace(campaign, paused_reason=slow),
                'done': replace(campaign, stage=Phase.DONE),
            }.items()
        },
        'compaction: an OSD takes long': samples.operating(None, campaign, WAITS_FOR),
        **{
            f'experiment: {name}': samples.operating(experiment=state)
            for name, state in {
                **{name: experiments.all_states()[name] for name in ('baseline', 'measuring')},
                'restoring': replace(measuring, stage=Stage.RESTORING),
                'paused': replace(measuring, **paused),
                'closed gate': replace(measuring, paused_reason='flags set on the cluster: noout'),
                'won': experiments.ended(),
                'no winner': experiments.ended(Answer.NO_GAIN),
                'crashed': crashed,
                'crashed and acknowledged': replace(crashed, acknowledged=True),
            }.items()
        },
    }
    return '\n'.join(f'{name}: {next_step(snapshot)}' for name, snapshot in states.items())


def last_operations() -> str:
    """One that is under way, a rollback while compactions end, or else the last."""
    running, compacting = samples.rollout(), samples.compacting()

    def ended(state: Any, started_s: float) -> Any:
        return replace(state, stage=Phase.DONE, outcome=Outcome.DONE, started_s=started_s)

    pairs = {
        'only a rollout': (running, None),
        'only a campaign': (None, compacting),
        'rollout before a campaign that ended later': (running, ended(compacting, 5e9)),
        'campaign before a rollout that ended later': (ended(running, 5e9), compacting),
        'a rollback while the compactions in flight end': (running, compacting),
        'campaign, the last of two': (ended(running, 1.0), ended(compacting, 2.0)),
        'rollout, the last of two': (ended(running, 2.0), ended(compacting, 1.0)),
    }
    lines = []
    for name, pair in pairs.items():
        snapshot = samples.operating(*pair)
        whole = json.loads(views.show('operation', snapshot))
        brief = json.loads(views.show('status', snapshot))['operation']
        assert (whole['id'], whole['kind']) == (brief['id'], brief['kind'])
        lines.append(f'{name}: {brief["id"]}, {brief["kind"]}')
    return '\n'.join(lines)


def campaign_that_waits() -> str:
    waiting = samples.operating(None, samples.compacting(), WAITS_FOR)
    over = replace(samples.compacting(), stage=Phase.DONE, outcome=Outcome.DONE)
    ended = replace(waiting, campaign=over)
    return '\n'.join(
        plain(view, snapshot) for snapshot in (waiting, ended) for view in ('status', 'operation')
    )


def health() -> str:
    """The checks of states; a failure is raised until it is acknowledged or followed."""
    quiet = replace(SMALL, findings=(), alarms=(), notices=())
    failed = replace(quiet, rollout=samples.failed_rollout())
    waiting = replace(quiet, rollout=samples.waiting_rollout(), rollout_waits='osd.1 is down')
    assert waiting.rollout is not None
    *others, last = waiting.rollout.osds
    left = replace(last, step=OsdStep.LEFT_BEHIND, left_reason='osd.9 is down and out')
    behind = replace(waiting, rollout=replace(waiting.rollout, osds=(*others, left)))
    stopped = samples.FINDINGS[1]
    twice = replace(stopped, osds=(1, 2), severity=Severity.ERROR)
    tried = replace(quiet, rollout=None, experiment=experiments.measuring())
    crashed = replace(experiments.ended(), stage=Stage.FAILED, failure='osd.3 crashed')
    states = {
        'healthy': quiet,
        'brief findings': replace(quiet, findings=SMALL.findings),
        'stored state is broken': replace(quiet, notices=SMALL.notices),
        'failed rollout': failed,
        'acknowledged': replace(failed, rollout_acknowledged=True),
        'followed by another': replace(failed, rollout=samples.rollout()),
        'a wait that ends by itself': replace(waiting, rollout_waits=None),
        'a wait for the operator': waiting,
        'with an OSD left behind': behind,
        'two OSDs of two findings': replace(quiet, alarms=(stopped, twice)),
        'thousands of OSDs': replace(quiet, alarms=(replace(stopped, osds=tuple(range(5000))),)),
        'experiment': tried,
        'experiment that waits': replace(tried, experiment_waits='osd.3 is down'),
        'failed experiment': replace(tried, experiment=crashed),
    }
    return '\n'.join(
        f'{name}: {json.dumps(health_checks(snapshot), indent=1)}'
        for name, snapshot in states.items()
    )


def deep(release: str, name: str, **changes: Any) -> str:
    text = (DATA / release / f'{name}.txt').read_text()
    seen = replace(OsdDeepStats(0, samples.NOW_S, parse_deep_stats(text), OPTIONS), **changes)
    return plain('osd-detail', detail_of(SMALL, 0, seen))


def candidates(*, infeasible: str = '', plenty: frozenset[Resource] = frozenset()) -> Snapshot:
    """With a further reason against each that is not feasible, and resources that are plentiful."""
    snapshot = samples.large_cluster()
    (known,) = (a for a in snapshot.assessments if a.weighing is not None)
    weighing = known.weighing
    assert weighing is not None
    weighed = tuple(
        replace(w, infeasible=(*w.infeasible, infeasible)) if w.infeasible and infeasible else w
        for w in weighing.weighed
    )
    changed = replace(weighing, weighed=weighed, bars=replace(weighing.bars, plenty=plenty))
    return replace(snapshot, assessments=(replace(known, weighing=changed),))


def no_change() -> str:
    reason = 'The BlueStore default suits idle best among the known profiles.'
    decided = [nothing(f'osd/class:{c}', reason, UNKNOWN_LIMIT) for c in ('hdd', 'ssd')]
    assessments = tuple(Assessment(d.who, d, ()) for d in decided)
    cluster = replace(samples.large_cluster(), assessments=assessments, findings=(), rollout=None)
    return plain('recommend', cluster)


def units() -> str:
    evidence = tuple(
        Evidence('x', value, unit, 60.0, 'So it is.')
        for unit, value in (
            *(('bytes', 4096.0), ('bytes/s', 4096.0), ('ms', 0.5)),
            *(('ratio', 0.5), ('operations/s', 1500.0), ('apples', 3.0)),
        )
    )
    text = first_osd(workload=Workload(WorkloadClass.MIXED, 0.5, evidence))
    return '\n'.join(line for line in text.splitlines() if 'So it is.' in line)


def starts() -> str:
    found = (
        LastStart(250.0, 250.2, False),
        LastStart(250.0, 260.0, None),
        LastStart(250.0, 250.0, True),
        LastStart(0.0, 9.6, None),
    )
    texts = (first_osd(last_start=start) for start in found)
    return '\n'.join(line for text in texts for line in text.splitlines() if 'Last start' in line)


SPILLED = samples.FINDINGS[2]
PLACES = ((2, Place('a', None)), *((n, Place('b', FailureDomain('rack', 'r1'))) for n in (0, 1)))
BY_RACK: Any = {'batches': ((2,), (0, 1)), 'domains': (None, FailureDomain('rack', 'r1'))}
DOOMED = replace(samples.options(0), next_start='foo=1', starts=False, pending_restart=False)
CASES: Mapping[str, Any] = {
    'a group whose limit is known': lambda: plain('status', limited(Resource.KV_SYNC, BUSY)),
    'a limit with the part that takes the time': lambda: plain(
        'workload', limited(Resource.KV_SYNC, BUSY, part='flushing the data device')
    ),
    'a lack of cores, of which the thread says nothing': lambda: plain(
        'workload', limited(Resource.CORES, BUSY, part="the OSD's queue")
    ),
    'a group that nothing limits': lambda: plain('status', limited(Resource.NONE)),
    'the limit in JSON': lambda: json.dumps(
        json.loads(views.show('status', limited(Resource.KV_SYNC, BUSY)))['groups'], indent=1
    ),
    'an OSD that runs something else after a restart': lambda: plain(
        'osd-detail', detail_of(samples.large_cluster(), 4)
    ),
    'an OSD that would not start again, and is not pending': lambda: first_osd(options=DOOMED),
    'an OSD sampled in detail': lambda: plain('osd-detail', detail_of(sampled_in_detail(), 0)),
    'an OSD sampled in detail, in JSON': lambda: pretty(
        'osd-detail', detail_of(sampled_in_detail(), 0)
    ),
    'a forecast without enough history': lambda: first_osd(
        forecast=Forecast(Outlook.NOT_ENOUGH_HISTORY, 1e9, 3600.0, 3)
    ),
    'a forecast whose end is too far to be known': lambda: first_osd(
        forecast=replace(FILLING, full_latest_s=1e12)
    ),
    'how long an OSD was down, as far as known': starts,
    'evidence in its unit': units,
    'workloads of OSDs, an unusual one first': lambda: plain(
        'workload',
        replace(SMALL, osds=(*SMALL.osds[:2], SMALL.osds[2]._replace(workload=samples.METADATA))),
        osds=True,
    ),
    'findings of one id and severity in a line': lambda: finding(
        SPILLED,
        *(replace(SPILLED, osds=(n, n + 1), summary=f'Of osd.{n}.') for n in (5, 6)),
        # Ceph does not list the affected OSDs of each of its health checks.
        replace(SPILLED, severity=Severity.INFO, osds=()),
    ),
    'a finding with commands and a caution': lambda: finding(
        replace(
            samples.FINDINGS[1],
            commands=('ceph config rm osd.1 x', 'ceph osd ok-to-stop 1'),
            do_not='Do not restart it.',
        )
    ),
    'no findings': lambda: plain('findings', replace(SMALL, findings=())),
    'a reason for no change by group': no_change,
    'a recommendation without a prediction': lambda: recommended(
        replace(samples.recommendation(), predictions=())
    ),
    'a recommendation that cannot be compared': lambda: recommended(
        replace(samples.recommendation(), options_from='compression')
    ),
    'a recommendation of an annex': lambda: recommended(samples.by_annex()),
    'a plan by failure domain': lambda: plain(
        'plan',
        plan_of(
            samples.changing(
                replace(samples.recommendation(osds=(2, 0, 1)), places=PLACES), **BY_RACK
            ),
            samples.SOAK,
        ),
    ),
    'a plan with canary and controls': lambda: planned((2, 0, 1), controls=(1, 0)),
    'a plan in JSON': lambda: pretty(
        'plan',
        plan_of(
            samples.changing(samples.recommendation(osds=(2, 0, 1)), controls=(1, 0)), samples.SOAK
        ),
    ),
    'a plan of more batches than are shown': lambda: planned(tuple(range(30))),
    'a plan of an annex': lambda: plain('plan', plan_of(samples.by_annex(), samples.SOAK)),
    'no verdict: too few OSDs': lambda: planned(controls=()),
    'no verdict: a single OSD': lambda: planned((1,), controls=()),
    'no verdict: a single OSD, to be rolled back': lambda: planned(
        (1,), SoakPlan(600.0, 3600.0, Inconclusive.ROLLBACK), controls=()
    ),
    'no verdict: no soak': lambda: planned(soak=SoakPlan(), controls=(1, 2)),
    'no verdict: no restart': lambda: planned(restart=False),
    'a rollout whose second batch is watched': lambda: rollout(
        replace(
            watched(1),
            judgement=Judgement(Verdict.NO_WORSE),
            batch_judgement=Judgement(Verdict.NO_WORSE),
        )
    ),
    'a rollout in JSON': lambda: pretty('operation', samples.operating(watched(1))),
    'a rollout of an annex': lambda: rollout(samples.annex_rollout()),
    'which operation is shown': last_operations,
    'a campaign that waits for an OSD, and ended': campaign_that_waits,
    'the next step': steps,
    'a change of an annex': lambda: history(option=ANNEX),
    'a change of options that cannot be parsed': lambda: history(
        options_from='broken', options_to=''
    ),
    'a change without a soak': lambda: history(outcome=Outcome.DONE, measured=None),
    'a compaction of unknown sizes': lambda: history(
        rollout_id='c1', outcome=Outcome.DONE, measured=None
    ),
    'history in JSON': lambda: pretty('history', (*SMALL.history, record_of(experiments.ended()))),
    'history of an experiment': lambda: plain('history', (record_of(experiments.ended()),)),
    'modes': lambda: '\n'.join(plain('mode', mode) for mode in Mode),
    'each reason against a candidate in its line': lambda: plain(
        'recommend-all', candidates(infeasible='It has no limit of the WAL.')
    ),
    'plentiful resources': lambda: pretty(
        'recommend-all', candidates(plenty=frozenset({Resource.CORES, Resource.DB_DEVICE}))
    ),
    **{
        f'experiment: {name}': lambda state=state: plain(
            'operation', samples.operating(experiment=state)
        )
        for name, state in experiments.all_states().items()
    },
    'experiment: its winner is adopted': lambda: plain(
        'operation', samples.operating(experiment=replace(experiments.measuring(), adopt=True))
    ),
    'experiment in JSON': lambda: pretty(
        'operation', samples.operating(experiment=experiments.measuring())
    ),
    'plan of an experiment': lambda: plain('experiment-plan', experiments.possible()),
    'plan of an experiment in JSON': lambda: pretty('experiment-plan', experiments.possible()),
    'plan of an experiment with little data': lambda: plain(
        'experiment-plan',
        replace(
            experiments.possible(), history_s=600.0, fill_s=None, unmeasured=('op_w_latency_ms',)
        ),
    ),
    'plan of an experiment that is refused': lambda: plain(
        'experiment-plan', experiments.impossible()
    ),
    **{
        f'refused for want of {name}': lambda refusal=refusal: plain(
            'experiment-plan', replace(experiments.impossible(), refusal=refusal)
        )
        for name, refusal in {
            'anything known': Refusal('why'),
            'OSDs': Refusal('why', osds=24),
            'hours': Refusal('why', duration_s=7200),
            'OSDs or hours': Refusal('why', osds=24, duration_s=7200),
        }.items()
    },
    'health checks': health,
    'statistics of one column family': lambda: deep('pacific', 'compaction_only'),
    'statistics of all column families': lambda: deep('tentacle', 'extended'),
    'statistics that are still enabled': lambda: deep(
        'pacific', 'extended', not_put_back=('rocksdb_perf',)
    ),
    'statistics of nothing': lambda: deep('pacific', 'extended', stats=DeepStats()),
    'statistics of an unsharded database': lambda: plain(
        'osd-detail',
        detail_of(
            sampled_in_detail(),
            0,
            OsdDeepStats(
                0,
                samples.NOW_S,
                parse_deep_stats((DATA / 'pacific/compaction_only.txt').read_text()),
            ),
        ),
    ),
    'a model of a known situation': lambda: plain('model', tree(REEF.default_options, KNOWN)),
    'a model of an unknown situation': lambda: plain('model', tree('', Situation(REEF))),
    'a model without compression': lambda: plain(
        'model', tree(f'{REEF.default_options},compression=kNoCompression', KNOWN)
    ),
    'a model of a compression that was not measured': lambda: plain(
        'model', tree(f'{REEF.default_options},compression=kZlibCompression', KNOWN)
    ),
    'a model in JSON': lambda: pretty('model', tree(REEF.default_options, KNOWN)),
    'options derived, as published': lambda: plain('profile-derive', derive(KNOWN)),
    'options derived, unlike published ones': lambda: plain(
        'profile-derive', derive(replace(KNOWN, cores=2))
    ),
}
