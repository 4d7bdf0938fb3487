"""Converts documents of the first format to the current one. Pure.

In the first format a rollout was one document of version 3, or 4 if it changes the annex, and its
history record had version 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Callable, Optional

from ...judge.records import NoBenefit, Verdict
from ...store.errors import StoredStateError

#: The oldest readable version.
OLDEST = 3

_Document = dict[str, Any]


def state(document: _Document) -> _Document:
    """A `RolloutState` document for `store.codec`; raises StoredStateError."""
    return _named(document, _state)


def record(document: _Document) -> _Document:
    """A `HistoryRecord` document for `store.codec`; raises StoredStateError."""
    return _named(document, _record)


def _named(document: _Document, convert: Callable[[_Document], _Document]) -> _Document:
    """Checks the shape only: types are checked when the result is decoded."""
    try:
        return convert(document)
    except KeyError as error:
        raise StoredStateError(f'"{error.args[0]}" is missing') from None
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise StoredStateError(
            f'it does not match version {document["version"]} of the format ({error})'
        ) from None


def _state(document: _Document) -> _Document:
    columns, soak = document['osds'], document['soak']
    ids, better = columns['id'], soak['better']
    return {
        **{name: document[name] for name in _ALIKE},
        'rollout_id': document['id'],
        'request': _request(document['request'], soak, columns),
        'before': _before(document['before'], columns),
        'osds': {'osd_id': ids, **{name: columns[name] for name in _PROGRESS}},
        'ending': _ending(document['ending']),
        'soak': {
            **_soak(soak),
            'no_benefit': soak['no_benefit'],
            'batches': None
            if soak['batches'] is None
            else {**_soak(soak['batches']), 'no_benefit': NoBenefit.AUTO.value, 'batches': None},
        },
        'soaked_s': soak['soaked_s'],
        'batch_soaked_s': soak['batch_soaked_s'],
        'judgement': _judgement(soak['judgement']),
        'batch_judgement': _judgement(soak['batch_judgement']),
        'verdicts': [
            _verdict(word, better=number in better) for number, word in enumerate(soak['verdicts'])
        ],
        'texts': document['strings'],
    }


_ALIKE = (
    *('started_s', 'updated_s', 'stage', 'direction', 'paused_reason', 'paused_by'),
    *('shared_touched', 'restoring', 'entries_done', 'errors', 'last_error', 'suspicion'),
    *('longest_boot_s', 'asked', 'own_entries_stay', 'outcome', 'failure'),
)
_PROGRESS = (
    *('step', 'nonce_before', 'nonce_after', 'restarts_asked', 'flaps', 'restart_needed'),
    *('doubtful', 'left_reason'),
)


def _request(request: _Document, soak: _Document, columns: _Document) -> _Document:
    ids = columns['id']
    target_of = _by_id(columns, 'target')
    order = iter(ids)
    batches = [list(islice(order, size)) for size in request['batches']]
    return {
        **{
            name: request[name]
            for name in (
                *('kind', 'who', 'actor', 'restart', 'prediction', 'predicted', 'option'),
                *('strings', 'purpose', 'promised', 'fill_s'),
            )
        },
        'recommendation_id': request['recommendation'],
        'targets': [[osd_id, target_of[osd_id]] for osd_id in request['target_order']],
        'order': ids,
        'final_entries': request['final'],
        'controls': soak['controls'],
        'batches': batches,
        'domains': [_domain(domain, batch) for domain, batch in _both(request['domains'], batches)],
    }


def _both(domains: Sequence[Any], batches: list[list[int]]) -> list[tuple[Any, list[int]]]:
    if domains and len(domains) != len(batches):
        raise StoredStateError('"request.domains" does not match "request.batches"')
    return list(zip(domains, batches))


def _domain(domain: Any, batch: list[int]) -> Optional[_Document]:
    if domain is None:
        return None
    kind, name = domain
    return {'kind': kind, 'name': f'osd.{batch[0]}' if name is None else name}


def _before(before: _Document, columns: _Document) -> _Document:
    found = {
        name: _by_id(columns, stored)
        for name, stored in (
            ('value', 'before_value'),
            ('source', 'before_source'),
            ('release', 'before_release'),
            ('uuid_head', 'before_uuid'),
            ('device_class', 'before_class'),
            ('objectstore', 'before_objectstore'),
        )
    }
    found['uuid_head'] = {
        osd_id: None if number is None else f'{number:06x}'
        for osd_id, number in found['uuid_head'].items()
    }
    return {
        'entries': before['entries'],
        'other_entries': before['other_entries'],
        'osds': [
            {'osd_id': osd_id, **{name: values[osd_id] for name, values in found.items()}}
            for osd_id in before['osd_order']
        ],
    }


def _by_id(columns: _Document, name: str) -> dict[int, Any]:
    ids, values = columns['id'], columns[name]
    if len(values) != len(ids):
        raise StoredStateError(f'"osds.{name}" has {len(values)} values for {len(ids)} OSDs')
    return dict(zip(ids, values))


def _ending(ending: Any) -> Optional[_Document]:
    if ending is None:
        return None
    outcome, reason = ending
    return {'outcome': outcome, 'reason': reason}


def _soak(soak: _Document) -> _Document:
    return {name: soak[name] for name in ('least_s', 'most_s', 'inconclusive')}


def _record(document: _Document) -> _Document:
    alike = (
        *('time_s', 'who', 'actor', 'outcome', 'reason', 'prediction', 'measured'),
        *('predicted', 'option'),
    )
    return {
        **{name: document[name] for name in alike},
        'rollout_id': document['id'],
        'recommendation_id': document['recommendation'],
        'options_from': document['from'],
        'options_to': document['to'],
        'judgement': _judgement(document['judgement']),
        'state': document.get('state'),
    }


def _judgement(judgement: Any) -> Optional[_Document]:
    if judgement is None:
        return None
    return {
        'verdict': _verdict(judgement['verdict'], better=judgement['better']),
        'signals': [
            {
                'name': signal['name'],
                'effect': signal['effect'],
                **{f'{name}_percent': signal[name] for name in ('change', 'low', 'high')},
            }
            for signal in judgement['signals']
        ],
        'missing': judgement['missing'],
        'cause': judgement['cause'],
    }


def _verdict(word: Any, *, better: bool) -> Any:
    """Verdict of a word: "pass" covered both better and no worse, distinguished by a flag."""
    words = {'pass': Verdict.BETTER if better else Verdict.NO_WORSE, 'fail': Verdict.WORSE}
    verdict = words.get(word)
    return word if verdict is None else verdict.value
