"""The published texts are covered by the knowledge, or by a list of exclusions with reasons.

`data/references.json` walks the five texts that the module started from: each number, option,
option string, formula and hazard with its section, and where it went.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.options.catalogue import catalogue, related_options
from rocksdb_tuner.options.grammar import normalize
from rocksdb_tuner.options.syntax import parse

REFERENCES = json.loads(
    (Path(__file__).parent / 'data/references.json').read_text(encoding='utf-8')
)['references']
ENTRIES = [
    pytest.param(entry, id=f'{reference["year"]}, {entry["section"]}: {entry["what"][:40]}')
    for reference in REFERENCES
    for entry in reference['entries']
]
#: The name of an entry, in the files of the knowledge.
_KEYS = ('name', 'quantity')


def named(content: Any, name: str) -> Iterator[Any]:
    """The entries of a knowledge file that are called so."""
    if isinstance(content, dict):
        if name in (content.get(key) for key in _KEYS):
            yield content
        for part in content.values():
            yield from named(part, name)
    elif isinstance(content, list):
        for part in content:
            yield from named(part, name)


@pytest.mark.parametrize('entry', ENTRIES)
def test_each_reference_is_listed_or_excluded_with_a_reason(entry: dict[str, Any]) -> None:
    assert entry['kept'] or entry['left_out']
    for place in entry['kept']:
        found = list(named(loader.load(place['file']), place['name']))
        assert found, place
        text = json.dumps(found, ensure_ascii=False)
        assert place['text'].lower() in text.lower(), place


@pytest.mark.parametrize('entry', ENTRIES)
def test_each_named_option_is_explained(entry: dict[str, Any]) -> None:
    known = {*catalogue().options, *related_options()}
    text = f'{entry["what"]} {entry.get("options", "")}'
    names = re.findall(
        r'\b(?:bluestore|osd|bluefs|rocksdb)_[a-z0-9_]+|\b(?:max|min|level0|target)_[a-z0-9_]+',
        text,
    )
    assert set(names) - {'osd_memory_target'} <= known
    if 'options' in entry:
        assert {name for name, _ in parse(entry['options'])} <= known


@pytest.mark.parametrize('entry', [e for e in ENTRIES if 'options' in e.values[0]])  # type: ignore[operator]
def test_each_published_string_is_a_profile(entry: dict[str, Any]) -> None:
    published = normalize(parse(entry['options']))
    same = {p.name for p in profiles() if normalize(parse(p.options)) == published}
    assert {place['name'] for place in entry['kept']} & same


def test_all_five_texts_are_checked() -> None:
    years = [reference['year'] for reference in REFERENCES]
    assert years == [2018, 2019, 2022, 2023, 2025]
    sections = {e['section'] for r in REFERENCES if r['year'] == 2022 for e in r['entries']}
    assert len(sections) == 13
