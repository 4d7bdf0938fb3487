"""Records as JSON documents, in the names that `schemas/` publishes.

Outside tests and tools read these names: add to them, never rename one. Keys end in their unit.
What is not known is null. Points in time are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from ..advise.modelled import Modelled
from ..advise.profiles import Profile, PublishedEvidence
from ..advise.records import (
    Finding,
    FindingEvidence,
    Limit,
    OsdFacts,
    OsdOptions,
    Prediction,
    Recommendation,
    Severity,
)
from ..deep.look import DeepLook
from ..judge.records import Judgement, SignalVerdict, SoakPlan, Verdict
from ..mgr.records import FailureDomain
from ..observe.latency import WriteLatency, bottleneck, parts
from ..observe.signals import Signals
from ..observe.starts import LastStart
from ..operations.compaction.records import CampaignState
from ..operations.gates import GATES
from ..operations.phases import Phase
from ..operations.rollout.batches import batches
from ..operations.rollout.records import RolloutState
from ..operations.rollout.track_record import track_record
from ..options.grammar import OptionDifference
from ..plan.batches import planned_batch, soak_for
from ..snapshot import Snapshot
from ..units import format_time, rounded
from ..version import VERSION
from ..workload.records import Evidence, Workload, WorkloadClass
from .answers.growth import forecast_of
from .candidate_documents import candidates_of
from .difference import difference
from .estimates import estimate, working_set
from .json_types import Json, JsonObject
from .subjects import OsdDetail, Plan
from .summaries import (
    OptionsInUse,
    options_in_use,
    osds_finished,
    suited_workloads,
    worst_first,
)
from .to_json import to_json

#: Signals that every row of `osd` has; all others stand in `osd <id>` only.
_ROW_SIGNALS = (
    'sample_age_s',
    'kv_sync_ms',
    'kv_sync_busy',
    'commit_ms',
    'write_iops',
    'read_iops',
    'write_bytes_avg',
    'wal_bytes_per_s',
    'sst_bytes_per_s',
    'compaction_bytes_per_s',
    'compaction_source',
    'db_write_amp',
    'db_device_shared',
    'db_used_bytes',
    'db_total_bytes',
    'slow_used_bytes',
)
_ALL_SIGNALS = tuple(name for name in Signals._fields if name != 'osd_id')


def status(snapshot: Snapshot) -> JsonObject:
    """The whole on one screen; counts where other commands give the items."""
    counts = {severity.value: 0 for severity in Severity}
    for finding in snapshot.findings:
        counts[finding.severity.value] += 1
    conclusions = {a.who: a.conclusion for a in snapshot.assessments}
    return {
        'time': format_time(snapshot.taken_s),
        'mode': snapshot.mode.value,
        'release': snapshot.release,
        'version': VERSION,
        'sampling': {
            'interval_s': rounded(snapshot.sampling.interval_s),
            'osds': snapshot.sampling.osds,
            'last_sample_age_s': rounded(snapshot.sampling.last_sample_age_s),
            'tick_ms': rounded(snapshot.sampling.tick_ms),
        },
        'groups': [
            {
                'who': group.who,
                'osds': [facts.info.osd_id for facts in group.osds],
                'workload': _workload_summary(group.workload),
                'limit': _limit(group.limit),
                'options': _options_in_use(options_in_use(group.osds)),
                'conclusion': conclusions.get(group.who),
            }
            for group in snapshot.groups
        ],
        'findings': dict(counts),
        'recommendations': len(snapshot.recommendations),
        'rollout': None if snapshot.rollout is None else _rollout_summary(snapshot.rollout),
        'campaign': _campaign_summary(snapshot.campaign, snapshot.campaign_waits_for),
        'auto_apply': [
            {'recommendation': refusal.recommendation_id, 'not_yet_because': refusal.reason}
            for refusal in snapshot.auto_apply_refusals
        ],
        'track_record': {
            name: rounded(value) if isinstance(value, float) else value
            for name, value in track_record(snapshot.history)._asdict().items()
        },
        'managers': [
            {
                'name': manager.name,
                'host': manager.host,
                'active': manager.active,
                'has_module': manager.has_module,
            }
            for manager in snapshot.managers
        ],
        'notices': [
            *snapshot.limitations,
            *snapshot.notices,
            *(f.sentence for f in snapshot.failing),
        ],
    }


def osds(snapshot: Snapshot) -> list[JsonObject]:
    """A row per OSD."""
    return [_osd_row(facts) for facts in snapshot.osds]


def osd(detail: OsdDetail) -> JsonObject:
    """The row of one OSD, and everything else that is known of it."""
    facts = detail.facts
    info = facts.info
    return {
        **_osd_row(facts),
        'in_cluster': info.in_cluster,
        'failure_domain': _failure_domain(info.failure_domain),
        'version': info.version,
        'release': info.release,
        'objectstore': info.objectstore,
        'dedicated_db': info.dedicated_db,
        'dedicated_wal': info.dedicated_wal,
        'db_device_bytes': info.db_device_bytes,
        **_signals(facts.signals, _ALL_SIGNALS),
        'sharded': facts.sharded,
        **_closer(facts),
        'write_latency': _write_latency(facts.write_latency),
        'forecast': to_json(forecast_of(facts.forecast)),
        'last_start': None if facts.last_start is None else _last_start(facts.last_start),
        'workload': _workload(facts.workload),
        'options': _osd_options(facts.options),
        'findings': [_finding(finding) for finding in detail.findings],
        'recommendations': [r.recommendation_id for r in detail.recommendations],
        'deep': _deep(detail.deep),
        'model': None if detail.modelled is None else _modelled(detail.modelled),
        'limit': _limit(detail.limit),
    }


def _modelled(found: Modelled) -> JsonObject:
    return {
        'write_amplification': estimate(found.write_amplification),
        'objects': working_set(found.working_set),
    }


def workload(snapshot: Snapshot) -> JsonObject:
    """What the clients do, by group and by OSD, with the evidence."""
    return {
        'groups': [
            {
                'who': group.who,
                'osds': [facts.info.osd_id for facts in group.osds],
                'workload': _workload(group.workload),
                'limit': _limit(group.limit),
            }
            for group in snapshot.groups
        ],
        'osds': [
            {
                'osd': facts.info.osd_id,
                'host': facts.info.host,
                'device_class': facts.info.device_class,
                'up': facts.info.up,
                'workload': _workload(facts.workload),
            }
            for facts in snapshot.osds
        ],
    }


def findings(snapshot: Snapshot) -> list[JsonObject]:
    """What an expert would point out, worst first."""
    return finding(worst_first(snapshot.findings))


def finding(found: Sequence[Finding]) -> list[JsonObject]:
    """Findings as they stand: several may be of one id."""
    return [_finding(one) for one in found]


def recommend(snapshot: Snapshot) -> list[JsonObject]:
    """The recommendations; empty where nothing needs to change."""
    return [
        {**_recommendation(r), 'candidates': candidates_of(assessment, r)}
        for assessment in snapshot.assessments
        for r in assessment.recommendations
    ]


def show(recommendation: Recommendation, planned: Optional[Plan] = None) -> JsonObject:
    """One recommendation in full, with how it would be carried out."""
    changes = difference(recommendation.options_from, recommendation.options_to)
    domains = {osd_id: place.domain for osd_id, place in recommendation.places}
    return {
        **_recommendation(recommendation),
        'targets': [
            {
                'osd': osd_id,
                'options': options,
                'failure_domain': _failure_domain(domains.get(osd_id)),
            }
            for osd_id, options in recommendation.targets
        ],
        'final_entries': [
            {'who': who, 'value': value} for who, value in recommendation.final_entries
        ],
        'difference': None if changes is None else [_option_change(c) for c in changes],
        'plan': None if planned is None else _how(planned),
    }


def plan(planned: Plan) -> JsonObject:
    """What `apply` would do; OSDs in the order in which they would be changed."""
    recommendation = planned.recommendation
    return {
        'recommendation': recommendation.recommendation_id,
        'kind': recommendation.kind.value,
        'who': recommendation.who,
        'profile': recommendation.profile,
        'risk': recommendation.risk.value,
        'options_to': recommendation.options_to,
        'commands': list(recommendation.commands),
        'undo_commands': list(recommendation.undo_commands),
        **_how(planned),
    }


def _how(planned: Plan) -> JsonObject:
    recommendation = planned.recommendation
    return {
        'batches': [
            {
                'osds': list(batch.osds),
                'failure_domain': _failure_domain(batch.domain),
                'phase': Phase.PLANNED.value,
                'controls': list(batch.controls) if batch.judged else [],
            }
            for batch in planned.batches
        ],
        'canary': recommendation.osds[0] if planned.judged and recommendation.osds else None,
        'controls': list(planned.change.controls) if planned.judged else [],
        'purpose': planned.change.purpose.value,
        'soak': _soak(planned.soak, planned.change.fill_s),
        'gates': list(GATES),
        'expected_duration_s': rounded(planned.least_duration_s),
        'expected_duration_most_s': rounded(planned.most_duration_s),
    }


def rollout(
    state: Optional[RolloutState],
    campaign: Optional[CampaignState] = None,
    campaign_waits_for: Optional[str] = None,
) -> Optional[JsonObject]:
    """The running or the last rollout, and compaction campaign; null before the first rollout."""
    if state is None:
        return None
    return {
        **_rollout(state),
        'campaign': None if campaign is None else _campaign(campaign, campaign_waits_for),
    }


def _campaign_summary(
    state: Optional[CampaignState], waits_for: Optional[str]
) -> Optional[JsonObject]:
    if state is None or state.ended:
        return None
    return {
        'id': state.campaign_id,
        'recommendation': state.request.recommendation_id,
        'who': state.request.who,
        'phase': state.phase.value,
        'osds_total': len(state.osds),
        'osds_finished': state.finished,
        'paused_reason': state.paused_reason,
        'waits_for': waits_for,
    }


def _campaign(state: CampaignState, waits_for: Optional[str]) -> JsonObject:
    used = state.used_bytes
    return {
        'id': state.campaign_id,
        'recommendation': state.request.recommendation_id,
        'who': state.request.who,
        'actor': state.request.actor,
        'phase': state.phase.value,
        'parallel': state.request.parallel,
        'started': format_time(state.started_s),
        'updated': format_time(state.updated_s),
        'paused_reason': state.paused_reason,
        'waits_for': None if state.ended else waits_for,
        'outcome': None if state.outcome is None else state.outcome.value,
        'failure': state.failure,
        'baseline_ms': rounded(state.baseline_ms),
        'used_before_bytes': None if used is None else used[0],
        'used_after_bytes': None if used is None else used[1],
        'osds': [
            {
                'osd': osd.osd_id,
                'host': osd.host,
                'failure_domain': _failure_domain(osd.domain),
                'step': osd.step.value,
                'used_before_bytes': osd.used_before_bytes,
                'used_after_bytes': osd.used_after_bytes,
                'latency_ms': rounded(osd.latency_ms),
                'reason': osd.reason,
            }
            for osd in state.osds
        ],
    }


def profile_list(profiles: Sequence[Profile]) -> list[JsonObject]:
    """The known option sets, the best-tested first."""
    return [_profile_summary(profile) for profile in profiles]


def profile(shown: Profile) -> JsonObject:
    """One option set with whom it suits and what was published of it."""
    return {
        **_profile_summary(shown),
        'suitability': [
            {
                'workload': rule.workload.value,
                'rocksdb_min': rule.rocksdb_min,
                'rocksdb_max': rule.rocksdb_max,
                'only_as_release_default': rule.only_as_release_default,
                'score': rounded(rule.score),
                'reasons': list(rule.reasons),
            }
            for rule in shown.suitability
        ],
        'hardware': {
            'loses_at_cores_per_osd': shown.hardware.loses_at_cores_per_osd,
            'notes': list(shown.hardware.notes),
        },
        'evidence': [_published(figure) for figure in shown.evidence],
        'cautions': list(shown.cautions),
        'superseded_from_rocksdb': shown.superseded_from_rocksdb,
    }


def _osd_row(facts: OsdFacts) -> JsonObject:
    info = facts.info
    options = facts.options
    return {
        'osd': info.osd_id,
        'host': info.host,
        'device_class': info.device_class,
        'up': info.up,
        'workload': _workload_summary(facts.workload),
        **_signals(facts.signals, _ROW_SIGNALS),
        'options': {
            'profile': None if options is None else options.profile,
            'pending_restart': None if options is None else options.pending_restart,
            'source': None if options is None else options.source,
        },
    }


def _signals(signals: Optional[Signals], names: Iterable[str]) -> JsonObject:
    return {name: _plain(getattr(signals, name, None)) for name in names}


def _closer(facts: OsdFacts) -> JsonObject:
    details, times = facts.details, facts.rocksdb_times
    return {
        'omap_seek_ms': rounded(details.omap_seek_ms) if details else None,
        'memory_mapped_bytes': details.memory_mapped_bytes if details else None,
        'memory_target_bytes': details.memory_target_bytes if details else None,
        'write_stall_share': rounded(times.stall_share) if times else None,
    }


def _deep(look: Optional[DeepLook]) -> Optional[JsonObject]:
    if look is None:
        return None
    stats = look.stats
    return {
        'time': format_time(look.time_s),
        'uptime_s': rounded(stats.uptime_s),
        'stalled_s': rounded(stats.stalled_s),
        'block_cache_bytes': stats.block_cache_bytes,
        'memtable_bytes': stats.memtable_bytes,
        'totals': None
        if stats.totals is None
        else {
            'compact_read_bytes': stats.totals.compact_read_bytes,
            'compact_write_bytes': stats.totals.compact_write_bytes,
            'flush_write_bytes': stats.totals.flush_write_bytes,
            'wal_bytes': stats.totals.wal_bytes,
        },
        'column_families': [
            {
                'name': family.name,
                'files': family.files,
                'size_bytes': family.size_bytes,
                'write_amp': rounded(family.write_amp),
                'flush_bytes': family.flush_bytes,
                'compaction_write_bytes': family.compaction_write_bytes,
                'compaction_read_bytes': family.compaction_read_bytes,
                'stalls': dict(family.stalls),
                'levels': [
                    {
                        'level': level.level,
                        'files': level.files,
                        'size_bytes': level.size_bytes,
                        'score': rounded(level.score),
                        'read_bytes': level.read_bytes,
                        'write_bytes': level.write_bytes,
                        'write_amp': rounded(level.write_amp),
                        'compactions': level.compactions,
                    }
                    for level in family.levels
                ],
            }
            for family in stats.column_families
        ],
        'switched_on': list(look.switched_on),
        'not_put_back': list(look.not_put_back),
    }


def _write_latency(latency: Optional[WriteLatency]) -> Optional[JsonObject]:
    if latency is None:
        return None
    whole_ms, found = latency.client_op_ms, bottleneck(latency)
    return {
        'window_s': rounded(latency.window_s),
        'parts': [
            {
                'part': part.part,
                'within': part.within,
                'ms': rounded(part.ms),
                'share': rounded(part.ms / whole_ms) if part.ms is not None and whole_ms else None,
                'signal': part.signal,
            }
            for part in parts(latency)
        ],
        # A number that no JSON has is not known.
        'bottleneck': None
        if found is None or rounded(found.ms) is None
        else {
            'part': found.part,
            'ms': rounded(found.ms),
            'share': rounded(found.share),
            'statement': found.statement,
        },
    }


def _last_start(start: LastStart) -> JsonObject:
    return {
        'away_s': rounded(start.away_s),
        'away_most_s': rounded(start.away_most_s),
        'host_away': start.host_away,
    }


def _osd_options(options: Optional[OsdOptions]) -> JsonObject:
    if options is None:
        return dict.fromkeys(
            (
                'profile',
                'pending_restart',
                'source',
                'running',
                'next_start',
                'deciding_who',
                'overruled',
                'annex',
                'difference',
            )
        )
    changes = (
        None if options.next_start is None else difference(options.running, options.next_start)
    )
    return {
        'profile': options.profile,
        'pending_restart': options.pending_restart,
        'source': options.source,
        'running': options.running,
        'next_start': options.next_start,
        'deciding_who': options.deciding_who,
        'overruled': options.overruled,
        'annex': options.annex,
        'difference': None if changes is None else [_option_change(c) for c in changes],
    }


def _options_in_use(in_use: OptionsInUse) -> JsonObject:
    return {
        'profile': in_use.profile,
        'source': in_use.source,
        'pending_restart': list(in_use.pending_restart),
        'variants': [
            {'profile': variant.profile, 'source': variant.source, 'osds': list(variant.osds)}
            for variant in in_use.variants
        ],
    }


def _workload_summary(found: Optional[Workload]) -> JsonObject:
    # "Not enough is known" is a class of its own, so readers always find an object here.
    if found is None:
        return {'class': WorkloadClass.UNKNOWN.value, 'confidence': 0.0}
    return {'class': found.workload_class.value, 'confidence': rounded(found.confidence)}


def _workload(found: Optional[Workload]) -> JsonObject:
    return {
        **_workload_summary(found),
        'evidence': _measured(() if found is None else found.evidence),
    }


def _limit(limit: Limit) -> JsonObject:
    return {
        'resource': limit.resource.value,
        'confidence': rounded(limit.confidence),
        'evidence': _measured(limit.evidence),
    }


def _measured(evidence: Iterable[Evidence]) -> list[JsonObject]:
    return [
        {
            'signal': e.signal,
            'value': rounded(e.value),
            'unit': e.unit,
            'window_s': rounded(e.window_s),
            'statement': e.statement,
        }
        for e in evidence
    ]


def _finding(finding: Finding) -> JsonObject:
    return {
        'id': finding.finding_id,
        'severity': finding.severity.value,
        'summary': finding.summary,
        'osds': list(finding.osds),
        'evidence': [_finding_evidence(e) for e in finding.evidence],
        'remedy': finding.remedy,
        'commands': list(finding.commands),
        'do_not': finding.do_not,
        'source': finding.source,
    }


def _finding_evidence(evidence: FindingEvidence) -> JsonObject:
    return {
        'signal': evidence.signal,
        'value': _plain(evidence.value),
        'unit': evidence.unit,
        'window_s': rounded(evidence.window_s),
    }


def _recommendation(recommendation: Recommendation) -> JsonObject:
    return {
        'id': recommendation.recommendation_id,
        'who': recommendation.who,
        'kind': recommendation.kind.value,
        'profile': recommendation.profile,
        'osds': list(recommendation.osds),
        'option': recommendation.option,
        'options_from': recommendation.options_from,
        'options_to': recommendation.options_to,
        'reasons': [
            {'statement': reason.statement, 'source': reason.source}
            for reason in recommendation.reasons
        ],
        'prediction': [_prediction(p) for p in recommendation.predictions] or None,
        'risk': recommendation.risk.value,
        'confidence': rounded(recommendation.confidence),
        'limit': None if recommendation.limit is None else _limit(recommendation.limit),
        'restart_required': recommendation.restart_required,
        'commands': list(recommendation.commands),
        'undo_commands': list(recommendation.undo_commands),
    }


def _prediction(prediction: Prediction) -> JsonObject:
    return {
        'metric': prediction.metric,
        'signal': prediction.signal,
        'estimate_percent': rounded(prediction.estimate_percent),
        'low_percent': rounded(prediction.low_percent),
        'high_percent': rounded(prediction.high_percent),
        'basis': prediction.basis,
    }


def _profile_summary(shown: Profile) -> JsonObject:
    return {
        'name': shown.name,
        'title': shown.title,
        'options': shown.options,
        'release_defaults': list(shown.release_defaults),
        'workloads': [workload.value for workload in suited_workloads(shown)],
        'superseded': shown.superseded,
        'source': shown.source,
        'own': shown.own,
        'own_releases': list(shown.own_releases),
    }


def _published(figure: PublishedEvidence) -> JsonObject:
    return {
        'workload': figure.workload.value,
        'metric': figure.metric,
        'unit': figure.unit,
        'baseline': figure.baseline,
        'baseline_value': rounded(figure.baseline_value),
        'baseline_options': [
            {'option': name, 'value': value} for name, value in figure.baseline_options.items()
        ],
        'value': rounded(figure.value),
        'change_percent': rounded(figure.change_percent),
        'setup': figure.setup,
        'releases': list(figure.releases),
        'hardware': [storage.value for storage in figure.hardware],
        'headline': figure.headline,
        'source': {
            'title': figure.source.title,
            'author': figure.source.author,
            'year': figure.source.year,
            'section': figure.source.section,
            'url': figure.source.url,
        },
    }


def _option_change(change: OptionDifference) -> JsonObject:
    return {'option': change.option, 'from': change.value_from, 'to': change.value_to}


def _rollout_summary(state: RolloutState) -> JsonObject:
    return {
        'id': state.rollout_id,
        'recommendation': state.request.recommendation_id,
        'kind': state.request.kind.value,
        'phase': state.phase.value,
        'who': state.request.who,
        'option': state.request.option,
        'actor': state.request.actor,
        'osds_total': len(state.osds),
        'osds_finished': osds_finished(state),
        **_verdict(state.verdict),
        'started': format_time(state.started_s),
        'updated': format_time(state.updated_s),
        'paused_reason': state.paused_reason,
        'outcome': None if state.outcome is None else state.outcome.value,
        'failure': state.failure,
    }


def _rollout(state: RolloutState) -> JsonObject:
    before = {osd.osd_id: osd.value for osd in state.before.osds}
    targets = dict(state.request.targets)
    return {
        **_rollout_summary(state),
        'batches': [
            {
                'osds': list(batch.osds),
                'failure_domain': _failure_domain(batch.domain),
                'phase': batch.phase.value,
                **_verdict(batch.verdict),
                'controls': list(batch.controls),
            }
            for batch in batches(state)
        ],
        'purpose': state.request.purpose.value,
        'soak': {
            **_soak(soak_for(state.request, state.soak), state.request.fill_s),
            'baseline_s': rounded(state.baseline_s),
            'baseline_least_s': rounded(planned_batch(state.request, state.soak, 0).baseline_s),
            'soaked_s': rounded(state.soaked_s),
            'batch_soaked_s': rounded(state.batch_soaked_s),
            'controls': list(state.controls),
        },
        'judgement': _judgement(state.judgement),
        'batch_judgement': _judgement(state.batch_judgement),
        'direction': state.direction.value,
        'paused_by': state.paused_by,
        'last_error': state.last_error,
        'osds': [
            {
                'osd': osd.osd_id,
                'step': osd.step.value,
                'left_reason': osd.left_reason,
                'from': before.get(osd.osd_id),
                'to': targets.get(osd.osd_id),
                'restarts_asked': osd.restarts_asked,
                'flaps': osd.flaps,
            }
            for osd in state.osds
        ],
    }


def _failure_domain(domain: Optional[FailureDomain]) -> Optional[JsonObject]:
    return None if domain is None else {'type': domain.kind, 'name': domain.name}


def _verdict(verdict: Optional[Verdict]) -> JsonObject:
    """In the words that the contract has always had, and beside them what was judged."""
    if verdict is None:
        return {'verdict': None, 'judged': None}
    return {'verdict': verdict.pass_or_fail, 'judged': verdict.value}


def _soak(soak: SoakPlan, fill_s: Optional[float]) -> JsonObject:
    return {
        'least_s': rounded(soak.least_s),
        'most_s': rounded(soak.most_s),
        'fill_s': rounded(fill_s),
        'inconclusive': soak.inconclusive.value,
        'no_benefit': soak.no_benefit.value,
        'batches': _soak_of_batches(soak),
    }


def _soak_of_batches(soak: SoakPlan) -> Optional[JsonObject]:
    batches_soak = soak.batches
    if batches_soak is None:
        return None
    return {
        'least_s': rounded(batches_soak.least_s),
        'most_s': rounded(batches_soak.most_s),
        'inconclusive': batches_soak.inconclusive.value,
    }


def _judgement(judgement: Optional[Judgement]) -> Optional[JsonObject]:
    if judgement is None:
        return None
    return {
        'better': judgement.verdict is Verdict.BETTER,
        'signals': [_signal_verdict(one) for one in judgement.signals],
        'missing': list(judgement.missing),
        'cause': judgement.cause,
    }


def _signal_verdict(one: SignalVerdict) -> JsonObject:
    return {
        'signal': one.name,
        'effect': one.effect.value,
        'change_percent': rounded(one.change_percent),
        'low_percent': rounded(one.low_percent),
        'high_percent': rounded(one.high_percent),
    }


def _plain(value: object) -> Json:
    """A measured value of any kind in what JSON has for it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    return str(value)
