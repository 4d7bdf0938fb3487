"""The RocksDB Tuner in the dashboard's REST API: its commands, with its login and roles.

Each endpoint is a command of the module, asked by `mgr.remote`: what is read, judged and refused
is decided there, once. Reading needs read permission of the scope OSD; a change needs update
permission of OSD and of the configuration. Nothing is changed by GET, and what changes takes
application/json only (the dashboard's rule, from which `allow_empty_body` would except it): no page
of another origin can send that without being asked for permission first.
"""

from __future__ import annotations

import errno
import json
import logging
from functools import wraps
from typing import Any, Callable, Optional, TypeVar

from .. import mgr
from ..exceptions import DashboardException
from ..security import Permission, Scope
from . import (
    APIDoc,
    APIRouter,
    BaseController,
    Endpoint,
    EndpointDoc,
    ReadPermission,
    UpdatePermission,
)

logger = logging.getLogger(__name__)

MODULE = 'rocksdb_tuner'
COMPONENT = 'rocksdb_tuner'
#: Longer than any option string that somebody could mean.
MAX_TEXT_CHARACTERS = 16384

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

_Handler = TypeVar('_Handler', bound=Callable[..., Any])


def _error(status: int, code: str, text: str) -> DashboardException:
    return DashboardException(msg=text, code=code, component=COMPONENT, http_status_code=status)


def _checked(handler: _Handler) -> _Handler:
    """Answer 400 to a parameter that is not known, missing, or no short text, number or yes/no.

    The dashboard itself answers 500 to a parameter that a handler does not take or does not get.
    """
    code = handler.__code__
    known = code.co_varnames[1 : code.co_argcount]
    required = known[: len(known) - len(handler.__defaults__ or ())]

    @wraps(handler)
    def checking(self: Any, *args: Any, **parameters: Any) -> Any:
        given = {**dict(zip(known, args)), **parameters}
        for name in given:
            if name not in known:
                choices = ', '.join(known) or 'none'
                raise _error(
                    400, 'bad_parameter', f'there is no parameter "{name}"; parameters: {choices}'
                )
        for name in required:
            if given.get(name) is None or given[name] == '':
                raise _error(400, 'bad_parameter', f'the parameter "{name}" is missing')
        for name, value in given.items():
            if not (value is None or isinstance(value, (str, int))):
                raise _error(
                    400, 'bad_parameter', f'"{name}" must be a text, a number, true or false'
                )
            if isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
                raise _error(
                    400,
                    'bad_parameter',
                    f'"{name}" has {len(value)} characters, at most {MAX_TEXT_CHARACTERS} are read',
                )
        # As a command line has them.
        said = {name: value for name, value in given.items() if value is not None}
        texts = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in said.items()}
        return handler(self, **texts)

    return checking  # type: ignore[return-value]


def _ask(command: str, **arguments: Optional[object]) -> Any:
    """The JSON answer of a command of the module; DashboardException for everything else.

    Texts of unexpected errors hold a traceback, and do not leave this function.
    """
    said = {name: value for name, value in arguments.items() if value is not None}
    try:
        answer = mgr.remote(MODULE, 'remote_command', command, said)
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
            'those in its dashboard: install both anew, then: ceph mgr fail',
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


def _flag(name: str, text: str) -> bool:
    if text not in {'true', 'false'}:
        raise _error(400, 'bad_parameter', f'"{name}" is "{text}": give true or false')
    return text == 'true'


def _number(name: str, text: Optional[str]) -> Optional[int]:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise _error(400, 'bad_parameter', f'"{name}" is "{text}": give a whole number')
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

    @Endpoint('GET', path='')
    @ReadPermission
    @EndpointDoc('Mode, sampling, device classes with workload and options, and what is open')
    @_checked
    def status(self) -> Any:
        return _ask('status')

    @Endpoint('GET', path='/osd')
    @ReadPermission
    @EndpointDoc('What every OSD does')
    @_checked
    def osds(self) -> Any:
        return _ask('osd')

    @Endpoint('GET', path='/osd/{osd_id}')
    @ReadPermission
    @EndpointDoc('All that is known of one OSD', parameters={'osd_id': _OSD})
    @_checked
    def osd(self, osd_id: str) -> Any:
        return _ask('osd', osd_id=osd_id)

    @Endpoint('GET', path='/workload')
    @ReadPermission
    @EndpointDoc('What the clients do, with the evidence')
    @_checked
    def workload(self) -> Any:
        return _ask('workload')

    @Endpoint('GET', path='/findings')
    @ReadPermission
    @EndpointDoc('What an expert would point out, worst first')
    @_checked
    def findings(self) -> Any:
        return _ask('findings')

    @Endpoint('GET', path='/recommendation')
    @ReadPermission
    @EndpointDoc('What should change')
    @_checked
    def recommendations(self) -> Any:
        return _ask('recommend')

    @Endpoint('GET', path='/recommendation/{recommendation_id}')
    @ReadPermission
    @EndpointDoc('One recommendation in full', parameters={'recommendation_id': _ID})
    @_checked
    def recommendation(self, recommendation_id: str) -> Any:
        return _ask('show', recommendation_id=recommendation_id)

    @Endpoint('GET', path='/recommendation/{recommendation_id}/plan')
    @ReadPermission
    @EndpointDoc('What applying it would do, step by step', parameters={'recommendation_id': _ID})
    @_checked
    def plan(self, recommendation_id: str) -> Any:
        return _ask('apply', recommendation_id=recommendation_id, dry_run=True)

    @Endpoint('GET', path='/profile')
    @ReadPermission
    @EndpointDoc('The known option sets')
    @_checked
    def profiles(self) -> Any:
        return _ask('profile_ls')

    @Endpoint('GET', path='/profile/{name}')
    @ReadPermission
    @EndpointDoc(
        'One option set with its published evidence',
        parameters={'name': (str, 'Name of an option set')},
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
            **_SAID,
        },
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
        )

    @Endpoint('GET', path='/option')
    @ReadPermission
    @EndpointDoc('The options that are known')
    @_checked
    def options(self) -> Any:
        return _ask('explain')

    @Endpoint('GET', path='/option/{name}')
    @ReadPermission
    @EndpointDoc(
        'What an option does, its defaults, and why one would change it',
        parameters={'name': (str, 'Name of an option')},
    )
    @_checked
    def option(self, name: str) -> Any:
        return _ask('explain', option=name)

    @Endpoint('GET', path='/history')
    @ReadPermission
    @EndpointDoc('Every change that was made, and how it ended')
    @_checked
    def history(self) -> Any:
        return _ask('history')

    @Endpoint('GET', path='/report')
    @ReadPermission
    @EndpointDoc(
        'All that is known as one document',
        parameters={'anonymous': (bool, 'Without names of hosts and addresses', True)},
    )
    @_checked
    def report(self, anonymous: str = 'false') -> Any:
        return _ask('report', anonymous=_flag('anonymous', anonymous))

    @Endpoint('GET', path='/rollout')
    @ReadPermission
    @EndpointDoc('The rollout under way, or the last one; null before the first')
    @_checked
    def rollout(self) -> Any:
        return _ask('rollout_status')

    @Endpoint('GET', path='/mode')
    @ReadPermission
    @EndpointDoc('The mode in force, and those that there are')
    @_checked
    def mode(self) -> Any:
        return _ask('mode')

    @Endpoint('POST', path='/recommendation/{recommendation_id}/apply')
    @UpdatePermission
    @EndpointDoc('Carry out a recommendation as a rollout', parameters={'recommendation_id': _ID})
    @_checked
    def apply(self, recommendation_id: str) -> Any:
        return self._change('apply', recommendation_id=recommendation_id)

    @Endpoint('POST', path='/rollout/pause')
    @UpdatePermission
    @EndpointDoc('Let the rollout stand still once the OSD in flight is safe')
    @_checked
    def pause(self) -> Any:
        return self._change('rollout_pause')

    @Endpoint('POST', path='/rollout/resume')
    @UpdatePermission
    @EndpointDoc('Go on with a paused rollout')
    @_checked
    def resume(self) -> Any:
        return self._change('rollout_resume')

    @Endpoint('POST', path='/rollout/abort')
    @UpdatePermission
    @EndpointDoc('End the rollout where it is, with the OSD in flight brought to safety')
    @_checked
    def abort(self) -> Any:
        return self._change('rollout_abort')

    @Endpoint('POST', path='/rollback')
    @UpdatePermission
    @EndpointDoc(
        'Restore exactly what was there before a rollout',
        parameters={'rollout_id': (str, 'Id of a rollout; the last one without', True)},
    )
    @_checked
    def rollback(self, rollout_id: Optional[str] = None) -> Any:
        return self._change('rollback', rollout_id=rollout_id)

    @Endpoint('PUT', path='/mode')
    @UpdatePermission
    @EndpointDoc(
        'Set how much the module may do',
        parameters={'mode': (str, 'off, observe, recommend or auto-apply')},
    )
    @_checked
    def set_mode(self, mode: str) -> Any:
        return self._change('mode', mode=mode)

    def _change(self, command: str, **arguments: Optional[object]) -> Any:
        # The scope of the endpoints is that of OSDs; what is changed is the configuration.
        if not self._has_permissions([Permission.UPDATE], Scope.CONFIG_OPT):
            raise _error(
                403, 'forbidden', 'This needs permission to update the configuration (config-opt)'
            )
        return _ask(command, **arguments)
