"""Input files: a folder, or a document written by `report`."""

from __future__ import annotations

from pathlib import Path

from ..collection.names import parse_name
from ..collection.read import MAX_BYTES, Problem, SourceFile, UnreadableError, unpack


def sources(path: Path) -> tuple[SourceFile, ...]:
    """Raises UnreadableError with one problem per unreadable file."""
    if path.is_dir():
        return _of_folder(path)
    return unpack(path.name, _content(path))


def _of_folder(folder: Path) -> tuple[SourceFile, ...]:
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise UnreadableError((Problem(str(folder), _reason(error)),)) from None
    found: list[SourceFile] = []
    problems: list[Problem] = []
    for path in paths:
        if parse_name(path.name) is None:
            found.append(SourceFile(path.name, b''))
            continue
        try:
            found.append(SourceFile(path.name, _content(path), path.stat().st_mtime))
        except UnreadableError as error:
            problems += error.problems
    if problems:
        raise UnreadableError(tuple(problems))
    if not paths:
        raise UnreadableError((Problem(str(folder), 'is empty'),))
    return tuple(found)


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise UnreadableError((Problem(path.name, 'is not a file'),))
        with path.open('rb') as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        name = path.name if path.parent.is_dir() and path.exists() else str(path)
        raise UnreadableError((Problem(name, _reason(error)),)) from None
    if len(content) > MAX_BYTES:
        raise UnreadableError((Problem(path.name, 'is larger than any output of Ceph'),))
    return content


def _reason(error: OSError) -> str:
    return f'cannot be read: {error.strerror or error}'
