"""Commands that another module of the manager asks for, such as the dashboard."""

from __future__ import annotations

import errno
from typing import Any, Mapping

from ..present.layout import clean
from .arguments import what_is_wrong
from .command import COMMANDS, Owner


def answer_module(
    module: Owner, name: str, arguments: Mapping[str, Any], actor: str
) -> dict[str, Any]:
    """{retval, stdout, stderr} of the command or view ``name``, in JSON unless asked otherwise.

    ``name`` has underscores for spaces; ``actor`` is who asks, for the history. The answer is made
    anew: up to Squid what is returned is shared between interpreters, from Tentacle on it is
    copied.
    """
    command = COMMANDS.get(name)
    if command is None:
        return _refused(f'no command "{clean(str(name))[:60]}"')
    if 'format' in command.parameters:
        arguments = {'format': 'json', **arguments}
    problem = what_is_wrong(command.parameters, arguments)
    if problem is not None:
        return _refused(clean(problem))
    with module.context.asked_by(actor):
        result = command.run(module, **arguments)
    return {'retval': result.retval, 'stdout': result.stdout, 'stderr': result.stderr}


def _refused(text: str) -> dict[str, Any]:
    return {'retval': -errno.EINVAL, 'stdout': '', 'stderr': text}
