"""Runs of the tests against mutants, without starting Python or collecting tests for each.

Tests are collected once. Each mutant lives in a process forked from there, in which one function
gets another code. What runs while modules are loaded is mutated before they are: such a mutant
costs a collection of its own. Time is that of the CPU: a busy machine kills no mutant.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import ctypes
import functools
import gc
import importlib
import importlib.machinery
import inspect
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Optional

import hypothesis
import pytest
from mutants import Block, Mutant, blocks_of, is_docstring, position

#: So many times as long as it takes without a mutant, and this much more, may a test take.
_TIMES_AS_LONG, _S_MORE = 10.0, 2.0
#: The type made by `lru_cache`.
_CACHE = type(functools.lru_cache(maxsize=1)(lambda: None))
_PR_SET_PDEATHSIG = 1
#: By the clock, in case that it waits for something that never comes.
_MOST_WALL_S = 600
_MOST_MEMORY = 6 << 30
#: Collections of tests take so long without a mutant.
_COLLECTED_S = 60.0
_SURVIVED, _KILLED, _BROKEN = 0, 1, 2


@dataclass(frozen=True)
class Tests:
    """The duration of each test, and the blocks of each file that it runs."""

    seconds: Mapping[str, float]
    #: By file.
    reached: Mapping[str, Mapping[Block, Collection[str]]]
    #: Blocks that run before the first test, while modules are loaded and tests are collected.
    loading: Mapping[str, Collection[Block]]

    def of(self, mutant: Mutant, most_s: float) -> tuple[str, ...]:
        """Tests of its own file first, for half of the time, then all others; always quick ones.

        Code that runs in every test would otherwise only be tested by the quickest of all.
        """
        by_block = self.reached.get(mutant.path, {})
        if mutant.block is None:
            names = {name for found in by_block.values() for name in found}
        else:
            names = set(by_block.get(mutant.block, ()))
        stem = f'test_{Path(mutant.path).stem}'
        own = {name for name in names if Path(name.partition('::')[0]).stem.startswith(stem)}
        chosen = self._quickest(own, most_s / 2)
        left = most_s - sum(self.seconds[name] for name in chosen)
        return (*chosen, *self._quickest(names - set(chosen), left, at_least=not chosen))

    def _quickest(
        self, names: Collection[str], most_s: float, *, at_least: bool = True
    ) -> list[str]:
        """As many as fit, and at least one if ``at_least`` requires it."""
        chosen: list[str] = []
        for name in sorted(names, key=lambda n: (self.seconds[n], n)):
            most_s -= self.seconds[name]
            if most_s < 0 and (chosen or not at_least):
                break
            chosen.append(name)
        return chosen

    def while_loading(self, mutant: Mutant) -> bool:
        return mutant.block is None or mutant.block in self.loading.get(mutant.path, ())

    def to_json(self) -> dict[str, Any]:
        def named(block: Block) -> str:
            return f'{block[0]}:{block[1]}'

        names = list(self.seconds)
        number = {name: i for i, name in enumerate(names)}
        return {
            'tests': [[name, round(self.seconds[name], 4)] for name in names],
            'reached': {
                path: {named(b): sorted(number[n] for n in found) for b, found in blocks.items()}
                for path, blocks in self.reached.items()
            },
            'loading': {path: sorted(map(named, found)) for path, found in self.loading.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Tests:
        def block(name: str) -> Block:
            line, _, column = name.partition(':')
            return int(line), int(column)

        names = [name for name, _ in document['tests']]
        return cls(
            dict(document['tests']),
            {
                path: {block(b): [names[i] for i in found] for b, found in blocks.items()}
                for path, blocks in document['reached'].items()
            },
            {path: {block(b) for b in found} for path, found in document['loading'].items()},
        )


@dataclass(frozen=True)
class Outcome:
    #: killed, timeout (killed too), survived, unreached (by any test), or broken: not a mutant.
    outcome: str
    #: The test that noticed it.
    killer: Optional[str]
    tests: int
    seconds: float


class Sources:
    """Loads the modules of the package from modified code."""

    def __init__(self, root: Path, code_of: Callable[[str, bytes], Optional[CodeType]]) -> None:
        self._root = str(root) + os.sep
        self._package = root.name
        self._code_of = code_of

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith(f'{self._package}.') or name.startswith(f'{self._package}.tests'):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not spec.origin.startswith(self._root):
            return None
        origin = spec.origin
        code = self._code_of(origin[len(self._root) :], Path(origin).read_bytes())
        if code is not None:
            spec.loader = _Loader(name, origin, code)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - there is one for all
        return self._code


def prepare() -> None:
    """Before pytest: examples are the same ones each time, and are not made smaller."""
    hypothesis.settings.register_profile(
        'mutation',
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        report_multiple_bugs=False,
    )
    os.environ['HYPOTHESIS_PROFILE'] = 'mutation'
    os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'
    # What tests import besides: forked children have it already.
    for name in ('jsonschema', 'prettytable', 'prometheus_client', 'scipy.stats', 'yaml'):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _arguments(paths: Sequence[str]) -> list[str]:
    return [
        *('-q', '--no-header', '--tb=no', '--capture=sys', '-p', 'no:cacheprovider'),
        *('-p', 'no:faulthandler', '-p', '_hypothesis_pytestplugin', '-W', 'ignore'),
        *('-m', 'not integration and not faults and not mgr_api'),
        *paths,
    ]


def _silently(fd: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)


class _TooSlowError(Exception):
    pass


class Patience(NamedTuple):
    """Tests that take longer are never run on a mutant; of a file, those beyond its share."""

    test_s: float
    file_s: float


def inspect_tests(
    root: Path, files: Sequence[str], kept: Mapping[str, Path], patience: Patience
) -> None:
    """Runs the tests of some files once, in this process, and keeps what those of each reach."""
    plugin = _Finder(root, files, patience)
    sys.meta_path.insert(0, Sources(root, plugin.watched))
    code = pytest.main(_arguments(list(kept)), plugins=[plugin])
    if plugin.failed:
        sys.exit(f'fail without a mutant: {", ".join(plugin.failed)}')
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        sys.exit(f'pytest ended with {code}')
    for name, path in kept.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(plugin.seen(name).to_json()))


class _Finder:
    def __init__(self, root: Path, files: Sequence[str], patience: Patience) -> None:
        self._root = root
        self._files = frozenset(files)
        self._patience = patience
        #: By file with tests.
        self._took_s: dict[str, float] = collections.defaultdict(float)
        self._places: list[tuple[str, Block]] = []
        self._hits: bytearray = bytearray(1 << 18)
        self._loading: set[int] = set()
        self._by_test: dict[str, set[int]] = {}
        self._seconds: dict[str, float] = {}
        self._caches: list[Any] = []
        self._fill_s: list[tuple[Any, float]] = []
        self._slow = False
        self._in_test = False
        self.failed: list[str] = []

    def watched(self, path: str, source: bytes) -> Optional[CodeType]:
        """The module with a note at the beginning of each block of its functions."""
        if path not in self._files:
            return None
        tree = ast.parse(source)
        for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
            for statements in blocks_of(function):
                if not hasattr(statements[0], 'noted'):
                    self._record(path, statements)
        ast.fix_missing_locations(tree)
        name = self._root.name
        sys.modules[name].__dict__['__hits__'] = self._hits
        tree.body.insert(_after_future(tree), ast.parse(f'from {name} import __hits__').body[0])
        return compile(tree, str(self._root / path), 'exec')

    def _record(self, path: str, statements: list[ast.stmt]) -> None:
        note = ast.parse(f'__hits__[{len(self._places)}] = 1').body[0]
        for node in ast.walk(note):
            ast.copy_location(node, statements[0])
        note.noted = True  # type: ignore[attr-defined]
        self._places.append((path, position(statements)))
        statements[0].noted = True  # type: ignore[attr-defined]
        statements.insert(1 if is_docstring(statements[0]) else 0, note)

    def pytest_collection_finish(self) -> None:
        self._loading = self._taken()
        self._caches = list(caches(self._root.name))
        for cache in self._caches:
            cache.cache_clear()
        self._fill_s = fill(self._caches)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for cache in self._caches:
            cache.cache_clear()
        self._taken()
        start = time.process_time()
        self._slow = False
        signal.signal(signal.SIGPROF, self._interrupt)
        # More than once: the first may be taken for a failure that is expected.
        signal.setitimer(signal.ITIMER_PROF, self._patience.test_s, 0.5)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        reached = self._taken()
        took_s = time.process_time() - start
        self._took_s[_file_of(item)] += took_s
        if not self._slow:
            # Before most mutants these are full already.
            full_s = sum(s for c, s in self._fill_s if c.cache_info().currsize)
            self._seconds[item.nodeid] = max(took_s - full_s, 0.001)
            self._by_test[item.nodeid] = reached

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # Not always those at the end of a file are the ones that there is no time for.
        random.Random(0).shuffle(items)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self._took_s[_file_of(item)] > self._patience.file_s:
            self._slow = True
            pytest.skip('its file has had its time')

    def _interrupt(self, *_: Any) -> None:
        self._slow = True
        # Of pytest's own code nothing would catch it; the next comes soon.
        if self._in_test:
            raise _TooSlowError

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        self._in_test = True
        try:
            yield
        finally:
            self._in_test = False

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_fixture_setup(self) -> Iterator[None]:
        self._in_test = True
        try:
            yield
        finally:
            self._in_test = False

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        outcome = yield
        report = outcome.get_result()  # type: ignore[attr-defined]
        if report.failed and self._slow:
            # It is not broken: there is not enough time to run it.
            report.outcome = 'skipped'
            report.longrepr = (str(item.path), 0, f'takes more than {self._patience.test_s:g} s')

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def _taken(self) -> set[int]:
        found = {i for i in range(len(self._places)) if self._hits[i]}
        self._hits[:] = bytes(len(self._hits))
        return found

    def seen(self, file: str) -> Tests:
        """By the tests of one file."""
        reached: dict[str, dict[Block, list[str]]] = {}
        names = [name for name in self._by_test if name.partition('::')[0] == file]
        for name in names:
            for i in self._by_test[name]:
                path, block = self._places[i]
                reached.setdefault(path, {}).setdefault(block, []).append(name)
        loading: dict[str, set[Block]] = {}
        for i in self._loading:
            path, block = self._places[i]
            loading.setdefault(path, set()).add(block)
        return Tests({name: self._seconds[name] for name in names}, reached, loading)


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition('::')[0]


def _after_future(tree: ast.Module) -> int:
    places = [
        i + 1
        for i, node in enumerate(tree.body)
        if is_docstring(node) or (isinstance(node, ast.ImportFrom) and node.module == '__future__')
    ]
    return max(places, default=0)


def caches(package: str) -> Iterator[Any]:
    """Those of the package's functions."""
    for found in gc.get_objects():
        if isinstance(found, _CACHE):
            name = found.__module__
            if name.startswith(package) and not name.startswith(f'{package}.tests'):
                yield found


def fill(known: Sequence[Any]) -> list[tuple[Any, float]]:
    """Those that need no arguments, and how long each took: most mutants change nothing of them."""
    took: list[tuple[Any, float]] = []
    for cache in known:
        if not inspect.signature(cache).parameters:
            start = time.process_time()
            with contextlib.suppress(Exception):
                cache()
            took.append((cache, time.process_time() - start))
    return took


def _path_of(cache: Any, root: Path) -> str:
    """Of what it keeps the answers: a function, or a class."""
    return str(Path(str(sys.modules[cache.__module__].__file__)).relative_to(root))


def reached_from(root: Path, path: str) -> frozenset[str]:
    """The files that import one, themselves or through others: only their caches depend on it."""
    found, new = {path}, {path}
    while new:
        new = {p for p, imported in _imports(root).items() if imported & new} - found
        found |= new
    return frozenset(found)


@functools.lru_cache(maxsize=4)
def _imports(root: Path) -> Mapping[str, frozenset[str]]:
    """By file, the files of the package that it imports, also within functions."""
    files = {str(p.relative_to(root)): p for p in root.rglob('*.py')}
    return {
        path: frozenset(
            name
            for node in ast.walk(ast.parse(file.read_bytes()))
            for name in _named(node, path, root.name)
            if name in files
        )
        for path, file in files.items()
    }


def _named(node: ast.AST, path: str, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        above = [package, *path.split('/')][: -node.level] if node.level else []
        base = '.'.join([*above, *filter(None, [node.module])])
        modules = [base, *(f'{base}.{alias.name}' for alias in node.names)]
    else:
        return
    for module in modules:
        top, *parts = module.split('.')
        if top == package:
            # Not those of the surrounding packages: its content is not called by this name.
            yield from ('/'.join([*parts, '__init__.py']), '/'.join(parts) + '.py')


def run(
    root: Path,
    mutants: Sequence[Mutant],
    tests: Tests,
    most_s: float,
    workers: int,
) -> Generator[tuple[Mutant, Outcome], None, None]:
    """The outcome of each, in no order, while it comes in; the rest is left when it is closed."""
    chosen = {mutant: tests.of(mutant, most_s) for mutant in mutants}
    for mutant in mutants:
        if not chosen[mutant]:
            yield mutant, Outcome('unreached', None, 0, 0.0)
    reached = [mutant for mutant in mutants if chosen[mutant]]
    early = [mutant for mutant in reached if tests.while_loading(mutant)]
    late = [mutant for mutant in reached if not tests.while_loading(mutant)]
    if late:
        yield from _in_session(root, late, chosen, tests, workers)
    yield from _pooled(
        early, lambda mutant: _reloaded(root, mutant, chosen[mutant], tests), workers, chosen
    )


def _in_session(
    root: Path,
    mutants: Sequence[Mutant],
    chosen: Mapping[Mutant, Sequence[str]],
    tests: Tests,
    workers: int,
) -> Iterator[tuple[Mutant, Outcome]]:
    """In a child that collects once, and forks once for each mutant."""
    inside, outside = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inside)
        _silently(1)
        files = sorted({name.partition('::')[0] for names in chosen.values() for name in names})
        with os.fdopen(outside, 'w', buffering=1) as reported:
            plugin = _Session(root, mutants, chosen, tests, workers, reported)
            pytest.main(_arguments(files), plugins=[plugin])
        os._exit(0)
    os.close(outside)
    by_number = list(mutants)
    try:
        with os.fdopen(inside) as heard:
            for line in heard:
                number, outcome, killer, seconds = json.loads(line)
                mutant = by_number[number]
                yield mutant, Outcome(outcome, killer, len(chosen[mutant]), seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


class _Session:
    def __init__(
        self,
        root: Path,
        mutants: Sequence[Mutant],
        chosen: Mapping[Mutant, Sequence[str]],
        tests: Tests,
        workers: int,
        reported: Any,
    ) -> None:
        self._root = root
        self._mutants = mutants
        self._chosen = chosen
        self._tests = tests
        self._workers = workers
        self._told = reported

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions = _functions(self._root)
        known = list(caches(self._root.name))
        fill(known)
        detected_by = {
            path: reached_from(self._root, path) for path in {m.path for m in self._mutants}
        }
        gc.freeze()
        number = {mutant: i for i, mutant in enumerate(self._mutants)}
        sources = {path: (self._root / path).read_bytes() for path in {m.path for m in number}}

        def body(mutant: Mutant) -> None:
            inserted(self._root, mutant, sources[mutant.path], functions)
            for cache in known:
                if _path_of(cache, self._root) in detected_by[mutant.path]:
                    cache.cache_clear()
            run_items([items[n] for n in self._chosen[mutant] if n in items], self._tests)

        for mutant, outcome in _pooled(self._mutants, body, self._workers, self._chosen):
            line = [number[mutant], outcome.outcome, outcome.killer, outcome.seconds]
            self._told.write(json.dumps(line) + '\n')
        return True


def run_items(items: Sequence[pytest.Item], tests: Tests) -> None:
    """Ends this process at the first failure."""
    plugin = _FirstFailure()
    items[0].config.pluginmanager.register(plugin)
    for item, following in zip(items, [*items[1:], None]):
        _limit(tests.seconds[item.nodeid])
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    os._exit(_SURVIVED)


class _FirstFailure:
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            _found(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            _found(report.nodeid)


#: The file for the test that detected a child's mutant.
_FOUND_FD = 2


def _found(name: str) -> None:
    os.write(_FOUND_FD, name.encode()[:4000])
    os._exit(_KILLED)


def _limit(usual_s: float) -> None:
    """Its end comes by itself: nothing has to watch it."""
    signal.setitimer(signal.ITIMER_PROF, usual_s * _TIMES_AS_LONG + _S_MORE)


def _pooled(
    mutants: Sequence[Mutant],
    body: Callable[[Mutant], None],
    workers: int,
    chosen: Mapping[Mutant, Sequence[str]],
) -> Iterator[tuple[Mutant, Outcome]]:
    """``body`` of each in its own process; so many in parallel."""
    running: dict[int, tuple[Mutant, int, float]] = {}
    waiting = list(reversed(mutants))
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            inside, outside = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(inside)
                os.dup2(outside, _FOUND_FD)
                _silently(1)
                _child(mutant, body)
            os.close(outside)
            running[pid] = (mutant, inside, time.monotonic())
        pid, status, used = os.wait4(-1, 0)
        mutant, inside, _ = running.pop(pid)
        with os.fdopen(inside, 'rb') as heard:
            text = heard.read().decode(errors='replace')
        outcome = (
            'timeout'
            if os.WIFSIGNALED(status)
            else {_SURVIVED: 'survived', _KILLED: 'killed'}.get(os.WEXITSTATUS(status), 'broken')
        )
        killer = text[:300] if outcome in {'killed', 'broken'} and text else None
        seconds = round(used.ru_utime + used.ru_stime, 2)
        yield mutant, Outcome(outcome, killer, len(chosen[mutant]), seconds)


def _child(mutant: Mutant, body: Callable[[Mutant], None]) -> None:
    try:
        # It ends with its parent.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.alarm(_MOST_WALL_S)
        _limit(_COLLECTED_S)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        body(mutant)
    except BaseException as error:  # noqa: BLE001 - it belongs to this mutant, not to the next
        os.write(_FOUND_FD, repr(error).encode()[:4000])
        os._exit(_BROKEN)
    # pytest ended before the first test: the modules can no longer be loaded.
    os._exit(_KILLED)


def _reloaded(root: Path, mutant: Mutant, names: Sequence[str], tests: Tests) -> None:
    def code_of(path: str, source: bytes) -> Optional[CodeType]:
        if path != mutant.path:
            return None
        return compile(mutant.applied(source), str(root / path), 'exec')

    sys.meta_path.insert(0, Sources(root, code_of))
    files = list(dict.fromkeys(name.partition('::')[0] for name in names))
    plugin = _Reloaded(names, tests)
    pytest.main(_arguments(files), plugins=[plugin, _FirstFailure()])


class _Reloaded:
    def __init__(self, names: Sequence[str], tests: Tests) -> None:
        self._names = names
        self._tests = tests

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        if any(name not in items for name in self._names):
            _found('other tests than without it')
        run_items([items[name] for name in self._names], self._tests)
        return True


#: By file and qualified name: all that are there under that name.
_Functions = Mapping[tuple[str, str], Sequence[FunctionType]]


def _functions(root: Path) -> _Functions:
    found: dict[tuple[str, str], list[FunctionType]] = {}
    inside = str(root) + os.sep
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            code = function.__code__
            if code.co_filename.startswith(inside):
                key = (code.co_filename[len(inside) :], _qualified(code))
                found.setdefault(key, []).append(function)
    return found


def inserted(root: Path, mutant: Mutant, source: bytes, functions: _Functions) -> None:
    """The functions of its name get the mutated code."""
    code = compile(mutant.applied(source), str(root / mutant.path), 'exec')
    mutated = _codes(code).get(mutant.function)
    found = functions.get((mutant.path, mutant.function), ())
    if mutated is None or not found:
        raise LookupError(f'{mutant.path} has no function {mutant.function}')
    for function in found:
        function.__code__ = mutated


def _codes(code: CodeType) -> dict[str, CodeType]:
    """Outermost functions; the last of a name."""
    found: dict[str, CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 0x2:  # its own local names: a function, not a class
                found[_qualified(constant)] = constant
            else:
                found |= _codes(constant)
    return found


def _qualified(code: CodeType) -> str:
    """With its classes; Python 3.11 has it."""
    return str(getattr(code, 'co_qualname'))  # noqa: B009 - not known to mypy's oldest Python
