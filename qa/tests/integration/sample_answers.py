"""What the module would answer for clusters that no test can start: large ones, and ill ones.

Made by the module's own code from made-up records, and so in the form that it really has.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

from sample_experiments import baseline, measuring, plan, waiting, won

from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.advise.records import (
    Decision,
    Finding,
    FindingEvidence,
    GroupFacts,
    Kind,
    Limit,
    Resource,
    Risk,
)
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.judge.records import Effect, Judgement, SignalVerdict, Verdict
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.trend import TREND_SIGNALS, GrowthPoints, Trend
from rocksdb_tuner.operations.compaction.announce import record_of
from rocksdb_tuner.operations.compaction.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.options.grammar import in_force
from rocksdb_tuner.options.verdict import all_options
from rocksdb_tuner.plan.records import Purpose
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import plan_of
from rocksdb_tuner.present.osd import facts_of, growth_of, trends_of
from rocksdb_tuner.snapshot import Mode, Sampling, Snapshot
from rocksdb_tuner.tests.present import samples
from rocksdb_tuner.workload.records import Workload, WorkloadClass
from sample_candidates import all_decisions

CLASSES = (
    WorkloadClass.RBD_SMALL_WRITE,
    WorkloadClass.RGW_METADATA,
    WorkloadClass.IDLE,
    WorkloadClass.READ_MOSTLY,
)
#: With these as the last one.
EXPERIMENTS = {
    'experiment-baseline': baseline,
    'experiment': measuring,
    'experiment-waiting': waiting,
    'experiment-won': won,
}
PER_HOST = 24
BUSY = Limit(Resource.KV_SYNC, 0.85)
DB_BYTES = 60 << 30
STEP_S = 30.0


def answers(osds: int, state: str = 'rollout') -> dict[str, Any]:
    """The answer by the end of its path."""
    snapshot = in_state(of_size(osds), state)
    texts = {
        '': views.show('status', snapshot),
        '/findings': views.show('findings', snapshot),
        '/recommendation': views.show('recommend', snapshot),
        '/map': views.show('osd-map', snapshot),
        '/operation': views.show('operation', snapshot),
        '/history': views.show('history', snapshot.history),
        '/option': views.show('explain-ls', tuple(all_options().values())),
        '/trend': views.show(
            'trend',
            trends_of(
                *(
                    (osd, None, trend(osd, 0.72 if state == 'verdict' and osd == 0 else 1))
                    for osd in range(5)
                )
            ),
        ),
    }
    for recommendation in snapshot.recommendations:
        path = f'/recommendation/{recommendation.recommendation_id}'
        texts[path] = views.show('recommend-detail', recommendation)
        if recommendation.kind is not Kind.COMPACT:
            texts[f'{path}/plan'] = views.show('plan', plan_of(recommendation, samples.SOAK))
    found = {path: json.loads(text) for path, text in texts.items()}
    found['/candidates'] = all_decisions()
    found['/experiment/plan'] = plan()
    if state in EXPERIMENTS:
        found['/operation'] = EXPERIMENTS[state]()
    found['/profile'] = json.loads(views.show('profile-ls', profiles()))
    if snapshot.osds:
        first = snapshot.osds[0].info.osd_id
        grown = json.loads(views.show('growth', growth_of(facts_of(snapshot, first), growth())))
        found |= {f'/osd/{facts.info.osd_id}/growth': grown for facts in snapshot.osds}
    return found


def of_size(osds: int) -> Snapshot:
    """A cluster whose hosts do different things."""
    few, rng = samples.small_cluster(), random.Random(7)
    made = []
    for osd_id in range(osds):
        host = osd_id // PER_HOST
        facts = few.osds[osd_id % len(few.osds)]
        signals = Signals(
            osd_id,
            kv_sync_ms=rng.expovariate(1),
            kv_sync_busy=rng.random() ** 2,
            db_used_bytes=int(rng.random() ** 2 * DB_BYTES),
            db_total_bytes=DB_BYTES,
            slow_used_bytes=int(rng.random() < 0.02),
        )
        made.append(
            facts._replace(
                info=replace(
                    facts.info,
                    osd_id=osd_id,
                    host=f'node{host}',
                    up=rng.random() > 0.005,
                    device_class='nvme' if host % 2 else 'ssd',
                ),
                signals=signals,
                workload=Workload(CLASSES[host % len(CLASSES)], 0.9, ()),
            )
        )
    groups = tuple(
        GroupFacts(name, of_class[0].workload, of_class, limit)
        for name, limit in (('ssd', BUSY), ('nvme', Limit(Resource.NONE, 0.8)))
        if (of_class := tuple(facts for facts in made if facts.info.device_class == name))
    )
    sampling = Sampling(10.0, osds, 3.0, 12.0)
    return replace(few, osds=tuple(made), groups=groups, sampling=sampling)


def in_state(snapshot: Snapshot, state: str) -> Snapshot:
    quiet = replace(
        snapshot, rollout=None, findings=(), alarms=(), assessments=(), limitations=(), notices=()
    )
    done = replace(samples.rollout(), stage=Phase.DONE, outcome=Outcome.DONE)
    changed = replace(quiet, rollout=done)
    compacted = compacting(len(snapshot.osds), ended=True)
    nothing = replace(quiet, osds=(), groups=(), sampling=Sampling(10.0, 0, None, None))
    ssds = tuple(o.info.osd_id for o in snapshot.osds if o.info.device_class == 'ssd')
    advised = samples.assessment(samples.recommendation(ssds))
    because = 'No other option string is better for what its clients do.'
    settled = tuple(
        Assessment(group.who, Decision(group.who, 'Nothing to change', because), ())
        for group in snapshot.groups[1:]
    )
    return {
        **dict.fromkeys(EXPERIMENTS, quiet),
        'rollout': snapshot,
        'waiting': replace(snapshot, rollout=samples.waiting_rollout()),
        'broken': replace(snapshot, rollout=samples.failed_rollout()),
        'annex': replace(
            snapshot,
            assessments=(samples.assessment(samples.by_annex()),),
            rollout=samples.annex_rollout(),
        ),
        'annex-goes': replace(quiet, assessments=(without_annex(),)),
        'quiet': quiet,
        'recommended': replace(
            quiet, findings=(spillover(),), assessments=(advised, *settled), history=()
        ),
        'verdict': replace(quiet, rollout=judged(ssds), assessments=settled, history=()),
        'offer': replace(changed, assessments=(offer(snapshot),)),
        'campaign': replace(
            changed,
            campaign=compacting(len(snapshot.osds)),
            campaign_waits_for='osd.6 has been compacting for 2h 10m and has not answered',
        ),
        'campaign-waiting': replace(
            changed,
            campaign=replace(
                compacting(len(snapshot.osds)),
                paused_reason='writes of clients take 9.1 ms, 1.5 times the 2.4 ms before',
            ),
        ),
        'campaign-done': replace(
            quiet, campaign=compacted, history=(*quiet.history, record_of(compacted))
        ),
        'stale': replace(quiet, sampling=replace(snapshot.sampling, last_sample_age_s=900.0)),
        'empty': replace(nothing, history=()),
        'off': replace(nothing, mode=Mode.OFF),
    }[state]


def spillover() -> Finding:
    """In the words of its condition."""
    known = conditions()['spillover']
    return Finding(
        known.condition_id,
        known.severity,
        'osd.7 keeps RocksDB data on the data device',
        (7,),
        (
            FindingEvidence('slow_used_bytes', 3435973836, 'bytes'),
            FindingEvidence('db_used_bytes', 61203283968, 'bytes'),
            FindingEvidence('db_total_bytes', DB_BYTES, 'bytes'),
        ),
        known.remedies[''].format(osd=7, size='120G'),
        known.source,
        tuple(command.format(osd=7, size='120G') for command in known.commands),
        known.do_not,
    )


def judged(osds: tuple[int, ...]) -> RolloutState:
    """After the verdict on its canary; batches follow."""
    made = samples.rollout(osds)
    steps = (OsdStep.VERIFIED, OsdStep.RESTARTING, *[OsdStep.PENDING] * len(osds))
    return replace(
        made,
        osds=tuple(replace(osd, step=step) for osd, step in zip(made.osds, steps)),
        soak=samples.SOAK,
        soaked_s=3600.0,
        request=replace(
            made.request,
            purpose=Purpose.GAIN,
            controls=osds[1:9],
            batches=tuple(b for b in (osds[:1], osds[1:PER_HOST], osds[PER_HOST:]) if b),
            domains=tuple(FailureDomain('host', f'node{host}') for host in (0, 0, 2)),
        ),
        verdicts=(Verdict.BETTER,),
        judgement=Judgement(
            Verdict.BETTER,
            (
                SignalVerdict('kv_sync_ms_per_txn', Effect.BETTER, -28.0, -33.0, -22.0),
                SignalVerdict('op_w_latency_ms', Effect.BETTER, -17.0, -24.0, -9.0),
                SignalVerdict('db_bytes_per_txn', Effect.SAME, -2.0, -6.0, 3.0),
            ),
        ),
        started_s=samples.NOW_S - 5000,
    )


def without_annex() -> Assessment:
    """After an upgrade: what it sets is the default."""
    made = samples.changing(samples.by_annex(), final_entries=(('osd', None),), restart=False)
    recommendation = replace(
        made,
        kind=Kind.REMOVE_OVERRIDE,
        options_from=in_force(samples.LZ4, samples.ANNEX_VALUE),
        options_to=samples.LZ4,
        risk=Risk.LOW,
        commands=made.undo_commands,
        undo_commands=made.commands,
        decision=replace(made.decision, do='Remove the annex set for osd', risk='low: no restart'),
    )
    return samples.assessment(recommendation)


def offer(snapshot: Snapshot) -> Assessment:
    """All OSDs may be compacted."""
    osds = tuple(facts.info.osd_id for facts in snapshot.osds)
    recommendation = replace(
        samples.recommendation(osds),
        recommendation_id='ssd-compact-1a2b3c',
        kind=Kind.COMPACT,
        profile=None,
        options_from=samples.LZ4,
        options_to=samples.LZ4,
        risk=Risk.MEDIUM,
        change=None,
        commands=('ceph rocksdb-tuner compact osd/class:ssd',),
        undo_commands=(),
        decision=Decision(
            'osd/class:ssd',
            f'Compact {len(osds)} OSDs, one failure domain at a time',
            'r1 changed compression, which applies only to new files.',
            loss='write latency of an OSD while it compacts',
            risk='medium: cannot be undone; no restart',
            next_command='ceph rocksdb-tuner apply ssd-compact-1a2b3c',
        ),
    )
    return samples.assessment(recommendation)


def compacting(osds: int, ended: bool = False) -> CampaignState:
    """A campaign in its middle, or at its end; the third OSD had no room."""

    def one(osd: OsdCompaction) -> OsdCompaction:
        before = 31_000_000_000 + osd.osd_id * 1_100_000_000
        measured = replace(osd, used_before_bytes=before, latency_ms=3.1 + osd.osd_id / 7)
        if osd.osd_id == 2:
            reason = 'its DB device has no room for a second copy'
            return replace(osd, step=CompactionStep.SKIPPED, reason=reason)
        if ended or osd.osd_id < osds / 2:
            return replace(measured, step=CompactionStep.DONE, used_after_bytes=before * 2 // 3)
        running = osd.osd_id < osds / 2 + 1
        return replace(measured, step=CompactionStep.COMPACTING) if running else osd

    request = CampaignRequest(
        recommendation_id='ssd-compact-1a2b3c',
        who='osd/class:ssd',
        options=samples.LZ4,
        osds=tuple((n, samples.info(n, f'node{n // PER_HOST}').place) for n in range(osds)),
        actor='dashboard:alice',
        prediction='BlueFS db_used_bytes -40 to 0%',
    )
    state = planned('c8', request, samples.NOW_S - 600)
    return replace(
        state,
        osds=tuple(one(osd) for osd in state.osds),
        stage=Phase.DONE if ended else Phase.PROMOTING,
        outcome=Outcome.DONE if ended else None,
        failure='osd.2: its DB device has no room for a second copy' if ended else None,
        baseline_ms=2.41,
    )


def trend(osd_id: int, share: float = 1) -> Trend:
    """An hour with a gap; in its second half times are ``share`` of what they were."""
    rng = random.Random(osd_id)

    def value(name: str, scale: float, step: int) -> float | None:
        if step == 40:
            return None
        part = share if step >= 60 and name.endswith('_ms') else 1
        return part * scale * (1 + 0.1 * rng.random() + 0.15 * math.sin(step / 15))

    scales = {
        'kv_sync_ms': 3,
        'commit_ms': 5,
        'kv_sync_busy': 0.7,
        'db_write_amp': 3,
        'write_iops': 1800,
        'sst_bytes_per_s': 4e6,
        'compaction_bytes_per_s': 2e6,
    }
    return Trend(
        tuple(samples.NOW_S - STEP_S * (120 - step) for step in range(120)),
        {
            name: tuple(value(name, scales.get(name, 8e6), step) for step in range(120))
            for name in TREND_SIGNALS
        },
    )


def growth() -> GrowthPoints:
    """A day of a DB that grows."""
    rng = random.Random(3)
    return GrowthPoints(
        tuple(samples.NOW_S - 1800.0 * (48 - step) for step in range(49)),
        tuple(int(20e9 + step * 3e8 + rng.random() * 4e8) for step in range(49)),
        DB_BYTES,
        0,
    )
