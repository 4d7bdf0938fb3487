"""Stands in for what Ceph's qa/tasks import of teuthology, on a cluster of the harness.

Only names that MgrTestCase and what it inherits from ask for; the classes themselves are those of
the tree. `CephManager` takes the place of tasks.ceph_manager, which is all of teuthology.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from harness.client import CephClient
from harness.cluster import Cluster

#: A command may wait for a manager that is starting.
COMMAND_TIMEOUT_S = 180.0


class CommandFailedError(Exception):
    """teuthology.exceptions.CommandFailedError."""

    def __init__(self, command: str, exitstatus: int, node: str = '', label: str = '') -> None:
        super().__init__(f'{command!r} failed with status {exitstatus}')
        self.command, self.exitstatus, self.node, self.label = command, exitstatus, node, label


class Process(NamedTuple):
    """teuthology.orchestra.run.RemoteProcess, of a command that has ended."""

    stdout: StringIO
    stderr: StringIO
    exitstatus: int

    @property
    def returncode(self) -> int:
        return self.exitstatus


class Remote:
    """Where the commands run: with the clients of the cluster."""

    def __init__(self, client: CephClient) -> None:
        self._client = client

    def run(
        self, args: Sequence[Any], *, check_status: bool = True, stdin: str = '', **_: Any
    ) -> Process:
        words = [str(word) for word in args]
        done = self._client.run(*words, stdin=stdin, timeout_s=COMMAND_TIMEOUT_S, check=False)
        if check_status and done.returncode != 0:
            raise CommandFailedError(shlex.join(words), done.returncode)
        return Process(_read(done.stdout), _read(done.stderr), done.returncode)


def _read(text: str) -> StringIO:
    """Where `read` continues at the end, as after a process has written to it."""
    stream = StringIO()
    stream.write(text)
    return stream


class CephManager:
    """tasks.ceph_manager.CephManager: commands to the cluster."""

    def __init__(self, controller: Remote, ctx: object = None, logger: object = None) -> None:
        del ctx, logger
        self.controller = controller

    def run_cluster_cmd(self, args: Any, **options: Any) -> Process:
        words = shlex.split(args) if isinstance(args, str) else list(args)
        options.pop('timeoutcmd', None)
        return self.controller.run(['ceph', *words], **options)

    def raw_cluster_cmd(self, *args: Any, **options: Any) -> str:
        words = options.pop('args', None) or args
        return self.run_cluster_cmd(words, **options).stdout.getvalue()

    def raw_cluster_cmd_result(self, *args: Any, **options: Any) -> int:
        words = options.pop('args', None) or args
        return self.run_cluster_cmd(words, **{**options, 'check_status': False}).exitstatus

    def get_mon_health(self, debug: bool = False, detail: bool = False) -> Any:
        del debug
        words = ('health', *(['detail'] if detail else []), '--format=json')
        return json.loads(self.raw_cluster_cmd(*words))


class Daemon:
    """teuthology.orchestra.daemon.DaemonState."""

    def __init__(self, lab: Cluster, name: str) -> None:
        self._lab, self._name = lab, name

    def running(self) -> bool:
        up: bool = self._lab.status().pid(self._name) is not None
        return up

    def stop(self, timeout: float = 0) -> None:
        del timeout
        if self.running():
            self._lab.stop_daemon(self._name)

    def restart(self, *_: object) -> None:
        self.stop()
        self._lab.start_daemon(self._name)


class Daemons:
    def __init__(self, lab: Cluster) -> None:
        self._lab = lab

    def get_daemon(self, kind: str, name: str, cluster: str = 'ceph') -> Daemon:
        del cluster
        return Daemon(self._lab, f'{kind}.{name}')


class Roles:
    """teuthology.orchestra.cluster.Cluster: all daemons on one machine."""

    def __init__(self, remote: Remote, names: Sequence[str]) -> None:
        self.remotes: Mapping[Remote, Sequence[str]] = {remote: names}

    def only(self, *roles: object) -> Roles:
        del roles
        return self


def all_roles_of_type(cluster: Roles, kind: str) -> Iterator[str]:
    for names in cluster.remotes.values():
        for name in names:
            found, _, identity = name.partition('.')
            if found == kind:
                yield identity


def get_first_mon(ctx: Any, config: object, cluster: object = None) -> str:
    del config, cluster
    return f'mon.{min(all_roles_of_type(ctx.cluster, "mon"))}'


def context(lab: Cluster) -> SimpleNamespace:
    """teuthology's ctx; ``conf_epoch`` is what configuration each test begins and ends with."""
    remote = Remote(lab.client)
    manager = CephManager(remote)
    names = [daemon.name for daemon in lab.status().daemons]
    (newest, *_) = json.loads(manager.raw_cluster_cmd('config', 'log', '1', '--format=json'))
    return SimpleNamespace(
        cluster=Roles(remote, names),
        daemons=Daemons(lab),
        managers={'ceph': manager},
        conf_epoch=newest['version'],
    )


def _not_here(*_: object, **__: object) -> None:
    raise NotImplementedError('not on a cluster of the harness')


def modules() -> Mapping[str, Mapping[str, object]]:
    """By name of the module, what is taken from it."""
    return {
        'gevent': {'Greenlet': _not_here},
        'teuthology': {},
        'teuthology.misc': {
            'all_roles_of_type': all_roles_of_type,
            'get_first_mon': get_first_mon,
        },
        'teuthology.exceptions': {'CommandFailedError': CommandFailedError},
        'teuthology.nuke': {'clear_firewall': _not_here},
        'teuthology.parallel': {'parallel': _not_here},
        'teuthology.contextutil': {'safe_while': _not_here},
        'tasks.ceph_manager': {'CephManager': CephManager, 'write_conf': _not_here},
    }


def install() -> None:
    """Let `import teuthology` find the stand-ins; the folder of `tasks` is on the path already."""
    for name, contents in modules().items():
        made = ModuleType(name)
        vars(made).update(contents)
        sys.modules[name] = made
    for name in modules():
        parent, _, last = name.rpartition('.')
        if parent in sys.modules:
            setattr(sys.modules[parent], last, sys.modules[name])
