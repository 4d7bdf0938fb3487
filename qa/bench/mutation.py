#!/usr/bin/env python3
"""How many faults made in the source, one at a time, do the unit tests notice?

    mutation.py [--packages options,operations] [--shard 1/4] [--sample N] [--seed S]
    mutation.py --seconds 90 --least 50    a few minutes' worth; fails below a share

Decisions in functions are mutated: comparisons, conditions, arithmetic, numbers, what a record is
given, calls for their effect. Texts are not: a test that repeats them proves nothing. Tests are
collected once for each package; each test, and then each mutant, lives in a process forked from
there. Time is that of the CPU: a busy machine kills no mutant. Equivalent mutants are listed in
`mutation_equivalent.json`, each with its reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import functools
import gc
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Optional

import hypothesis
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
ROOT = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner'
EQUIVALENT = CHECKOUT / 'qa/bench/mutation_equivalent.json'
RESULT = CHECKOUT / 'qa/bench/results/mutation.json'
#: The packages whose tests are run: its own, and these.
PACKAGES: Mapping[str, Sequence[str]] = {
    'options': ('options',),
    'judge': ('judge',),
    'plan': ('plan',),
    'operations': ('operations',),
    'workload': ('workload',),
    'advise': ('advise',),
    'collection': ('collection', 'offline'),
}
#: Files of a package in a sample of seconds, and of tests where none is nearer than others.
FILES_OF_A_SAMPLE, TESTS_OF_A_SAMPLE = 2, 3
#: So many times as long as it takes without a mutant, and this much more, may a test take.
TIMES_AS_LONG, S_MORE = 10.0, 2.0
#: By the clock, in case that it waits for something that never comes.
WALL_S_MAX = 600
MEMORY_MAX = 6 << 30
#: A function of a file, by its qualified name.
Function = tuple[str, str]

_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLS = {'min': 'max', 'max': 'min', 'any': 'all', 'all': 'any', 'sorted': 'list'}
#: Arguments that change what a call decides, and whose loss is no TypeError.
_ARGUMENTS = frozenset({'key', 'reverse', 'default'})
_BOUNDARIES = ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})
_EFFECTS = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
_NOT_MUTATED = (ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutant:
    """``text`` in place of the bytes from ``start`` to ``end``."""

    path: str
    #: The qualified name of the outermost function around it.
    function: str
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def change(self, source: bytes) -> tuple[str, str]:
        """The lines that it changes, before and after."""
        first = source.rfind(b'\n', 0, self.start) + 1
        last = source.find(b'\n', self.end)
        head, tail = source[first : self.start], source[self.end : last]
        texts = (source[self.start : self.end], self.text.encode())
        was, now = (' '.join((head + text + tail).decode().split()) for text in texts)
        return was, now

    def diff(self, source: bytes) -> str:
        before, after = (s.decode().splitlines(True) for s in (source, self.applied(source)))
        return ''.join(difflib.unified_diff(before, after, self.path, self.path, n=2))


def mutants_of(path: str, source: bytes) -> Iterator[Mutant]:
    """Of the functions of a file; what runs while it is loaded is not mutated."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, function in _functions_in(ast.parse(source)):
        for node, text in _faults(function):
            yield Mutant(
                path,
                name,
                starts[node.lineno - 1] + node.col_offset,
                starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
                text,
            )


def _functions_in(tree: ast.AST, inside: str = '') -> Iterator[tuple[str, ast.FunctionDef]]:
    """The outermost ones, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions_in(node, f'{inside}{node.name}.')
        elif isinstance(node, ast.FunctionDef):
            yield inside + node.name, node


def _faults(function: ast.FunctionDef) -> Iterator[tuple[Any, str]]:
    """What to replace, and with what."""
    nodes = [node for statement in function.body for node in _mutated(statement)]
    tests: dict[int, bool] = {}
    for node in nodes:
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            tests[id(node.test)] = not isinstance(node, ast.While)
            yield node.test, 'False'
            if not isinstance(node, ast.While):
                yield node.test, 'True'
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                tests[id(test)] = True
                yield test, 'True'
    for node in nodes:
        if isinstance(node, ast.stmt):
            if _has_effect(node):
                yield node, 'pass'
            continue
        for made in _instead_of(node, id(node) in tests):
            simple = isinstance(made, (ast.Constant, ast.Name, ast.Call))
            yield node, ast.unparse(made) if simple else f'({ast.unparse(made)})'


def _mutated(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, _NOT_MUTATED):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in {'annotation', 'returns'}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _mutated(child)


def _has_effect(node: ast.stmt) -> bool:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign) and node.value
        else []
    )
    stored = any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in targets)
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return stored or called or isinstance(node, _EFFECTS)


def _copied(node: ast.AST, **fields: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _instead_of(node: ast.AST, tested: bool) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        yield from _other_comparisons(node, tested)
    elif isinstance(node, ast.BoolOp):
        for i in range(len(node.values)):
            rest = [*node.values[:i], *node.values[i + 1 :]]
            yield rest[0] if len(rest) == 1 else _copied(node, values=rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        if not any(_is_text(side) for side in (node.left, node.right)):
            yield _copied(node, op=_ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.Constant):
        yield from _other_constant(node.value)
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


def _other_comparisons(node: ast.Compare, tested: bool) -> Iterator[ast.AST]:
    for i, op in enumerate(node.ops):
        for other in _COMPARISONS[type(op)]:
            # Turned round, a condition is both of its own mutants at once
            if not tested or {other, type(op)} in _BOUNDARIES:
                yield _copied(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _other_constant(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value * 2 if value else 1.0)


def _is_text(node: ast.expr) -> bool:
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return constant or isinstance(node, ast.JoinedStr)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.id if isinstance(node.func, ast.Name) else ''
    if node.args and name in _CALLS:
        keywords = [] if name == 'sorted' else node.keywords
        yield _copied(node, func=ast.Name(_CALLS[name]), keywords=keywords)
    elif node.args and name == 'abs':
        yield node.args[0]
    for i, keyword in enumerate(node.keywords):
        if keyword.arg in _ARGUMENTS or (name == 'replace' and keyword.arg):
            yield _copied(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])


def forked(work: Callable[[], str], cpu_s: float = 0.0) -> tuple[Optional[str], float]:
    """What ``work`` answers in a process of its own, and the time it took; None: it was killed."""
    inside, outside = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if cpu_s:
                signal.setitimer(signal.ITIMER_PROF, cpu_s)
                signal.alarm(WALL_S_MAX)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
            with os.fdopen(outside, 'w') as answer:
                answer.write(work())
        finally:
            os._exit(0)
    os.close(outside)
    with os.fdopen(inside) as heard:
        text = heard.read()
    _, status, used = os.wait4(pid, 0)
    return None if os.WIFSIGNALED(status) else text, used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Order:
    """What to run in one package."""

    package: str
    tests: Sequence[str]
    mutants: Sequence[Mutant]
    #: Tests that take longer are left out, and after so many seconds a mutant has survived.
    test_s: float
    mutant_s: float
    #: Of all mutants together; half of it may go to the tests without a mutant, in random order.
    most_s: float = float('inf')


# pluggy keeps plugins in sets where folders have a conftest of their own
@dataclass(eq=False)
class Session:
    """A plugin of pytest that runs each test for itself, and then some on each mutant."""

    order: Order
    outcomes: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0
    failed: bool = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.items or session.testsfailed:
            sys.exit(f'{self.order.package}: the tests cannot be collected')
        # What is frozen is not found any more
        functions, _ = _functions_loaded(), _caches()
        gc.freeze()
        seconds: dict[str, float] = {}
        reached: dict[Function, set[str]] = {}
        items = {item.nodeid: item for item in session.items}
        random.Random(0).shuffle(session.items)
        used_s = 0.0
        for item in session.items:
            if used_s > self.order.most_s / 2:
                break
            name = item.nodeid
            answer, took_s = forked(functools.partial(self._reached, item), self.order.test_s)
            used_s += took_s
            if answer == '':
                print(f'not used, as it fails without a mutant: {name}')
            elif answer is not None:
                seconds[name] = took_s
                for path, function in json.loads(answer):
                    reached.setdefault((path, function), set()).add(name)
        for mutant in self.order.mutants:
            if self.cpu_s >= self.order.most_s - used_s:
                break
            own = reached.get((mutant.path, mutant.function), set())
            chosen = _chosen(mutant, {name: seconds[name] for name in own}, self.order.mutant_s)
            limits = [(items[name], seconds[name]) for name in chosen]
            self._try(mutant, limits, functions)
        return True

    def _run(self, item: pytest.Item) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def _reached(self, item: pytest.Item) -> str:
        """The functions that a test runs; nothing if it fails."""
        codes: set[CodeType] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == 'call':
                codes.add(frame.f_code)

        _clear_caches()
        sys.setprofile(note)
        self._run(item)
        sys.setprofile(None)
        return '' if self.failed else json.dumps([f for code in codes if (f := _function(code))])

    def _try(
        self,
        mutant: Mutant,
        tests: Sequence[tuple[pytest.Item, float]],
        functions: Mapping[Function, Sequence[FunctionType]],
    ) -> None:
        source = (ROOT / mutant.path).read_bytes()

        def work() -> str:
            code = compile(mutant.applied(source), str(ROOT / mutant.path), 'exec')
            mutated = next(
                c for c in _codes(code) if _function(c) == [mutant.path, mutant.function]
            )
            for function in functions[mutant.path, mutant.function]:
                function.__code__ = mutated
            _clear_caches()
            for item, usual_s in tests:
                signal.setitimer(signal.ITIMER_PROF, usual_s * TIMES_AS_LONG + S_MORE)
                self._run(item)
                if self.failed:
                    return 'killed'
            return 'survived'

        if not tests:
            self.outcomes['unreached'] += 1
            return
        answer, took_s = forked(work, S_MORE)
        outcome = 'timeout' if answer is None else answer or 'broken'
        self.outcomes[outcome] += 1
        self.cpu_s += took_s
        if outcome in {'survived', 'broken'}:
            print(f'# {outcome}, {len(tests)} tests: {mutant.function}\n{mutant.diff(source)}')


def _chosen(mutant: Mutant, seconds: Mapping[str, float], most_s: float) -> Iterator[str]:
    """Tests of its own file first, the quick ones before others; at least one."""
    stem = f'test_{Path(mutant.path).stem}'

    def rank(name: str) -> tuple[bool, float]:
        return not Path(name.partition('::')[0]).stem.startswith(stem), seconds[name]

    used_s = 0.0
    for name in sorted(seconds, key=rank):
        if not used_s or used_s + seconds[name] <= most_s:
            used_s += seconds[name]
            yield name


def _function(code: CodeType) -> Optional[list[str]]:
    """The file and the name of an outermost function of the module."""
    prefix = str(ROOT) + os.sep
    # Python 3.11 has it; inner functions run with the outer one
    name = str(getattr(code, 'co_qualname'))  # noqa: B009 - not known to mypy's oldest Python
    if not code.co_filename.startswith(prefix) or '<' in name.partition('.<locals>')[0]:
        return None
    return [code.co_filename[len(prefix) :], name.partition('.<locals>')[0]]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Of the functions in the code of a module or class, the last of a name first."""
    for constant in reversed(code.co_consts):
        if isinstance(constant, CodeType):
            # Its own local names: a function, not a class
            yield from [constant] if constant.co_flags & 0x2 else _codes(constant)


def _functions_loaded() -> Mapping[Function, Sequence[FunctionType]]:
    found: dict[Function, list[FunctionType]] = {}
    for function in gc.get_objects():
        outermost = isinstance(function, FunctionType) and '<locals>' not in function.__qualname__
        if outermost and (key := _function(function.__code__)):
            found.setdefault((key[0], key[1]), []).append(function)
    return found


@functools.lru_cache(maxsize=1)
def _caches() -> Sequence[Any]:
    kind = type(_caches)
    of_module = (c for c in gc.get_objects() if isinstance(c, kind))
    return [c for c in of_module if c.__module__.startswith('rocksdb_tuner.')]


def _clear_caches() -> None:
    for cache in _caches():
        cache.cache_clear()


def run(order: Order) -> Mapping[str, float]:
    """How many mutants of a package ended how, and the time they took."""

    def work() -> str:
        session = Session(order)
        options = ['-o', 'addopts=', '--capture=no', '-W', 'ignore', '-p', 'no:cacheprovider']
        plugins = ['-p', 'no:terminal', '-p', 'no:faulthandler', '-p', '_hypothesis_pytestplugin']
        marks = ['-m', 'not integration and not faults and not mgr_api']
        pytest.main([*options, *plugins, *marks, *order.tests], plugins=[session])
        sys.stdout.flush()
        return json.dumps({**session.outcomes, 'cpu_s': round(session.cpu_s)})

    answer, _ = forked(work)
    if not answer:
        sys.exit(f'{order.package}: the tests cannot be run')
    outcomes: dict[str, float] = json.loads(answer)
    return outcomes


def mutants(package: str) -> list[Mutant]:
    """Without those that are known to change nothing."""
    entries = json.loads(EQUIVALENT.read_text(encoding='utf-8'))['equivalent']
    equivalent = {(e['file'], e['function'], e['was'], e['now']) for e in entries}
    return [
        mutant
        for path in sorted((ROOT / package).rglob('*.py'))
        for source in [path.read_bytes()]
        for mutant in dict.fromkeys(mutants_of(str(path.relative_to(ROOT)), source))
        if (mutant.path, mutant.function, *mutant.change(source)) not in equivalent
    ]


def order(package: str, asked: argparse.Namespace) -> Order:
    lots = random.Random(f'{asked.seed} {package}')
    folders = [ROOT / 'tests' / name for name in PACKAGES[package]]
    part, _, parts = asked.shard.partition('/')
    chosen = mutants(package)[int(part) - 1 :: int(parts)]
    if not asked.seconds:
        if asked.sample:
            chosen = lots.sample(chosen, min(asked.sample, len(chosen)))
        return Order(package, [str(folder) for folder in folders], chosen, 4.0, 4.0)
    counts = Counter(mutant.path for mutant in chosen)
    files = set(lots.choices(list(counts), list(counts.values()), k=FILES_OF_A_SAMPLE))
    tests = [path for folder in folders for path in sorted(folder.rglob('test_*.py'))]
    near = sorted({str(test) for path in sorted(files) for test in _nearest(path, tests, lots)})
    chosen = [mutant for mutant in chosen if mutant.path in files]
    lots.shuffle(chosen)
    share_s = asked.seconds / len(asked.packages.split(','))
    print(f'{package}: {", ".join(sorted(files))}', flush=True)
    return Order(package, near, chosen, 0.5, 1.0, share_s)


def _nearest(path: str, tests: Sequence[Path], lots: random.Random) -> Sequence[Path]:
    """The tests of a file: of its name, or that import it; some of its package where none does."""
    dotted = re.escape(f'{ROOT.name}.{path[:-3]}'.replace('/', '.').replace('.__init__', ''))
    imported = re.compile(rf'^from {dotted} import', re.MULTILINE)
    near = [
        test
        for test in tests
        if test.stem.startswith(f'test_{Path(path).stem}')
        or imported.search(test.read_text(encoding='utf-8'))
    ]
    return near or lots.sample(tests, min(len(tests), TESTS_OF_A_SAMPLE))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--packages', default=','.join(PACKAGES), help='separated by commas')
    parser.add_argument('--shard', default='1/1', help='which part of how many')
    parser.add_argument('--sample', type=int, help='at most so many mutants of each package')
    seed = os.environ.get('ROCKSDB_TUNER_MUTATION_SEED')
    parser.add_argument('--seed', type=int, default=seed or random.SystemRandom().randrange(10**6))
    parser.add_argument('--seconds', type=float, help='of mutants of some files, and no more')
    parser.add_argument('--least', type=float, default=0, help='percent killed that do')
    parser.add_argument('--write', action='store_true', help='keep the score in results/')
    asked = parser.parse_args()
    os.chdir(CHECKOUT)
    # Examples are the same ones each time, and are not made smaller
    hypothesis.settings.register_profile(
        'mutation', deadline=None, database=None, derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck), report_multiple_bugs=False,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )  # fmt: skip
    os.environ.update(HYPOTHESIS_PROFILE='mutation', PYTEST_DISABLE_PLUGIN_AUTOLOAD='1')
    print(f'seed {asked.seed}', flush=True)
    table, noticed, ran = {}, 0.0, 0.0
    for package in asked.packages.split(','):
        found = Counter(run(order(package, asked)))
        killed = found['killed'] + found['timeout']
        # A sample has only some of the tests
        total = killed + found['survived'] + (0 if asked.seconds else found['unreached'])
        table[package] = {**found, 'percent': round(100 * killed / total, 1) if total else None}
        print(f'{package}: {table[package]}', flush=True)
        noticed, ran = noticed + killed, ran + total
    percent = 100 * noticed / max(ran, 1)
    print(f'{noticed:g} of {ran:g} noticed: {percent:.0f}%, least {asked.least:.0f}%')
    if asked.write:
        _write(table)
    return 0 if percent >= asked.least and noticed else 1


def _write(table: Mapping[str, Any]) -> None:
    asked = ['git', 'rev-parse', '--short=12', 'HEAD']
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    document = json.loads(RESULT.read_text(encoding='utf-8'))
    day = time.strftime('%Y-%m-%d', time.gmtime())
    document['scores'].append({'commit': commit, 'day': day, 'packages': table})
    RESULT.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    sys.exit(main())
