from typing import Any, ClassVar, List, Optional, Set, Tuple, Type


class BaseController:
    _registry: ClassVar[List[Type['BaseController']]] = []
    #: The permissions of a test's user, as (scope, permission).
    permissions: ClassVar[Set[Tuple[str, str]]] = set()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        BaseController._registry.append(cls)

    def _has_permissions(self, permissions: List[str], scope: Optional[str] = None) -> bool:
        return all((scope, permission) in self.permissions for permission in permissions)
