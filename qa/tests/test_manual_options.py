"""The manual's reference of RocksDB's options is what the module knows, each source once."""

from __future__ import annotations

import re

from manual.rocksdb_options import reference
from rocksdb_tuner.options.catalogue import catalogue, related_options
from rocksdb_tuner.options.problems import rules


def test_every_option_and_rule_is_listed() -> None:
    page = reference()
    for info in catalogue().options.values():
        shown = f'\n{info.name}\n~~' if info.assessed else f'   * - ``{info.name}``\n'
        assert page.count(shown) == 1
    for name in related_options():
        assert f'\n{name}\n~~' in page
    for name in rules():
        assert f'``{name}`` (' in page


def test_assessed_options_come_first() -> None:
    page = reference()
    others = page.index('\nOther options\n')
    assert page.rindex('\n~~') < others < page.index('   * - ``')


def test_each_source_is_listed_once_and_cited_by_number() -> None:
    page = reference()
    listed = re.findall(r'^\.\. \[(\d+)\] (.*(?:\n   .*)*)', page, re.MULTILINE)
    assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
    assert len({text for _, text in listed}) == len(listed)
    assert set(re.findall(r'\[(\d+)\]_', page)) == {number for number, _ in listed}
