from pathlib import Path
from typing import Any, Callable, Dict, Optional, TypeVar

from ._base_controller import BaseController as BaseController

_CHECKOUT = Path(__file__).resolve().parents[4]
#: As installed: files of the drop-in replace those of the same name in the tree. Independent of
#: sys.path, to which pages and benches add folders when they are imported.
__path__ = [
    *__path__,
    str(_CHECKOUT / 'contrib/dashboard-dropin/dashboard/controllers'),
    str(_CHECKOUT / 'src/pybind/mgr/dashboard/controllers'),
]

_T = TypeVar('_T')


def APIRouter(path: str, scope: str) -> Callable[[_T], _T]:  # noqa: N802 - Ceph's name
    def declare(cls: Any) -> Any:
        cls.path, cls.scope = path, scope
        return cls

    return declare


def APIDoc(description: str, group: str) -> Callable[[_T], _T]:  # noqa: N802 - Ceph's name
    return lambda cls: cls


def UIRouter(  # noqa: N802 - Ceph's name
    path: str, scope: Optional[str] = None, secure: bool = True
) -> Callable[[_T], _T]:
    def declare(cls: Any) -> Any:
        cls.path, cls.scope, cls.secure = path, scope, secure
        return cls

    return declare


def Endpoint(method: str, path: str, **_: Any) -> Callable[[_T], _T]:  # noqa: N802 - Ceph's name
    def declare(func: Any) -> Any:
        func.method, func.path = method, path
        return func

    return declare


def EndpointDoc(  # noqa: N802 - Ceph's name
    description: str,
    parameters: Optional[Dict[str, Any]] = None,
    responses: Optional[Dict[int, Any]] = None,
) -> Callable[[_T], _T]:
    def declare(func: Any) -> Any:
        func.description, func.parameters = description, parameters or {}
        func.responses = responses
        return func

    return declare


def ReadPermission(func: Any) -> Any:  # noqa: N802 - Ceph's name
    func.permission = 'read'
    return func


def UpdatePermission(func: Any) -> Any:  # noqa: N802 - Ceph's name
    func.permission = 'update'
    return func
