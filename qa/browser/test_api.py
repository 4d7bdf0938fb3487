"""The REST API in the dashboard of a real manager: roles, input, states, and its documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from dashboard_client import API, PASSWORD, VERSION, Answer, User
from harness import Cluster
from module_client import ModuleClient

pytestmark = pytest.mark.integration

#: Name of the role, whether it may read, whether it may change.
ROLES = [
    ('administrator', True, True),
    ('cluster-manager', True, True),
    ('read-only', True, False),
    ('block-manager', False, False),
    ('rgw-manager', False, False),
]


@pytest.fixture(scope='module')
def nobody(url: str) -> User:
    return User(url)


@pytest.fixture(scope='module')
def admin(users: dict[str, User], tuner: ModuleClient) -> User:
    assert tuner.osds()
    return users['administrator']


READS = [
    ('', ('status',)),
    ('/osd', ('osd',)),
    ('/workload', ('workload',)),
    ('/findings', ('findings',)),
    ('/recommendation', ('recommend',)),
    ('/profile', ('profile', 'ls')),
    ('/profile/lz4-2025', ('profile', 'show', 'lz4-2025')),
    ('/option/compression', ('explain', 'compression')),
    ('/history', ('history',)),
    ('/operation', ('operation', 'status')),
    ('/mode', ('mode',)),
    ('/option', ('explain',)),
    (
        '/derivation?workload=rgw-metadata&cores=4',
        ('profile', 'derive', '--workload', 'rgw-metadata', '--cores', '4'),
    ),
]


@pytest.mark.parametrize(('path', 'words'), READS)
def test_read_returns_the_same_as_the_command_line(
    admin: User, tuner: ModuleClient, path: str, words: tuple[str, ...]
) -> None:
    answer = admin.get(path)
    assert answer.status == 200
    reported = tuner.cluster.ceph_json('rocksdb-tuner', *words)
    # Values move between two ticks, names do not.
    assert type(answer.body) is type(reported)
    if isinstance(reported, dict):
        assert answer.body.keys() == reported.keys()
    if isinstance(reported, list):
        assert len(answer.body) == len(reported)


def test_osd_check_model_and_report_endpoints_answer(admin: User) -> None:
    assert admin.get('/osd/1').body['osd'] == 1
    options = quote('compression=kLZ4Compression,max_total_wal_size=1G')
    assert admin.get(f'/check?options={options}&osd=1').body['accepted'] is True
    assert admin.get(f'/model?options={options}&osd=1').status == 200
    assert admin.get('/profile/lz4-2025/diff?osd=1').status == 200
    assert admin.get('/report?anonymous=true').status == 200


@pytest.mark.parametrize(('role', 'reads', 'changes'), ROLES)
def test_roles_read_and_change_only_what_they_may(
    users: dict[str, User], tuner: ModuleClient, role: str, reads: bool, changes: bool
) -> None:
    user = users[role]
    assert user.get('').status == (200 if reads else 403)
    before = tuner.cluster.ceph_json('rocksdb-tuner', 'mode')['mode']
    assert before == 'recommend'
    assert user.ask('PUT', f'{API}/mode', {'mode': 'observe'}).status == (200 if changes else 403)
    now = tuner.cluster.ceph_json('rocksdb-tuner', 'mode')['mode']
    assert now == ('observe' if changes else 'recommend')
    tuner.cluster.ceph('rocksdb-tuner', 'mode', 'recommend')


def test_charts_have_every_osd_and_its_class(admin: User, tuner: ModuleClient) -> None:
    drawn = admin.get('/map').body
    assert sorted(drawn['osds']) == [0, 1, 2]
    assert drawn['device_classes']['names'] == ['ssd']

    def measured() -> bool:
        (trend,) = admin.get('/trend?device_class=ssd').body or [None]
        return trend is not None and any(v is not None for v in trend['kv_sync_busy'])

    tuner.wait_for(measured, 90, 'a point of the device class with a window')
    trends = admin.get('/trend?osds=0,2').body
    assert [trend['osd'] for trend in trends] == [0, 2]
    assert admin.get('/osd/1/growth').body['osd'] == 1


def test_custom_profile_is_added_and_removed(admin: User, users: dict[str, User]) -> None:
    own = {
        'name': 'mine',
        'title': 'Ours',
        'options': 'compression=kLZ4Compression',
        'releases': ['reef'],
        'source': 'a test',
    }
    assert users['read-only'].ask('POST', f'{API}/profile', own).status == 403
    assert admin.ask('POST', f'{API}/profile', own).status == 201
    assert admin.ask('POST', f'{API}/profile', own).status == 409
    assert admin.get('/profile/mine').body['own'] is True
    assert users['read-only'].ask('DELETE', f'{API}/profile/mine').status == 403
    assert admin.ask('DELETE', f'{API}/profile/mine').status == 204
    assert admin.get('/profile/mine').status == 404


CHANGES = [
    ('PUT', '/mode', {'mode': 'off'}),
    ('POST', '/recommendation/x/apply', {}),
    ('POST', '/rollback', {}),
    ('POST', '/operation/pause', {}),
    ('POST', '/operation/resume', {}),
    ('POST', '/operation/abort', {}),
    ('POST', '/osd/1/deep', {}),
    ('POST', '/profile', {}),
]


@pytest.mark.parametrize(('method', 'path', 'body'), CHANGES)
def test_change_without_permission_is_refused_on_every_endpoint(
    users: dict[str, User], nobody: User, admin: User, method: str, path: str, body: object
) -> None:
    assert nobody.ask(method, API + path, body).status == 401
    assert users['read-only'].ask(method, API + path, body).status == 403
    # By GET there is nothing of the kind, or a read.
    if path not in {'/mode', '/profile'}:
        assert admin.get(path).status in {404, 405}


@pytest.mark.parametrize(
    ('method', 'path', 'body', 'status', 'named'),
    [
        # Others are in the tests of the controllers; these are read by CherryPy first
        ('PUT', '/mode', {'mode': 'sometimes'}, 400, 'auto-apply'),
        ('PUT', '/mode', b'{"mode": ', 400, ''),
        ('PUT', '/mode', b'\xff\xfe', 400, ''),
        ('PUT', '/mode', b'[' * 100_000, 400, 'JSON'),
        ('PUT', '/mode', b'{}' + b' ' * (1 << 18), 413, ''),
        ('PUT', '/mode', 7, 400, 'object'),
        ('GET', '/trend?osds=1&osds=2', None, 400, 'osds'),
        ('GET', '/profile/%3Cscript%3E', None, 404, 'lz4-2025'),
        ('POST', '/operation/pause', {}, 404, ''),
    ],
)
def test_bad_input_is_named_without_a_traceback(
    admin: User, method: str, path: str, body: object, status: int, named: str
) -> None:
    answer = admin.ask(method, API + path, body)
    text = json.dumps(answer.body)
    assert (answer.status, named in text) == (status, True), answer
    assert 'Traceback' not in text
    assert admin.get('/mode').body['mode'] == 'recommend'


def test_request_without_the_version_header_is_rejected(admin: User) -> None:
    assert admin.ask('GET', API, accept='*/*').status == 415


@pytest.mark.parametrize(
    'content_type',
    ['application/x-www-form-urlencoded', 'text/plain', 'application/json; charset=utf-8'],
)
def test_changes_accept_only_json_that_no_other_site_can_send(
    admin: User, content_type: str
) -> None:
    for method, path, _ in CHANGES:
        answer = admin.ask(method, API + path, b'mode=off', content_type=content_type)
        assert answer.status == 415
    assert admin.get('/mode').body['mode'] == 'recommend'


def test_every_endpoint_is_in_the_openapi_document(admin: User) -> None:
    paths = admin.ask('GET', '/docs/openapi.json', accept='application/json').body['paths']
    ours = {path: set(methods) for path, methods in paths.items() if path.startswith(API)}
    assert ours[API] == {'get'}
    assert ours[f'{API}/mode'] == {'get', 'put'}
    assert ours[f'{API}/profile/{{name}}'] == {'get', 'delete'}
    assert ours[f'{API}/recommendation/{{recommendation_id}}/apply'] == {'post'}
    assert len(ours) >= 25
    described = paths[f'{API}/map']['get']['responses']['200']['content'][VERSION]['schema']
    assert described['properties']['kv_sync_busy']['type'] == 'array'
    # And what changes answer.
    answers = paths[f'{API}/operation/pause']['post']['responses']
    # An operation of any kind.
    assert {'batches', 'arms', 'baseline_ms'} <= set(
        answers['202']['content'][VERSION]['schema']['properties']
    )


@pytest.fixture
def script(cluster: Cluster) -> Iterator[Path]:
    """The path of the tab's script; the file does not exist."""
    inside = cluster.layout.mgr_modules / 'dashboard/controllers/_rocksdb_tuner_tab.js'
    path: Path = cluster.client.host.outside(inside)
    built = path.read_text() if path.exists() else None
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)
    if built is not None:
        path.write_text(built)


def page(user: User, **headers: str) -> tuple[str, Message]:
    """The dashboard's page and its headers."""
    with urlopen(Request(user.url + '/', headers=headers), timeout=60) as answer:
        assert answer.status == 200
        return answer.read().decode(), answer.headers


def test_page_is_the_shipped_one_plus_one_script(nobody: User, script: Path) -> None:
    shipped, headers = page(nobody)
    assert 'rocksdb_tuner' not in shipped
    script.write_text('let a;')
    # A page that the browser kept from before has no tab.
    conditional = {'If-Modified-Since': headers['Last-Modified'], 'Range': 'bytes=0-9'}
    with_tab, _ = page(nobody, **conditional)
    tag = '<script src="/ui-api/rocksdb_tuner_tab/script" defer></script>'
    assert with_tab == shipped.replace('</body>', tag + '</body>')
    with urlopen(nobody.url + '/ui-api/rocksdb_tuner_tab/script', timeout=60) as answer:
        assert answer.read() == b'let a;'
        assert answer.headers['Content-Type'].startswith('application/javascript')


def test_dashboard_pages_answer_as_before(admin: User) -> None:
    assert admin.ask('GET', '/api/summary').status == 200
    assert admin.ask('GET', '/api/osd').status in {200, 415}
    assert 'ROCKSDB' not in json.dumps(admin.ask('GET', '/api/health/minimal').body).upper()


def test_disabled_module_is_503_and_tells_how_to_enable_it(
    cluster: Cluster, tuner: ModuleClient, nobody: User
) -> None:
    def answer() -> Answer | None:
        # The manager starts over; its dashboard takes a few seconds.
        try:
            user = nobody.logged_in('the-administrator', PASSWORD)
            return user.get('')
        except (URLError, ConnectionError, AssertionError):
            return None

    cluster.ceph('mgr', 'module', 'disable', 'rocksdb_tuner')
    reported = tuner.wait_for(
        lambda: (a := answer()) and a.status == 503 and a, 60, '503 of a disabled module'
    )
    assert reported.body['code'] == 'module_disabled'
    assert 'ceph mgr module enable rocksdb_tuner' in reported.body['detail']
    cluster.ceph('mgr', 'module', 'enable', 'rocksdb_tuner')
    tuner.wait_for(lambda: (a := answer()) and a.status == 200, 60, '200 of an enabled module')


def test_read_only_user_cannot_plant_a_notice(admin: User, users: dict[str, User]) -> None:
    unplaced = '/ui-api/rocksdb_tuner/unplaced'
    assert users['read-only'].ask('POST', unplaced, {}).status == 403
    assert not any('cannot be added' in notice for notice in admin.get('').body['notices'])
    assert admin.ask('POST', unplaced, {}).status < 300
    assert any('cannot be added' in notice for notice in admin.get('').body['notices'])
