"""Names in a collection that identify a cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional, Union

from ..mgr.records import FailureDomain
from ..operations.experiment.records import ExperimentState
from ..operations.rollout.records import RolloutState
from .records import Collection
from .vocabulary import ceph_words

#: The default root of the CRUSH map.
FIRST_ROOT = 'default'
#: The actor of an unknown client.
NOBODY = 'operator'


def is_custom(name: str) -> bool:
    return name not in ceph_words()


def user(actor: str) -> Iterator[str]:
    name = actor.rpartition(':')[2]
    if name and actor != NOBODY:
        yield name


def _rollouts(collection: Collection) -> Iterator[RolloutState]:
    """The rollout, and the change of OSDs within the experiment."""
    experiment = collection.experiment
    for state in (collection.rollout, None if experiment is None else experiment.leg):
        if state is not None:
            yield state


def _masks(collection: Collection) -> Iterator[tuple[str, str]]:
    whos = [entry.who for entry in collection.entries or ()]
    whos += [record.who for record in collection.history]
    for state in _rollouts(collection):
        whos += [state.request.who, *(who for who, _ in state.request.final_entries)]
        whos += [*(who for who, _ in state.before.entries), *state.restoring]
    if collection.experiment is not None:
        whos += [collection.experiment.request.who]
        whos += [who for who, _ in collection.experiment.before.entries]
    for who in whos:
        for mask in who.split('/')[1:]:
            kind, colon, name = mask.partition(':')
            if colon and name:
                yield kind, name


def hosts(collection: Collection) -> Iterator[str]:
    hosts: list[Optional[str]] = [osd.host for osd in collection.cluster_map.osds]
    hosts += [
        bucket.plain_name
        for bucket in collection.cluster_map.crush.buckets
        if bucket.kind == 'host'
    ]
    hosts += [name for kind, name in _domains(collection) if kind == 'host']
    if collection.module is not None:
        hosts += [manager.host for manager in collection.module.managers]
    hosts += [name for kind, name in _masks(collection) if kind == 'host']
    yield from (host for host in hosts if host is not None)


def _domains(collection: Collection) -> Iterator[FailureDomain]:
    domains = [osd.failure_domain for osd in collection.cluster_map.osds]
    for state in _rollouts(collection):
        domains += state.request.domains
    yield from (domain for domain in domains if domain is not None)


def places(collection: Collection) -> Iterator[tuple[str, str]]:
    """Buckets and masks other than hosts, with their types."""
    crush = collection.cluster_map.crush
    kinds = {bucket.bucket_id: bucket.kind for bucket in crush.buckets}
    found = [(bucket.kind, bucket.plain_name) for bucket in crush.buckets]
    found += [
        (kinds.get(draw.root_id, 'root'), draw.root_name.partition('~')[0])
        for rule in crush.rules
        for draw in rule.draws
    ]
    found += [(domain.kind, domain.name) for domain in _domains(collection)]
    found += _masks(collection)
    for kind, name in found:
        if kind not in {'host', 'class', 'osd'} and name not in {'', FIRST_ROOT}:
            yield kind, name


def classes(collection: Collection) -> Iterator[str]:
    """Names of device classes, including Ceph's own."""
    cluster_map = collection.cluster_map
    yield from (osd.device_class for osd in cluster_map.osds if osd.device_class)
    yield from (name for pool in cluster_map.pools for name in pool.device_classes)
    named = [bucket.name for bucket in cluster_map.crush.buckets]
    named += [draw.root_name for rule in cluster_map.crush.rules for draw in rule.draws]
    yield from (name.partition('~')[2] for name in named if '~' in name)
    yield from (name for kind, name in _masks(collection) if kind == 'class')
    if collection.module is not None:
        yield from collection.module.advised_on
        yield from collection.module.memories.groups


def actors(collection: Collection) -> Iterator[str]:
    yield from (record.actor for record in collection.history)
    states: list[Union[RolloutState, ExperimentState]] = [*_rollouts(collection)]
    states += [] if collection.experiment is None else [collection.experiment]
    for state in states:
        yield state.request.actor
        if state.paused_by is not None:
            yield state.paused_by
