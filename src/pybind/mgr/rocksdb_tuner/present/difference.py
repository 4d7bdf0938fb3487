"""Two option strings, option by option, for a person to compare."""

from __future__ import annotations

from typing import Optional

from ..options.grammar import OptionDifference, OptionSyntaxError, diff, parse


def difference(before: str, after: str) -> Optional[tuple[OptionDifference, ...]]:
    """What differs between two option strings; None if one of them cannot be parsed."""
    try:
        return diff(parse(before), parse(after))
    except OptionSyntaxError:
        return None
