"""The manual's reference of findings is what the module declares."""

from __future__ import annotations

import finding_reference

from rocksdb_tuner.advise.conditions.registry import conditions


def test_the_committed_page_is_current() -> None:
    """Written again by qa/finding_reference.py after an edit of a condition."""
    assert finding_reference.PAGE.read_text(encoding='utf-8') == finding_reference.page()


def test_every_finding_every_health_check_and_every_option_is_there() -> None:
    page = finding_reference.page()
    for known in conditions().values():
        assert page.count(f'.. describe:: {known.condition_id}\n') == 1
        assert (f'``{known.health_code}``' in page) == (known.health is not None)
        for option in known.limit_options:
            assert f':confval:`{option.name}`' in page


def test_nothing_is_left_open_in_a_remedy() -> None:
    """A name in braces is filled in, or given in angle brackets."""
    assert not set('{}') & set(finding_reference.page())
