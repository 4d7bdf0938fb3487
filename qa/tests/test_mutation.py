"""The mutation bench: which faults it makes, and which tests detect them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Optional

import mutation_run
import pytest
from mutants import mutants_of

#: Outcome and killer by what a line was and what the mutant made of it.
Reported = dict[tuple[str, str], tuple[str, Optional[str]]]
BENCH = Path(__file__).parents[1] / 'bench'

TOY = '''\
"""A module."""

from __future__ import annotations

from functools import lru_cache

LIMIT = 3


class Kept:
    pass


kept = lru_cache(maxsize=1)(Kept)


@lru_cache(maxsize=1)
def factor() -> int:
    return 2


def larger(a: int, b: int) -> bool:
    return a > b


def doubled(values: list[int], only: bool = False) -> list[int]:
    """A text with 1 number."""
    found = []
    for value in values:
        if only and value < LIMIT:
            continue
        found.append(value * factor())
    return found


def countdown(n: int) -> int:
    while n > 0:
        n -= 1
    return n


def nobody_asks() -> int:
    return 7
'''

TESTS = """\
from toy.part import module


def test_larger() -> None:
    assert module.larger(2, 1)
    assert not module.larger(1, 2)


def test_doubled() -> None:
    assert module.doubled([1, 3, 5]) == [2, 6, 10]
    assert module.doubled([1, 3, 5], only=True) == [6, 10]


def test_countdown() -> None:
    assert module.countdown(3) == 0
"""

RUN = """\
import json, sys
from pathlib import Path

sys.path[:0] = sys.argv[1:3]
import mutation_run
from mutants import mutants_of
from mutation_run import Patience, Tests

root = Path(sys.argv[2]) / 'toy'
mutation_run.prepare()
path = 'part/module.py'
import os

kept = root / 'kept.json'
if os.fork() == 0:
    mutation_run.inspect_tests(
        root, [path], {'toy/tests/test_module.py': kept}, Patience(5.0, 60.0)
    )
    os._exit(0)
os.wait()
tests = Tests.from_json(json.loads(kept.read_text()))
source = (root / path).read_bytes()
told = [
    (mutant.function, *mutant.change(source), outcome.outcome, outcome.killer)
    for mutant, outcome in mutation_run.run(root, mutants_of(path, source), tests, 4.0, 2)
]
Path(sys.argv[3]).write_text(json.dumps(told))
"""


@pytest.fixture(scope='module')
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    folder = tmp_path_factory.mktemp('mutation')
    for name, text in (
        ('toy/__init__.py', ''),
        ('toy/part/__init__.py', ''),
        ('toy/part/module.py', TOY),
        ('toy/tests/test_module.py', TESTS),
        ('pytest.ini', '[pytest]\nmarkers =\n  integration: x\n  faults: x\n  mgr_api: x\n'),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    found = folder / 'told.json'
    run = subprocess.run(
        [sys.executable, '-c', RUN, str(BENCH), str(folder), str(found)],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.exists(), run.stdout + run.stderr
    rows = json.loads(found.read_text())
    return {(was, now): (outcome, killer) for _, was, now, outcome, killer in rows}


def test_detected_mutant_is_killed_by_the_detecting_test(
    reported: Reported,
) -> None:
    assert reported['return a > b', 'return (a <= b)'] == (
        'killed',
        'toy/tests/test_module.py::test_larger',
    )
    assert reported['continue', 'pass'][0] == 'killed'
    multiplied = 'found.append(value * factor())'
    assert reported[multiplied, 'found.append((value / factor()))'][0] == 'killed'
    assert reported[multiplied, 'pass'][0] == 'killed'


def test_surviving_and_unreached_mutants_are_distinguished(
    reported: Reported,
) -> None:
    assert reported['return a > b', 'return (a >= b)'] == ('survived', None)
    assert reported['return 7', 'return 8'] == ('unreached', None)


def test_import_time_code_is_mutated_before_the_import(
    reported: Reported,
) -> None:
    assert reported['LIMIT = 3', 'LIMIT = 4'][0] == 'killed'
    default = 'def doubled(values: list[int], only: bool = False) -> list[int]:'
    assert reported[default, default.replace('False', 'True')][0] == 'killed'


def test_stale_cached_result_hides_no_mutant(
    reported: Reported,
) -> None:
    assert reported['return 2', 'return 3'][0] == 'killed'


def test_cache_depends_on_direct_and_transitive_imports(tmp_path: Path) -> None:
    """Modules that are only in the same package are not used; imports in functions count."""
    root = tmp_path / 'toy'
    for name, text in (
        ('__init__.py', 'from .module import it'),
        ('a/__init__.py', ''),
        ('a/one.py', 'X = 1'),
        ('a/two.py', 'from .one import X'),
        ('a/three.py', 'def f():\n    from ..a import two'),
        ('b/four.py', 'import toy.a.three'),
        ('b/five.py', 'from ..a.other import Y\nimport json'),
        ('b/six.py', 'from toy import b'),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert mutation_run.reached_from(root, 'a/one.py') == {
        'a/one.py',
        'a/two.py',
        'a/three.py',
        'b/four.py',
    }
    assert mutation_run.reached_from(root, 'b/five.py') == {'b/five.py'}
    assert mutation_run.reached_from(root, '__init__.py') == {'__init__.py', 'b/six.py'}


def test_infinite_loop_is_detected_by_its_time(
    reported: Reported,
) -> None:
    assert reported['n -= 1', 'pass'] == ('timeout', None)


def changes(text: str) -> set[tuple[str, str, str]]:
    source = text.encode()
    return {(m.operator, *m.change(source)) for m in mutants_of('a/b.py', source)}


def test_own_tests_of_a_file_run_first_and_then_the_quick_ones_of_others() -> None:
    (mutant,) = mutants_of('part/module.py', b'LIMIT = 3\n')
    assert mutant.block is None
    block = (1, 0)
    seconds = {
        'tests/part/test_module.py::slow': 1.5,
        'tests/part/test_module.py::quick': 0.5,
        'tests/part/test_module_2.py::slowest': 3.0,
        'tests/part/test_other.py::quick': 0.1,
        'tests/part/test_other.py::slow': 1.0,
        'tests/part/test_other.py::slower': 2.0,
    }
    tests = mutation_run.Tests(seconds, {'part/module.py': {block: tuple(seconds)}}, {})
    names = [name.rpartition('/')[2] for name in tests.of(mutant, 4.0)]
    assert names == [
        'test_module.py::quick',
        'test_module.py::slow',
        'test_other.py::quick',
        'test_other.py::slow',
    ]
    # At least one is run, preferably from its own file.
    assert tests.of(mutant, 0.2) == ('tests/part/test_module.py::quick',)
    others = mutation_run.Tests(
        seconds, {'part/module.py': {block: ('tests/part/test_other.py::slow',)}}, {}
    )
    assert others.of(mutant, 0.2) == ('tests/part/test_other.py::slow',)


def test_each_kind_of_fault_is_made() -> None:
    found = changes(
        'def f(a, b, *, c=None):\n'
        '    if a and not b:\n'
        '        raise ValueError(a)\n'
        '    x = replace(a, b=1.5, c=-c)\n'
        '    x.y = min(a, key=b) if c else max(b)\n'
        '    return [n for n in sorted(x) if n is None]\n'
    )
    for expected in (
        ('condition', 'if a and not b:', 'if True:'),
        ('condition', 'if a and not b:', 'if False:'),
        ('operand', 'if a and not b:', 'if (not b):'),
        ('operand', 'if a and not b:', 'if a:'),
        ('sign', 'if a and not b:', 'if a and b:'),
        ('statement', 'raise ValueError(a)', 'pass'),
        ('argument', 'x = replace(a, b=1.5, c=-c)', 'x = replace(a, c=-c)'),
        ('constant', 'x = replace(a, b=1.5, c=-c)', 'x = replace(a, b=3.0, c=-c)'),
        ('sign', 'x = replace(a, b=1.5, c=-c)', 'x = replace(a, b=1.5, c=c)'),
        ('statement', 'x.y = min(a, key=b) if c else max(b)', 'pass'),
        ('call', 'x.y = min(a, key=b) if c else max(b)', 'x.y = max(a, key=b) if c else max(b)'),
        ('argument', 'x.y = min(a, key=b) if c else max(b)', 'x.y = min(a) if c else max(b)'),
        (
            'condition',
            'return [n for n in sorted(x) if n is None]',
            'return [n for n in sorted(x) if True]',
        ),
        (
            'call',
            'return [n for n in sorted(x) if n is None]',
            'return [n for n in list(x) if n is None]',
        ),
    ):
        assert expected in found


def test_texts_annotations_and_imports_are_left_alone() -> None:
    assert not changes(
        '"""A module of 3."""\n'
        'from a import b\n'
        'X: Literal[1]\n'
        'def f(a: Tuple[int, 1] = "x") -> Foo[2]:\n'
        '    """Of 4."""\n'
        '    return f"{a + 1} of 5" + "x"\n'
    )


def test_mutant_keeps_its_name_unless_its_function_changes() -> None:
    def names(text: str) -> set[str]:
        source = text.encode()
        return {m.identity(source) for m in mutants_of('a/b.py', source)}

    plain = 'def f(a):\n    return a + 1\n'
    assert len(names(plain)) == 2
    assert names('import x\n\n\n' + plain) == names(plain)
    assert not names(plain.replace('return', 'x = 1\n    return')) & names(plain)
