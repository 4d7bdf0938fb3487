"""mgr_module up to 19.2: three decorators for all modules, counters without labels.

Read in 16.2.15 and 18.2.7, which agree. Quincy (17.2) lies between them and Squid (19.2) is taken
to be as Reef, after the public history of the file: neither was installed or run.
"""

from typing import Any, Callable, Dict, List, TypeVar

from _mgr_module import (
    CounterPointT,
    CommandResult as CommandResult,
    HandleCommandResult as HandleCommandResult,
    MgrModuleOfAll,
    MgrStandbyModule as MgrStandbyModule,
    NotifyType as NotifyType,
    Option as Option,
)

_F = TypeVar('_F', bound=Callable[..., Any])

class CLICommand:
    def __init__(self, prefix: str, perm: str = ..., poll: bool = ...) -> None: ...
    def __call__(self, func: _F) -> _F: ...

def CLIReadCommand(prefix: str, poll: bool = ...) -> Callable[[_F], _F]: ...
def CLIWriteCommand(prefix: str, poll: bool = ...) -> Callable[[_F], _F]: ...

class MgrModule(MgrModuleOfAll):
    def get_counter(
        self, svc_type: str, svc_name: str, path: str
    ) -> Dict[str, List[CounterPointT]]: ...
    def get_latest_counter(
        self, svc_type: str, svc_name: str, path: str
    ) -> Dict[str, CounterPointT]: ...
