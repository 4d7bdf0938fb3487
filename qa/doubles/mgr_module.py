"""A double of Ceph's mgr_module, so that unit tests import the module without Ceph.

It has state where the real one queries a monitor, and nothing else: tests set their input on the
instance. The behavior of the real API is proven by the integration tests.
"""

import logging
import threading
from enum import IntEnum
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple


class HandleCommandResult(NamedTuple):
    retval: int = 0
    stdout: str = ''
    stderr: str = ''


class CommandResult:
    def __init__(self, tag: Optional[str] = None) -> None:
        self.ev = threading.Event()
        self.outs = ''
        self.outb = ''
        self.r = 0
        self.tag = tag or ''

    def complete(self, r: int, outb: str, outs: str) -> None:
        self.r, self.outb, self.outs = r, outb, outs
        self.ev.set()


class NotifyType(str):
    osd_map = 'osd_map'


class Option(Dict[str, Any]):
    def __init__(self, name: str, **values: Any) -> None:
        super().__init__(name=name, **values)


class CLICommand:
    COMMANDS: Dict[str, Callable[..., Any]] = {}
    PERMISSIONS: Dict[str, str] = {}

    def __init__(self, prefix: str, perm: str = 'rw', poll: bool = False) -> None:
        self.prefix = prefix
        self.PERMISSIONS[prefix] = perm

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        self.COMMANDS[self.prefix] = func
        return func


def CLIReadCommand(prefix: str, poll: bool = False) -> CLICommand:  # noqa: N802 - Ceph's name
    return CLICommand(prefix, 'r', poll)


def CLIWriteCommand(prefix: str, poll: bool = False) -> CLICommand:  # noqa: N802 - Ceph's name
    return CLICommand(prefix, 'w', poll)


class ClusterLogPrio(IntEnum):
    DEBUG = 0
    INFO = 1
    SEC = 2
    WARN = 3
    ERROR = 4


class MgrModule:
    ClusterLogPrio = ClusterLogPrio
    MODULE_OPTIONS: List[Option] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.log = logging.getLogger('mgr')
        self.module_name = str(args[0]) if args else ''
        self.release_name = 'pacific'
        self.version = '16.2.15'
        self.options = {o['name']: o.get('default') for o in self.MODULE_OPTIONS}
        self.stored: Dict[str, str] = {}
        self.data: Dict[str, Any] = {}
        self.counters: Dict[Tuple[str, str], Any] = {}
        self.daemon_health_metrics: Dict[str, List[Dict[str, Any]]] = {}
        self.health_checks: Dict[str, Any] = {}
        self.logged: List[Tuple[str, int, str]] = []
        self.other_modules = {'progress'}
        #: Of the orchestrator's backend.
        self.features: Any = {'daemon_action': {'available': True}}
        self.remote_calls: List[Tuple[str, str, Tuple[Any, ...], Dict[str, Any]]] = []
        self.uri = ''
        self.mon_answers: List[Tuple[int, str, str]] = []
        self.mon_commands: List[Dict[str, Any]] = []

    def get(self, data_name: str) -> Any:
        return self.data[data_name]

    def _handle_command(self, inbuf: str, cmd: Dict[str, Any]) -> HandleCommandResult:
        given = {name: cmd[name] for name in cmd if name not in {'prefix', 'target'}}
        if inbuf:
            given['inbuf'] = inbuf
        result: HandleCommandResult = CLICommand.COMMANDS[cmd['prefix']](self, **given)
        return result

    def get_latest_counter(self, svc_type: str, svc_name: str, path: str) -> Dict[str, Any]:
        return {path: self.counters.get((svc_name, path), [])}

    def get_counter(self, svc_type: str, svc_name: str, path: str) -> Dict[str, Any]:
        point = self.counters.get((svc_name, path))
        return {path: [point] if point else []}

    def get_daemon_health_metrics(self) -> Dict[str, List[Dict[str, Any]]]:
        return self.daemon_health_metrics

    def get_module_option(self, key: str, default: Any = None) -> Any:
        return self.options.get(key, default)

    def set_module_option(self, key: str, val: Any) -> None:
        self.options[key] = val

    def get_localized_module_option(self, key: str, default: Any = None) -> Any:
        return self.options.get(key, default)

    def get_mgr_ip(self) -> str:
        return '192.0.2.1'

    def set_uri(self, uri: str) -> None:
        self.uri = uri

    def get_store(self, key: str, default: Optional[str] = None) -> Optional[str]:
        return self.stored.get(key, default)

    def set_store(self, key: str, val: Optional[str]) -> None:
        if val is None:
            self.stored.pop(key, None)
        else:
            self.stored[key] = val

    def get_store_prefix(self, key_prefix: str) -> Dict[str, str]:
        return {k: v for k, v in self.stored.items() if k.startswith(key_prefix)}

    def cluster_log(self, channel: str, priority: IntEnum, message: str) -> None:
        self.logged.append((channel, priority, message))

    def remote(self, module_name: str, method_name: str, *args: Any, **kwargs: Any) -> Any:
        if method_name == 'get_feature_set':
            return self.features
        if module_name not in self.other_modules:
            raise ImportError(f'Module not found: {module_name}')
        self.remote_calls.append((module_name, method_name, args, kwargs))
        return None

    def set_health_checks(self, checks: Dict[str, Any]) -> None:
        self.health_checks = dict(checks)

    def mon_command(
        self, cmd_dict: Dict[str, Any], inbuf: Optional[str] = None
    ) -> Tuple[int, str, str]:
        self.mon_commands.append(cmd_dict)
        if not self.mon_answers and cmd_dict['prefix'] in {'config-key set', 'config-key del'}:
            # As the manager's copy of its keys: up to date before the answer comes.
            own = cmd_dict['key'].removeprefix(f'mgr/{self.module_name}/')
            self.set_store(own, inbuf if cmd_dict['prefix'].endswith('set') else None)
            return 0, '', ''
        return self.mon_answers.pop(0)


class MgrLogHandler(logging.NullHandler):
    """Takes what a module logs to the mgr's log."""


class MgrStandbyModule:
    MODULE_OPTIONS: List[Option] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.options = {o['name']: o.get('default') for o in self.MODULE_OPTIONS}

    def __del__(self) -> None:
        # As in Ceph: all handlers of its kind, for the last logging configuration.
        log = logging.getLogger()
        for handler in [h for h in log.handlers if isinstance(h, MgrLogHandler)]:
            log.removeHandler(handler)

    def get_localized_module_option(self, key: str, default: Any = None) -> Any:
        return self.options.get(key, default)

    def get_mgr_ip(self) -> str:
        return '192.0.2.1'
