"""The commands of the module, and the interface for other mgr modules."""

from . import table
from .command import COMMANDS, Command, answer_module, guarded
from .context import Context

__all__ = ['COMMANDS', 'Command', 'Context', 'answer_module', 'guarded', 'table']
