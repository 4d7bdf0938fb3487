"""A module option with its declaration for Ceph, and the check of its value. Pure."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from .steps import ExplainedError

_T = TypeVar('_T')
_Choice = TypeVar('_Choice', bound=Enum)
#: As in mgr_module, for an option of any declared type.
OptionValue = Optional[Union[bool, int, float, str]]
#: Returns the value of an option by name.
ReadOption = Callable[[str], OptionValue]


class SettingError(ExplainedError):
    """An option has an invalid value."""

    errno = errno.EINVAL


@dataclass(frozen=True)
class Setting(Generic[_T]):
    """A module option: bounds are enforced on reading, in one place."""

    name: str
    #: Ceph's name of the type.
    type: str
    default: Union[bool, int, float, str]
    #: One-line description in `ceph config help`.
    text: str
    #: Converts Ceph's value to the module's.
    convert: Callable[[Any], _T]
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    choices: tuple[str, ...] = ()
    detail: Optional[str] = None

    def declaration(self) -> dict[str, Any]:
        """Keyword arguments for Ceph's `Option`."""
        known = {
            'name': self.name,
            'type': self.type,
            'default': self.default,
            'min': self.minimum,
            'max': self.maximum,
            'enum_allowed': list(self.choices) or None,
            'desc': self.text,
            'long_desc': self.detail,
            'runtime': True,
        }
        return {name: value for name, value in known.items() if value is not None}

    def read(self, option: ReadOption) -> _T:
        """The current value of the option; raises SettingError."""
        # Any: the value, of any type, is checked below.
        given: Any = option(self.name)
        if given is None or (self.choices and not given):
            given = self.default
        if self.choices and given not in self.choices:
            raise SettingError(f'invalid {self.name} "{given}"; allowed: {", ".join(self.choices)}')
        try:
            value = self.convert(given)
        except (TypeError, ValueError):
            raise SettingError(
                f'invalid {self.name} "{given}"; expected a value of type {self.type}'
            ) from None
        too_small = self.minimum is not None and not given >= self.minimum
        too_large = self.maximum is not None and not given <= self.maximum
        if too_small or too_large:
            raise SettingError(
                f'{self.name} = {given} is out of range; allowed: {self.minimum} to {self.maximum}'
            )
        return value


def in_seconds(name: str, default: int, minimum: int, maximum: int, text: str) -> Setting[float]:
    """A duration or an age."""
    return Setting(name, 'secs', default, text, float, minimum, maximum)


def share(name: str, default: float, minimum: float, maximum: float, text: str) -> Setting[float]:
    return Setting(name, 'float', default, text, float, minimum, maximum)


def count(name: str, default: int, minimum: int, maximum: int, text: str) -> Setting[int]:
    # Ceph rejects negative values of a uint, but not of an int.
    return Setting(name, 'uint', default, text, int, minimum, maximum)


def free_text(name: str, default: str, text: str) -> Setting[str]:
    return Setting(name, 'str', default, text, str)


def one_of(name: str, default: _Choice, text: str, detail: str) -> Setting[_Choice]:
    kind = type(default)
    choices = tuple(str(member.value) for member in kind)
    return Setting(name, 'str', default.value, text, kind, choices=choices, detail=detail)
