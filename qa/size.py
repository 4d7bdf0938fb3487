"""Statements of each package of the module, of its tests and of qa: they may only become fewer.

python3 qa/size.py             compare with the record, qa/size.json; fails where there are more
python3 qa/size.py --lower     write what there is now where it is less (make size)

Nothing raises a record: where code moves from one package to another, edit the file, and say why
in the commit message. Python's own parser counts, without imports and docstrings, so neither line
breaks nor comments change a number.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / 'qa/size.json'
MODULE = 'src/pybind/mgr/rocksdb_tuner'
_BLOCKS = ('body', 'orelse', 'finalbody', 'handlers', 'cases')


def statements(source: str) -> int:
    return sum(map(_counted, ast.walk(ast.parse(source))))


def _counted(node: ast.AST) -> int:
    """The statements directly in the blocks of ``node``."""
    return sum(
        isinstance(child, ast.stmt)
        and not isinstance(child, (ast.Import, ast.ImportFrom))
        and not (block == 'body' and i == 0 and _is_constant(child))
        for block in _BLOCKS
        for i, child in enumerate(_children(node, block))
    )


def _children(node: ast.AST, block: str) -> list[ast.AST]:
    children = getattr(node, block, None)
    # The body of a lambda is an expression.
    return children if isinstance(children, list) else []


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def package(path: Path) -> str:
    """'advise/conditions' or 'top' for a file of the module, else 'tests' or 'qa'."""
    if not path.is_relative_to(MODULE):
        return 'qa'
    parts = path.relative_to(MODULE).parts[:-1]
    return 'tests' if 'tests' in parts else '/'.join(parts[:2]) or 'top'


def measured(root: Path = ROOT) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for folder in (root / MODULE, root / 'qa'):
        for path in folder.rglob('*.py'):
            inside = path.relative_to(root)
            if not any(part.startswith('.') for part in inside.parts):
                found[package(inside)] += statements(path.read_text(encoding='utf-8'))
    return dict(sorted(found.items()))


def compared(record: Mapping[str, int], now: Mapping[str, int]) -> Iterator[tuple[bool, str]]:
    """Whether it fails, and a line, for each package whose statements are not as recorded."""
    for name, count in now.items():
        most = record.get(name, 0)
        if count > most:
            yield True, f'{name}: {count} statements, {count - most} more than in qa/size.json'
        elif count < most:
            yield False, f'{name}: {count} statements, {most - count} fewer than in qa/size.json'


def lowered(record: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    return {name: min(most, now[name]) for name, most in sorted(record.items()) if name in now}


def main() -> int:
    record, now = json.loads(RECORD.read_text(encoding='utf-8')), measured()
    lines = list(compared(record, now))
    for fails, line in lines:
        print(f'{"FAILED " if fails else ""}{line}')
    if '--lower' in sys.argv:
        RECORD.write_text(json.dumps(lowered(record, now), indent=4) + '\n', encoding='utf-8')
    elif any(not fails for fails, _ in lines):
        print('"make size" lowers the record')
    return int(any(fails for fails, _ in lines))


if __name__ == '__main__':
    sys.exit(main())
