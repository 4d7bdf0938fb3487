"""The manual's reference of the options is what the module knows."""

from __future__ import annotations

import option_reference

from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.problems import rules
from rocksdb_tuner.options.related_options import related_options


def test_the_committed_page_is_current() -> None:
    """Written anew by qa/option_reference.py after an edit of the knowledge."""
    assert option_reference.PAGE.read_text(encoding='utf-8') == option_reference.page()


def test_every_option_and_every_rule_is_there() -> None:
    page = option_reference.page()
    for name in (*catalogue().options, *related_options()):
        assert f'.. describe:: {name}\n' in page
    for name in rules():
        assert f'``{name}`` (' in page


def test_what_is_no_markup_is_escaped() -> None:
    for line in option_reference.page().splitlines():
        if line.startswith('   ') and not line.startswith('   :'):
            assert '*' not in line.replace('\\*', ''), line
            assert '_' not in line.replace('\\_', ''), line
