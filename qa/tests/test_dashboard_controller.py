"""The endpoints of the dashboard: what they ask the module, and answer to bad input."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import cherrypy
import pytest
import sample_experiments as made
from dashboard import mgr
from dashboard.controllers import BaseController, _rocksdb_tuner_schemas
from dashboard.controllers._rocksdb_tuner_api import MAX_TEXT_CHARACTERS, read_body
from dashboard.controllers._rocksdb_tuner_schemas import SCHEMAS, described, responses
from dashboard.exceptions import DashboardException
from jsonschema import Draft202012Validator
from tuner_api import CONTROLLERS, Api, endpoints

from rocksdb_tuner import Module
from rocksdb_tuner.advise.custom_profiles import decode_custom_profile
from rocksdb_tuner.tests.present.samples import all_snapshots
from rocksdb_tuner.tests.present.test_documents import documents
from sample_candidates import all_decisions, crowd

CHECKOUT = Path(__file__).resolve().parents[2]
IN_TREE = CHECKOUT / 'src/pybind/mgr/dashboard/controllers'
DROPIN = CHECKOUT / 'contrib/dashboard-dropin/dashboard/controllers'
MAY_CHANGE = {('config-opt', 'update')}


@pytest.fixture(autouse=True)
def _module_and_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module before its first tick, and a user who may change the configuration."""
    module: Any = Module('rocksdb_tuner', '', '')

    def remote(name: str, method: str, *args: Any) -> Any:
        assert name == 'rocksdb_tuner'
        # As between modules of Tentacle: a copy of plain values.
        return json.loads(json.dumps(getattr(module, method)(*args)))

    monkeypatch.setattr(mgr, 'answer', remote)
    monkeypatch.setattr(BaseController, 'permissions', MAY_CHANGE)


@pytest.fixture
def api() -> Any:
    return Api()


def refusal(call: Any) -> DashboardException:
    with pytest.raises(DashboardException) as caught:
        call()
    return caught.value


OWN = {
    'name': 'mine',
    'title': 'Ours',
    'options': 'compression=kLZ4Compression',
    'releases': ['pacific'],
    'source': 'a ticket',
}


def test_decisions_are_returned_unchanged(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer that the tab is tested with is one that the module may give."""
    schema = json.loads((SCHEMAS / 'recommend-all.schema.json').read_text())
    decisions = [*all_decisions(), crowd()]
    Draft202012Validator(schema).validate(decisions)
    asked: list[Any] = []

    def remote(_name: str, _method: str, *args: Any) -> Any:
        asked.append(args)
        return {'retval': 0, 'stdout': json.dumps(decisions), 'stderr': ''}

    monkeypatch.setattr(mgr, 'answer', remote)
    assert api.candidates() == decisions
    assert asked == [('recommend', {'all': True})]


@pytest.mark.parametrize(
    ('name', 'answers'),
    [
        ('experiment-plan', [made.plan(), made.refused(), made.refused(None, None)]),
        (
            'operation',
            [made.baseline(), made.measuring(), made.waiting(), made.won(), made.aborted(), None],
        ),
    ],
)
def test_tab_tests_use_valid_experiment_answers(name: str, answers: list[Any]) -> None:
    schema = json.loads((SCHEMAS / f'{name}.schema.json').read_text())
    for answer in answers:
        Draft202012Validator(schema).validate(answer)


def test_check_is_answered_with_the_judgment(api: Any) -> None:
    answer = api.check(options='no_such_option=1', release='reef')
    assert (answer['accepted'], answer['release']) == (False, 'reef')
    assert api.check(options='', cores='4')['accepted'] is True


@pytest.mark.parametrize('endpoint', endpoints(), ids=lambda e: e.__name__)
def test_read_permission_does_not_allow_changes(endpoint: Any) -> None:
    assert endpoint.permission == ('read' if endpoint.method == 'GET' else 'update')
    assert {controller.scope for controller in CONTROLLERS} == {'osd'}


@pytest.mark.parametrize('endpoint', endpoints(), ids=lambda e: e.__name__)
def test_every_endpoint_and_parameter_is_documented(endpoint: Any) -> None:
    assert endpoint.description
    signature = inspect.signature(endpoint)
    assert set(endpoint.parameters) == set(signature.parameters) - {'self'}
    for name, message in endpoint.parameters.items():
        optional = signature.parameters[name].default is not inspect.Parameter.empty
        assert message[2:] == ((True,) if optional else ())
    assert set(re.findall(r'\{(\w+)\}', endpoint.path)) <= set(signature.parameters)


def test_change_needs_config_permission_too(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseController, 'permissions', {('osd', 'update')})
    before = api.mode()
    for call in (
        lambda: api.set_mode(mode='off'),
        lambda: api.apply(recommendation_id='x'),
        api.rollback,
        api.pause,
        api.resume,
        api.abort,
        lambda: api.deep(osd_id='0'),
        lambda: api.add_profile(**OWN),
        lambda: api.remove_profile(name='mine'),
        api.start_experiment,
    ):
        assert refusal(call).status == 403
    assert api.mode() == before


@pytest.mark.parametrize(
    ('call', 'status', 'named'),
    [
        (lambda a: a.set_mode(mode='sometimes'), 400, 'auto-apply'),
        (lambda a: a.set_mode(mode=True), 400, '"true"'),
        (lambda a: a.set_mode(), 400, '"mode"'),
        (lambda a: a.set_mode(mode=float('nan')), 400, '"mode"'),
        (lambda a: a.trend(), 400, 'device_class'),
        (lambda a: a.trend(osds='1', device_class='ssd'), 400, 'device_class'),
        (lambda a: a.trend(osds='1,x'), 400, '"x"'),
        (lambda a: a.trend(osds='99'), 404, 'osd.99'),
        (lambda a: a.trend(osds=','.join(map(str, range(99)))), 400, 'too many OSDs (99)'),
        (lambda a: a.deep(osd_id='99'), 404, '99'),
        (lambda a: a.add_profile(**{**OWN, 'releases': 'pacific'}), 400, '"releases"'),
        (lambda a: a.add_profile(**{**OWN, 'releases': ['x'] * 101}), 400, '"releases"'),
        (lambda a: a.add_profile(**{**OWN, 'name': 'lz4-2025'}), 409, 'lz4-2025'),
        (lambda a: a.add_profile(**{**OWN, 'options': 'typo=1'}), 400, 'typo'),
        (lambda a: a.set_mode(mode='off', force='1'), 400, '"force"'),
        (lambda a: a.status(x='1'), 400, '"x"'),
        (lambda a: a.osd(osd_id='seven'), 400, '"seven"'),
        (lambda a: a.profile(name='nope'), 404, 'lz4-2025'),
        (lambda a: a.check(options='a=b', cores='many'), 400, '"many"'),
        (lambda a: a.check(options='a' * (MAX_TEXT_CHARACTERS + 1)), 400, '16385'),
        (lambda a: a.report(anonymous='perhaps'), 400, '"perhaps"'),
        (lambda a: a.start_experiment(adopt='perhaps'), 400, '"perhaps"'),
        (lambda a: a.start_experiment(arms=['a', 'b']), 400, '"arms"'),
    ],
)
def test_bad_input_is_named_with_the_right_status(
    api: Any, call: Any, status: int, named: str
) -> None:
    before = api.mode()
    error = refusal(lambda: call(api))
    assert error.status == status
    assert named in str(error)
    assert error.component == 'rocksdb_tuner'
    assert api.mode() == before


def test_error_text_is_safe_for_the_manager_log(api: Any) -> None:
    error = refusal(lambda: api.check(options='a=b', release='x\0\ud800y'))
    assert 'x\\x00\\ud800y' in str(error)
    str(error).encode()


def test_disabled_module_is_503_and_tells_how_to_enable_it(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mgr, 'answer', None)
    error = refusal(api.status)
    assert (error.status, error.code) == (503, 'module_disabled')
    assert 'ceph mgr module enable rocksdb_tuner' in str(error)


@pytest.mark.parametrize(
    ('raised', 'code'),
    [
        (NameError('Method not found'), 'module_outdated'),
        (RuntimeError('Traceback: secret detail'), 'internal_error'),
    ],
)
def test_internal_failure_shows_no_detail(
    api: Any, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: str
) -> None:
    def failing(*_: Any) -> Any:
        raise raised

    monkeypatch.setattr(mgr, 'answer', failing)
    error = refusal(api.status)
    assert (error.status, error.code) == (500, code)
    assert 'secret' not in str(error)


CLASSES = {
    '_rocksdb_tuner': {'RocksDBTuner', 'RocksDBTunerStatus'},
    '_rocksdb_tuner_profiles': {'RocksDBTunerProfiles'},
    '_rocksdb_tuner_operations': {'RocksDBTunerOperations'},
    '_rocksdb_tuner_experiments': {'RocksDBTunerExperiments'},
    '_rocksdb_tuner_tab': {'RocksDBTunerTab', 'RocksDBTunerTabPlace'},
}
#: Without what they share, there is no API.
LOST = {
    **CLASSES,
    '_rocksdb_tuner_api': set().union(*CLASSES.values()) - CLASSES['_rocksdb_tuner_tab'],
}


@pytest.mark.parametrize('broken', sorted(LOST))
def test_dashboard_starts_without_a_broken_controller(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Even where the file fails on its last line, after its class was registered."""
    package = 'dashboard.controllers'
    private, guard = f'{package}.{broken}', f'{package}.rocksdb_tuner'
    modules = [f'{package}.{name}' for name in LOST]
    file = (DROPIN if broken == '_rocksdb_tuner_tab' else IN_TREE) / f'{broken}.py'
    original = file.read_text()

    class Broken(importlib.abc.Loader):
        def create_module(self, spec: Any) -> None:
            return None

        def exec_module(self, module: Any) -> None:
            module.__file__ = str(file)
            exec(compile(original + '\n1 / 0\n', private, 'exec'), module.__dict__)

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
            return importlib.util.spec_from_loader(name, Broken()) if name == private else None

    monkeypatch.setattr(BaseController, '_registry', [])
    for name in (*modules, guard):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, 'meta_path', [Finder(), *sys.meta_path])
    importlib.import_module(guard)
    kept = {controller.__name__ for controller in BaseController._registry}
    assert kept == set().union(*CLASSES.values()) - LOST[broken]


@pytest.mark.parametrize(
    ('name', 'folder'),
    [('rocksdb_tuner', DROPIN), ('_rocksdb_tuner_tab', DROPIN), ('_rocksdb_tuner', IN_TREE)],
)
def test_drop_in_replaces_files_of_the_tree_as_installed(name: str, folder: Path) -> None:
    """Whatever the order of sys.path: pages and benches prepend the tree's folder."""
    found = importlib.util.find_spec(f'dashboard.controllers.{name}')
    assert found is not None
    assert found.origin == str(folder / f'{name}.py')


def test_ceph_loads_all_of_the_api_and_nothing_of_the_drop_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rocksdb_tuner.py is another file than that of the drop-in."""
    package = 'dashboard.controllers'
    monkeypatch.setattr(BaseController, '_registry', [])
    for name in LOST:
        monkeypatch.delitem(sys.modules, f'{package}.{name}', raising=False)
    spec = importlib.util.spec_from_file_location(f'{package}.tree', IN_TREE / 'rocksdb_tuner.py')
    assert spec is not None
    assert spec.loader is not None
    tree: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tree)
    loaded = {controller.__name__ for controller in BaseController._registry}
    assert loaded == LOST['_rocksdb_tuner_api'] == set(tree.__all__)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The calls to the module, which answers null."""
    found: list[tuple[Any, ...]] = []

    def remote(name: str, method: str, *args: Any) -> Any:
        found.append(args)
        return {'retval': 0, 'stdout': 'null', 'stderr': ''}

    monkeypatch.setattr(mgr, 'answer', remote)
    return found


@pytest.mark.parametrize(
    ('call', 'command', 'arguments'),
    [
        (lambda a: a.apply(recommendation_id='r1'), 'apply', {'recommendation_id': 'r1'}),
        (lambda a: a.rollback(rollout_id='7'), 'rollback', {'rollout_id': '7'}),
        (lambda a: a.pause(), 'operation_pause', {}),
        (lambda a: a.abort(), 'operation_abort', {}),
        (lambda a: a.resume(), 'operation_resume', {}),
        (lambda a: a.deep(osd_id='3'), 'osd_deep', {'osd_id': '3'}),
        (lambda a: a.remove_profile(name='mine'), 'profile_rm', {'name': 'mine'}),
        (lambda a: a.start_experiment(), 'experiment_start', {'adopt': False}),
        (
            lambda a: a.start_experiment(
                who='osd', arms='a,b', min_effect=10, max_duration='6h', adopt=True
            ),
            'experiment_start',
            {'who': 'osd', 'arms': 'a,b', 'min_effect': '10', 'max_duration': '6h', 'adopt': True},
        ),
    ],
)
def test_change_is_requested_in_the_name_of_the_user(
    api: Any, asked: list[tuple[Any, ...]], call: Any, command: str, arguments: dict[str, Any]
) -> None:
    call(api)
    assert asked == [(command, arguments, 'dashboard:alice')]


CHANGES: dict[str, dict[str, Any]] = {
    'apply': {'recommendation_id': 'r1'},
    'rollback': {},
    'pause': {},
    'resume': {},
    'abort': {},
    'deep': {'osd_id': '3'},
    'add_profile': OWN,
    'remove_profile': {'name': 'mine'},
    'set_mode': {'mode': 'off'},
    'start_experiment': {},
}


@pytest.mark.parametrize('endpoint', endpoints(), ids=lambda e: e.__name__)
def test_change_is_answered_with_its_documented_status(
    api: Any, asked: list[tuple[Any, ...]], endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cherrypy.response, 'status', None)
    if endpoint.method == 'GET':
        assert endpoint.__name__ not in CHANGES
        return
    getattr(api, endpoint.__name__)(**CHANGES[endpoint.__name__])
    assert len(asked) == 1
    assert cherrypy.response.status in (endpoint.responses or {204: None})


def test_plan_is_a_read_with_the_arguments_of_the_start(
    api: Any, asked: list[tuple[Any, ...]]
) -> None:
    arguments = {'who': 'osd', 'arms': 'a,b', 'signal': 'x', 'min_effect': '10%'}
    api.experiment_plan(**arguments)
    api.start_experiment(**arguments)
    assert asked == [
        ('experiment_plan', arguments),
        ('experiment_start', {**arguments, 'adopt': False}, 'dashboard:alice'),
    ]


def test_custom_profile_is_passed_as_the_document_of_the_command_line(
    api: Any, asked: list[tuple[Any, ...]]
) -> None:
    api.add_profile(**OWN)
    ((command, arguments, _),) = asked
    assert command == 'profile_add'
    assert json.loads(arguments['inbuf']) == {**OWN, 'cautions': []}
    assert decode_custom_profile(arguments['inbuf']).name == 'mine'


def entity(body: bytes, content_type: Optional[str] = 'application/json', **more: str) -> Any:
    headers = {'Content-Length': str(len(body)), **more}
    if content_type is not None:
        headers['Content-Type'] = content_type
    return SimpleNamespace(headers=headers, fp=io.BytesIO(body))


@pytest.fixture
def request_of_body(monkeypatch: pytest.MonkeyPatch) -> Any:
    request = SimpleNamespace()
    monkeypatch.setattr(cherrypy, 'serving', SimpleNamespace(request=request))
    return request


def test_object_body_is_parsed(request_of_body: Any) -> None:
    read_body(entity(b'{"mode": "off"}'))
    assert request_of_body.json == {'mode': 'off'}


@pytest.mark.parametrize(
    ('sent', 'status'),
    [
        (entity(b'null'), 400),
        (entity(b'"text"'), 400),
        (entity(b'[{"mode": "off"}]'), 400),
        (entity(b'7'), 400),
        (entity(b'{"mode": '), 400),
        (entity(b''), 400),
        (entity(b'\xff\xfe{'), 400),
        (entity(b'[' * 200_000), 400),
        (entity(b'{}', 'text/javascript'), 415),
        (entity(b'{}', None), 415),
        # Or a rollback of one rollout would be the rollback of the last.
        (entity(b'{"rollout_id": "1"}', 'application/json; charset=utf-8'), 415),
        (entity(b'{}', **{'Content-Length': ''}), 411),
        (entity(b'{}', **{'Content-Length': '\u00b2'}), 411),
        (entity(b'{}', **{'Content-Length': str(1 << 30)}), 413),
        (entity(b'{}', **{'Content-Length': '9' * 5000}), 413),
    ],
)
def test_any_other_body_is_refused_before_the_dashboard_misreads_it(
    request_of_body: Any, sent: Any, status: int
) -> None:
    with pytest.raises(cherrypy.HTTPError) as caught:
        read_body(sent)
    assert caught.value.status == status
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not hasattr(request_of_body, 'json')


def test_endpoints_parse_bodies_and_show_no_traceback() -> None:
    for controller in CONTROLLERS:
        config = controller._cp_config
        assert config['tools.json_in.processor'] is read_body
        assert config['request.show_tracebacks'] is False


#: Statuses of answers that the dashboard's document has, and shows with what they are made of.
DOCUMENTED = {'GET': {200}, 'PUT': {200}, 'POST': {201, 202}}


@pytest.mark.parametrize(
    # What was deleted is not answered with.
    'endpoint',
    [e for e in endpoints() if e.method != 'DELETE'],
    ids=lambda e: e.__name__,
)
def test_every_answer_is_described_by_its_names(endpoint: Any) -> None:
    ((status, found),) = endpoint.responses.items()
    assert status in DOCUMENTED[endpoint.method]
    names = found[0] if isinstance(found, list) else found
    assert names
    assert all(isinstance(kind_and_text, tuple) for kind_and_text in names.values())


JSON_TYPES = {
    str: 'string',
    int: 'integer',
    float: 'number',
    bool: 'boolean',
    list: 'array',
}


def as_documented(found: Any) -> dict[str, Any]:
    """The JSON Schema of a documented answer, in which every value may be null too."""
    if isinstance(found, dict):
        names = {name: as_documented(kind) for name, (kind, *_) in found.items()}
        required = [name for name, (_, _, *optional) in found.items() if not optional]
        return {'type': ['object', 'null'], 'properties': names, 'required': required}
    if isinstance(found, list):
        return {'type': ['array', 'null'], 'items': as_documented(found[0])}
    return {'type': [JSON_TYPES[found], 'null']}


@pytest.mark.parametrize('state', sorted(all_snapshots()))
def test_answers_match_their_documentation(state: str) -> None:
    for name, answer in documents(all_snapshots()[state]):
        path = SCHEMAS / f'{name}.schema.json'
        documented = described(json.loads(path.read_text()))
        if name == 'operation':
            # The dashboard has no word for "or": it has the fields of every kind.
            assert answer is None or set(answer) < set(documented)
            continue
        checked = Draft202012Validator(as_documented(documented))
        for error in checked.iter_errors(answer):
            # Values of evidence are numbers or texts, and the dashboard has no word for "or".
            assert error.absolute_path[-1] == 'value', (name, error)


def test_api_without_the_module_files_is_undescribed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_rocksdb_tuner_schemas, 'SCHEMAS', tmp_path)
    assert responses('status') is None
