"""A copy of the module for tests of rollouts: with short times, and with hooks for faults.

A soak of the real module lasts minutes. Its times are data
(`knowledge/judged_signals.json`), so a copy with other data soaks in seconds; its tolerances are
so wide that noise does not fail it. The code is that of the module,
except for `fault_injection/hooks.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .layout import CHECKOUT, QA

#: Blocks of these lengths, from reports that OSDs send every second.
SHORT_LIMITS = {
    'block_s': 2,
    'warm_up_s': 2,
    'least_blocks': 4,
    'least_writes': 1,
    'error_rate': 0.8,
}
#: The profile that the copy recommends for clients' writes in place of any other, on every release:
#: else no release but Pacific would have one to recommend in place of its default.
FAVORITE = 'variant-2022-d-lz4'
#: From this many operations per second and OSD on, the copy classifies the workload: a client that
#: verifies its reads is slower than the real threshold assumes.
CLASSIFIED_FROM_OPS_PER_S = 15.0
#: As factors: only a canary that is 20 times worse fails.
WIDE = {'tolerance': 20.0, 'detects': 400.0}


def copy_module(folder: Path) -> Path:
    """Copy the module of the checkout into a folder, which need not exist; returns the copy."""
    copy = folder / 'rocksdb_tuner'
    shutil.copytree(
        CHECKOUT / 'src/pybind/mgr/rocksdb_tuner',
        copy,
        ignore=shutil.ignore_patterns('tests', '__pycache__'),
    )
    return copy


@contextmanager
def held(module: Path, command: str) -> Iterator[None]:
    """A copy of the module, made by `copy_module_with_hold`, waits before this command to OSDs."""
    file = module / 'held'
    file.write_text(command)
    try:
        yield
    finally:
        file.unlink()


def copy_module_with_hold(folder: Path) -> Path:
    copy = copy_module(folder)
    shutil.copy(QA / 'fault_injection/held.py', copy / 'held.py')
    with (copy / '__init__.py').open('a') as file:
        file.write('\nfrom . import held\n')
    return copy


class FaultInjection:
    """The copy in `folder`, and what its hooks do now."""

    def __init__(self, folder: Path) -> None:
        self.module = copy_module(folder)
        shutil.copy(QA / 'fault_injection/hooks.py', self.module / 'fault_injection.py')
        with (self.module / '__init__.py').open('a') as file:
            file.write('\nfrom . import fault_injection\n')
        self._shorten(self.module / 'knowledge/judged_signals.json')
        self._classify_slow_clients(self.module / 'knowledge/workload.json')
        self._settings: dict[str, object] = {}
        self.reset()

    def reset(self) -> None:
        """No fault."""
        self._settings = {
            'unchecked_options': None,
            'hold_removals': False,
            'favorite': None,
            'batch_soak_s': 0.0,
        }
        self._write()

    def _set(self, name: str, value: object) -> None:
        self._settings[name] = value
        self._write()

    def set_favorite(self, *, recommended: bool) -> None:
        """Recommend the favorite for clients' writes, or else nothing but the release's default."""
        self._set('favorite', FAVORITE if recommended else None)

    def soak_batches(self, seconds: float) -> None:
        """Each batch after the canary soaks for at most so long in rollouts that begin now."""
        self._set('batch_soak_s', seconds)

    def set_unchecked_options(self, options: str) -> None:
        """Rollouts started from now on set these options, whatever the checks report."""
        self._set('unchecked_options', options)

    def hold_removals(self, *, hold: bool) -> None:
        """The monitors do not answer that an entry of the config store was removed, or do again."""
        self._set('hold_removals', hold)

    def _write(self) -> None:
        path = self.module / 'fault_injection.json'
        new = path.with_suffix('.new')
        new.write_text(json.dumps(self._settings))
        new.replace(path)

    @staticmethod
    def _shorten(path: Path) -> None:
        knowledge = json.loads(path.read_text())
        for name, value in SHORT_LIMITS.items():
            knowledge['limits'][name]['value'] = value
        for signal in knowledge['judged_signals']:
            signal.update(WIDE)
        path.write_text(json.dumps(knowledge))

    @staticmethod
    def _classify_slow_clients(path: Path) -> None:
        knowledge = json.loads(path.read_text())
        knowledge['thresholds']['full_confidence_ops_per_s']['value'] = CLASSIFIED_FROM_OPS_PER_S
        path.write_text(json.dumps(knowledge))
