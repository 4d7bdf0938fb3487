"""A folder that passes for a source tree of Ceph where patches are applied to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from upstream.overlay import PATCHES, VERSION


def before_of(patch: str) -> Mapping[str, str]:
    """Files to which a patch applies: its context and what it removes, at the right lines.

    A hunk with fewer than three lines of context after it is one for the end of a file.
    """
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    added = 0
    ends: set[int] = set()
    for line in patch.splitlines():
        if line.startswith('--- a/'):
            lines = files[line.removeprefix('--- a/')] = []
        elif line.startswith('@@'):
            begin = int(line.split()[1].removeprefix('-').split(',')[0])
            lines += [f'line {n}' for n in range(len(lines) + 1, begin)]
        elif line.startswith((' ', '-')) and not line.startswith('---'):
            lines.append(line[1:])
            if line.startswith(' ') and added == 0:
                ends.discard(id(lines))
            added = max(0, added - 1)
        elif line.startswith('+') and not line.startswith('+++'):
            ends.add(id(lines))
            added = 2
    return {
        name: '\n'.join([*found, *([] if id(found) in ends else ['end']), ''])
        for name, found in files.items()
    }


def write_before(made: Path, patch: Path) -> None:
    """Write the files to which a patch applies."""
    for name, text in before_of(patch.read_text(encoding='utf-8')).items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')


def made_tree(made: Path) -> Path:
    """What the overlay and the series look at of a source tree of Ceph."""
    for patch in PATCHES.glob('*.patch'):
        write_before(made, patch)
    (made / 'CMakeLists.txt').write_text(f'project(ceph\n  VERSION {VERSION}\n', encoding='utf-8')
    for name in ('src/pybind/mgr/mgr_module.py', 'qa/tasks/mgr/mgr_test_case.py'):
        (made / name).touch()
    return made
