"""The mutation bench: which faults it makes; `make check` runs a sample of them."""

from __future__ import annotations

from mutation import mutants_of


def changes(text: str) -> set[tuple[str, str]]:
    source = text.encode()
    return {mutant.change(source) for mutant in mutants_of('a/b.py', source)}


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
        ('if a and not b:', 'if True:'),
        ('if a and not b:', 'if False:'),
        ('if a and not b:', 'if (not b):'),
        ('if a and not b:', 'if a:'),
        ('if a and not b:', 'if a and b:'),
        ('raise ValueError(a)', 'pass'),
        ('x = replace(a, b=1.5, c=-c)', 'x = replace(a, c=-c)'),
        ('x = replace(a, b=1.5, c=-c)', 'x = replace(a, b=3.0, c=-c)'),
        ('x = replace(a, b=1.5, c=-c)', 'x = replace(a, b=1.5, c=c)'),
        ('x.y = min(a, key=b) if c else max(b)', 'pass'),
        ('x.y = min(a, key=b) if c else max(b)', 'x.y = max(a, key=b) if c else max(b)'),
        ('x.y = min(a, key=b) if c else max(b)', 'x.y = min(a) if c else max(b)'),
        (
            'return [n for n in sorted(x) if n is None]',
            'return [n for n in sorted(x) if True]',
        ),
        (
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
