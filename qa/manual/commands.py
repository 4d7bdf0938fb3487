"""The manual's reference of commands, from what the module registers with Ceph."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocksdb_tuner.commands import COMMANDS, Command
from rocksdb_tuner.commands.command import INPUT, PREFIX, choices_of
from rocksdb_tuner.mgr.releases import CLICommand

from .rst_text import escaped, heading, wrapped

_FORMAT = 'format'
#: Optional arguments that are usually given without their name.
_BY_PLACE = frozenset({'mode', 'option', 'osd_id', 'other', 'rollout_id'})


@dataclass
class _Described:
    """A command under all its names; the shortest is the first."""

    command: Command
    #: The capabilities for managers that a client needs.
    permission: str
    names: list[str] = field(default_factory=list)


def reference() -> str:
    return '\n'.join(map(_described, _commands()))


def _commands() -> list[_Described]:
    found: dict[int, _Described] = {}
    for prefix, run in CLICommand.COMMANDS.items():
        words = prefix.removeprefix(f'{PREFIX} ')
        command = COMMANDS[words.replace(' ', '_')]
        described = _Described(command, CLICommand.PERMISSIONS[prefix])
        found.setdefault(id(run), described).names.append(words)
    for described in found.values():
        described.names.sort(key=lambda name: (-name.count(' '), name))
    return sorted(found.values(), key=lambda described: described.names[0])


def _described(described: _Described) -> str:
    parameters = [p for name, p in described.command.parameters.items() if name != _FORMAT]
    usage = ' '.join(map(_usage, parameters))
    lines = [
        heading(described.names[0], '-'),
        wrapped(f'{escaped(described.command.run.__doc__ or "")}.', ''),
        '',
        '.. code-block:: none',
        '',
        wrapped(f'   ceph {PREFIX} {described.names[0]} {usage}'.rstrip(), '      '),
        '',
    ]
    lines.extend(wrapped(f':{name}: {text}', '   ') for name, text in _fields(described))
    return '\n'.join(lines) + '\n'


def _fields(described: _Described) -> Iterator[tuple[str, str]]:
    if described.names[1:]:
        yield 'Also', ', '.join(f'``{name}``' for name in described.names[1:])
    for parameter in described.command.parameters.values():
        kind = choices_of(parameter.annotation)
        if kind is not None and parameter.name != _FORMAT:
            known = ', '.join(f'``{member.value}``' for member in kind)
            yield f'{escaped(parameter.name)}', known
    yield 'Permission', f'``{described.permission}``'


def _usage(parameter: inspect.Parameter) -> str:
    name = parameter.name
    if name == INPUT:
        return '-i <file>'
    if parameter.default is inspect.Parameter.empty:
        return f'<{name}>'
    if name in _BY_PLACE:
        return f'[<{name}>]'
    if parameter.annotation is bool:
        return f'[--{name.replace("_", "-")}]'
    return f'[--{name.replace("_", "-")} <{name}>]'
