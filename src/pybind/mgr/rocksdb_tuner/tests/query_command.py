"""Calls a command of a module, as Ceph does once it has parsed the arguments."""

from __future__ import annotations

from typing import Any

from mgr_module import HandleCommandResult

from rocksdb_tuner.commands import COMMANDS


def ask(module: Any, name: str, /, *arguments: Any, **named: Any) -> HandleCommandResult:
    """``name`` is the words of the command with underscores."""
    return COMMANDS[name].run(module, *arguments, **named)
