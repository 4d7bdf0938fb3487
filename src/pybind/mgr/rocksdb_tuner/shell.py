"""Commands that are printed to be pasted into a shell.

Names in them come from the cluster: hosts, device classes and sections of the config store may have
blanks, quotes and line breaks. Every printed command with such a name is built here.
"""

from __future__ import annotations

import shlex
from itertools import groupby


def command(*words: object) -> str:
    """One line; each of ``words`` reaches the program as it is."""
    return ' '.join(quoted(str(word)) for word in words)


def quoted(word: str) -> str:
    """``word`` as a shell reads it, quoted where necessary, and in one line."""
    if word.isprintable():
        return shlex.quote(word)
    return ''.join(
        shlex.quote(''.join(run)) if printable else ''.join(map(control, run))
        for printable, run in groupby(word, str.isprintable)
    )


def control(character: str) -> str:
    r"""A control character, quoted for bash in any locale: $'\x1b'."""
    escaped = ''.join(f'\\x{byte:02x}' for byte in character.encode('utf-8', 'surrogatepass'))
    return f"$'{escaped}'"
