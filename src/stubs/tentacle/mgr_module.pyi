"""mgr_module of 20.2: each module makes its decorators, and counters may have labels.

Read in 20.2.4.
"""

from typing import Any, Callable, Dict, List, Tuple, TypeVar

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

class CLICommandBase:
    def __init__(self, prefix: str, perm: str = ..., poll: bool = ...) -> None: ...
    def __call__(self, func: _F) -> _F: ...
    @classmethod
    def make_registry_subtype(cls, name: str) -> Any: ...

class MgrModule(MgrModuleOfAll):
    def get_unlabeled_counter(
        self, svc_type: str, svc_name: str, path: str
    ) -> Dict[str, List[CounterPointT]]: ...
    def get_latest_counter(
        self,
        svc_type: str,
        svc_name: str,
        counter_name: str,
        sub_counter_name: str,
        labels: List[Tuple[str, str]],
    ) -> Dict[str, CounterPointT]: ...
    def get_latest_unlabeled_counter(
        self, svc_type: str, svc_name: str, path: str
    ) -> Dict[str, CounterPointT]: ...
