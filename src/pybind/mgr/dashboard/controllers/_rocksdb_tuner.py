"""The RocksDB Tuner in the dashboard's REST API: its commands, with its login and roles.

Each endpoint is a command of the module, asked by `mgr.remote`: what is read, judged and refused
is decided there, once. Reading needs read permission of the scope OSD; a change needs update
permission of OSD and of the configuration. Nothing is changed by GET, and what changes takes
application/json only (the dashboard's rule, from which `allow_empty_body` would except it): no page
of another origin can send that without being asked for permission first. In the history stands the
user of the dashboard who asked.
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
#: As much of an unknown parameter's name is repeated.
MAX_NAME_CHARACTERS = 64
#: Longer than any option string that somebody could mean.
MAX_TEXT_CHARACTERS = 16384
#: More than any body that has such texts.
MAX_BODY_BYTES = 1 << 18
#: More than any list of texts that somebody could mean.
MAX_ITEMS = 100
#: Parameters that are lists of texts; all others are one text, number or yes/no.
LISTS = frozenset({'releases', 'cautions'})
#: As much of a user's name as the history shows.
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

#: A change that goes on after its answer, which is how things stand by then.
ACCEPTED = 202
CREATED = 201
OK = 200
NO_CONTENT = 204

_Handler = TypeVar('_Handler', bound=Callable[..., Any])


def _error(status: int, code: str, text: str) -> DashboardException:
    # The dashboard writes the text to the log of the manager, which fails on a NUL, and on half a
    # character: both can be in what was asked.
    shown = ''.join(c if c.isprintable() or c == '\n' else ascii(c)[1:-1] for c in text)
    return DashboardException(msg=shown, code=code, component=COMPONENT, http_status_code=status)


def _checked(handler: _Handler) -> _Handler:
    """Answer 400 to a parameter that is not known, missing, or of another kind than it must be.

    The dashboard itself answers 500 to a parameter that a handler does not take or does not get.
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
                raise _bad(f'there is no parameter "{unknown}"; parameters: {choices}')
        for name in required:
            if given.get(name) is None:
                raise _bad(f'the parameter "{name}" is missing')
        said = {name: value for name, value in given.items() if value is not None}
        return handler(self, **{name: _read(name, value) for name, value in said.items()})

    return checking  # type: ignore[return-value]


def _read(name: str, value: object) -> object:
    """The value of a parameter as a command line has it: a text, or a list of texts."""
    if name in LISTS:
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise _bad(f'"{name}" must be a list of at most {MAX_ITEMS} texts')
        return [_text(name, item) for item in value]
    return _text(name, value)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int)):
        raise _bad(f'"{name}" must be a text, a number, true or false')
    text = str(value)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise _bad(f'"{name}" has {len(text)} characters, at most {MAX_TEXT_CHARACTERS} are read')
    return text


def _bad(text: str) -> DashboardException:
    return _error(400, 'bad_parameter', text)


def _ask(command: str, actor: Optional[str] = None, **arguments: Optional[object]) -> Any:
    """The JSON answer of a command of the module; DashboardException for everything else.

    Texts of unexpected errors hold a traceback, and do not leave this function.
    """
    said = {name: value for name, value in arguments.items() if value is not None}
    try:
        asked = (command, said) if actor is None else (command, said, actor)
        answer = mgr.remote(MODULE, 'remote_command', *asked)
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
            'The files of the rocksdb_tuner module on this manager are of another version than '
            'those in its dashboard: install both again, then: ceph mgr fail',
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
    """Take the body of a request, in place of CherryPy's own reader of JSON.

    The dashboard fails with a traceback for a body that is no object, and passes over one whose
    type is followed by a charset, as if nothing had been said in it.
    """
    if entity.headers.get('Content-Type') != 'application/json':
        raise cherrypy.HTTPError(415, 'Content-Type must be "application/json", as it is here')
    length = entity.headers.get('Content-Length', '')
    if not length.isdecimal():
        raise cherrypy.HTTPError(411, 'Content-Length is needed')
    # int() refuses thousands of digits
    if len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:
        raise cherrypy.HTTPError(413, f'A body has at most {MAX_BODY_BYTES} bytes')
    try:
        body = json.loads(entity.fp.read())
    except (ValueError, RecursionError):
        raise cherrypy.HTTPError(400, 'The body is no JSON document') from None
    if not isinstance(body, dict):
        raise cherrypy.HTTPError(400, 'The body must be a JSON object, "{}" at least')
    cherrypy.serving.request.json = body


def _flag(name: str, text: str) -> bool:
    if text not in {'true', 'false'}:
        raise _bad(f'"{name}" is "{text}": give true or false')
    return text == 'true'


def _number(name: str, text: Optional[str]) -> Optional[int]:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise _bad(f'"{name}" is "{text}": give a whole number')
    return int(text)


_OSD = (str, 'Number of an OSD')
_ID = (str, 'Id of a recommendation')
_RELEASE = (str, 'Name of a release', True)
_SAID = {
    'osd': (str, 'OSD whose release and hardware count', True),
    'release': _RELEASE,
    'cores': (str, 'Cores of an OSD', True),
    'db_size': (str, 'Size of the DB device, with its unit', True),
    'wal_size': (str, 'Size of the WAL device, with its unit', True),
    'memory': (str, 'osd_memory_target, with its unit', True),
}


@APIRouter('/rocksdb_tuner', Scope.OSD)
@APIDoc('Measure, explain and change how OSDs use RocksDB', 'RocksDBTuner')
class RocksDBTuner(BaseController):
    """The names and fields of all answers are those of the command line's JSON."""

    _cp_config = {
        'tools.json_in.processor': read_body,
        # Whatever fails before a handler is asked is told in the log, not to the browser.
        'request.show_tracebacks': False,
    }

    @Endpoint('GET', path='')
    @ReadPermission
    @EndpointDoc(
        'Mode, sampling, device classes with workload and options, and what is open',
        responses=responses('status'),
    )
    @_checked
    def status(self) -> Any:
        return _ask('status')

    @Endpoint('GET', path='/osd')
    @ReadPermission
    @EndpointDoc(
        'What every OSD does',
        responses=responses('osd'),
    )
    @_checked
    def osds(self) -> Any:
        return _ask('osd')

    @Endpoint('GET', path='/osd/{osd_id}')
    @ReadPermission
    @EndpointDoc(
        'All that is known of one OSD',
        parameters={'osd_id': _OSD},
        responses=responses('osd-detail'),
    )
    @_checked
    def osd(self, osd_id: str) -> Any:
        return _ask('osd', osd_id=osd_id)

    @Endpoint('GET', path='/osd/{osd_id}/growth')
    @ReadPermission
    @EndpointDoc(
        'How the DB of one OSD grew on its device, with the forecast',
        parameters={'osd_id': _OSD},
        responses=responses('growth'),
    )
    @_checked
    def growth(self, osd_id: str) -> Any:
        return _ask('growth', osd_id=osd_id)

    @Endpoint('GET', path='/map')
    @ReadPermission
    @EndpointDoc('What all OSDs do, by columns', responses=responses('osd-map'))
    @_checked
    def osd_map(self) -> Any:
        return _ask('osd_map')

    @Endpoint('GET', path='/trend')
    @ReadPermission
    @EndpointDoc(
        'What some OSDs, or those of a device class, did in the last hours',
        parameters={
            'osds': (str, 'Numbers of OSDs, with commas between them', True),
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
        'What the clients do, with the evidence',
        responses=responses('workload'),
    )
    @_checked
    def workload(self) -> Any:
        return _ask('workload')

    @Endpoint('GET', path='/findings')
    @ReadPermission
    @EndpointDoc(
        'Findings, worst first',
        responses=responses('findings'),
    )
    @_checked
    def findings(self) -> Any:
        return _ask('findings')

    @Endpoint('GET', path='/candidates')
    @ReadPermission
    @EndpointDoc(
        'The option sets that were weighed for each device class, and which was chosen',
        responses=responses('candidates'),
    )
    @_checked
    def candidates(self) -> Any:
        return _ask('candidates')

    @Endpoint('GET', path='/recommendation')
    @ReadPermission
    @EndpointDoc(
        'What should change',
        responses=responses('recommend'),
    )
    @_checked
    def recommendations(self) -> Any:
        return _ask('recommend')

    @Endpoint('GET', path='/recommendation/{recommendation_id}')
    @ReadPermission
    @EndpointDoc(
        'One recommendation in full',
        parameters={'recommendation_id': _ID},
        responses=responses('show'),
    )
    @_checked
    def recommendation(self, recommendation_id: str) -> Any:
        return _ask('show', recommendation_id=recommendation_id)

    @Endpoint('GET', path='/recommendation/{recommendation_id}/plan')
    @ReadPermission
    @EndpointDoc(
        'What applying it would do, step by step; of a compaction, which has no more steps than it '
        'shows, the recommendation itself',
        parameters={'recommendation_id': _ID},
        responses=responses('plan'),
    )
    @_checked
    def plan(self, recommendation_id: str) -> Any:
        return _ask('apply', recommendation_id=recommendation_id, dry_run=True)

    @Endpoint('GET', path='/profile')
    @ReadPermission
    @EndpointDoc(
        'The known option sets',
        responses=responses('profile-ls'),
    )
    @_checked
    def profiles(self) -> Any:
        return _ask('profile_ls')

    @Endpoint('GET', path='/profile/{name}')
    @ReadPermission
    @EndpointDoc(
        'One option set with its published evidence',
        parameters={'name': (str, 'Name of an option set')},
        responses=responses('profile-show'),
    )
    @_checked
    def profile(self, name: str) -> Any:
        return _ask('profile_show', name=name)

    @Endpoint('GET', path='/profile/{name}/diff')
    @ReadPermission
    @EndpointDoc(
        'Two option sets, or what an OSD runs and one, option by option',
        parameters={
            'name': (str, 'Name of an option set'),
            'other': (str, 'Name of the one to compare it with', True),
            'osd': (str, 'OSD whose options to compare it with', True),
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
        'Judge an option string: would an OSD start, what would it run, what is unwise',
        parameters={
            'options': (str, 'Option string', True),
            'device_class': (str, 'Device class for whose OSDs to judge it', True),
            'cfs': (str, 'bluestore_rocksdb_cfs', True),
            **_SAID,
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
        'What RocksDB makes of an option string: WAL, memory, levels, write amplification',
        parameters={
            'options': (str, 'Option string', True),
            'workload': (str, 'Workload class', True),
            'data': (str, 'Live data in the DB, with its unit', True),
            'ingest': (str, 'Bytes written into the DB a second, with their unit', True),
            'key_size': (str, 'Mean size of a key with its value, with its unit', True),
            'cfs': (str, 'bluestore_rocksdb_cfs', True),
            **_SAID,
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
        'An option set derived from the published goals, and which published one it is',
        parameters={'workload': (str, 'Workload class', True), **_SAID},
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
        'The options that are known',
        responses=responses('explain-ls'),
    )
    @_checked
    def options(self) -> Any:
        return _ask('explain')

    @Endpoint('GET', path='/option/{name}')
    @ReadPermission
    @EndpointDoc(
        'What an option does, its defaults, and why one would change it',
        parameters={'name': (str, 'Name of an option')},
        responses=responses('explain'),
    )
    @_checked
    def option(self, name: str) -> Any:
        return _ask('explain', option=name)

    @Endpoint('GET', path='/history')
    @ReadPermission
    @EndpointDoc(
        'Every change that was made, and how it ended',
        responses=responses('history'),
    )
    @_checked
    def history(self) -> Any:
        return _ask('history')

    @Endpoint('GET', path='/report')
    @ReadPermission
    @EndpointDoc(
        'All that is known as one document',
        parameters={'anonymous': (bool, 'Without names of hosts and addresses', True)},
        responses=responses('report'),
    )
    @_checked
    def report(self, anonymous: str = 'false') -> Any:
        return _ask('report', anonymous=_flag('anonymous', anonymous))

    @Endpoint('GET', path='/rollout')
    @ReadPermission
    @EndpointDoc(
        'The rollout under way, or the last one; null before the first. Beside it the compaction '
        'campaign',
        responses=responses('rollout'),
    )
    @_checked
    def rollout(self) -> Any:
        return _ask('rollout_status')

    @Endpoint('GET', path='/mode')
    @ReadPermission
    @EndpointDoc(
        'The mode in force, and those that there are',
        responses=responses('mode'),
    )
    @_checked
    def mode(self) -> Any:
        return _ask('mode')

    @Endpoint('POST', path='/osd/{osd_id}/deep')
    @UpdatePermission
    @EndpointDoc(
        "All that is known of one OSD, with RocksDB's own statistics: what of them is off is "
        'switched on for the moment',
        parameters={'osd_id': _OSD},
        responses=responses('osd-detail', CREATED),
    )
    @_checked
    def deep(self, osd_id: str) -> Any:
        return self._change(CREATED, 'osd', osd_id=osd_id, deep=True)

    @Endpoint('POST', path='/profile')
    @UpdatePermission
    @EndpointDoc(
        'Keep an option set of your own',
        parameters={
            'name': (str, '1 to 63 of a-z, 0-9, "." and "-"'),
            'title': (str, 'What it is, in a few words'),
            'options': (str, 'Option string'),
            'releases': ([str], 'Names of the releases that it is for'),
            'source': (str, 'Where it comes from'),
            'cautions': ([str], 'What to look out for', True),
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
        'Remove an option set of your own',
        parameters={'name': (str, 'Name of an option set')},
    )
    @_checked
    def remove_profile(self, name: str) -> Any:
        return self._change(NO_CONTENT, 'profile_rm', name=name)

    @Endpoint('POST', path='/recommendation/{recommendation_id}/apply')
    @UpdatePermission
    @EndpointDoc(
        'Carry out a recommendation, as a rollout or a compaction campaign',
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
        'Go on with a paused rollout or compaction campaign',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def resume(self) -> Any:
        return self._change(ACCEPTED, 'rollout_resume')

    @Endpoint('POST', path='/rollout/abort')
    @UpdatePermission
    @EndpointDoc(
        'End the rollout, or the compaction campaign, where it is, with the OSD in flight brought '
        'to safety',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def abort(self) -> Any:
        return self._change(ACCEPTED, 'rollout_abort')

    @Endpoint('POST', path='/rollout/ack')
    @UpdatePermission
    @EndpointDoc(
        'Take note of a rollout that failed or was rolled back: its health check clears',
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def acknowledge(self) -> Any:
        return self._change(ACCEPTED, 'rollout_ack')

    @Endpoint('POST', path='/rollback')
    @UpdatePermission
    @EndpointDoc(
        'Restore exactly what was there before a rollout',
        parameters={'rollout_id': (str, 'Id of a rollout; the last one without', True)},
        responses=responses('rollout', ACCEPTED),
    )
    @_checked
    def rollback(self, rollout_id: Optional[str] = None) -> Any:
        return self._change(ACCEPTED, 'rollback', rollout_id=rollout_id)

    @Endpoint('PUT', path='/mode')
    @UpdatePermission
    @EndpointDoc(
        'Set what the module may do',
        parameters={'mode': (str, 'off, observe, recommend or auto-apply')},
        responses=responses('mode'),
    )
    @_checked
    def set_mode(self, mode: str) -> Any:
        return self._change(OK, 'mode', mode=mode)

    def _change(self, status: int, command: str, **arguments: Optional[object]) -> Any:
        """``status``: of an answer that is no error. The document knows 200 of PUT only."""
        # The scope of the endpoints is that of OSDs; what is changed is the configuration.
        if not self._has_permissions([Permission.UPDATE], Scope.CONFIG_OPT):
            raise _error(
                403, 'forbidden', 'This needs permission to update the configuration (config-opt)'
            )
        user = str(JwtManager.get_username())[:MAX_ACTOR_CHARACTERS]
        answer = _ask(command, f'dashboard:{user}', **arguments)
        cherrypy.response.status = status
        return answer
