"""Running a release's programs in a chroot, with nothing mounted that could be left over.

Each command gets a mount namespace of its own, in which the chroot is completed by /proc, /sys,
/dev and the folders that it shares with the machine. The kernel takes the mounts away with the
last process of the namespace, whatever ended it; seen from the machine there never were any, so
removing a chroot cannot reach through a mount.

The shared folders have the same path on both sides. So has everything of a cluster, and no path
needs to be translated.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from .host import PATH, Host

#: The mount point of the machine's own root in a chroot, if mounted.
MACHINE = Path('/opt/ceph-qa/machine')
#: The folders that every chroot shares: kernel file systems, and scratch space.
_ALWAYS = (Path('/proc'), Path('/sys'), Path('/dev'), Path('/tmp'))


class ChrootHost(Host):
    """Runs commands in the chroot at `root`, which sees the `shared` folders of the machine.

    `with_machine`: from it a program can go back to the machine's own root, by chroot to MACHINE.
    """

    def __init__(
        self,
        root: Path,
        shared: Sequence[Path] = (),
        *,
        with_machine: bool = False,
        mark: str | None = None,
    ) -> None:
        super().__init__(mark)
        self._root = root
        self._with_machine = with_machine
        self._shared = _outermost((*_ALWAYS, *(path.resolve() for path in shared)))

    @property
    def root(self) -> Path:
        """The root folder of the chroot's processes."""
        return self._root

    def outside(self, inside: Path) -> Path:
        """The path of the chroot's `inside` for the harness."""
        if self._shares(inside):
            return inside
        return self._root / inside.relative_to('/')

    def _shares(self, path: Path) -> bool:
        return any(path.is_relative_to(shared) for shared in self._shared)

    def has_program(self, name: str) -> bool:
        """Whether the chroot can run a program of this name or path."""
        if '/' in name:
            here = Path.cwd()
            places = [str((here if self._shares(here) else Path('/')) / name)]
        else:
            places = [f'{folder}/{name}' for folder in PATH.split(':')]
        # Links of a chroot may be absolute: only in it do they lead anywhere
        return any(os.path.lexists(self.outside(Path(place))) for place in places)

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` in the chroot, as the very process it starts."""
        steps = ['set -e']
        for path in self._shared:
            target = shlex.quote(f'{self._root}{path}')
            steps.append(f'mkdir -p {target}; mount --rbind {shlex.quote(str(path))} {target}')
        if self._with_machine:
            target = shlex.quote(f'{self._root}{MACHINE}')
            steps.append(f'mkdir -p {target}; mount --rbind / {target}')
        steps.append(f'exec chroot {shlex.quote(str(self._root))} "$@"')
        # slave: what the machine mounts later is seen, and nothing goes the other way
        unshare = ['unshare', '--mount', '--propagation', 'slave']
        return [*unshare, '/bin/sh', '-c', '\n'.join(steps), 'chroot', *argv]

    def command_here(self, argv: Sequence[str]) -> list[str]:
        """As `command`, in the caller's working folder if the chroot shares that, else in /."""
        here = Path.cwd()
        if not self._shares(here):
            return self.command(argv)
        return self.command(['/bin/sh', '-c', 'cd "$0" && exec "$@"', str(here), *argv])

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """As of the machine, less the home of its user."""
        return {**super().environment(extra), 'HOME': '/root'}


def _outermost(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The paths without those that lie in another one of them."""
    distinct = list(dict.fromkeys(paths))
    return tuple(
        path
        for path in distinct
        if not any(other != path and path.is_relative_to(other) for other in distinct)
    )
