"""A command: registered with Ceph, its arguments checked, its answer and its errors written.

A handler takes the `Context` and the arguments, and returns what is shown. Ceph sees a function
whose annotations define the command line: `str`, `int`, `bool`, an `Enum` (the command line shows
and completes its values), and `Optional` of these, plus ``--format`` and ``-i``. It reads
parameters by position: the first one must not be annotated, and the return value must be
(`CLICommand` of mgr_module, in all releases).
"""

from __future__ import annotations

import errno
import inspect
import logging
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Union, get_args, get_origin

from mgr_module import HandleCommandResult

from ..advise.custom_profiles import CustomProfiles
from ..mgr.protocols import CommandError
from ..mgr.releases import CLIReadCommand, CLIWriteCommand
from ..operations.phases import OperationRefused
from ..options.verdict import BadQuestionError
from ..present.layout import clean, screen, shown_error
from ..present.views import Format, show
from ..requests import NOT_SAMPLED, BusyError
from ..settings import ReadOption, SettingError, Settings, read_mode, read_settings
from ..snapshot import Mode, Snapshot
from ..steps import reason_of
from ..tick.evaluation import Inputs
from ..tuner import Tuner
from ..units import natural
from ..workload.records import WorkloadClass

log = logging.getLogger(__name__)

#: The prefix of all commands.
PREFIX = 'rocksdb-tuner'
#: The content of the file given with ``-i``, which Ceph does not treat as an argument.
INPUT = 'inbuf'
_FORMAT = 'format'
#: The flag of all read commands: plain output is not limited to a screen.
_ALL = 'all'
#: Arguments of other modules are names, numbers or option strings.
TEXT_MAX_CHARS = 1 << 16
#: Errors with an errno and a text for operators.
REPORTED = (BadQuestionError, OperationRefused, CommandError, BusyError, SettingError)

#: The actor until the audit log names the client, which the mgr does not pass to modules.
OPERATOR = 'operator'
#: Browsers repeat the report while the problem lasts, but do not report its end.
TAB_NOTICE_S = 86400.0
#: Types of arguments; all others are texts.
_TYPES = {'workload': WorkloadClass, 'mode': Mode, 'cores': int, 'worst': int}
_NAMES = {str: 'a string', int: 'a whole number', bool: 'true or false'}

#: Writes an answer in a format.
Answer = Callable[[Format], str]


class Right(Enum):
    """What a client needs."""

    READ = 'r'
    WRITE = 'rw'
    #: For other modules only: JSON, and no command.
    MODULE = ''


@dataclass
class Context:
    """The state and the services of the module, shared by all threads that answer commands."""

    _tuner: Callable[[], Tuner]
    profiles: CustomProfiles
    #: Reads an option of the module.
    option: ReadOption
    set_mode: Callable[[Mode], None]
    #: Where metrics are served, or None.
    metrics_url: Callable[[], Optional[str]]
    #: A report takes long: any number of readers uses at most one core.
    writing_report: threading.Lock = field(default_factory=threading.Lock)
    actor: str = OPERATOR
    #: Until when the tab is reported as missing, on the monotonic clock.
    _tab_notice_until_s: float = float('-inf')

    @property
    def tuner(self) -> Tuner:
        return self._tuner()

    @property
    def snapshot(self) -> Snapshot:
        return self.tuner.snapshot

    def inputs(self) -> Inputs:
        """What the newest snapshot was built from; raises BusyError before the first tick."""
        inputs = self.tuner.published.inputs
        if inputs is None:
            raise BusyError(NOT_SAMPLED)
        return inputs

    def settings(self) -> Settings:
        """The current options; raises SettingError, as does `mode`."""
        return read_settings(self.option)

    def mode(self) -> Mode:
        return read_mode(self.option)

    def report_tab_missing(self) -> None:
        """Record that a browser could not add the tab to the dashboard."""
        self._tab_notice_until_s = time.monotonic() + TAB_NOTICE_S

    @property
    def tab_is_missing(self) -> bool:
        return time.monotonic() < self._tab_notice_until_s


class Owner(NamedTuple):
    """What commands use of the module, which Ceph passes as the first argument."""

    context: Context


@dataclass(frozen=True)
class Command:
    """A command, or a view that is available to other modules only."""

    run: Callable[..., HandleCommandResult]
    #: Parameters by name, with resolved types.
    parameters: Mapping[str, inspect.Parameter]


#: By name, with underscores for spaces, as used by other modules.
COMMANDS: dict[str, Command] = {}


def shown(view: str, subject: Any, **options: object) -> Answer:
    """``subject`` as a view; ``options`` of its table."""
    return lambda form: show(view, subject, form, **options)


def osd_number(text: str) -> int:
    """The 3 of "3" or "osd.3"; raises BadQuestionError."""
    number = natural(text.removeprefix('osd.'))
    if number is None:
        raise BadQuestionError(errno.EINVAL, f'invalid OSD id "{text}": use "3" or "osd.3"')
    return number


def _amount(option: str, units: Mapping[str, float], wanted: str, text: str) -> float:
    found = re.fullmatch(r'(\d+(?:\.\d+)?)(\D?)', text.strip(), re.ASCII)
    if found is None or found[2] not in units:
        raise BadQuestionError(errno.EINVAL, f'invalid {option} "{text}": use {wanted}')
    return float(found[1]) * units[found[2]]


_PERCENT = {'': 0.01, '%': 0.01}
_TIMES_S = {'': 1.0, 's': 1.0, 'm': 60.0, 'h': 3600.0, 'd': 86400.0}
_A_TIME = 'seconds, or a number with s, m, h or d, as in "12h"'
#: What handlers get for the text of an argument.
_READ: Mapping[str, Callable[[str], object]] = {
    'osd': osd_number,
    'osd_id': osd_number,
    'min_effect': partial(_amount, '--min-effect', _PERCENT, 'percent, as in "10" or "7.5%"'),
    'max_duration': partial(_amount, '--max-duration', _TIMES_S, _A_TIME),
}


def _parameter(argument: str) -> inspect.Parameter:
    """Of "name", "[optional]" or "--flag"."""
    name = argument.strip('-[]')
    kind: Any = bool if argument.startswith('-') else _TYPES.get(name, str)
    default: Any = False if kind is bool else inspect.Parameter.empty
    if argument.startswith('['):
        # With a `typing` type: Pacific compares them.
        kind, default = Optional[kind], None
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, place, default=default, annotation=kind)


_FORMATTED = _parameter(_FORMAT).replace(annotation=Format, default=Format.PLAIN)


def register(
    words: str, text: str, arguments: str, handler: Callable[..., Answer], right: Right
) -> None:
    """The command ``words`` with the help ``text``; all that read have --all."""
    own = {p.name: p for p in map(_parameter, arguments.split())}
    parameters = {name: p for name, p in own.items() if name not in {INPUT, _ALL}}
    if right is not Right.MODULE:
        parameters[_FORMAT] = _FORMATTED
    if _ALL in own or right is Right.READ:
        parameters[_ALL] = _parameter('--all')
    if INPUT in own:
        parameters[INPUT] = own[INPUT]
    default = Format.JSON if right is Right.MODULE else Format.PLAIN
    takes_all = _ALL in inspect.signature(handler).parameters

    def run(module: Owner, /, *positional: object, **named: object) -> HandleCommandResult:
        try:
            # Check everything first: a command that fails must not change anything.
            given = _checked(parameters, {**dict(zip(parameters, positional)), **named})
            form, whole = given.pop(_FORMAT, default), given.get(_ALL, False)
            if not takes_all:
                given.pop(_ALL, None)
            answer = handler(module.context, **given)(form)
            if form is Format.PLAIN and not whole:
                more = f'--{_ALL}' if _ALL in parameters else '--format json-pretty'
                answer = screen(answer, more)
            # The ceph CLI drops empty lines (seen on 16.2.15); `ceph -s` has blanks in them, too.
            return HandleCommandResult(stdout=answer.replace('\n\n', '\n \n'))
        except REPORTED as error:
            return _refusal(error.errno, str(error))
        except Exception as error:
            log.exception('command failed')
            return _refusal(errno.EIO, reason_of(error))

    name = run.__name__ = run.__qualname__ = words.replace(' ', '_')
    run.__doc__ = text
    owner = inspect.Parameter('self', inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [owner, *parameters.values()], return_annotation=HandleCommandResult
    )
    COMMANDS[name] = Command(run, parameters)
    if right is not Right.MODULE:
        ceph = CLIReadCommand if right is Right.READ else CLIWriteCommand
        ceph(f'{PREFIX} {words}')(run)


def guarded(handle: Callable[[str, dict[str, Any]], Any], inbuf: str, cmd: dict[str, Any]) -> Any:
    """Call Ceph's dispatcher ``handle``; if an argument is invalid, return an error that names it.

    The command line validates arguments except ``--format``, and other clients may validate
    nothing. Ceph would answer with a traceback.
    """
    try:
        words = str(cmd['prefix']).removeprefix(f'{PREFIX} ')
        command = COMMANDS.get(words.replace(' ', '_'))
        for name, parameter in command.parameters.items() if command else ():
            if name in cmd and choices_of(parameter.annotation):
                _value(parameter, cmd[name])
        return handle(inbuf, cmd)
    except BadQuestionError as error:
        return _refusal(error.errno, str(error))
    except Exception:
        log.exception('cannot parse command arguments')
        return _refusal(
            errno.EINVAL, 'cannot parse the command arguments; see the mgr log for details'
        )


def answer_module(
    context: Context, name: str, arguments: Mapping[str, Any], actor: str
) -> dict[str, Any]:
    """{retval, stdout, stderr} of the command or view ``name``, as JSON by default.

    ``name`` has underscores for spaces; ``actor`` is recorded in the history. The answer is a new
    object: up to Squid it is shared between interpreters, from Tentacle on it is copied.
    """
    command = COMMANDS.get(name)
    if command is None:
        result = _refusal(errno.EINVAL, clean(f'no command "{str(name)[:60]}"'))
    else:
        form = {_FORMAT: 'json'} if _FORMAT in command.parameters else {}
        result = command.run(Owner(replace(context, actor=actor)), **{**form, **arguments})
    return {'retval': result.retval, 'stdout': result.stdout, 'stderr': result.stderr}


def choices_of(annotation: Any) -> Optional[type[Enum]]:
    """The enum of a parameter; None if it has another type."""
    return next((k for k in _kinds(annotation) if issubclass(k, Enum)), None)


def _kinds(annotation: Any) -> tuple[type, ...]:
    return get_args(annotation) if get_origin(annotation) is Union else (annotation,)


def _checked(
    parameters: Mapping[str, inspect.Parameter], given: Mapping[str, object]
) -> dict[str, Any]:
    """Arguments as their handler gets them; raises BadQuestionError for the first problem."""
    problem = None
    for name in given:
        if name == INPUT and name not in parameters:
            # The message of later releases; Pacific accepts -i for any command.
            problem = 'Invalid command: Input file data (-i) not supported'
        elif name not in parameters:
            known = ', '.join(parameters) or 'none'
            problem = f'unknown argument "{name[:60]}"; arguments: {known}'
    for name, parameter in parameters.items():
        if name not in given and parameter.default is inspect.Parameter.empty:
            problem = f'the argument "{name}" is missing'
    if problem is not None:
        raise BadQuestionError(errno.EINVAL, clean(problem))
    return {name: _value(parameters[name], value) for name, value in given.items()}


def _value(parameter: inspect.Parameter, value: Any) -> Any:
    """A member of the enum if the parameter has one; raises BadQuestionError."""
    name, kinds = parameter.name, _kinds(parameter.annotation)
    choices = choices_of(parameter.annotation)
    if isinstance(value, str) and len(value) > TEXT_MAX_CHARS:
        problem = f'has {len(value)} characters, more than {TEXT_MAX_CHARS}'
    elif choices is not None and isinstance(value, str):
        try:
            return choices(value)
        except ValueError:
            known = ', '.join(str(member.value) for member in choices)
            raise BadQuestionError(
                errno.EINVAL, f'invalid {name} "{clean(value)[:60]}"; {name}s: {known}'
            ) from None
    # In Python, True is an int.
    elif type(value) in kinds:
        return _READ[name](value) if name in _READ and value is not None else value
    else:
        wanted = [_NAMES[kind] for kind in kinds if kind in _NAMES] or [_NAMES[str]]
        problem = f'should be {" or ".join(wanted)}, not {type(value).__name__}'
    raise BadQuestionError(errno.EINVAL, f'the argument "{name}" {problem}')


def _refusal(code: int, text: str) -> HandleCommandResult:
    return HandleCommandResult(retval=-code, stderr=shown_error(text))
