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
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Optional, Protocol, Union, get_args, get_origin

from mgr_module import HandleCommandResult

from ..mgr.releases import CLIReadCommand, CLIWriteCommand
from ..options.verdict import BadQuestionError
from ..present.layout import clean, screen, shown_error
from ..present.views import Format, show
from ..snapshot import Mode
from ..workload.records import WorkloadClass
from .context import REPORTED, Context

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


class Owner(Protocol):
    """The part of the module that commands use; Ceph passes it as the first argument."""

    @property
    def context(self) -> Context:
        """The state and the services of the module."""


@dataclass(frozen=True)
class Command:
    """A command, or a view that is available to other modules only."""

    run: Callable[..., HandleCommandResult]
    #: Parameters by name, with resolved types.
    parameters: Mapping[str, inspect.Parameter]


#: By name, with underscores for spaces, as used by other modules.
COMMANDS: dict[str, Command] = {}


def _parameter(argument: str) -> inspect.Parameter:
    """Of "name", "[optional]" or "--flag"."""
    name = argument.strip('-[]')
    kind: Any = bool if argument.startswith('-') else _TYPES.get(name, str)
    default: Any = False if kind is bool else inspect.Parameter.empty
    if argument.startswith('['):
        # With a `typing` type: Pacific compares them.
        kind, default = Optional[kind], None
    return _with_type(name, kind, default)


def _with_type(name: str, kind: Any, default: object) -> inspect.Parameter:
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, place, default=default, annotation=kind)


def shown(view: str, subject: Any, **options: object) -> Answer:
    """``subject`` as a view; ``options`` of its table."""
    return lambda form: show(view, subject, form, **options)


def register(
    words: str, text: str, arguments: str, handler: Callable[..., Answer], right: Right
) -> None:
    """The command ``words`` with the help ``text``; all that read have --all."""
    own = {p.name: p for p in map(_parameter, arguments.split())}
    parameters = {name: p for name, p in own.items() if name not in {INPUT, _ALL}}
    if right is not Right.MODULE:
        parameters[_FORMAT] = _with_type(_FORMAT, Format, Format.PLAIN)
    if _ALL in own or right is Right.READ:
        parameters[_ALL] = _parameter('--all')
    if INPUT in own:
        parameters[INPUT] = own[INPUT]
    owner = inspect.Parameter('self', inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature(
        [owner, *parameters.values()], return_annotation=HandleCommandResult
    )
    default = Format.JSON if right is Right.MODULE else Format.PLAIN

    def run(module: Owner, *args: object, **kwargs: object) -> HandleCommandResult:
        try:
            _refuse_input(kwargs, parameters)
            given = signature.bind(module, *args, **kwargs).arguments
            del given['self']
            # Validate everything first: a command that fails must not change anything.
            chosen = {name: _chosen(parameters[name], value) for name, value in given.items()}
            form, whole = chosen.pop(_FORMAT, default), chosen.get(_ALL, False)
            if _ALL not in own:
                chosen.pop(_ALL, None)
            answer = handler(module.context, **chosen)(form)
            if form is Format.PLAIN and not whole:
                answer = screen(
                    answer, f'--{_ALL}' if _ALL in parameters else '--format json-pretty'
                )
            # The ceph CLI drops empty lines (seen on 16.2.15); `ceph -s` has blanks in them, too.
            return HandleCommandResult(stdout=answer.replace('\n\n', '\n \n'))
        except REPORTED as error:
            return _refusal(error.errno, error)
        except Exception as error:
            log.exception('command failed')
            return HandleCommandResult(
                retval=-errno.EIO,
                stderr=f'internal error ({type(error).__name__}); the mgr log has the details',
            )

    name = run.__name__ = run.__qualname__ = words.replace(' ', '_')
    run.__doc__ = text
    run.__signature__ = signature  # type: ignore[attr-defined]
    COMMANDS[name] = Command(run, parameters)
    if right is not Right.MODULE:
        ceph = CLIReadCommand if right is Right.READ else CLIWriteCommand
        ceph(f'{PREFIX} {words}')(run)


def _refuse_input(given: Mapping[str, object], parameters: Mapping[str, object]) -> None:
    if INPUT in given and INPUT not in parameters:
        # The message of later releases; Pacific accepts -i for any command.
        raise BadQuestionError(errno.EINVAL, 'Invalid command: Input file data (-i) not supported')


def guarded(handle: Callable[[str, dict[str, Any]], Any], inbuf: str, cmd: dict[str, Any]) -> Any:
    """Call Ceph's dispatcher ``handle``; if an argument is invalid, return an error that names it.

    The command line validates arguments except ``--format``, and other clients may validate
    nothing. Ceph would answer with a traceback.
    """
    try:
        words = str(cmd['prefix']).removeprefix(f'{PREFIX} ')
        command = COMMANDS.get(words.replace(' ', '_'))
        for name, value in cmd.items() if command else ():
            if command and name in command.parameters:
                _chosen(command.parameters[name], value)
        return handle(inbuf, cmd)
    except BadQuestionError as error:
        return _refusal(error.errno, error)
    except Exception:
        log.exception('cannot parse command arguments')
        return HandleCommandResult(
            retval=-errno.EINVAL,
            stderr='cannot parse the command arguments; see the mgr log for details',
        )


def answer_module(
    module: Owner, name: str, arguments: Mapping[str, Any], actor: str
) -> dict[str, Any]:
    """{retval, stdout, stderr} of the command or view ``name``, as JSON by default.

    ``name`` has underscores for spaces; ``actor`` is recorded in the history. The answer is a new
    object: up to Squid it is shared between interpreters, from Tentacle on it is copied.
    """
    command = COMMANDS.get(name)
    problem: Optional[str]
    if command is None:
        problem = f'no command "{str(name)[:60]}"'
    else:
        if _FORMAT in command.parameters:
            arguments = {_FORMAT: 'json', **arguments}
        problem = argument_problem(command.parameters, arguments)
    if command is None or problem is not None:
        return {'retval': -errno.EINVAL, 'stdout': '', 'stderr': clean(problem or '')}
    with module.context.acting_for(actor):
        result = command.run(module, **arguments)
    return {'retval': result.retval, 'stdout': result.stdout, 'stderr': result.stderr}


def argument_problem(
    parameters: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]
) -> Optional[str]:
    """The first problem; None if the arguments are valid. Choices are not checked here."""
    for name in arguments:
        if name not in parameters:
            known = ', '.join(parameters) or 'none'
            return f'unknown argument "{name[:60]}"; arguments: {known}'
    for name, parameter in parameters.items():
        if name in arguments:
            problem = _wrong_type(arguments[name], parameter.annotation)
            if problem is not None:
                return f'the argument "{name}" {problem}'
        elif parameter.default is inspect.Parameter.empty:
            return f'the argument "{name}" is missing'
    return None


def choices_of(annotation: Any) -> Optional[type[Enum]]:
    """The enum of a parameter; None if it has another type."""
    return next((k for k in _kinds(annotation) if issubclass(k, Enum)), None)


def _kinds(annotation: Any) -> tuple[type, ...]:
    return get_args(annotation) if get_origin(annotation) is Union else (annotation,)


def _chosen(parameter: inspect.Parameter, value: Any) -> Any:
    """``value``, as a member of the enum if the parameter has one."""
    kind = choices_of(parameter.annotation)
    if kind is None or value is None:
        return value
    try:
        return kind(value)
    except ValueError:
        known = ', '.join(str(member.value) for member in kind)
        raise BadQuestionError(
            errno.EINVAL,
            f'invalid {parameter.name} "{clean(str(value))[:60]}"; {parameter.name}s: {known}',
        ) from None


def _wrong_type(value: object, annotation: Any) -> Optional[str]:
    kinds = _kinds(annotation)
    # Choices are passed as strings.
    texts = any(issubclass(kind, str) for kind in kinds)
    if texts and isinstance(value, str):
        if len(value) > TEXT_MAX_CHARS:
            return f'has {len(value)} characters, more than {TEXT_MAX_CHARS}'
        return None
    # In Python, True is an int.
    if any(type(value) is kind for kind in kinds):
        return None
    wanted = [_NAMES[str]] * texts + [_NAMES[k] for k in kinds if k in _NAMES and k is not str]
    return f'should be {" or ".join(wanted)}, not {type(value).__name__}'


def _refusal(code: int, error: Exception) -> HandleCommandResult:
    return HandleCommandResult(retval=-code, stderr=shown_error(str(error)))
