"""What is refused before anything is recorded or changed, and with which words."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.rollout.errors import RolloutRefused
from rocksdb_tuner.rollout.records import OPTION, ChangeRequest, Phase
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import ALL, CLASS, NEW, OLD, Run, overridden, remove_override, set_profile


def refuses(run: Run, request: ChangeRequest, code: int, text: str) -> None:
    with pytest.raises(RolloutRefused, match=text) as refused:
        run.start(request)
    assert refused.value.errno == code
    assert run.driver.state is None
    assert run.cluster.commands == []
    assert run.store.values == {}


def test_a_canary_is_not_compared_with_itself_or_with_strangers(run: Run) -> None:
    for controls in ((0, 1), (1, 9)):
        with pytest.raises(RolloutRefused, match='compares the first OSD with itself'):
            run.start(set_profile(run.cluster, controls=controls))


def test_what_was_there_before_is_recorded() -> None:
    run = Run(overridden(ALL))
    run.cluster.operator_sets('osd.7', OLD)
    state = run.start()
    assert state.before.entries == ((ALL, OLD),)
    assert state.before.entry(ALL) == OLD
    assert state.before.entry('osd.0') is None
    assert {(o.value, o.source, o.release) for o in state.before.osds} == {(OLD, 'mon', 'pacific')}
    assert state.phase is Phase.PLANNED


@pytest.mark.parametrize(
    ('changes', 'says'),
    [
        ({'option': 'osd_memory_target'}, 'only bluestore_rocksdb_options can'),
        ({'targets': (), 'order': ()}, 'there is no OSD to change'),
        ({'order': (0, 1)}, 'twice, or not in its order'),
        ({'order': (0, 1, 2, 2)}, 'twice, or not in its order'),
        ({'targets': ((0, NEW), (1, NEW), (2, NEW), (2, OLD))}, 'twice, or not in its order'),
        ({'final_entries': ((ALL, NEW), (ALL, OLD))}, 'twice, or not in its order'),
        ({'final_entries': (('osd.1', OLD),)}, r'osd\.1 would not end as its target'),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(
    run: Run, changes: dict[str, object], says: str
) -> None:
    refuses(run, set_profile(run.cluster, **changes), errno.EINVAL, says)  # type: ignore[arg-type]


def test_an_unknown_osd_is_answered_with_those_there_are(run: Run) -> None:
    request = set_profile(run.cluster, targets=((0, NEW), (9, NEW)), order=(0, 9))
    refuses(
        run,
        request,
        errno.ENOENT,
        r'osd\.9 is not in the OSD map; it has osd\.0, osd\.1, osd\.2$',
    )


def test_osds_that_are_down_are_named(run: Run) -> None:
    run.cluster.stop_osd(0)
    run.cluster.stop_osd(2)
    refuses(run, set_profile(run.cluster), errno.EBUSY, r'osd\.0, osd\.2 are down: bring it up')


def test_many_osds_are_named_as_far_as_a_line_takes() -> None:
    run = Run(overridden('osd', osds=12))
    for n in range(12):
        run.cluster.stop_osd(n)
    refuses(run, set_profile(run.cluster), errno.EBUSY, r'osd\.7 and 4 more are down')


@pytest.mark.parametrize('who', ['osd.1', 'osd.1/class:ssd', 'osd.1/host:node1'])
def test_an_osds_own_entry_is_never_lost_silently(run: Run, who: str) -> None:
    run.cluster.operator_sets(who, OLD)
    refuses(
        run,
        set_profile(run.cluster),
        errno.EINVAL,
        f'osd.1 has an entry of its own.*"ceph config rm {who} {OPTION}" first',
    )


@pytest.mark.parametrize('source', ['file', 'env', 'cmdline', 'override'])
def test_what_the_config_store_does_not_decide_is_not_fought(run: Run, source: str) -> None:
    run.cluster.osds[1].shown[OPTION] = RunningOption(OLD, source, ignores_mon=False)
    run.cluster.advance(10)
    words = {'file': 'ceph.conf', 'env': 'environment', 'cmdline': 'command line'}
    refuses(
        run,
        set_profile(run.cluster),
        errno.EINVAL,
        f'of osd.1 comes from .*{words.get(source, "running daemon")}',
    )


def test_an_osd_that_does_not_tell_what_it_runs_is_named(run: Run) -> None:
    run.cluster.osds[2].silent = True
    refuses(run, set_profile(run.cluster), errno.EAGAIN, r'what osd\.2 runs cannot be read now')


def test_an_osd_whose_release_is_not_known_yet_is_named(run: Run) -> None:
    cluster = run.cluster
    known = cluster.cluster_map

    def without_metadata() -> object:
        found = known()
        return replace(found, osds=tuple(replace(o, release=None, host=None) for o in found.osds))

    cluster.cluster_map = without_metadata  # type: ignore[method-assign,assignment]
    refuses(run, set_profile(cluster), errno.EAGAIN, r'the release of osd\.0 is not known yet')


@pytest.mark.parametrize('who', ['osd/host:node1', 'osd/class:ssd/host:node1'])
def test_an_entry_that_would_decide_in_the_end_is_named_beforehand(run: Run, who: str) -> None:
    run.cluster.operator_sets(who, OLD)
    refuses(
        run,
        set_profile(run.cluster),
        errno.EINVAL,
        f'the entry of {who} would come before, for osd.1, with another value',
    )


def test_an_entry_that_decides_in_the_end_with_the_same_meaning_is_no_hindrance(run: Run) -> None:
    run.cluster.operator_sets('osd/host:node1', NEW.replace(',', ';'))
    assert run.start().phase is Phase.PLANNED


@pytest.mark.parametrize('who', [CLASS, 'osd/host:node1', 'osd.1/class:ssd'])
def test_an_entry_that_no_osd_starts_with_is_not_written(run: Run, who: str) -> None:
    request = set_profile(run.cluster, final_entries=((who, NEW), (ALL, NEW)))
    refuses(run, request, errno.EINVAL, f'no OSD starts with what the entry for {who} says')


def test_an_end_without_an_entry_for_its_osds_is_refused(run: Run) -> None:
    request = set_profile(run.cluster, final_entries=(('osd.0', NEW), ('osd.1', NEW)))
    refuses(run, request, errno.EINVAL, r'no entry would decide for osd\.2 at the end')


def test_an_entry_that_no_osd_starts_with_can_be_removed(run: Run) -> None:
    run.cluster.operator_sets(CLASS, OLD)
    assert run.start(set_profile(run.cluster, final_entries=((CLASS, None), (ALL, NEW))))


def test_an_override_that_has_another_one_below_it_is_refused(run: Run) -> None:
    run.cluster.operator_sets('osd', OLD)
    run.cluster.operator_sets('global', 'write_buffer_size=1')
    refuses(
        run,
        remove_override(run.cluster),
        errno.EINVAL,
        'the entry of global would come before, for osd.0',
    )


def test_osds_beside_the_request_are_never_changed_unwatched(run: Run) -> None:
    request = set_profile(run.cluster, targets=((0, NEW),), order=(0,))
    refuses(
        run,
        request,
        errno.EINVAL,
        r'osd\.1, osd\.2 are not among the OSDs to change, but would get another value',
    )


def test_osds_beside_the_request_that_get_the_same_in_other_words_are_no_hindrance() -> None:
    run = Run(overridden(ALL))
    same = ';'.join(OLD.split(','))
    assert run.start(set_profile(run.cluster, same, targets=((0, same),), order=(0,)))


def test_an_osd_beside_the_request_that_is_down_is_not_changed_unwatched_either(run: Run) -> None:
    """It would come back with a value that nobody looked at."""
    run.cluster.stop_osd(1)
    targets = tuple((n, NEW) for n in (0, 2))
    request = set_profile(run.cluster, targets=targets, order=(0, 2))
    refuses(run, request, errno.EINVAL, r'osd\.1 is not among the OSDs to change')


def test_an_osd_beside_the_request_that_is_down_and_out_is_no_hindrance(run: Run) -> None:
    run.cluster.stop_osd(1)
    run.cluster.osds[1].in_cluster = False
    targets = tuple((n, NEW) for n in (0, 2))
    assert run.start(set_profile(run.cluster, targets=targets, order=(0, 2)))


def test_an_override_that_covers_osds_beside_the_request_is_refused() -> None:
    run = Run(overridden('osd'))
    request = replace(
        remove_override(run.cluster),
        targets=((0, DEFAULTS['pacific']),),
        order=(0,),
        controls=(),
    )
    refuses(run, request, errno.EINVAL, 'would get another value at the next restart')
