"""Faults that a test should notice, made one at a time in the source of a module: pure.

Decisions are mutated: comparisons, conditions, arithmetic, numbers, what a record is given, calls
for their effect. Texts are not: a test that repeats them proves nothing.
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Optional, Union

#: Where a list of statements in a function begins: it runs as a whole or not at all.
Block = tuple[int, int]

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
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
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLS = {'min': 'max', 'max': 'min', 'any': 'all', 'all': 'any', 'sorted': 'list', 'abs': ''}
#: Arguments that change what a call decides, and whose loss is no TypeError.
_ARGUMENTS = frozenset({'key', 'reverse', 'default'})


@dataclass(frozen=True)
class Mutant:
    """``text`` in place of the bytes from ``start`` to ``end``."""

    path: str
    #: Its qualified name; empty for what runs while the module is loaded.
    function: str
    operator: str
    line: int
    start: int
    end: int
    text: str
    #: Where tests must have been to notice it; None: while the module is loaded.
    block: Optional[Block]

    @property
    def package(self) -> str:
        return self.path.split('/', maxsplit=1)[0]

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

    def identity(self, source: bytes) -> str:
        """Stable while its function is unchanged, wherever it is."""
        first, text = _functions_in(source).get(self.function, (0, ''))
        column = self.start - source.rfind(b'\n', 0, self.start)
        reported = (self.path, self.function, self.operator, *self.change(source), text)
        where = f'{self.line - first}:{column}:{self.end - self.start}'
        return hashlib.sha256('\0'.join((*reported, where)).encode()).hexdigest()[:16]

    def diff(self, source: bytes) -> str:
        lines = difflib.unified_diff(
            source.decode().splitlines(keepends=True),
            self.applied(source).decode().splitlines(keepends=True),
            self.path,
            self.path,
            n=2,
        )
        return ''.join(lines)


class _Position(NamedTuple):
    function: str
    block: Optional[Block]
    #: Whether a condition, whose mutants are made by its statement.
    tested: bool = False


def mutants_of(path: str, source: bytes) -> tuple[Mutant, ...]:
    maker = _Maker(path, source)
    maker.statements(ast.parse(source).body, _Position('', None))
    return tuple(maker.found)


def blocks_of(function: _Function) -> Iterator[list[ast.stmt]]:
    """Each list of statements of a function, its own and those inside it."""
    for node in ast.walk(function):
        for name in ('body', 'orelse', 'finalbody'):
            statements = getattr(node, name, None)
            if isinstance(statements, list) and statements:
                yield statements


def position(statements: Sequence[ast.stmt]) -> Block:
    return statements[0].lineno, statements[0].col_offset


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@lru_cache(maxsize=8)
def _functions_in(source: bytes) -> dict[str, tuple[int, str]]:
    """First line and text of each outermost function by qualified name."""
    lines = source.decode().splitlines()

    def within(tree: ast.AST, inside: str) -> Iterator[tuple[str, tuple[int, str]]]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef):
                yield from within(node, f'{inside}{node.name}.')
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                text = '\n'.join(lines[node.lineno - 1 : node.end_lineno])
                yield inside + node.name, (node.lineno, text)

    return dict(within(ast.parse(source), ''))


def _copied(node: ast.expr, **fields: object) -> ast.expr:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


class _Maker:
    def __init__(self, path: str, source: bytes) -> None:
        self.found: list[Mutant] = []
        self._path = path
        self._starts = [0]
        for text in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(text))

    def statements(self, body: Sequence[ast.stmt], where: _Position) -> None:
        for statement in body:
            if not is_docstring(statement):
                self._statement(statement, where)

    def _add(
        self, node: Union[ast.expr, ast.stmt], where: _Position, operator: str, text: str
    ) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        self.found.append(
            Mutant(
                self._path,
                where.function,
                operator,
                node.lineno,
                self._starts[node.lineno - 1] + node.col_offset,
                self._starts[node.end_lineno - 1] + node.end_col_offset,
                text,
                where.block,
            )
        )

    def _instead(self, node: ast.expr, where: _Position, operator: str, made: ast.expr) -> None:
        text = ast.unparse(made)
        simple = isinstance(made, (ast.Constant, ast.Name, ast.Call))
        self._add(node, where, operator, text if simple else f'({text})')

    def _statement(self, node: ast.stmt, where: _Position) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._function(node, where)
        elif isinstance(node, ast.ClassDef):
            self._class(node, where)
        elif not isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert)):
            if isinstance(node, (ast.If, ast.While)):
                self._condition(node.test, where, isinstance(node, ast.If))
            if where.block is not None:
                self._dropped(node, where)
            self._inside(node, where)

    def _inside(self, node: ast.stmt, where: _Position) -> None:
        for name, value in ast.iter_fields(node):
            if name == 'annotation':
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.expr):
                    tested = isinstance(node, (ast.If, ast.While)) and name == 'test'
                    self._expression(child, where._replace(tested=tested))
                elif isinstance(child, ast.withitem):
                    self._expression(child.context_expr, where)
                elif isinstance(child, ast.ExceptHandler):
                    self.statements(child.body, self._within(child.body, where))
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self.statements(value, self._within(value, where))

    @staticmethod
    def _within(body: Sequence[ast.stmt], where: _Position) -> _Position:
        return where if where.block is None else where._replace(block=position(body))

    def _function(self, node: _Function, where: _Position) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._expression(default, where)
        outermost = where.block is None
        name = f'{where.function}.{node.name}' if where.function else node.name
        function = name if outermost else where.function
        self.statements(node.body, _Position(function, position(node.body)))

    def _class(self, node: ast.ClassDef, where: _Position) -> None:
        if where.block is not None:
            self.statements(node.body, where)
            return
        name = f'{where.function}.{node.name}' if where.function else node.name
        for statement in node.body:
            if is_docstring(statement):
                continue
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._statement(statement, _Position(name, None))
            else:
                self._statement(statement, where)

    def _condition(self, test: ast.expr, where: _Position, may_be_true: bool) -> None:
        if isinstance(test, ast.Name) and test.id == 'TYPE_CHECKING':
            return
        if may_be_true:
            self._add(test, where, 'condition', 'True')
        self._add(test, where, 'condition', 'False')

    def _dropped(self, node: ast.stmt, where: _Position) -> None:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign) and node.value
            else []
        )
        stored = any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in targets)
        kinds = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if stored or called or isinstance(node, kinds):
            self._add(node, where, 'statement', 'pass')

    def _expression(self, node: ast.expr, where: _Position) -> None:
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.Compare):
            self._compare(node, where)
        elif isinstance(node, ast.BoolOp):
            for i in range(len(node.values)):
                rest = [*node.values[:i], *node.values[i + 1 :]]
                made = rest[0] if len(rest) == 1 else _copied(node, values=rest)
                self._instead(node, where, 'operand', made)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            self._instead(node, where, 'sign', node.operand)
        elif isinstance(node, ast.BinOp):
            other = _ARITHMETIC.get(type(node.op))
            if other is not None and not (_is_text(node.left) or _is_text(node.right)):
                self._instead(node, where, 'arithmetic', _copied(node, op=other()))
        else:
            self._simple(node, where)
        self._children(node, where)

    def _simple(self, node: ast.expr, where: _Position) -> None:
        if isinstance(node, ast.Constant):
            self._constant(node, where)
        elif isinstance(node, ast.IfExp):
            self._condition(node.test, where, may_be_true=True)
        elif isinstance(node, ast.Call):
            self._call(node, where)

    def _children(self, node: ast.expr, where: _Position) -> None:
        for child in ast.iter_child_nodes(node):
            tested = isinstance(node, ast.IfExp) and child is node.test
            if isinstance(child, ast.comprehension):
                self._expression(child.iter, where._replace(tested=False))
                for test in child.ifs:
                    self._add(test, where, 'condition', 'True')
                    self._expression(test, where._replace(tested=True))
            elif isinstance(child, ast.keyword):
                self._expression(child.value, where._replace(tested=False))
            elif isinstance(child, ast.expr):
                self._expression(child, where._replace(tested=tested))

    def _compare(self, node: ast.Compare, where: _Position) -> None:
        for i, op in enumerate(node.ops):
            others = _COMPARISONS[type(op)]
            if where.tested:
                # Turned round it is both of its condition's own mutants at once.
                others = tuple(o for o in others if {o, type(op)} in _BOUNDARIES)
            for other in others:
                made = _copied(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
                self._instead(node, where, 'comparison', made)

    def _constant(self, node: ast.Constant, where: _Position) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add(node, where, 'constant', repr(not value))
        elif isinstance(value, int):
            self._add(node, where, 'constant', repr(value + 1))
        elif isinstance(value, float):
            self._add(node, where, 'constant', repr(value * 2 if value else 1.0))

    def _call(self, node: ast.Call, where: _Position) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in _CALLS and node.args:
            other = _CALLS[name]
            if other == 'list':
                made: ast.expr = _copied(node, func=ast.Name('list'), keywords=[])
            elif other:
                made = _copied(node, func=ast.Name(other))
            else:
                made = node.args[0]
            self._instead(node, where, 'call', made)
        for i, keyword in enumerate(node.keywords):
            if keyword.arg in _ARGUMENTS or (name == 'replace' and keyword.arg):
                rest = [*node.keywords[:i], *node.keywords[i + 1 :]]
                self._instead(node, where, 'argument', _copied(node, keywords=rest))


_BOUNDARIES = ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})
