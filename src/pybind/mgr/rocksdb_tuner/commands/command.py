"""Turns functions into commands: registers them with Ceph and formats answers and errors.

A handler takes the `Context` and its arguments and returns a function that formats the answer. Its
annotations define the command line: `str`, `int`, `bool`, an `Enum` (the command line shows and
completes its values), and `Optional` of these. Ceph sees a function with that signature plus
``--format`` and ``-i``. It reads parameters by position: the first one must not be annotated, and
the return value must be (`CLICommand` of mgr_module, in all releases).
"""

from __future__ import annotations

import errno
import inspect
import logging
from dataclasses import dataclass
from enum import Enum
from typing import (
    Any,
    Callable,
    Mapping,
    Optional,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from mgr_module import HandleCommandResult

from ..mgr.releases import CLIReadCommand, CLIWriteCommand, Decorator
from ..present.layout import clean, screen, shown_error
from ..present.render import Format
from .context import REPORTED, CommandRefusedError, Context

log = logging.getLogger(__name__)

#: The prefix of all commands.
PREFIX = 'rocksdb-tuner'
#: The content of the file given with ``-i``, which Ceph does not treat as an argument.
INPUT = 'inbuf'
_FORMAT = 'format'
#: The flag of all read commands: plain output is not limited to a screen.
_ALL = 'all'

#: Writes an answer in a format.
Answer = Callable[[Format], str]
_Handler = TypeVar('_Handler', bound=Callable[..., Answer])


class Owner(Protocol):
    """The part of the module that commands use; Ceph passes it as the first argument."""

    @property
    def context(self) -> Context:
        """The state and the services of the module."""


@dataclass(frozen=True)
class Command:
    """A command, or a view that is available to other modules only."""

    name: str
    run: Callable[..., HandleCommandResult]
    #: Parameters by name, with resolved types.
    parameters: Mapping[str, inspect.Parameter]

    def check_choices(self, arguments: Mapping[str, Any]) -> None:
        """Raise CommandRefusedError for an invalid choice."""
        for name, value in arguments.items():
            if name in self.parameters and value is not None:
                _chosen(self.parameters[name], value)


#: By name, with underscores for spaces, as used by other modules.
COMMANDS: dict[str, Command] = {}
_BY_PREFIX: dict[str, Command] = {}


def reads(name: str, *, long: bool = True) -> Callable[[_Handler], _Handler]:
    """Register a read-only command; requires read permission.

    ``long``: its plain output may exceed a screen, so it has --all.
    """
    return _registered(name, CLIReadCommand, long=long)


def changes(name: str) -> Callable[[_Handler], _Handler]:
    """Register a command that requires write permission."""
    return _registered(name, CLIWriteCommand, long=False)


def view(name: str) -> Callable[[_Handler], _Handler]:
    """Register a view for other modules, without a command: JSON only."""

    def register(handler: _Handler) -> _Handler:
        parameters = _parameters(handler)
        COMMANDS[name] = Command(name, _run(handler, parameters, Format.JSON), parameters)
        return handler

    return register


def guarded(handle: Callable[[str, dict[str, Any]], Any], inbuf: str, cmd: dict[str, Any]) -> Any:
    """Call Ceph's dispatcher ``handle``; if an argument is invalid, return an error that names it.

    The command line validates arguments except ``--format``, and other clients may validate
    nothing. Ceph would answer with a traceback.
    """
    try:
        command = _BY_PREFIX.get(cmd['prefix'])
        if command is not None:
            command.check_choices(cmd)
        return handle(inbuf, cmd)
    except CommandRefusedError as error:
        return _refusal(error.errno, error)
    except Exception:
        log.exception('cannot parse command arguments')
        return HandleCommandResult(
            retval=-errno.EINVAL,
            stderr='cannot parse the command arguments; see the mgr log for details',
        )


def _registered(words: str, ceph: Decorator, *, long: bool) -> Callable[[_Handler], _Handler]:
    def register(handler: _Handler) -> _Handler:
        parameters = _parameters(handler)
        given = parameters.pop(INPUT, None)
        everything = parameters.pop(_ALL, None)
        parameters[_FORMAT] = _option(_FORMAT, Format.PLAIN, Format)
        if everything is not None or long:
            parameters[_ALL] = _option(_ALL, False, bool)
        if given is not None:
            parameters[INPUT] = given
        run = _run(handler, parameters, Format.PLAIN)
        name, prefix = words.replace(' ', '_'), f'{PREFIX} {words}'
        COMMANDS[name] = _BY_PREFIX[prefix] = Command(name, run, parameters)
        ceph(prefix)(run)
        return handler

    return register


def _option(name: str, default: object, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _parameters(handler: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """All parameters but the context, with `typing` types: Pacific compares them."""
    hints = get_type_hints(handler)
    found = list(inspect.signature(handler).parameters.values())[1:]
    return {p.name: p.replace(annotation=hints[p.name]) for p in found}


def _run(
    handler: Callable[..., Answer],
    parameters: Mapping[str, inspect.Parameter],
    default_format: Format,
) -> Callable[..., HandleCommandResult]:
    """The function that Ceph calls with the module."""
    own = inspect.signature(handler).parameters
    owner = inspect.Parameter('self', inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature(
        [owner, *parameters.values()], return_annotation=HandleCommandResult
    )

    def run(module: Owner, *args: object, **kwargs: object) -> HandleCommandResult:
        try:
            _refuse_input(kwargs, parameters)
            given = signature.bind(module, *args, **kwargs).arguments
            del given['self']
            # Validate everything first: a command that fails must not change anything.
            chosen = {name: _chosen(parameters[name], value) for name, value in given.items()}
            wanted = chosen.pop(_FORMAT, default_format)
            everything = chosen.get(_ALL, False)
            if _ALL not in own:
                chosen.pop(_ALL, None)
            text = handler(module.context, **chosen)(wanted)
            if wanted is Format.PLAIN and not everything:
                text = screen(text, f'--{_ALL}' if _ALL in parameters else '--format json-pretty')
            return HandleCommandResult(stdout=_with_blank_lines(text))
        except REPORTED as error:
            return _refusal(error.errno, error)
        except Exception as error:
            log.exception('command failed')
            return HandleCommandResult(
                retval=-errno.EIO,
                stderr=f'internal error ({type(error).__name__}); the mgr log has the details',
            )

    run.__name__ = run.__qualname__ = handler.__name__
    run.__doc__ = handler.__doc__
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def _with_blank_lines(text: str) -> str:
    """``text`` with blank lines that survive: the ceph CLI drops empty ones (seen on 16.2.15).

    `ceph -s` does the same between its sections.
    """
    return text.replace('\n\n', '\n \n')


def _refuse_input(given: Mapping[str, object], parameters: Mapping[str, object]) -> None:
    if INPUT in given and INPUT not in parameters:
        # The message of later releases; Pacific accepts -i for any command.
        raise CommandRefusedError(
            errno.EINVAL, 'Invalid command: Input file data (-i) not supported'
        )


def _refusal(code: int, error: Exception) -> HandleCommandResult:
    return HandleCommandResult(retval=-code, stderr=shown_error(str(error)))


def _chosen(parameter: inspect.Parameter, value: Any) -> Any:
    """``value``, as a member of the enum if the parameter has one."""
    kind = choices_of(parameter.annotation)
    if kind is None or value is None:
        return value
    try:
        return kind(value)
    except ValueError:
        known = ', '.join(str(member.value) for member in kind)
        raise CommandRefusedError(
            errno.EINVAL,
            f'invalid {parameter.name} "{clean(str(value))[:60]}"; {parameter.name}s: {known}',
        ) from None


def choices_of(annotation: Any) -> Optional[type[Enum]]:
    """The enum of a parameter; None if it has another type."""
    kinds = get_args(annotation) if get_origin(annotation) is Union else (annotation,)
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, Enum)), None)
