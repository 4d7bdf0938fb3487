"""Any request to the dashboard gets a documented status, a short answer and no traceback.

Without Ceph: a double of the dashboard takes requests as the real one does, path, query and body,
and the module has seen a cluster in memory. A few examples in the unit tests;
a fifth of ROCKSDB_TUNER_FUZZ_SECONDS for longer, from ROCKSDB_TUNER_FUZZ_SEED.
"""

from __future__ import annotations

import inspect
import io
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Optional

import cherrypy
import pytest
from dashboard import mgr
from dashboard.controllers import BaseController
from dashboard.controllers._rocksdb_tuner_api import MAX_BODY_BYTES, read_body
from dashboard.exceptions import DashboardException
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tuner_api import Api, endpoints

from rocksdb_tuner.tests.test_fuzz import (
    ANSWER_CHARS,
    NASTY,
    SECONDS,
    SEED,
    documents,
    json_values,
    module,
    no_digit_limit,
    no_traceback,
    texts,
)

#: Maximum characters of a refusal: the input may be quoted, each byte of it escaped.
MOST_REFUSAL_CHARACTERS = 4 * MAX_BODY_BYTES
#: The documented refusals: the module's by errno, those of a body, and not enabled.
REFUSALS = {400, 403, 404, 409, 411, 413, 415, 503}
EXAMPLES = 40
JSON_TYPE = 'application/json'


class Asked(NamedTuple):
    """One request, after the dashboard found the endpoint that it is for."""

    name: str
    #: From the path and from the query: texts, or a list of them where a name comes twice.
    arguments: dict[str, Any]
    #: For requests other than GET.
    body: Optional[bytes]
    content_type: Optional[str]
    content_length: Optional[str]


class Answer(NamedTuple):
    status: int
    document: Any
    refusal: str


ENDPOINTS: dict[str, Any] = {function.__name__: function for function in endpoints()}
#: Valid values of paths and arguments.
GOOD = (
    '0', '1', '3', 'ssd', 'lz4-2025', 'reef', 'pacific', 'true', 'false', 'r1', 'off', 'observe',
    'recommend', 'auto-apply', 'rbd-small-write', '60G', 'compression', 'write_buffer_size',
    'compression=kLZ4Compression', 'write_buffer_size=16777216,ttl=1',
    'osd/class:ssd', 'lz4-2025,variant-2022-d', 'kv_sync_ms_per_txn', '10%', '12h', 'E1',
)  # fmt: skip
OWN = {
    'name': 'mine',
    'title': 'Ours',
    'options': 'compression=kLZ4Compression',
    'releases': ['pacific'],
    'source': 'a ticket',
    'cautions': ['none'],
}

values = st.sampled_from(GOOD) | texts
#: As a parser of URLs gives them.
in_query = values | st.lists(values, min_size=2, max_size=3)


def names_of(endpoint: Any) -> list[str]:
    return [name for name in inspect.signature(endpoint).parameters if name != 'self']


@st.composite
def requests(draw: st.DrawFn) -> Asked:
    name = draw(st.sampled_from(sorted(ENDPOINTS)))
    endpoint = ENDPOINTS[name]
    in_path = re.findall(r'\{(\w+)\}', endpoint.path)
    arguments: dict[str, Any] = {one: draw(values) for one in in_path}
    others = [one for one in names_of(endpoint) if one not in in_path]
    if endpoint.method in {'GET', 'DELETE'}:
        arguments.update({one: draw(in_query) for one in others if draw(st.booleans())})
        arguments.update(draw(unknown))
        return Asked(name, arguments, None, None, None)
    # Query parameters beside a body, as any client may add them.
    arguments.update(draw(unknown))
    body = draw(bodies(others))
    return Asked(
        name,
        arguments,
        body,
        draw(st.sampled_from([JSON_TYPE] * 9 + [None, 'text/plain', f'{JSON_TYPE}; charset=x'])),
        draw(st.sampled_from([str(len(body))] * 9 + [None, '', '-1', '²', '9' * 40, 'x'])),
    )


unknown: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.dictionaries(
    texts.filter(lambda name: name != 'self'), in_query, max_size=1
)


@st.composite
def bodies(draw: st.DrawFn, names: list[str]) -> bytes:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        text = draw(documents(json.dumps(OWN)))
    elif kind == 1:
        text = draw(texts)
    else:
        body: dict[str, Any] = {n: draw(values | json_values) for n in names if draw(st.booleans())}
        if 'releases' in names and draw(st.booleans()):
            body = {**OWN, **{n: v for n, v in body.items() if draw(st.booleans())}}
        if draw(st.integers(0, 5)) == 0:
            body[draw(texts.filter(lambda name: name != 'self'))] = draw(json_values)
        with no_digit_limit():
            text = json.dumps(body)
    return text.encode(errors='surrogatepass')


def answered(asked: Asked) -> Answer:
    """The dashboard's response to a request; any other exception would be a 500."""
    endpoint, arguments = ENDPOINTS[asked.name], dict(asked.arguments)
    cherrypy.response.status = None
    try:
        if asked.body is not None:
            headers = {
                name: value
                for name, value in (
                    ('Content-Type', asked.content_type),
                    ('Content-Length', asked.content_length),
                )
                if value is not None
            }
            cherrypy.serving.request = SimpleNamespace(json=None)
            read_body(SimpleNamespace(headers=headers, fp=io.BytesIO(asked.body)))
            # The body wins over a duplicate parameter.
            arguments.update(cherrypy.serving.request.json)
        document = getattr(Api(), asked.name)(**arguments)
    except DashboardException as error:
        return Answer(error.status, None, str(error))
    except cherrypy.HTTPError as error:
        return Answer(error.status, None, error.message)
    return Answer(cherrypy.response.status or _status(endpoint), document, '')


def _status(endpoint: Any) -> int:
    return int(min(endpoint.responses or {200: None}))


@pytest.fixture(autouse=True)
def _permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseController, 'permissions', {('config-opt', 'update')})
    monkeypatch.setattr(mgr, 'answer', None)
    monkeypatch.setattr(cherrypy.serving, 'request', None, raising=False)


def with_a_cluster() -> None:
    made = module()

    def remote(name: str, method: str, *args: Any) -> Any:
        assert name == 'rocksdb_tuner'
        # As between modules of Tentacle: a copy of plain values.
        return json.loads(json.dumps(getattr(made, method)(*args)))

    mgr.answer = remote


def printable(value: Any, repeated: Sequence[str] = ()) -> bool:
    """Whether no text in it is interpreted by a terminal or a page.

    Except for parts of ``repeated``: checked option strings are stored nowhere, and the data
    repeats them exactly.
    """
    if isinstance(value, dict):
        return all(printable(name) and printable(one, repeated) for name, one in value.items())
    if isinstance(value, list):
        return all(printable(one, repeated) for one in value)
    if not isinstance(value, str) or all(c.isprintable() or c == '\n' for c in value):
        return True
    return any(value in text for text in repeated)


def check(asked: Asked) -> Answer:
    if mgr.answer is None or ENDPOINTS[asked.name].method != 'GET':
        # The effects of one request must not affect another.
        with_a_cluster()
    return fails_not(asked)


def fails_not(asked: Asked) -> Answer:
    with no_traceback():
        answer = answered(asked)
    endpoint = ENDPOINTS[asked.name]
    fine = set(endpoint.responses or {204: None})
    assert answer.status in fine | REFUSALS, answer
    assert (answer.status in REFUSALS) == bool(answer.refusal)
    assert len(answer.refusal) < MOST_REFUSAL_CHARACTERS, len(answer.refusal)
    assert len(json.dumps(answer.document)) < ANSWER_CHARS
    assert printable(answer.refusal), answer.refusal
    looked_at = [value for value in asked.arguments.values() if isinstance(value, str)]
    assert printable(answer.document, looked_at if asked.body is None else ())
    return answer


def run(number: int) -> Counter[str]:
    """Which endpoints answered with which status, from a seed."""
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests())
    def fuzz(asked: Asked) -> None:
        seen[f'{asked.name} {check(asked).status}'] += 1

    try:
        fuzz()
    except BaseException:
        print(f'\nROCKSDB_TUNER_FUZZ_SEED={number} target rest')
        raise
    return seen


def test_no_hostile_input_makes_an_endpoint_fail() -> None:
    """With ROCKSDB_TUNER_FUZZ_SECONDS for a fifth of that time, from another seed each time."""
    number, seen = SEED if SECONDS else 20261, Counter[str]()
    until_s = time.monotonic() + SECONDS / 5
    while not seen or time.monotonic() < until_s:
        seen += run(number)
        number += 1
    print(f'{sum(seen.values())} requests from ROCKSDB_TUNER_FUZZ_SEED={SEED}: {dict(seen)}')
    # Requests that are all refused at the door would prove little.
    assert {status.split()[1] for status in seen} >= {'200', '400'}


@pytest.mark.parametrize('name', sorted(ENDPOINTS))
def test_no_hostile_text_in_all_arguments_makes_an_endpoint_fail(name: str) -> None:
    """In the path, in the query and in the body at once."""
    endpoint = ENDPOINTS[name]
    in_path = set(re.findall(r'\{(\w+)\}', endpoint.path))
    with_a_cluster()
    for nasty in NASTY if names_of(endpoint) else NASTY[:1]:
        arguments = dict.fromkeys(names_of(endpoint), nasty)
        if endpoint.method in {'GET', 'DELETE'}:
            fails_not(Asked(name, arguments, None, None, None))
            continue
        body = json.dumps({n: v for n, v in arguments.items() if n not in in_path}).encode()
        path = {n: v for n, v in arguments.items() if n in in_path}
        fails_not(Asked(name, path, body, JSON_TYPE, str(len(body))))


@pytest.mark.parametrize('name', ['status', 'set_mode'])
def test_parameter_named_like_the_first_of_the_handler_is_refused(name: str) -> None:
    body = None if name == 'status' else b'{"self": 1}'
    assert check(Asked(name, {'self': '1'}, body, JSON_TYPE, '11')).status == 400


def test_refusal_does_not_echo_the_whole_input() -> None:
    """It would be in the log of the manager, too."""
    body = json.dumps({'x' * 200_000: 1}).encode()
    assert len(check(Asked('set_mode', {}, body, JSON_TYPE, '200006')).refusal) < 1000
