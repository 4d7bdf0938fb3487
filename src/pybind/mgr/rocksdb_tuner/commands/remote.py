"""Commands for other mgr modules, such as the dashboard."""

from __future__ import annotations

import errno
from typing import Any, Mapping

from ..present.layout import clean
from .arguments import argument_problem
from .command import COMMANDS, Owner


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
