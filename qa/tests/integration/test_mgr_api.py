"""The type stubs that the module is checked against agree with the installed mgr_module.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from harness import Progress, chroot_build
from harness.releases import Release, get_release
from module_client import CHECKOUT

pytestmark = [pytest.mark.integration, pytest.mark.mgr_api]

STUBS = CHECKOUT / 'src/stubs'
SHAPES = {'pacific': 'pacific_to_squid', 'reef': 'pacific_to_squid', 'tentacle': 'tentacle'}

Signatures = dict[str, dict[str, list[str]]]


def _modules(release: Release) -> Path:
    """Where the release's own mgr modules are installed."""
    path = Path(release.mgr_modules)
    if not release.in_chroot:
        return path
    return chroot_build.ensure(release, Progress()) / path.relative_to('/')


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


def test_what_the_module_calls_is_there_with_these_parameters(release: str) -> None:
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


def test_only_the_shape_of_its_release_has_its_decorators(release: str) -> None:
    real = _signatures(_modules(get_release(release)) / 'mgr_module.py')
    own_registries = release == 'tentacle'
    assert ('CLICommandBase' in real) is own_registries
    assert ('CLIReadCommand' in real['']) is not own_registries
    assert ('get_latest_unlabeled_counter' in real['MgrModule']) is own_registries
