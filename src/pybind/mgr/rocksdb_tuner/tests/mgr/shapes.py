"""Modules in the shape of each release's mgr_module.py, as far as this project calls it.

Signatures as in the installed files of 16.2.15, 18.2.7 and 20.2.4, which the type stubs repeat
and `qa/tests/integration/test_mgr_api.py` compares with what is installed. `early` is what the file
was like before NotifyType: read in a revision of mid-2021, between Pacific and Quincy.
"""

from __future__ import annotations

import threading
import types
from enum import Enum
from typing import Any, Callable, ClassVar, NamedTuple, Optional

POINT = (1.0, 42)

_Handler = Callable[..., Any]


class _NotifyType(str, Enum):
    osd_map = 'osd_map'


class _HandleCommandResult(NamedTuple):
    retval: int = 0
    stdout: str = ''
    stderr: str = ''


class _CommandResult:
    def __init__(self, tag: Optional[str] = None) -> None:
        self.ev = threading.Event()
        self.outs = self.outb = ''
        self.r = 0


class _Option(dict[str, Any]):
    """Before `level`: the default is the second parameter."""

    ORDER: ClassVar[tuple[str, ...]] = (
        'name',
        'default',
        'type',
        'desc',
        'long_desc',
        'min',
        'max',
    )

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(zip(self.ORDER, given), **named)


class _OptionWithLevel(_Option):
    ORDER = ('name', 'level', 'default', 'type', 'desc', 'long_desc', 'min', 'max')


class _MgrModule:
    """The common part of all releases."""

    module_name = 'rocksdb_tuner'
    release_name = ''
    version = ''

    def __init__(self, module_name: str, py_modules_ptr: object, this_ptr: object) -> None:
        """As a ceph-mgr calls it."""

    def get_store_prefix(self, key_prefix: str) -> dict[str, str]:
        return {}

    def get_module_option(self, key: str, default: object = None) -> object:
        return default


class _MgrStandbyModule:
    """The same in all releases."""

    def __init__(self, module_name: str, capsule: object) -> None:
        """As a ceph-mgr calls it."""


class _UnlabeledCounters(_MgrModule):
    def get_latest_counter(self, svc_type: str, svc_name: str, path: str) -> dict[str, Any]:
        return {path: POINT}

    def get_counter(self, svc_type: str, svc_name: str, path: str) -> dict[str, Any]:
        return {path: [POINT]}


class _LabelledCounters(_MgrModule):
    def get_latest_counter(
        self,
        svc_type: str,
        svc_name: str,
        counter_name: str,
        sub_counter_name: str,
        labels: list[tuple[str, str]],
    ) -> dict[str, Any]:
        raise AssertionError('labeled counters were asked for')

    def get_latest_unlabeled_counter(
        self, svc_type: str, svc_name: str, path: str
    ) -> dict[str, Any]:
        return {path: POINT}

    def get_counter(self, *_: object) -> dict[str, Any]:
        raise AssertionError('labeled counters were asked for')

    def get_unlabeled_counter(self, svc_type: str, svc_name: str, path: str) -> dict[str, Any]:
        return {path: [POINT]}


def _global_commands() -> dict[str, Any]:
    """Pacific to Squid: three decorators for all modules, one registry."""

    class CLICommand:
        COMMANDS: dict[str, CLICommand] = {}  # noqa: RUF012 - as Ceph has it

        def __init__(self, prefix: str, perm: str = 'rw', poll: bool = False) -> None:
            self.prefix, self.perm = prefix, perm

        def __call__(self, func: _Handler) -> _Handler:
            self.COMMANDS[self.prefix] = self
            self.func = func
            return func

    def read_command(prefix: str, poll: bool = False) -> CLICommand:
        return CLICommand(prefix, 'r', poll)

    def write_command(prefix: str, poll: bool = False) -> CLICommand:
        return CLICommand(prefix, 'w', poll)

    return {
        'CLICommand': CLICommand,
        'CLIReadCommand': read_command,
        'CLIWriteCommand': write_command,
    }


def _commands_of_each_module() -> dict[str, Any]:
    """Tentacle: each module makes a registry of its own."""

    class CLICommandBase:
        COMMANDS: dict[str, Any]

        def __init__(self, prefix: str, perm: str = 'rw', poll: bool = False) -> None:
            self.prefix, self.perm = prefix, perm

        def __call__(self, func: _Handler) -> _Handler:
            self.COMMANDS[self.prefix] = self
            self.func = func
            return func

        @classmethod
        def Read(cls, prefix: str, poll: bool = False) -> CLICommandBase:  # noqa: N802
            return cls(prefix, 'r', poll)

        @classmethod
        def Write(cls, prefix: str, poll: bool = False) -> CLICommandBase:  # noqa: N802
            return cls(prefix, 'w', poll)

        @classmethod
        def make_registry_subtype(cls, name: str) -> Any:
            return type(name, (cls,), {'COMMANDS': {}})

    return {'CLICommandBase': CLICommandBase}


def _shape(parts: dict[str, Any], mgr_module: type, option: type, *, notify: bool = True) -> Any:
    module = types.ModuleType('mgr_module')
    names = {
        **parts,
        'MgrModule': mgr_module,
        'MgrStandbyModule': _MgrStandbyModule,
        'Option': option,
        'HandleCommandResult': _HandleCommandResult,
        'CommandResult': _CommandResult,
        **({'NotifyType': _NotifyType} if notify else {}),
    }
    for name, value in names.items():
        setattr(module, name, value)
    return module


#: A new mgr_module at each call, by release.
SHAPES: dict[str, Callable[[], Any]] = {
    'early': lambda: _shape(_global_commands(), _UnlabeledCounters, _Option, notify=False),
    'pacific': lambda: _shape(_global_commands(), _UnlabeledCounters, _Option),
    'reef': lambda: _shape(_global_commands(), _UnlabeledCounters, _OptionWithLevel),
    'tentacle': lambda: _shape(_commands_of_each_module(), _LabelledCounters, _OptionWithLevel),
}
