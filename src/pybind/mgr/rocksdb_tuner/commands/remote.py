"""Commands for other mgr modules, such as the dashboard.

Validation of unchecked arguments from other modules.
"""

from __future__ import annotations

import errno
import inspect
from collections.abc import Mapping
from typing import Any, Optional, Union, get_args, get_origin

from ..present.layout import clean
from .command import COMMANDS, Owner

_NAMES = {str: 'a string', int: 'a whole number', bool: 'true or false'}
#: Arguments are names, numbers or option strings.
TEXT_MAX_CHARS = 1 << 16


def argument_problem(
    parameters: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]
) -> Optional[str]:
    """The first problem; None if the arguments are valid. Choices are not checked here."""
    for name in arguments:
        if name not in parameters:
            known = ', '.join(parameters) or 'none'
            return f'unknown argument "{name[:60]}"; arguments: {known}'
    for name, parameter in parameters.items():
        if name not in arguments:
            if parameter.default is inspect.Parameter.empty:
                return f'the argument "{name}" is missing'
            continue
        problem = _wrong_type(arguments[name], parameter.annotation)
        if problem is not None:
            return f'the argument "{name}" {problem}'
    return None


def _wrong_type(value: object, hint: Any) -> Optional[str]:
    kinds = get_args(hint) if get_origin(hint) is Union else (hint,)
    if value is None and type(None) in kinds:
        return None
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


def answer_module(
    module: Owner, name: str, arguments: Mapping[str, Any], actor: str
) -> dict[str, Any]:
    """{retval, stdout, stderr} of the command or view ``name``, as JSON by default.

    ``name`` has underscores for spaces; ``actor`` is recorded in the history. The answer is a new
    object: up to Squid it is shared between interpreters, from Tentacle on it is copied.
    """
    command = COMMANDS.get(name)
    if command is None:
        return _refused(f'no command "{clean(str(name))[:60]}"')
    if 'format' in command.parameters:
        arguments = {'format': 'json', **arguments}
    problem = argument_problem(command.parameters, arguments)
    if problem is not None:
        return _refused(clean(problem))
    with module.context.acting_for(actor):
        result = command.run(module, **arguments)
    return {'retval': result.retval, 'stdout': result.stdout, 'stderr': result.stderr}


def _refused(text: str) -> dict[str, Any]:
    return {'retval': -errno.EINVAL, 'stdout': '', 'stderr': text}
