"""The differences between two option strings."""

from __future__ import annotations

from typing import Optional

from ..options.grammar import OptionDifference, OptionSyntaxError, diff, parse


def difference(before: str, after: str) -> Optional[tuple[OptionDifference, ...]]:
    """The differences between two option strings; None if one cannot be parsed."""
    try:
        return diff(parse(before), parse(after))
    except OptionSyntaxError:
        return None
