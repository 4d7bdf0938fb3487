from typing import Any


class DashboardException(Exception):
    def __init__(
        self,
        e: Any = None,
        code: Any = None,
        component: Any = None,
        http_status_code: Any = None,
        msg: Any = None,
    ) -> None:
        super().__init__(msg)
        self.code = code
        self.component = component
        self.status = http_status_code or 400
