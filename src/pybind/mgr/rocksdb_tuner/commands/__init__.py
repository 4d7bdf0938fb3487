"""The commands of the module, by family, and what other modules of the manager may ask for.

A family is imported for its effect: `command.py` registers what it declares, with Ceph and here.
"""

from . import advice, operation, options, profiles, report, rollout, status, views
from .command import COMMANDS, Command, guarded
from .context import Context
from .remote import answer_module

__all__ = [
    'COMMANDS',
    'Command',
    'Context',
    'advice',
    'answer_module',
    'guarded',
    'operation',
    'options',
    'profiles',
    'report',
    'rollout',
    'status',
    'views',
]
