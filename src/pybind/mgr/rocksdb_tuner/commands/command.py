"""How a function becomes a command: it is registered with Ceph, and its answer or error formatted.

A handler takes the `Context` and its arguments and returns how to write the answer in a format. Its
annotations are the grammar of the command line: `str`, `int`, `bool`, an `Enum` (the command line
shows and completes its values), and `Optional` of these. What Ceph sees is a function with that
signature, and ``--format`` and ``-i`` at its end. It reads them by position: the first parameter
must not be annotated and the return value must be (`CLICommand` of mgr_module, in all releases).
"""

from __future__ import annotations

import errno
import inspect
import logging
from collections.abc import Sequence
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
from ..present.layout import clean, shown_error
from ..present.render import Format
from .context import Context
from .errors import ANSWERED, CommandRefusedError

__all__ = ['COMMANDS', 'PREFIX', 'Answer', 'Command', 'changes', 'guarded', 'reads', 'view']

log = logging.getLogger(__name__)

#: Before the words of each command.
PREFIX = 'rocksdb-tuner'
#: What the command line reads from the file of ``-i``: no argument of its own to Ceph.
INPUT = 'inbuf'
_FORMAT = 'format'

#: Writes an answer in a format.
Answer = Callable[[Format], str]
_Handler = TypeVar('_Handler', bound=Callable[..., Answer])


class Owner(Protocol):
    """What a command needs of the module: Ceph gives it to each as the first argument."""

    @property
    def context(self) -> Context: ...


@dataclass(frozen=True)
class Command:
    """One command, or one view that only other modules can ask for."""

    name: str
    run: Callable[..., HandleCommandResult]
    #: What it may be given, by name, with types instead of their names.
    parameters: Mapping[str, inspect.Parameter]

    def check_choices(self, arguments: Mapping[str, Any]) -> None:
        """Raise CommandRefusedError for a value that is none of those there are."""
        for name, value in arguments.items():
            if name in self.parameters and value is not None:
                _chosen(self.parameters[name], value)


#: By the name by which another module asks for it: the words, with underscores.
COMMANDS: dict[str, Command] = {}
_BY_PREFIX: dict[str, Command] = {}


def reads(*names: str) -> Callable[[_Handler], _Handler]:
    """A command that changes nothing, under each of ``names``: who may read may send it."""
    return _registered(names, CLIReadCommand)


def changes(*names: str) -> Callable[[_Handler], _Handler]:
    """A command that takes the permission to write."""
    return _registered(names, CLIWriteCommand)


def view(name: str) -> Callable[[_Handler], _Handler]:
    """What other modules ask for and no command line: JSON only."""

    def register(handler: _Handler) -> _Handler:
        parameters = _parameters(handler)
        COMMANDS[name] = Command(name, _run(handler, parameters, Format.JSON), parameters)
        return handler

    return register


def guarded(handle: Callable[[str, dict[str, Any]], Any], inbuf: str, cmd: dict[str, Any]) -> Any:
    """What Ceph's dispatcher ``handle`` answers; where it cannot read an argument, which and why.

    The command line checks arguments before it sends them, but not the value of ``--format``, and
    whoever sends commands otherwise checks nothing. Ceph would answer with a traceback.
    """
    try:
        command = _BY_PREFIX.get(cmd['prefix'])
        if command is not None:
            command.check_choices(cmd)
        return handle(inbuf, cmd)
    except CommandRefusedError as error:
        return _refusal(error.errno, error)
    except Exception:
        log.exception('the arguments of a command cannot be read')
        return HandleCommandResult(
            retval=-errno.EINVAL,
            stderr='the arguments of the command cannot be read; the mgr log has the details',
        )


def _registered(names: Sequence[str], ceph: Decorator) -> Callable[[_Handler], _Handler]:
    def register(handler: _Handler) -> _Handler:
        parameters = _parameters(handler)
        chosen = inspect.Parameter(
            _FORMAT,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=Format.PLAIN,
            annotation=Format,
        )
        given = parameters.pop(INPUT, None)
        parameters[_FORMAT] = chosen
        if given is not None:
            parameters[INPUT] = given
        run = _run(handler, parameters, Format.PLAIN)
        for words in names:
            name, prefix = words.replace(' ', '_'), f'{PREFIX} {words}'
            COMMANDS[name] = _BY_PREFIX[prefix] = Command(name, run, parameters)
            ceph(prefix)(run)
        return handler

    return register


def _parameters(handler: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """All but the context, with types as `typing` has them: Pacific compares them."""
    hints = get_type_hints(handler)
    found = list(inspect.signature(handler).parameters.values())[1:]
    return {p.name: p.replace(annotation=hints[p.name]) for p in found}


def _run(
    handler: Callable[..., Answer],
    parameters: Mapping[str, inspect.Parameter],
    default_format: Format,
) -> Callable[..., HandleCommandResult]:
    """The function that is called with the module."""
    owner = inspect.Parameter('self', inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature(
        [owner, *parameters.values()], return_annotation=HandleCommandResult
    )

    def run(module: Owner, *args: object, **kwargs: object) -> HandleCommandResult:
        try:
            _refuse_input(kwargs, parameters)
            given = signature.bind(module, *args, **kwargs).arguments
            del given['self']
            # All before anything is done: no change is left behind that is answered with an error.
            chosen = {name: _chosen(parameters[name], value) for name, value in given.items()}
            wanted = chosen.pop(_FORMAT, default_format)
            answer = handler(module.context, **chosen)
            return HandleCommandResult(stdout=_kept_apart(answer(wanted)))
        except ANSWERED as error:
            return _refusal(error.errno, error)
        except Exception as error:
            log.exception('a command failed')
            return HandleCommandResult(
                retval=-errno.EIO,
                stderr=f'internal error ({type(error).__name__}); the mgr log has the details',
            )

    run.__name__ = run.__qualname__ = handler.__name__
    run.__doc__ = handler.__doc__
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def _kept_apart(text: str) -> str:
    """``text`` whose empty lines reach the terminal: what arrives has none (seen on 16.2.15).

    As `ceph -s` does between its sections.
    """
    return text.replace('\n\n', '\n \n')


def _refuse_input(given: Mapping[str, object], parameters: Mapping[str, object]) -> None:
    if INPUT in given and INPUT not in parameters:
        # As later releases say it; Pacific hands the file of -i to any command.
        raise CommandRefusedError(
            errno.EINVAL, 'Invalid command: Input file data (-i) not supported'
        )


def _refusal(code: int, error: Exception) -> HandleCommandResult:
    return HandleCommandResult(retval=-code, stderr=shown_error(str(error)))


def _chosen(parameter: inspect.Parameter, value: Any) -> Any:
    """``value``, as a member of the enumeration where the parameter is one."""
    kind = choices_of(parameter.annotation)
    if kind is None or value is None:
        return value
    try:
        return kind(value)
    except ValueError:
        known = ', '.join(str(member.value) for member in kind)
        raise CommandRefusedError(
            errno.EINVAL,
            f'"{clean(str(value))[:60]}" is no {parameter.name}; {parameter.name}s: {known}',
        ) from None


def choices_of(annotation: Any) -> Optional[type[Enum]]:
    """The enumeration that a parameter is one of; None where it is of another type."""
    kinds = get_args(annotation) if get_origin(annotation) is Union else (annotation,)
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, Enum)), None)
