"""Moving daemons of a running cluster to another release's programs, on the data that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from . import boot
from .client import wait_until
from .errors import CommandError, HarnessError, UsageError
from .layout import Record
from .releases import Release, get_release, is_older

if TYPE_CHECKING:
    from .cluster import Cluster

RESTART_TIMEOUT_S = 120.0
QUERY_TIMEOUT_S = 10.0

#: Ceph's own order for an upgrade, and what each kind needs of Release.packages.
KINDS = {'mon': 'core', 'mgr': 'core', 'osd': 'core', 'mds': 'mds', 'client': 'rgw'}


def steps(record: Record, release: Release, words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The daemons that are moved, those that are moved together as one step, in order.

    `words` name daemons ("osd.2") or all of a kind ("mon", "mgr"). Managers move together: they
    share the folder of their modules. UsageError for what cannot be.
    """
    names = [name for name in record.daemons if name in words or _kind(name) in words]
    known = {*record.daemons, *map(_kind, record.daemons)}
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UsageError(f'no {", ".join(unknown)} in this cluster: {", ".join(record.daemons)}')
    if any(word.startswith('mgr.') for word in words):
        raise UsageError('managers share the folder of their modules: upgrade all of them, by mgr')
    for name in names:
        runs = get_release(record.release_of(name))
        if is_older(release, runs):
            raise UsageError(f'{name} runs {runs.name}: its data cannot go back to {release.name}')
    managers = tuple(name for name in names if _kind(name) == 'mgr')
    ordered = sorted(names, key=lambda name: list(KINDS).index(_kind(name)))
    found = [managers if _kind(name) == 'mgr' else (name,) for name in ordered]
    return tuple(dict.fromkeys(found))


def packages_for(names: Iterable[str], *, dashboard: bool) -> list[str]:
    """The purposes (keys of Release.packages) of these daemons."""
    return list(dict.fromkeys(KINDS[_kind(name)] for name in names)) + ['dashboard'] * dashboard


def wait_until_restarted(cluster: Cluster, names: Sequence[str], nonces: dict[str, int]) -> None:
    """The daemons of one step do their work again. `nonces`: of the OSDs, before."""
    client, spec = cluster.client, cluster.record.spec
    for name in names:
        kind, _, number = name.partition('.')
        conditions: dict[str, Callable[[], bool]] = {
            'mon': lambda number=number: number in _quorum(cluster),  # type: ignore[misc]
            'osd': lambda name=name: (  # type: ignore[misc]
                osd_nonces(cluster, up=True).get(name, nonces[name]) != nonces[name]
            ),
        }
        if kind in conditions:
            try:
                wait_until(_patient(conditions[kind]), RESTART_TIMEOUT_S, f'{name} is back')
            except HarnessError as error:
                raise boot.DaemonError(name, str(error)) from error
    if any(_kind(name) == 'mgr' for name in names):
        boot.wait_for_modules(client, spec)


def osd_nonces(cluster: Cluster, *, up: bool = False) -> dict[str, int]:
    """Identifies the process of each OSD, by daemon name; with `up` only of those that are up."""
    return {
        f'osd.{osd["osd"]}': osd['public_addrs']['addrvec'][0]['nonce']
        for osd in cluster.ceph_json('osd', 'dump', timeout_s=QUERY_TIMEOUT_S)['osds']
        if osd['public_addrs']['addrvec'] and (osd['up'] or not up)
    }


def _quorum(cluster: Cluster) -> list[str]:
    names: list[str] = cluster.ceph_json('quorum_status', timeout_s=QUERY_TIMEOUT_S)['quorum_names']
    return names


def _patient(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Not so while the monitors do not answer."""

    def so() -> bool:
        try:
            return condition()
        except CommandError:
            return False

    return so


def _kind(name: str) -> str:
    return name.partition('.')[0]
