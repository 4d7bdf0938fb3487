"""No request makes an endpoint fail: schemathesis, by the OpenAPI document."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance

from dashboard_client import API, VERSION, User
from module_client import ModuleClient

pytestmark = pytest.mark.integration

#: For each endpoint.
EXAMPLES = 12
#: The valid statuses of the API; 405 and 404 are CherryPy's for an invalid path.
FINE = {200, 204, 400, 403, 404, 405, 409, 411, 413, 415}
#: These would take effect: changes are tried without the permission for them.
CHANGING = ('post', 'put', 'delete')


@pytest.fixture(scope='module')
def document(users: dict[str, User]) -> Any:
    """The dashboard's own document, reduced to our endpoints."""
    whole = users['administrator'].ask('GET', '/docs/openapi.json', accept='application/json').body
    whole['paths'] = {path: found for path, found in whole['paths'].items() if path.startswith(API)}
    for methods in whole['paths'].values():
        for method in methods.values():
            # The dashboard writes null where there is no text, and "type" where a schema belongs
            # that it was not told; the tool reads neither.
            method['description'] = method.get('description') or ''
            for answer in method['responses'].values():
                if 'schema' in answer.get('content', {}).get(VERSION, {}):
                    nullable(answer['content'][VERSION]['schema'])
                else:
                    answer.pop('content', None)
    assert len(whole['paths']) >= 25
    return whole


def nullable(schema: Any) -> None:
    """Let every value be null too, and those of evidence anything.

    The dashboard's form of a schema has no words for it.
    """
    schema['nullable'] = True
    parts = schema.get('properties', {})
    if {'signal', 'value', 'unit'} <= parts.keys():
        del parts['value']['type']
    for part in (*parts.values(), schema.get('items')):
        if part is not None:
            nullable(part)


def test_every_answer_is_in_the_openapi_document(document: Any) -> None:
    """Also those of changes, of which one has nothing to answer."""
    for path, methods in document['paths'].items():
        for method, found in methods.items():
            described = {code for code, answer in found['responses'].items() if 'content' in answer}
            assert len(described) == (method != 'delete'), (method, path)


def test_no_request_makes_an_endpoint_fail(
    document: Any, users: dict[str, User], tuner: ModuleClient, url: str
) -> None:
    """Reads as an administrator, changes as a read-only user."""
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = url
    sent = 0
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        changing = operation.method.lower() in CHANGING
        sent += send_some(operation, users['read-only' if changing else 'administrator'])
    assert sent >= 25 * EXAMPLES / 2
    assert tuner.status()['mode'] == 'recommend'


def send_some(operation: Any, user: User) -> int:
    """How many requests were sent to an endpoint; none of them failed inside it."""
    sent = 0

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        nonlocal sent
        sent += 1
        answer = case.call(headers={'Authorization': f'Bearer {user.token}', 'Accept': VERSION})
        assert answer.status_code in FINE, (case.method, case.path, answer.text)
        assert 'Traceback (most' not in answer.text
        if answer.status_code < 300:
            # Its message is the documented one.
            case.validate_response(answer, checks=[response_schema_conformance])

    send()
    return sent


bodies = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


@pytest.mark.parametrize('path', ['/rollback', '/operation/pause', '/osd/99/deep', '/profile'])
def test_no_request_body_makes_a_change_fail_or_happen(
    users: dict[str, User], tuner: ModuleClient, path: str
) -> None:
    """As an administrator, who may: there is no rollout, no such OSD, and no such profile."""
    before = tuner.json('profile', 'ls', schema='profile-ls')

    @given(bodies)
    @settings(max_examples=40, deadline=None)
    def send(body: Any) -> None:
        answer = users['administrator'].ask('POST', API + path, json.dumps(body).encode())
        assert answer.status in {400, 404, 409}, (body, answer)
        assert 'Traceback (most' not in json.dumps(answer.body)

    send()
    assert tuner.json('profile', 'ls', schema='profile-ls') == before
    assert tuner.operation() is None
