"""Each difference between the releases' mgr API is met; without its handling a test here fails.

The shapes are those of the installed mgr_module.py of 16.2.15, 18.2.7 and 20.2.4; that the real
files still have them is tested where Ceph is installed.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any, Callable

import pytest

from rocksdb_tuner.mgr import releases as source
from rocksdb_tuner.observe.counters import names_for

POINT = (1.0, 42)


def _global_commands() -> types.ModuleType:
    """Pacific to Squid: three decorators for all modules, one registry."""
    module = types.ModuleType('mgr_module')
    registered: dict[str, str] = {}

    class CLICommand:
        def __init__(self, prefix: str, perm: str = 'rw', poll: bool = False) -> None:
            self.prefix, self.perm = prefix, perm

        def __call__(self, handler: Callable[..., Any]) -> Callable[..., Any]:
            registered[self.prefix] = self.perm
            return handler

    class MgrModule:
        def get_latest_counter(self, svc_type: str, svc_name: str, path: str) -> dict[str, Any]:
            return {path: POINT}

    module.CLICommand = CLICommand  # type: ignore[attr-defined]
    module.CLIReadCommand = lambda prefix, poll=False: CLICommand(prefix, 'r', poll)  # type: ignore[attr-defined]
    module.CLIWriteCommand = lambda prefix, poll=False: CLICommand(prefix, 'w', poll)  # type: ignore[attr-defined]
    module.MgrModule = MgrModule  # type: ignore[attr-defined]
    module.registered = registered  # type: ignore[attr-defined]
    return module


def _command_per_module() -> types.ModuleType:
    """Tentacle: the decorators are made by each module, and counters have labels."""
    module = types.ModuleType('mgr_module')
    registered: dict[str, str] = {}

    class CLICommandBase:
        perm = 'rw'

        def __init__(self, prefix: str) -> None:
            self.prefix = prefix

        def __call__(self, handler: Callable[..., Any]) -> Callable[..., Any]:
            registered[self.prefix] = self.perm
            return handler

        @classmethod
        def make_registry_subtype(cls, name: str) -> type:
            registry = type(name, (cls,), {})
            registry.Read = type('Read', (registry,), {'perm': 'r'})  # type: ignore[attr-defined]
            registry.Write = type('Write', (registry,), {'perm': 'w'})  # type: ignore[attr-defined]
            return registry

    class MgrModule:
        def get_latest_counter(
            self, svc_type: str, svc_name: str, counter: str, sub_counter: str, labels: object
        ) -> dict[str, Any]:
            raise AssertionError('labelled counters were asked for')

        def get_latest_unlabeled_counter(
            self, svc_type: str, svc_name: str, path: str
        ) -> dict[str, Any]:
            return {path: POINT}

    module.CLICommandBase = CLICommandBase  # type: ignore[attr-defined]
    module.MgrModule = MgrModule  # type: ignore[attr-defined]
    module.registered = registered  # type: ignore[attr-defined]
    return module


SHAPES = {
    'pacific': _global_commands,
    'reef': _global_commands,
    'tentacle': _command_per_module,
}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """(mgr_module of a release, releases.py as loaded beside it)."""
    mgr_module = SHAPES[request.param]()
    monkeypatch.setitem(sys.modules, 'mgr_module', mgr_module)
    spec = importlib.util.spec_from_file_location('releases_under_test', source.__file__)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return mgr_module, loaded


def test_commands_are_registered_with_their_permission(shape: tuple[Any, Any]) -> None:
    mgr_module, releases = shape

    @releases.CLIReadCommand('x read')  # type: ignore[untyped-decorator]
    def reads() -> str:
        return 'read'

    @releases.CLIWriteCommand('x write')  # type: ignore[untyped-decorator]
    def writes() -> str:
        return 'written'

    assert mgr_module.registered == {'x read': 'r', 'x write': 'w'}
    assert (reads(), writes()) == ('read', 'written')
    # Tentacle finds a module's commands by this attribute of its class.
    assert isinstance(releases.CLICommand, type)


def test_the_newest_point_of_a_counter_without_labels_is_read(shape: tuple[Any, Any]) -> None:
    mgr_module, releases = shape
    read = releases.latest_counter_reader(mgr_module.MgrModule())
    assert read('osd', '0', 'osd.op_w') == {'osd.op_w': POINT}


@pytest.mark.parametrize(
    ('release', 'name'),
    [
        ('pacific', 'bluestore.commit_lat'),
        ('quincy', 'bluestore.commit_lat'),
        ('reef', 'bluestore.txc_commit_lat'),
        ('squid', 'bluestore.txc_commit_lat'),
        ('tentacle', 'bluestore.txc_commit_lat'),
        ('a later one', 'bluestore.txc_commit_lat'),
        (None, 'bluestore.txc_commit_lat'),
    ],
)
def test_a_renamed_counter_is_read_by_its_name_in_the_osds_release(
    release: str | None, name: str
) -> None:
    assert names_for(release).commit == name
