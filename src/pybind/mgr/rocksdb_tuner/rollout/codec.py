"""Rollouts as stored text, and back.

Option strings, which most OSDs share, are stored once. Decoding trusts nothing: a contradiction,
too, is a `StoredStateError` that names it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Callable, Optional

from ..judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    NoBenefit,
    Predicted,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from ..judge.verdict import harmless
from ..mgr.records import FailureDomain
from ..plan.batches import count
from ..plan.records import ANNEX, ChangeKind, ChangeRequest, Purpose
from .errors import StoredStateError
from .records import (
    AskedRestart,
    Before,
    Direction,
    Ending,
    OsdBefore,
    OsdProgress,
    OsdStep,
    Outcome,
    Phase,
    RolloutState,
)
from .states import TEXT_MAX
from .stored import (
    Part,
    lookup,
    optional,
    packed,
    read_count,
    read_flag,
    read_list,
    read_member,
    read_number,
    read_object,
    read_text,
    refuse_above,
    unpacked,
    wrong,
)

#: Of all that a rollout stores.
VERSION = 3
#: A rollout of the annex. A manager with an older version of the module would write its values to
#: the string: it must not be able to go on with it.
OF_ANNEX = 4
#: Without a soak and its verdict: what is read of it never soaks.
WITHOUT_SOAK = 1
#: Without batches: after the canary, OSD follows OSD, and none of them is judged.
WITHOUT_BATCHES = 2

#: Room for the texts that come up on the way (reason, error, suspicion, ending, why entries stay),
#: in UTF-8 and encoded, and for the judgements on the canary and on a batch.
_RESERVE_BYTES = 4 * TEXT_MAX * 6 + 2 * 4096


def encode_state(state: RolloutState) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused with E2BIG."""
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
        # One column per property: like values stand side by side, which compresses best.
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
        'suspicion': state.suspicion,
        'longest_boot_s': state.longest_boot_s,
        'asked': None if state.asked is None else asdict(state.asked),
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
    return packed(document, f'rollout {state.rollout_id} of {len(osds)} OSDs')


def refuse_if_too_large(state: RolloutState) -> None:
    """Raise RolloutRefused (E2BIG) if the state could outgrow its key on its way."""
    # Nonces are 32-bit and random in newer releases: they do not compress.
    filled = tuple(
        replace(
            osd,
            nonce_before=zlib.crc32(f'before {osd.osd_id}'.encode()),
            nonce_after=zlib.crc32(f'after {osd.osd_id}'.encode()),
        )
        for osd in state.osds
    )
    whos = (
        *(who for who, _ in state.request.final_entries),
        *(f'osd.{osd.osd_id}' for osd in state.osds),
    )
    verdicts = (Verdict.INCONCLUSIVE,) * count(state.request)
    fullest = replace(state, osds=filled, restoring=whos, verdicts=verdicts)
    size = len(encode_state(fullest).encode())
    refuse_above(size + _RESERVE_BYTES, f'a rollout of {len(state.osds)} OSDs')


def _before_and_after(path: str, value: object) -> tuple[str, str]:
    values = read_list(path, value)
    if len(values) != 2:
        wrong(path, value, 'two strings')
    return read_text(path, values[0]), read_text(path, values[1])


def decode_state(text: str) -> RolloutState:
    """The state that `encode_state` wrote; raises StoredStateError."""
    document = unpacked(text, WITHOUT_SOAK, OF_ANNEX)
    strings = document.strings('strings')
    request, before, columns = (document.part(name) for name in ('request', 'before', 'osds'))
    ids = columns.integers('id')
    value_of = {
        name: dict(zip(ids, columns.column(name, len(ids), lookup(strings))))
        for name in ('target', 'before_value', 'before_source')
    }
    releases = columns.column('before_release', len(ids), optional(lookup(strings)))
    release_of = dict(zip(ids, releases))
    read_optional = optional(lookup(strings))
    uuid_of, class_of, objectstore_of = (
        dict(zip(ids, columns.column_added_later(name, len(ids), read)))
        for name, read in (
            ('before_uuid', optional(_uuid_head)),
            ('before_class', read_optional),
            ('before_objectstore', read_optional),
        )
    )
    ending = document.value('ending')
    state = RolloutState(
        rollout_id=document.text('id'),
        request=ChangeRequest(
            recommendation_id=request.text('recommendation'),
            kind=request.choice('kind', ChangeKind),
            who=request.text('who'),
            targets=tuple(
                (n, value_of['target'][n]) for n in request.permutation('target_order', ids)
            ),
            order=tuple(ids),
            final_entries=request.pairs('final', optional(lookup(strings))),
            actor=request.text('actor'),
            restart=request.typed('restart', read_flag),
            prediction=request.optional_text('prediction'),
            predicted=request.added_later('predicted', read_predicted),
            option=request.text('option'),
            strings=request.added_later('strings', _before_and_after),
            # What an older version began promised nothing, and went on where nothing got worse.
            purpose=request.added_later('purpose', _purpose) or Purpose.SAFETY,
            promised=request.added_later('promised', read_text),
            fill_s=request.added_later('fill_s', read_number),
        ),
        before=Before(
            entries=before.pairs('entries', lookup(strings)),
            other_entries=before.pairs_added_later('other_entries', lookup(strings)),
            osds=tuple(
                OsdBefore(
                    n,
                    value_of['before_value'][n],
                    value_of['before_source'][n],
                    release_of[n],
                    uuid_of[n],
                    class_of[n],
                    objectstore_of[n],
                )
                for n in before.permutation('osd_order', ids)
            ),
        ),
        osds=tuple(
            OsdProgress(*row)
            for row in zip(
                ids,
                columns.column('step', len(ids), _step(strings)),
                columns.column('nonce_before', len(ids), optional(read_count)),
                columns.column('nonce_after', len(ids), optional(read_count)),
                columns.column('restarts_asked', len(ids), read_count),
                columns.column('flaps', len(ids), read_count),
                columns.column('restart_needed', len(ids), read_flag),
                columns.column('doubtful', len(ids), read_flag),
                columns.column_added_later('left_reason', len(ids), read_optional),
            )
        ),
        started_s=document.number('started_s'),
        updated_s=document.number('updated_s'),
        stage=document.choice('stage', Phase),
        direction=document.choice('direction', Direction),
        paused_reason=document.optional_text('paused_reason'),
        paused_by=document.optional_text('paused_by'),
        ending=None if ending is None else _ending(ending),
        shared_touched=document.typed('shared_touched', read_flag),
        restoring=tuple(document.strings('restoring')),
        entries_done=document.typed('entries_done', read_count),
        errors=document.typed('errors', read_count),
        last_error=document.optional_text('last_error'),
        suspicion=document.optional_text('suspicion'),
        asked=document.added_later('asked', _asked),
        longest_boot_s=document.added_later('longest_boot_s', read_number) or 0.0,
        own_entries_stay=document.added_later('own_entries_stay', read_text),
        outcome=document.optional_choice('outcome', Outcome),
        failure=document.optional_text('failure'),
    )
    if document.value('version') == WITHOUT_SOAK:
        verdict = document.typed('verdict', optional(_verdict))
        state = replace(state, judgement=None if verdict is None else Judgement(verdict))
    else:
        soak = document.part('soak')
        state = _with_soak(state, soak)
        if document.value('version') == WITHOUT_BATCHES:
            state = _with_promoted(state, soak)
        else:
            state = _with_batches(state, request, soak, strings)
    _refuse_contradictions(state)
    return state


def _with_soak(state: RolloutState, soak: Part) -> RolloutState:
    return replace(
        state,
        soak=replace(_soak(soak), no_benefit=_no_benefit(soak)),
        request=replace(state.request, controls=tuple(soak.integers('controls'))),
        soaked_s=soak.number('soaked_s'),
        judgement=soak.typed('judgement', optional(read_judgement)),
    )


def read_predicted(path: str, value: object) -> Predicted:
    part = read_object(path, value)
    return Predicted(
        metric=part.text('metric'),
        low_percent=part.number('low_percent'),
        high_percent=part.number('high_percent'),
    )


def _with_promoted(state: RolloutState, soak: Part) -> RolloutState:
    """What the version without batches said of its canary."""
    if not soak.typed('promoted', read_flag):
        return state
    return replace(state, verdicts=(state.verdict or Verdict.NO_DATA,))


def _verdicts(soak: Part) -> tuple[Verdict, ...]:
    """Of each batch; older versions did not tell better from no worse."""
    told = soak.added_later('better', read_list) is not None
    better = soak.column('better', None, read_count) if told else []
    return tuple(
        Verdict.BETTER if verdict.harmless and number in better else verdict
        for number, verdict in enumerate(soak.column('verdicts', None, _verdict))
    )


def _with_batches(
    state: RolloutState, request: Part, soak: Part, strings: Sequence[str]
) -> RolloutState:
    sizes = request.integers('batches')
    if sizes and (sum(sizes) != len(state.osds) or 0 in sizes):
        raise StoredStateError('"request.batches" does not hold the OSDs of the rollout')
    order = iter(state.request.order)
    batches = tuple(tuple(islice(order, size)) for size in sizes)
    followed_by = soak.value('batches')
    return replace(
        state,
        request=replace(
            state.request, batches=batches, domains=_domains(request, batches, strings)
        ),
        soak=replace(
            state.soak, batches=None if followed_by is None else _soak(soak.part('batches'))
        ),
        verdicts=_verdicts(soak),
        batch_judgement=soak.typed('batch_judgement', optional(read_judgement)),
        batch_soaked_s=soak.number('batch_soaked_s'),
    )


def _domain_document(
    domain: Optional[FailureDomain], table: _Table
) -> Optional[list[Optional[int]]]:
    if domain is None:
        return None
    # Every OSD has its own name: in a rollout of thousands that would be most of the texts.
    name = None if domain.kind == 'osd' else table.index(domain.name)
    return [table.index(domain.kind), name]


def _domains(
    request: Part, batches: Sequence[tuple[int, ...]], strings: Sequence[str]
) -> tuple[Optional[FailureDomain], ...]:
    """What older versions, of which a batch lay in a host, did not write."""
    found = request.added_later('domains', read_list)
    if not found:
        return ()
    if len(found) != len(batches):
        raise StoredStateError('"request.domains" are not as many as there are batches')
    text = lookup(strings)

    def domain(path: str, value: object, batch: tuple[int, ...]) -> FailureDomain:
        pair = read_list(path, value)
        if len(pair) != 2:
            wrong(path, value, 'a type and a name')
        name = optional(text)(path, pair[1])
        return FailureDomain(text(path, pair[0]), f'osd.{batch[0]}' if name is None else name)

    return tuple(
        None if value is None else domain(f'request.domains[{number}]', value, batch)
        for number, (value, batch) in enumerate(zip(found, batches))
    )


def _soak(part: Part) -> SoakPlan:
    return SoakPlan(
        least_s=part.number('least_s'),
        most_s=part.number('most_s'),
        inconclusive=part.choice('inconclusive', Inconclusive),
    )


def _no_benefit(soak: Part) -> NoBenefit:
    """Where an older version wrote this, others followed whatever nothing got worse of."""
    found = soak.added_later('no_benefit', lambda path, value: read_member(path, value, NoBenefit))
    return found or NoBenefit.PROMOTE


def read_judgement(path: str, value: object) -> Judgement:
    part = read_object(path, value)
    found = Judgement(
        verdict=part.typed('verdict', _verdict),
        signals=tuple(
            SignalVerdict(
                name=one.text('name'),
                effect=one.choice('effect', Effect),
                change_percent=one.typed('change', optional(read_number)),
                low_percent=one.typed('low', optional(read_number)),
                high_percent=one.typed('high', optional(read_number)),
            )
            for one in part.parts('signals')
        ),
        missing=tuple(part.strings('missing')),
        cause=part.optional_text('cause'),
    )
    better = part.added_later('better', read_flag)
    if better is None:
        # What an older version wrote, which knew of no promise.
        better = harmless(found.signals) is Verdict.BETTER
    return replace(found, verdict=Verdict.BETTER) if found.verdict.harmless and better else found


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


def _uuid_head(path: str, value: object) -> str:
    number = read_count(path, value)
    if number >= 1 << 24:
        wrong(path, value, 'a number of 24 bits')
    return f'{number:06x}'


def _step(strings: Sequence[str]) -> Callable[[str, object], OsdStep]:
    text = lookup(strings)
    return lambda path, value: read_member(path, text(path, value), OsdStep)


#: What the words of all versions stand for, as far as they tell.
_VERDICTS = {
    verdict.pass_or_fail: verdict
    for verdict in (Verdict.NO_WORSE, Verdict.WORSE, Verdict.INCONCLUSIVE, Verdict.NO_DATA)
}


def _verdict(path: str, value: object) -> Verdict:
    found = _VERDICTS.get(read_text(path, value))
    if found is None:
        wrong(path, value, 'one of ' + ', '.join(_VERDICTS))
    return found


def _purpose(path: str, value: object) -> Purpose:
    return read_member(path, value, Purpose)


def _asked(path: str, value: object) -> AskedRestart:
    part = read_object(path, value)
    return AskedRestart(
        osd_id=part.typed('osd_id', read_count),
        carried_out=tuple(part.strings('carried_out')),
        stored_started=part.optional_text('stored_started'),
        refused=part.typed('refused', read_flag),
    )


def _ending(value: object) -> Ending:
    pair = read_list('ending', value)
    if len(pair) != 2:
        wrong('ending', value, 'an outcome and a reason')
    return Ending(read_member('ending', pair[0], Outcome), read_text('ending', pair[1]))


def _refuse_contradictions(state: RolloutState) -> None:
    ids = state.request.order
    if not ids or len(set(ids)) != len(ids):
        raise StoredStateError('"osds.id" is empty or names an OSD twice')
    if state.stage is Phase.WAITING:
        raise StoredStateError('"stage" is "waiting", which is no stage to go on with')
    if state.direction is Direction.RECOVER and not state.ended and state.ending is None:
        raise StoredStateError('"ending" is missing for "direction" "recover"')
    known = {f'osd.{n}' for n in ids} | {who for who, _ in state.request.final_entries}
    if not known >= set(state.restoring):
        raise StoredStateError('"restoring" names an entry outside the request')
    if state.request.order[0] in state.controls or not set(ids) >= set(state.controls):
        raise StoredStateError('"soak.controls" names the canary, or an OSD outside the request')
    if len(state.verdicts) > count(state.request):
        raise StoredStateError('"soak.verdicts" are more than there are batches')
    if state.ended != (state.outcome is not None):
        raise StoredStateError('"outcome" and "stage" contradict each other')
