"""The manual's reference of findings, from what the module declares of them."""

from __future__ import annotations

from collections.abc import Iterator

from rocksdb_tuner.advise.conditions.declaration import (
    Condition,
    HealthPolicy,
    Threshold,
    conditions,
)
from rocksdb_tuner.units import format_bytes, format_bytes_rate, format_span

from .finding_examples import examples
from .rst_text import escaped, heading, wrapped

_SECTIONS = ('options', 'devices', 'load', 'builds')
#: Where a placeholder in angle brackets would need an explanation.
_FILL = {
    'osd': '<id>',
    'kv_who': '<who>',
    'meta_who': '<who>',
    'sharding': "'<sharding>'",
    'restart': '<restart osd.id>',
}


def reference() -> str:
    parts = []
    for section in _SECTIONS:
        chosen = [known for known in conditions().values() if known.section == section]
        parts.append(heading(section.capitalize(), '=') + '\n' + '\n'.join(map(_condition, chosen)))
    return '\n'.join(parts)


def _condition(known: Condition) -> str:
    # The heading is the id alone, so that a link to a finding needs nothing but its id.
    lines = [heading(known.condition_id, '-'), wrapped(escaped(f'{known.title}.'), ''), '']
    lines.extend(wrapped(f':{name}: {text}', '   ') for name, text in _fields(known))
    return '\n'.join(lines) + '\n'


def _fields(known: Condition) -> Iterator[tuple[str, str]]:
    commands = [command.format_map(_Open()) for command in known.commands]
    example = examples()[known.condition_id]
    yield 'Example', escaped(f'{example.summary.rstrip(".")}.')
    if example.evidence:
        shown = (f'``{signal}`` {escaped(value)}' for signal, value in example.evidence)
        yield 'Evidence', ', '.join(shown)
    yield 'Severity', known.severity.value
    for threshold in known.thresholds.values():
        yield 'Threshold', _threshold(threshold)
    remedy = next(iter(known.remedies.values()))
    yield 'Remedy', escaped(remedy.format_map(_Open(command='; '.join(commands))))
    if commands:
        yield 'Commands', ', '.join(f'``{command}``' for command in commands)
    if known.do_not:
        yield 'Avoid', escaped(known.do_not)
    if known.health:
        yield 'Health check', f'``{known.health_code}``: {_health(known.health)}'
    if known.ceph_checks:
        yield "Ceph's health check", ', '.join(f'``{code}``' for code in known.ceph_checks)
    yield 'Source', escaped(known.source)


class _Open(dict[str, str]):
    """Fills in known values, and placeholders in angle brackets for all others."""

    def __init__(self, **fill: str) -> None:
        super().__init__({**_FILL, **fill})

    def __missing__(self, name: str) -> str:
        return f'<{name}>'


def _threshold(threshold: Threshold) -> str:
    text = f'{_value(threshold.value, threshold.unit)}: {escaped(threshold.meaning)}'
    return f'{text}. Source: {escaped(threshold.source)}'


def _value(value: float, unit: str) -> str:
    if unit == 's':
        return format_span(value)
    if unit == 'bytes':
        return format_bytes(value)
    if unit == 'bytes/s':
        return format_bytes_rate(value)
    return f'{value:g}' if unit in {'confidence', 'ratio'} else f'{value:g} {escaped(unit)}'


def _health(policy: HealthPolicy) -> str:
    cleared = _after(policy.clear_after_s)
    if policy.clear_after_s:
        cleared += ' without the condition'
    raised = _after(policy.raise_after_s)
    return f'N OSD(s) {escaped(policy.summary)}. Raised {raised}, and cleared {cleared}'


def _after(seconds: float) -> str:
    return f'after {format_span(seconds)}' if seconds else 'at once'
