"""Common parts of the RocksDB Tuner endpoints: validation, errors, permissions, module calls.

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
from typing import Any, Callable, Dict, Optional, TypeVar

import cherrypy

from .. import mgr
from ..exceptions import DashboardException
from ..security import Permission, Scope
from ..services.auth import JwtManager

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


def error(status: int, code: str, text: str) -> DashboardException:
    # The dashboard logs the text, and the mgr log fails on NUL and on lone surrogates, which a
    # request may contain.
    shown = ''.join(c if c.isprintable() or c == '\n' else ascii(c)[1:-1] for c in text)
    return DashboardException(msg=shown, code=code, component=COMPONENT, http_status_code=status)


def checked(handler: _Handler) -> _Handler:
    """Respond 400 to unknown, missing or mistyped parameters.

    The dashboard itself responds 500 to unknown or missing parameters.
    """
    code = handler.__code__
    known = code.co_varnames[: code.co_argcount][1:]
    required = known[: len(known) - len(handler.__defaults__ or ())]

    @wraps(handler)
    def checking(self: Any, /, *args: Any, **parameters: Any) -> Any:
        given = {**dict(zip(known, args)), **parameters}
        for name in given:
            if name not in known:
                choices = ', '.join(known) or 'none'
                unknown = name[:MAX_NAME_CHARACTERS]
                raise bad(f'unknown parameter "{unknown}"; parameters: {choices}')
        for name in required:
            if given.get(name) is None:
                raise bad(f'missing parameter "{name}"')
        given = {name: value for name, value in given.items() if value is not None}
        return handler(self, **{name: _read(name, value) for name, value in given.items()})

    return checking  # type: ignore[return-value]


def _read(name: str, value: object) -> object:
    """A parameter as on the command line: a string, or a list of strings."""
    if name in LISTS:
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise bad(f'"{name}" must be a list of at most {MAX_ITEMS} strings')
        return [_text(name, item) for item in value]
    return _text(name, value)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int)):
        raise bad(f'"{name}" must be a string, a number, true or false')
    text = str(value)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise bad(f'"{name}" has {len(text)} characters; the limit is {MAX_TEXT_CHARACTERS}')
    return text


def bad(text: str) -> DashboardException:
    return error(400, 'bad_parameter', text)


def ask(command: str, actor: Optional[str] = None, **arguments: Optional[object]) -> Any:
    """The JSON answer of a module command; raises DashboardException for any error.

    Messages of unexpected errors contain a traceback and are only logged.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        call = (command, given) if actor is None else (command, given, actor)
        answer = mgr.remote(MODULE, 'remote_command', *call)
    except ImportError:
        raise error(
            503,
            'module_disabled',
            'The rocksdb_tuner module is not enabled. To enable it: '
            'ceph mgr module enable rocksdb_tuner',
        ) from None
    except NameError:
        raise error(
            500,
            'module_outdated',
            'The rocksdb_tuner module and its dashboard files on this mgr have different versions. '
            'Reinstall both, then restart every manager.',
        ) from None
    except Exception:
        logger.exception('the rocksdb_tuner module failed')
        raise error(
            500, 'internal_error', 'The rocksdb_tuner module failed; the mgr log has the details'
        ) from None
    if answer['retval'] != 0:
        status = _STATUS_OF_ERRNO.get(-answer['retval'], 500)
        name = errno.errorcode.get(-answer['retval'], 'error')
        raise error(status, name.lower(), answer['stderr'])
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


def flag(name: str, text: str) -> bool:
    if text not in {'true', 'false'}:
        raise bad(f'invalid {name} "{text}"; expected true or false')
    return text == 'true'


def number(name: str, text: Optional[str]) -> Optional[int]:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise bad(f'invalid {name} "{text}"; expected an integer')
    return int(text)


class TunerEndpoints:
    """Base of the controllers, in addition to the dashboard's own."""

    _cp_config: Dict[str, Any] = {
        'tools.json_in.processor': read_body,
        # Failures before a handler runs are logged, not sent to the browser.
        'request.show_tracebacks': False,
    }

    def _change(self: Any, status: int, command: str, **arguments: Optional[object]) -> Any:
        """``status``: HTTP status of a successful change. The API document has 200 for PUT only."""
        # The endpoints have the scope OSD, but a change also updates the configuration.
        if not self._has_permissions([Permission.UPDATE], Scope.CONFIG_OPT):
            raise error(
                403, 'forbidden', 'Update permission for the configuration (config-opt) is required'
            )
        user = str(JwtManager.get_username())[:MAX_ACTOR_CHARACTERS]
        answer = ask(command, f'dashboard:{user}', **arguments)
        cherrypy.response.status = status
        return answer
