"""The installed mgr_module.py and ceph_argparse.py of a release, without a cluster: the type stubs
agree with the first, and its registry makes the intended grammar of the module's commands.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import functools
import importlib.util
import inspect
import io
import typing
from pathlib import Path
from typing import Any

import mgr_module
import pytest

from harness import Progress, chroot_build
from harness.releases import Release, get_release
from module_client import CHECKOUT
from rocksdb_tuner import Module
from rocksdb_tuner.commands import COMMANDS, guarded

pytestmark = [pytest.mark.integration, pytest.mark.mgr_api]

STUBS = CHECKOUT / 'src/stubs'
SHAPES = {'pacific': 'pacific_to_squid', 'reef': 'pacific_to_squid', 'tentacle': 'tentacle'}

Signatures = dict[str, dict[str, list[str]]]


#: The folder where Debian's packages install the common code of the command line and the mgr.
LIBRARY = Path('/usr/lib/python3/dist-packages')
#: What mgr_module.py needs to make and read the grammar of commands, as far as a release has it.
REGISTRY = {
    '_extract_target_func',
    'CLICommand',
    'CLICommandBase',
    'CLIReadCommand',
    'CLIWriteCommand',
}


def _installed(release: Release, path: Path) -> Path:
    if not release.in_chroot:
        return path
    return chroot_build.ensure(release, Progress()) / path.relative_to('/')


def _modules(release: Release) -> Path:
    """The folder of the release's own mgr modules."""
    return _installed(release, Path(release.mgr_modules))


class CommandLine:
    """The commands of the module in a release's own registry, and its own reader of a line."""

    def __init__(self, release: Release) -> None:
        path = _installed(release, LIBRARY) / 'ceph_argparse.py'
        spec = importlib.util.spec_from_file_location('ceph_argparse_under_test', path)
        assert spec is not None
        assert spec.loader is not None
        self._argparse: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._argparse)
        # As a whole the file is imported by nothing but a ceph-mgr.
        source = ast.parse((_modules(release) / 'mgr_module.py').read_text())
        parts = [node for node in source.body if getattr(node, 'name', '') in REGISTRY]
        names: dict[str, Any] = {
            **vars(typing),
            'CephArgtype': self._argparse.CephArgtype,
            'HandleCommandResult': mgr_module.HandleCommandResult,
            'HandlerFuncType': typing.Callable,
            'errno': errno,
            'functools': functools,
            'inspect': inspect,
        }
        exec(compile(ast.Module(parts, []), 'mgr_module.py', 'exec'), names)
        self.registry: Any = names.get('CLICommand') or names[
            'CLICommandBase'
        ].make_registry_subtype('UnderTest')
        self.module: Any = Module('rocksdb_tuner', '', '')
        for name, command in COMMANDS.items():
            if 'format' in command.parameters:
                words = name.replace('_', ' ')
                self.registry(f'rocksdb-tuner {words}', 'r')(command.run)

    def grammar(self, words: str) -> list[dict[str, str]]:
        """The argument descriptions that the mgr sends to command lines."""
        arguments = self.registry.COMMANDS[f'rocksdb-tuner {words}'].args.split()
        return [dict(part.split('=', 1) for part in text.split(',')) for text in arguments]

    def read(self, line: str) -> tuple[dict[str, Any], str]:
        """What `ceph` sends for a line, nothing if it refuses it, and its message."""
        known = {
            f'cmd{number:03}': {
                'sig': self._argparse.parse_funcsig([*f'rocksdb-tuner {words}'.split(), *grammar]),
                'help': '',
                'module': 'mgr',
                'perm': 'r',
                'flags': 8,
            }
            for number, (words, grammar) in enumerate(
                (w, self.grammar(w)) for w in (p.partition(' ')[2] for p in self.registry.COMMANDS)
            )
        }
        message = io.StringIO()
        with contextlib.redirect_stderr(message):
            sent = self._argparse.validate_command(known, ['rocksdb-tuner', *line.split()])
        return sent, message.getvalue()

    def answer(self, line: str) -> Any:
        sent, message = self.read(line)
        assert sent, message
        return self.registry.COMMANDS[sent['prefix']].call(self.module, sent, '')


@pytest.fixture
def command_line(release: str) -> CommandLine:
    return CommandLine(get_release(release))


def _signatures(*files: Path) -> Signatures:
    """Parameters by class and method; functions of the module are under ''."""
    found: Signatures = {'': {}}
    for node in [n for file in files for n in ast.parse(file.read_text()).body]:
        if isinstance(node, ast.FunctionDef):
            found[''][node.name] = _parameters(node)
        elif isinstance(node, ast.ClassDef):
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            name = node.name.removesuffix('OfAll')
            found.setdefault(name, {}).update({m.name: _parameters(m) for m in methods})
    return found


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [parameter.arg for parameter in function.args.args]


def test_mgr_functions_called_by_the_module_exist_with_these_parameters(release: str) -> None:
    real = _signatures(_modules(get_release(release)) / 'mgr_module.py')
    stubs = _signatures(
        STUBS / 'common/_mgr_module.pyi', STUBS / SHAPES[release] / 'mgr_module.pyi'
    )
    for owner, functions in stubs.items():
        assert owner in real, f'class {owner}'
        for name, parameters in functions.items():
            if name in ('__call__', '__init__') and name not in real[owner]:
                continue
            assert name in real[owner], f'{owner}.{name}'
            known = real[owner][name]
            # A stub may leave out parameters that the module never gives, and name no other.
            assert [p for p in known if p in parameters] == parameters, f'{owner}.{name}: {known}'


def test_each_release_has_only_its_own_decorators(release: str) -> None:
    real = _signatures(_modules(get_release(release)) / 'mgr_module.py')
    own_registries = release == 'tentacle'
    assert ('CLICommandBase' in real) is own_registries
    assert ('CLIReadCommand' in real['']) is not own_registries
    assert ('get_latest_unlabeled_counter' in real['MgrModule']) is own_registries


def test_each_argument_is_parsed_as_declared(command_line: CommandLine) -> None:
    """The registry counts parameters: one that it takes for another would be required or lost."""
    for name, command in COMMANDS.items():
        if 'format' not in command.parameters:
            continue
        reported = command_line.grammar(name.replace('_', ' '))
        declared = [p for p in command.parameters.values() if p.name != 'inbuf']
        assert [argument['name'] for argument in reported] == [p.name for p in declared]
        required = [p.name for p in declared if p.default is inspect.Parameter.empty]
        assert [a['name'] for a in reported if a.get('req') != 'false'] == required


def test_enum_values_are_part_of_the_grammar(command_line: CommandLine) -> None:
    """So the command line shows them in its help, and completes them."""
    choices = {a['name']: a.get('strings') for a in command_line.grammar('mode')}
    assert choices == {
        'mode': 'off|observe|recommend|auto-apply',
        'format': 'plain|json|json-pretty',
    }
    assert {a['name'] for a in command_line.grammar('profile derive') if 'strings' in a} == {
        'workload',
        'format',
    }


@pytest.mark.parametrize(
    ('line', 'named'),
    [
        ('mode sometimes', 'off|observe|recommend|auto-apply'),
        ('profile derive --workload x', 'x not in idle|rbd-small-write'),
    ],
)
def test_invalid_enum_value_is_refused_with_the_valid_ones(
    command_line: CommandLine, line: str, named: str
) -> None:
    """By Ceph's command line, before anything is sent."""
    sent, message = command_line.read(line)
    assert sent == {}
    assert named in message


@pytest.mark.parametrize(
    ('line', 'code'),
    [
        ('status --format json', 0),
        ('mode', 0),
        ('mode observe', 0),
        ('osd --format json-pretty', 0),
        ('osd 1', errno.ENOENT),
        ('recommend --all', 0),
        ('recommend nonsense', errno.ENOENT),
        ('apply nonsense --dry-run', errno.ENOENT),
        ('findings', 0),
        ('findings nonsense', errno.ENOENT),
        ('history --format json', 0),
        ('operation status', 0),
        ('check compression=kLZ4Compression --release reef', 0),
        ('profile derive --workload idle --cores 4', 0),
        ('profile add', errno.EINVAL),
        ('report --anonymous', errno.EAGAIN),
    ],
)
def test_registry_calls_a_handler_with_the_given_arguments(
    command_line: CommandLine, line: str, code: int
) -> None:
    """By its dispatcher: it casts the arguments, and leaves out what was not given."""
    result = command_line.answer(line)
    assert (-result.retval, 'internal' in result.stderr) == (code, False), result.stderr


def test_input_not_checked_by_the_command_line_causes_no_traceback(
    command_line: CommandLine,
) -> None:
    """`ceph` passes any --format on, and a client of the cluster's API any value."""
    handle = command_line.registry.COMMANDS['rocksdb-tuner status'].call
    asked = {'prefix': 'rocksdb-tuner status', 'format': 'xml'}
    with pytest.raises(ValueError, match='xml'):
        handle(command_line.module, asked, '')
    result = guarded(lambda inbuf, cmd: handle(command_line.module, cmd, inbuf), '', asked)
    assert result.retval == -errno.EINVAL
    assert result.stderr == 'invalid format "xml"; formats: plain, json, json-pretty'
