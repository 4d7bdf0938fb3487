"""OSDs whose writes to the disk are made slower, or faster, while they run: see slow_sync.c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from . import preload
from .errors import HarnessError
from .host import Host

#: As ``least_ms``: syncs return at once, as those of a disk with power-loss protection.
FREE_MS = -1.0
SOURCE = Path(__file__).with_suffix('.c')


def _folder(directory: Path) -> Path:
    return directory / 'slow-sync'


def library(directory: Path) -> Path:
    """The libraries preloaded by the OSDs of the cluster in this folder."""
    return _folder(directory) / 'slow_sync.so'


def build(host: Host, directory: Path) -> None:
    """Make the library, which any release's OSDs can load."""
    _folder(directory).mkdir()
    preload.build(host, SOURCE, library(directory))


def argv(directory: Path, osd: str, command: Sequence[str]) -> list[str]:
    """The command that starts an OSD ("osd.2"), with the library."""
    return [
        'env',
        f'LD_PRELOAD={library(directory)}',
        f'QA_SLOW_SYNC={_folder(directory) / osd}',
        *command,
    ]


def slow_down(directory: Path, percent_by_osd: Mapping[int, float], least_ms: float = 0.0) -> None:
    """From now on these OSDs are slower by so much, and no others.

    ``least_ms`` is what each sync of theirs takes at least, or `FREE_MS`.
    """
    folder = _folder(directory)
    if not library(directory).exists():
        raise HarnessError(f'the OSDs of {directory} cannot be slowed down: made without slow_sync')
    for old in folder.glob('osd.*'):
        if int(old.suffix[1:]) not in percent_by_osd:
            old.unlink()
    for osd, percent in percent_by_osd.items():
        new = folder / f'new.{osd}'
        new.write_text(f'{percent:g} {least_ms:g}\n' if least_ms else f'{percent:g}\n')
        new.replace(folder / f'osd.{osd}')
