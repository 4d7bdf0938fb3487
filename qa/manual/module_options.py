"""Descriptions of the module's options in the form of Ceph's `ceph_confval`, without Ceph's source.

Ceph's documentation names an option (``.. confval:: mode``, after ``.. mgr_module:: balancer`` or
another module), and an extension in Ceph's tree writes its type, default and bounds from the code.
This manual is written for that extension. It is not published apart from Ceph's source of 250 MB,
so here the same fields are put into a page before Sphinx reads it. `make doc CEPH_SOURCE=DIR` uses
Ceph's extension itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rocksdb_tuner.setting import Setting
from rocksdb_tuner.settings import SETTINGS

from .rst_text import escaped, wrapped

MODULE = 'rocksdb_tuner'
_MODULE = re.compile(rf'^\.\. mgr_module:: (?:{MODULE}|None)\n', re.MULTILINE)
_OPTION = re.compile(r'^\.\. confval:: (\w+)\n', re.MULTILINE)
_KNOWN: Mapping[str, Setting[object]] = {setting.name: setting for setting in SETTINGS}


class UnknownOptionError(ValueError):
    """A page describes an option that the module does not have."""


def expanded(page: str) -> str:
    """The page with the fields of each option."""
    return _OPTION.sub(_described, _MODULE.sub('', page))


def _described(found: re.Match[str]) -> str:
    name = found[1]
    if name not in _KNOWN:
        raise UnknownOptionError(f'the module has no option "{name}"')
    setting = _KNOWN[name]
    lines = [found[0].rstrip('\n'), '', wrapped(f'   {escaped(_text(setting))}', '   '), '']
    lines.extend(f'   :{field}: {value}' for field, value in fields(setting))
    return '\n'.join(lines) + '\n\n'


def _text(setting: Setting[object]) -> str:
    return setting.detail or setting.text


def fields(setting: Setting[object]) -> Iterator[tuple[str, str]]:
    """As `ceph_confval` names and writes them."""
    yield 'type', f'``{setting.type}``'
    yield 'default', _default(setting)
    if setting.minimum is not None:
        yield 'allowed range', f'``[{setting.minimum}, {setting.maximum}]``'


def _default(setting: Setting[object]) -> str:
    value = setting.default
    if isinstance(value, bool):
        return f'``{str(value).lower()}``'
    return f'``{value}``' if value != '' else '<empty string>'
