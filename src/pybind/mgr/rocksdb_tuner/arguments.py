"""Whether another module's arguments fit the handler of a command: nobody has read them yet."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Mapping, Optional, Union, get_args, get_origin, get_type_hints

_NAMES = {str: 'a text', int: 'a whole number', bool: 'true or false'}
#: Each is a name, a number or an option string.
TEXT_MAX_CHARS = 1 << 16


def what_is_wrong(handler: Callable[..., object], arguments: Mapping[str, Any]) -> Optional[str]:
    """In a sentence; None where ``handler`` takes the arguments."""
    parameters = inspect.signature(handler).parameters
    for name in arguments:
        if name not in parameters:
            known = ', '.join(parameters) or 'none'
            return f'there is no argument "{name[:60]}"; arguments: {known}'
    hints = get_type_hints(handler)
    for name, parameter in parameters.items():
        if name not in arguments:
            if parameter.default is inspect.Parameter.empty:
                return f'the argument "{name}" is missing'
            continue
        problem = _wrong_type(arguments[name], hints[name])
        if problem is not None:
            return f'the argument "{name}" {problem}'
    return None


def _wrong_type(value: object, hint: Any) -> Optional[str]:
    kinds = get_args(hint) if get_origin(hint) is Union else (hint,)
    if value is None and type(None) in kinds:
        return None
    if isinstance(value, str) and str in kinds and len(value) > TEXT_MAX_CHARS:
        return f'has {len(value)} characters, more than {TEXT_MAX_CHARS}'
    # True is an int to Python.
    if any(type(value) is kind for kind in kinds):
        return None
    wanted = ' or '.join(_NAMES[kind] for kind in kinds if kind in _NAMES)
    return f'should be {wanted}, not {type(value).__name__}'
