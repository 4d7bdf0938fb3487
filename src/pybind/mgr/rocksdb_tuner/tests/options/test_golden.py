"""Answers at the edges of each rule match `data/golden.json` literally."""

from __future__ import annotations

import pytest

from .golden import SECTIONS, answers, recorded

RECORDED = recorded()


@pytest.mark.parametrize(
    ('section', 'group'), [(section, group) for section in SECTIONS for group in RECORDED[section]]
)
def test_answer_to_each_text_matches_the_recorded_one(section: str, group: str) -> None:
    """How it is divided and read, what is in effect, and the sentences that operators get."""
    assert answers(section, group) == RECORDED[section][group]
