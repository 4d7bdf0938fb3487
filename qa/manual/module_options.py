"""The manual's reference of the module's options, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator

from rocksdb_tuner.settings import SETTINGS, Setting

from .rst_text import escaped, heading, wrapped


def reference() -> str:
    return '\n'.join(map(_described, SETTINGS))


def _described(setting: Setting) -> str:
    lines = [heading(setting.name, '-'), wrapped(_sentence(setting.text), ''), '']
    if setting.detail:
        lines += [wrapped(f'{escaped(setting.detail)}.', ''), '']
    lines.extend(f':{field}: {value}' for field, value in _fields(setting))
    return '\n'.join(lines) + '\n'


def _sentence(text: str) -> str:
    return f'{escaped(text[0].upper() + text[1:])}.'


def _fields(setting: Setting) -> Iterator[tuple[str, str]]:
    value = setting.default
    shown = str(value).lower() if isinstance(value, bool) else value
    yield 'Type', f'``{setting.type}``'
    yield 'Default', f'``{shown}``' if value != '' else 'empty'
    if setting.minimum is not None:
        yield 'Range', f'``{setting.minimum}`` to ``{setting.maximum}``'
    if setting.choices:
        yield 'Values', ', '.join(f'``{choice}``' for choice in setting.choices)
