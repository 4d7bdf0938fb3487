"""REST API of the RocksDB Tuner in the dashboard, with the dashboard's login and roles.

Each endpoint calls a command of the module through `mgr.remote`; all logic and validation is there.
Reading requires read permission for the scope OSD. A change requires update permission for OSD and
for the configuration. GET never changes anything. Changes accept application/json only (the
dashboard's rule, which `allow_empty_body` would bypass), so a page of another origin cannot send
them without a CORS preflight. The history records the dashboard user as the actor.
"""

from __future__ import annotations

import errno
import json
import logging
from functools import wraps
from typing import Any, Callable, List, Optional, TypeVar

import cherrypy

from .. import mgr
from ..exceptions import DashboardException
from ..security import Permission, Scope
from ..services.auth import JwtManager
from . import (
    APIDoc,
    APIRouter,
    BaseController,
    Endpoint,
    EndpointDoc,
    ReadPermission,
    UpdatePermission,
)
from ._rocksdb_tuner_schemas import responses

logger = logging.getLogger(__name__)

MODULE = 'rocksdb_tuner'
COMPONENT = 'rocksdb_tuner'
#: An unknown parameter's name is truncated to this in the error.
MAX_NAME_CHARACTERS = 64
#: Longer than any plausible option string.
MAX_TEXT_CHARACTERS = 16384
#: Larger than any valid request body.
MAX_BODY_BYTES = 1 << 18
#: Longer than any plausible list.
MAX_ITEMS = 100
#: Parameters that are lists of strings; all others are scalars.
LISTS = frozenset({'releases', 'cautions'})
#: The history shows at most this much of a user name.
MAX_ACTOR_CHARACTERS = 64

_STATUS_OF_ERRNO = {
    errno.EINVAL: 400,
    errno.EPERM: 403,
    errno.ENOENT: 404,
    errno.EALREADY: 409,
    errno.EBUSY: 409,
    errno.EEXIST: 409,
    errno.EOPNOTSUPP: 409,
    errno.EAGAIN: 503,
}

#: A change that continues after the response, which has the state so far.
ACCEPTED = 202
CREATED = 201
OK = 200
NO_CONTENT = 204

_Handler = TypeVar('_Handler', bound=Callable[..., Any])


def _error(status: int, code: str, text: str) -> DashboardException:
    # The dashboard logs the text, and the mgr log fails on NUL and on lone surrogates, which a
    # request may contain.
    shown = ''.join(c if c.isprintable() or c == '\n' else ascii(c)[1:-1] for c in text)
    return DashboardException(msg=shown, code=code, component=COMPONENT, http_status_code=status)


def _checked(handler: _Handler) -> _Handler:
    """Respond 400 to unknown, missing or mistyped parameters.

    The dashboard itself responds 500 to unknown or missing parameters.
    """
    code = handler.__code__
    known = code.co_varnames[1 : code.co_argcount]
    required = known[: len(known) - len(handler.__defaults__ or ())]

    @wraps(handler)
    def checking(self: Any, /, *args: Any, **parameters: Any) -> Any:
        given = {**dict(zip(known, args)), **parameters}
        for name in given:
            if name not in known:
                choices = ', '.join(known) or 'none'
                unknown = name[:MAX_NAME_CHARACTERS]
                raise _bad(f'unknown parameter "{unknown}"; parameters: {choices}')
        for name in required:
            if given.get(name) is None:
                raise _bad(f'missing parameter "{name}"')
        given = {name: value for name, value in given.items() if value is not None}
        return handler(self, **{name: _read(name, value) for name, value in given.items()})

    return checking  # type: ignore[return-value]


def _read(name: str, value: object) -> object:
    """A parameter as on the command line: a string, or a list of strings."""
    if name in LISTS:
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise _bad(f'"{name}" must be a list of at most {MAX_ITEMS} strings')
        return [_text(name, item) for item in value]
    return _text(name, value)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int)):
        raise _bad(f'"{name}" must be a string, a number, true or false')
    text = str(value)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise _bad(f'"{name}" has {len(text)} characters; the limit is {MAX_TEXT_CHARACTERS}')
    return text


def _bad(text: str) -> DashboardException:
    return _error(400, 'bad_parameter', text)


def _ask(command: str, actor: Optional[str] = None, **arguments: Optional[object]) -> Any:
    """The JSON answer of a module command; raises DashboardException for any error.

    Messages of unexpected errors contain a traceback and are only logged.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        call = (command, given) if actor is None else (command, given, actor)
        answer = mgr.remote(MODULE, 'remote_command', *call)
    except ImportError:
        raise _error(
            503,
            'module_disabled',
            'The rocksdb_tuner module is not enabled. To enable it: '
            'ceph mgr module enable rocksdb_tuner',
        ) from None
    except NameError:
        raise _error(
            500,
            'module_outdated',
            'The rocksdb_tuner module and its dashboard files on this mgr have different versions. '
            'Reinstall both, then restart every manager.',
        ) from None
    except Exception:
        logger.exception('the rocksdb_tuner module failed')
        raise _error(
            500, 'internal_error', 'The rocksdb_tuner module failed; the mgr log has the details'
        ) from None
    if answer['retval'] != 0:
        status = _STATUS_OF_ERRNO.get(-answer['retval'], 500)
        name = errno.errorcode.get(-answer['retval'], 'error')
        raise _error(status, name.lower(), answer['stderr'])
    return json.loads(answer['stdout'])


def read_body(entity: Any) -> None:
    """Read the body of a request, instead of CherryPy's own JSON reader.

    The dashboard's reader fails with a traceback if the body is not an object, and silently ignores
    a body whose Content-Type has a charset.
    """
    if entity.headers.get('Content-Type') != 'application/json':
        raise cherrypy.HTTPError(415, 'Content-Type must be exactly "application/json"')
    length = entity.headers.get('Content-Length', '')
    if not length.isdecimal():
        raise cherrypy.HTTPError(411, 'Content-Length is required')
    # int() raises on thousands of digits
    if len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:
        raise cherrypy.HTTPError(413, f'The body exceeds {MAX_BODY_BYTES} bytes')
    try:
        body = json.loads(entity.fp.read())
    except (ValueError, RecursionError):
        raise cherrypy.HTTPError(400, 'The body is not valid JSON') from None
    if not isinstance(body, dict):
        raise cherrypy.HTTPError(400, 'The body must be a JSON object, at least "{}"')
    cherrypy.serving.request.json = body


def _flag(name: str, text: str) -> bool:
    if text not in {'true', 'false'}:
        raise _bad(f'invalid {name} "{text}"; expected true or false')
    return text == 'true'


def _number(name: str, text: Optional[str]) -> Optional[int]:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise _bad(f'invalid {name} "{text}"; expected an integer')
    return int(text)


_OSD = (str, 'Id of an OSD')
_ID = (str, 'Id of a recommendation')
_RELEASE = (str, 'Name of a release', True)
_OVERRIDES = {
    'osd': (str, 'OSD to take the release and hardware from', True),
    'release': _RELEASE,
    'cores': (str, 'CPU cores per OSD', True),
    'db_size': (str, 'Size of the DB device, with unit', True),
    'wal_size': (str, 'Size of the WAL device, with unit', True),
    'memory': (str, 'osd_memory_target, with unit', True),
}


@APIRouter('/rocksdb_tuner', Scope.OSD)
@APIDoc('Monitor and tune the RocksDB of OSDs', 'RocksDBTuner')
class RocksDBTuner(BaseController):
    """All responses have the same fields as the JSON output of the commands."""

    _cp_config = {
        'tools.json_in.processor': read_body,
        # Failures before a handler runs are logged, not sent to the browser.
        'request.show_tracebacks': False,
    }

    @Endpoint('GET', path='')
    @ReadPermission
    @EndpointDoc(
        'Show the mode, sampling, device classes, findings and operations',
        responses=responses('status'),
    )
    @_checked
    def status(self) -> Any:
        return _ask('status')

    @Endpoint('GET', path='/osd')
    @ReadPermission
    @EndpointDoc(
        'List the OSDs with their workload, signals and options',
        responses=responses('osd'),
    )
    @_checked
    def osds(self) -> Any:
        return _ask('osd')

    @Endpoint('GET', path='/osd/{osd_id}')
    @ReadPermission
    @EndpointDoc(
        'Show the details of an OSD',
        parameters={'osd_id': _OSD},
        responses=responses('osd-detail'),
    )
    @_checked
    def osd(self, osd_id: str) -> Any:
        return _ask('osd', osd_id=osd_id)

    @Endpoint('GET', path='/osd/{osd_id}/growth')
    @ReadPermission
    @EndpointDoc(
        'Show the DB growth of an OSD, with a forecast',
        parameters={'osd_id': _OSD},
        responses=responses('growth'),
    )
    @_checked
    def growth(self, osd_id: str) -> Any:
        return _ask('growth', osd_id=osd_id)

    @Endpoint('GET', path='/map')
    @ReadPermission
    @EndpointDoc('Show all OSDs, in columnar form', responses=responses('osd-map'))
    @_checked
    def osd_map(self) -> Any:
        return _ask('osd_map')

    @Endpoint('GET', path='/trend')
    @ReadPermission
    @EndpointDoc(
        'Show time series of OSDs or of a device class over the last hours',
        parameters={
            'osds': (str, 'Comma-separated OSD ids', True),
            'device_class': (str, 'Name of a device class', True),
        },
        responses=responses('trend'),
    )
    @_checked
    def trend(self, osds: Optional[str] = None, device_class: Optional[str] = None) -> Any:
        return _ask('trend', osds=osds, device_class=device_class)

    @Endpoint('GET', path='/workload')
    @ReadPermission
    @EndpointDoc(
        'Show the client workloads, with evidence',
        responses=responses('workload'),
    )
    @_checked
    def workload(self) -> Any:
        return _ask('workload')

    @Endpoint('GET', path='/findings')
    @ReadPermission
    @EndpointDoc(
        'List the findings, worst first',
        responses=responses('findings'),
    )
    @_checked
    def findings(self) -> Any:
        return _ask('findings')

    @Endpoint('GET', path='/candidates')
    @ReadPermission
    @EndpointDoc(
        'List the option strings considered for each device class, and the decision',
        responses=responses('candidates'),
    )
    @_checked
    def candidates(self) -> Any:
        return _ask('candidates')

    @Endpoint('GET', path='/recommendation')
    @ReadPermission
    @EndpointDoc(
        'List the recommendations',
        responses=responses('recommend'),
    )
    @_checked
    def recommendations(self) -> Any:
        return _ask('recommend')

    @Endpoint('GET', path='/recommendation/{recommendation_id}')
    @ReadPermission
    @EndpointDoc(
        'Show a recommendation in full',
        parameters={'recommendation_id': _ID},
        responses=responses('show'),
    )
    @_checked
    def recommendation(self, recommendation_id: str) -> Any:
        return _ask('show', recommendation_id=recommendation_id)

    @Endpoint('GET', path='/recommendation/{recommendation_id}/plan')
    @ReadPermission
    @EndpointDoc(
        'Preview the steps to apply a recommendation; for a compaction, the recommendation itself',
        parameters={'recommendation_id': _ID},
        responses=responses('plan'),
    )
    @_checked
    def plan(self, recommendation_id: str) -> Any:
        return _ask('apply', recommendation_id=recommendation_id, dry_run=True)

    @Endpoint('GET', path='/profile')
    @ReadPermission
    @EndpointDoc(
        'List the profiles',
        responses=responses('profile-ls'),
    )
    @_checked
    def profiles(self) -> Any:
        return _ask('profile_ls')

    @Endpoint('GET', path='/profile/{name}')
    @ReadPermission
    @EndpointDoc(
        'Show a profile with its published evidence',
        parameters={'name': (str, 'Name of a profile')},
        responses=responses('profile-show'),
    )
    @_checked
    def profile(self, name: str) -> Any:
        return _ask('profile_show', name=name)

    @Endpoint('GET', path='/profile/{name}/diff')
    @ReadPermission
    @EndpointDoc(
        'Compare two profiles, or a profile with the running options of an OSD',
        parameters={
            'name': (str, 'Name of a profile'),
            'other': (str, 'Name of the profile to compare with', True),
            'osd': (str, 'OSD to compare with', True),
            'release': _RELEASE,
        },
        responses=responses('profile-diff'),
    )
    @_checked
    def profile_diff(
        self,
        name: str,
        other: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
    ) -> Any:
        return _ask('profile_diff', name=name, other=other, osd=osd, release=release)

    @Endpoint('GET', path='/check')
    @ReadPermission
    @EndpointDoc(
        'Validate an option string: whether an OSD starts, effective values, problems',
        parameters={
            'options': (str, 'Option string', True),
            'device_class': (str, 'Device class of the OSDs to validate for', True),
            'cfs': (str, 'bluestore_rocksdb_cfs', True),
            **_OVERRIDES,
        },
        responses=responses('check'),
    )
    @_checked
    def check(
        self,
        options: str = '',
        device_class: Optional[str] = None,
        cfs: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
        cores: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
    ) -> Any:
        return _ask(
            'check',
            options=options,
            device_class=device_class,
            cfs=cfs,
            osd=osd,
            release=release,
            cores=_number('cores', cores),
            db_size=db_size,
            wal_size=wal_size,
            memory=memory,
        )

    @Endpoint('GET', path='/model')
    @ReadPermission
    @EndpointDoc(
        'Model an option string: WAL, memory, levels, write amplification',
        parameters={
            'options': (str, 'Option string', True),
            'workload': (str, 'Workload class', True),
            'data': (str, 'Live data in the DB, with unit', True),
            'ingest': (str, 'Bytes written to the DB per second, with unit', True),
            'key_size': (str, 'Mean size of a key with its value, with unit', True),
            'cfs': (str, 'bluestore_rocksdb_cfs', True),
            **_OVERRIDES,
        },
        responses=responses('model'),
    )
    @_checked
    def model(
        self,
        options: str = '',
        workload: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
        cores: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
        data: Optional[str] = None,
        ingest: Optional[str] = None,
        key_size: Optional[str] = None,
        cfs: Optional[str] = None,
    ) -> Any:
        return _ask(
            'model',
            options=options,
            workload=workload,
            osd=osd,
            release=release,
            cores=_number('cores', cores),
            db_size=db_size,
            wal_size=wal_size,
            memory=memory,
            data=data,
            ingest=ingest,
            key_size=key_size,
            cfs=cfs,
        )

    @Endpoint('GET', path='/derivation')
    @ReadPermission
    @EndpointDoc(
        'Derive an option string from the published goals, and show the nearest profile',
        parameters={'workload': (str, 'Workload class', True), **_OVERRIDES},
        responses=responses('profile-derive'),
    )
    @_checked
    def derivation(
        self,
        osd: Optional[str] = None,
        workload: Optional[str] = None,
        cores: Optional[str] = None,
        release: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
    ) -> Any:
        return _ask(
            'profile_derive',
            osd=osd,
            workload=workload,
            cores=_number('cores', cores),
            release=release,
            db_size=db_size,
            wal_size=wal_size,
            memory=memory,
        )

    @Endpoint('GET', path='/option')
    @ReadPermission
    @EndpointDoc(
        'List the known options',
        responses=responses('explain-ls'),
    )
    @_checked
    def options(self) -> Any:
        return _ask('explain')

    @Endpoint('GET', path='/option/{name}')
    @ReadPermission
    @EndpointDoc(
        'Show what an option does, its defaults, and when to change it',
        parameters={'name': (str, 'Name of an option')},
        responses=responses('explain'),
    )
    @_checked
    def option(self, name: str) -> Any:
        return _ask('explain', option=name)

    @Endpoint('GET', path='/history')
    @ReadPermission
    @EndpointDoc(
        'List all changes and their outcomes',
        responses=responses('history'),
    )
    @_checked
    def history(self) -> Any:
        return _ask('history')

    @Endpoint('GET', path='/report')
    @ReadPermission
    @EndpointDoc(
        'Get all collected data as one document',
        parameters={'anonymous': (bool, 'Replace host names and addresses', True)},
        responses=responses('report'),
    )
    @_checked
    def report(self, anonymous: str = 'false') -> Any:
        return _ask('report', anonymous=_flag('anonymous', anonymous))

    @Endpoint('GET', path='/rollout')
    @ReadPermission
    @EndpointDoc(
        'Show the current or last rollout and compaction campaign; null before the first rollout',
        responses=responses('rollout'),
    )
    @_checked
    def rollout(self) -> Any:
        return _ask('rollout_status')

    @Endpoint('GET', path='/mode')
    @ReadPermission
    @EndpointDoc(
        'Show the current mode and all modes',
        responses=responses('mode'),
    )
    @_checked
    def mode(self) -> Any:
        return _ask('mode')

    @Endpoint('POST', path='/osd/{osd_id}/deep')
    @UpdatePermission
    @EndpointDoc(
        "Show the details of an OSD with RocksDB's own statistics, enabling them temporarily",
        parameters={'osd_id': _OSD},
        responses=responses('osd-detail', CREATED),
    )
    @_checked
    def deep(self, osd_id: str) -> Any:
        return self._change(CREATED, 'osd', osd_id=osd_id, deep=True)

    @Endpoint('POST', path='/profile')
    @UpdatePermission
    @EndpointDoc(
        'Add a custom profile',
        parameters={
            'name': (str, '1 to 63 of a-z, 0-9, "." and "-"'),
            'title': (str, 'Short description'),
            'options': (str, 'Option string'),
            'releases': ([str], 'Releases that it is for'),
            'source': (str, 'Source of the profile'),
            'cautions': ([str], 'Cautions', True),
        },
        responses=responses('profile-show', CREATED),
    )
    @_checked
    def add_profile(
        self,
        name: str,
        title: str,
        options: str,
        releases: List[str],
        source: str,
        cautions: Optional[List[str]] = None,
    ) -> Any:
        own = {
            'name': name,
            'title': title,
            'options': options,
            'releases': releases,
            'source': source,
            'cautions': cautions or [],
        }
        return self._change(CREATED, 'profile_add', inbuf=json.dumps(own))

    @Endpoint('DELETE', path='/profile/{name}')
    @UpdatePermission
    @EndpointDoc(
        'Remove a custom profile',
        parameters={'name': (str, 'Name of a profile')},
    )
    @_checked
    def remove_profile(self, name: str) -> Any:
        return self._change(NO_CONTENT, 'profile_rm', name=name)

    @Endpoint('POST', path='/recommendation/{recommendation_id}/apply')
    @UpdatePermission
    @EndpointDoc(
        'Apply a recommendation, as a rollout or a compaction campaign',
        parameters={'recommendation_id': _ID},
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def apply(self, recommendation_id: str) -> Any:
        return self._change(ACCEPTED, 'apply', recommendation_id=recommendation_id)

    @Endpoint('POST', path='/rollout/pause')
    @UpdatePermission
    @EndpointDoc(
        'Pause the rollout or the compaction campaign once the OSD in flight is safe',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def pause(self) -> Any:
        return self._change(ACCEPTED, 'rollout_pause')

    @Endpoint('POST', path='/rollout/resume')
    @UpdatePermission
    @EndpointDoc(
        'Resume a paused rollout or compaction campaign',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def resume(self) -> Any:
        return self._change(ACCEPTED, 'rollout_resume')

    @Endpoint('POST', path='/rollout/abort')
    @UpdatePermission
    @EndpointDoc(
        'Abort the rollout or compaction campaign once the OSD in flight is safe',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def abort(self) -> Any:
        return self._change(ACCEPTED, 'rollout_abort')

    @Endpoint('POST', path='/rollout/ack')
    @UpdatePermission
    @EndpointDoc(
        'Acknowledge a failed or rolled-back rollout, which clears its health check',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def acknowledge(self) -> Any:
        return self._change(ACCEPTED, 'rollout_ack')

    @Endpoint('POST', path='/rollback')
    @UpdatePermission
    @EndpointDoc(
        'Roll back a rollout to the exact previous settings',
        parameters={'rollout_id': (str, 'Id of a rollout; default: the last one', True)},
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def rollback(self, rollout_id: Optional[str] = None) -> Any:
        return self._change(ACCEPTED, 'rollback', rollout_id=rollout_id)

    @Endpoint('PUT', path='/mode')
    @UpdatePermission
    @EndpointDoc(
        'Set the operating mode',
        parameters={'mode': (str, 'off, observe, recommend or auto-apply')},
        responses=responses('mode'),
    )
    @_checked
    def set_mode(self, mode: str) -> Any:
        return self._change(OK, 'mode', mode=mode)

    def _change(self, status: int, command: str, **arguments: Optional[object]) -> Any:
        """``status``: HTTP status of a successful change. The API document has 200 for PUT only."""
        # The endpoints have the scope OSD, but a change also updates the configuration.
        if not self._has_permissions([Permission.UPDATE], Scope.CONFIG_OPT):
            raise _error(
                403, 'forbidden', 'Update permission for the configuration (config-opt) is required'
            )
        user = str(JwtManager.get_username())[:MAX_ACTOR_CHARACTERS]
        answer = _ask(command, f'dashboard:{user}', **arguments)
        cherrypy.response.status = status
        return answer
