"""Writes rollouts as the module did before `store/` came, so that tests can upgrade any of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Optional

from rocksdb_tuner.judge.records import Judgement, Predicted, SoakPlan, Verdict
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.rollout.records import AskedRestart, RolloutState
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.store.text import pack

VERSION = 3
OF_ANNEX = 4


def encode_state(state: RolloutState) -> str:
    """All of a rollout under one key."""
    table = _Table()
    request = state.request
    before = {osd.osd_id: osd for osd in state.before.osds}
    targets = dict(request.targets)
    osds = state.osds
    document = {
        'version': OF_ANNEX if request.option == ANNEX else VERSION,
        'id': state.rollout_id,
        'request': {
            'recommendation': request.recommendation_id,
            'kind': request.kind.value,
            'who': request.who,
            'target_order': [osd_id for osd_id, _ in request.targets],
            'final': [[who, table.optional(value)] for who, value in request.final_entries],
            'actor': request.actor,
            'restart': request.restart,
            'prediction': request.prediction,
            'predicted': predicted_document(request.predicted),
            'option': request.option,
            'strings': None if request.strings is None else list(request.strings),
            'purpose': request.purpose.value,
            'promised': request.promised,
            'fill_s': request.fill_s,
            'batches': [len(batch) for batch in request.batches],
            'domains': [_domain_document(domain, table) for domain in request.domains],
        },
        'before': {
            'entries': [[who, table.index(value)] for who, value in state.before.entries],
            'other_entries': None
            if state.before.other_entries is None
            else [[who, table.index(value)] for who, value in state.before.other_entries],
            'osd_order': [osd.osd_id for osd in state.before.osds],
        },
        # One column per property: equal values are adjacent, which compresses best.
        'osds': {
            'id': [osd.osd_id for osd in osds],
            'target': [table.index(targets[osd.osd_id]) for osd in osds],
            'before_value': [table.index(before[osd.osd_id].value) for osd in osds],
            'before_source': [table.index(before[osd.osd_id].source) for osd in osds],
            'before_release': [table.optional(before[osd.osd_id].release) for osd in osds],
            'before_uuid': [_as_number(before[osd.osd_id].uuid_head) for osd in osds],
            'before_class': [table.optional(before[osd.osd_id].device_class) for osd in osds],
            'before_objectstore': [table.optional(before[osd.osd_id].objectstore) for osd in osds],
            'step': [table.index(osd.step.value) for osd in osds],
            'nonce_before': [osd.nonce_before for osd in osds],
            'nonce_after': [osd.nonce_after for osd in osds],
            'restarts_asked': [osd.restarts_asked for osd in osds],
            'flaps': [osd.flaps for osd in osds],
            'restart_needed': [osd.restart_needed for osd in osds],
            'doubtful': [osd.doubtful for osd in osds],
            'left_reason': [table.optional(osd.left_reason) for osd in osds],
        },
        'started_s': state.started_s,
        'updated_s': state.updated_s,
        'stage': state.stage.value,
        'direction': state.direction.value,
        'paused_reason': state.paused_reason,
        'paused_by': state.paused_by,
        'ending': None
        if state.ending is None
        else [state.ending.outcome.value, state.ending.reason],
        'shared_touched': state.shared_touched,
        'restoring': list(state.restoring),
        'entries_done': state.entries_done,
        'errors': state.errors,
        'last_error': state.last_error,
        'suspicion': state.pending_conflict,
        'longest_boot_s': state.longest_boot_s,
        'asked': None if state.asked is None else _asked(state.asked),
        'own_entries_stay': state.own_entries_stay,
        'soak': {
            **_soak_document(state.soak),
            'no_benefit': state.soak.no_benefit.value,
            'batches': None if state.soak.batches is None else _soak_document(state.soak.batches),
            'controls': list(state.controls),
            'soaked_s': state.soaked_s,
            'batch_soaked_s': state.batch_soaked_s,
            'verdicts': [verdict.pass_or_fail for verdict in state.verdicts],
            'better': [n for n, found in enumerate(state.verdicts) if found is Verdict.BETTER],
            'judgement': judgement_document(state.judgement),
            'batch_judgement': judgement_document(state.batch_judgement),
        },
        'outcome': None if state.outcome is None else state.outcome.value,
        'failure': state.failure,
        'strings': table.strings,
    }
    return pack(document)


def _domain_document(
    domain: Optional[FailureDomain], table: _Table
) -> Optional[list[Optional[int]]]:
    if domain is None:
        return None
    # Every OSD has its own name: in a rollout of thousands that would be most of the texts.
    name = None if domain.kind == 'osd' else table.index(domain.name)
    return [table.index(domain.kind), name]


def _soak_document(soak: SoakPlan) -> dict[str, object]:
    return {
        'least_s': soak.least_s,
        'most_s': soak.most_s,
        'inconclusive': soak.inconclusive.value,
    }


def judgement_document(judgement: Optional[Judgement]) -> Optional[dict[str, object]]:
    if judgement is None:
        return None
    return {
        'verdict': judgement.verdict.pass_or_fail,
        'better': judgement.verdict is Verdict.BETTER,
        'signals': [
            {
                'name': one.name,
                'effect': one.effect.value,
                'change': one.change_percent,
                'low': one.low_percent,
                'high': one.high_percent,
            }
            for one in judgement.signals
        ],
        'missing': list(judgement.missing),
        'cause': judgement.cause,
    }


def predicted_document(predicted: Optional[Predicted]) -> Optional[dict[str, object]]:
    return None if predicted is None else asdict(predicted)


class _Table:
    """Strings by number, each stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def strings(self) -> list[str]:
        return list(self._numbers)

    def index(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def optional(self, text: Optional[str]) -> Optional[int]:
        return None if text is None else self.index(text)


def _as_number(uuid_head: Optional[str]) -> Optional[int]:
    return None if uuid_head is None else int(uuid_head, 16)


def _asked(asked: AskedRestart) -> dict[str, Any]:
    document = asdict(asked)
    return {**document, 'carried_out': document.pop('executed')}
