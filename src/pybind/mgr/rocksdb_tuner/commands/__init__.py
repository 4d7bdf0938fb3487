"""The commands of the module, and the interface for other mgr modules.

Importing a submodule registers its commands with Ceph and in `COMMANDS`.
"""

from . import (
    advice,
    doctor,
    experiment,
    operation,
    options,
    profiles,
    report,
    status,
    views,
)
from .command import COMMANDS, Command, guarded
from .context import Context
from .remote import answer_module

__all__ = [
    'COMMANDS',
    'Command',
    'Context',
    'advice',
    'answer_module',
    'doctor',
    'experiment',
    'guarded',
    'operation',
    'options',
    'profiles',
    'report',
    'status',
    'views',
]
