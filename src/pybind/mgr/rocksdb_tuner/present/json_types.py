"""Types of JSON documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Union

#: A document or a part of one, as accepted by `json.dumps`.
Json = Union[None, bool, int, float, str, Sequence['Json'], Mapping[str, 'Json']]
JsonObject = dict[str, Json]
