"""Plain output has what an operator needs, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import Profile, profiles
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.doctor import examine
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import findings_named, plan_of
from rocksdb_tuner.present.layout import WIDTH, clean, display_width, paragraph, shell_command
from rocksdb_tuner.present.osd import detail_of, worst_osds
from rocksdb_tuner.snapshot import Snapshot

from . import samples
from .cases import KNOWN


def answers(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Every plain answer that can be made of a snapshot."""
    yield 'status', views.show('status', snapshot, 'plain')
    yield 'osds', views.show('osd', worst_osds(snapshot), 'plain')
    yield 'workload', views.show('workload', snapshot, 'plain')
    yield 'findings', views.show('findings', snapshot, 'plain')
    for found in snapshot.findings:
        one = findings_named(snapshot, found.finding_id)
        yield 'finding', views.show('findings', one, 'plain', whole=True)
    yield 'recommend', views.show('recommend', snapshot, 'plain')
    yield 'recommend --all', views.show('recommend-all', snapshot, 'plain')
    yield 'operation', views.show('operation', snapshot, 'plain')
    yield 'history', views.show('history', snapshot.history, 'plain')
    yield 'mode', views.show('mode', snapshot.mode, 'plain')
    yield 'doctor', views.show('doctor', examine(snapshot, samples.ENVIRONMENT), 'plain')
    for facts in snapshot.osds:
        yield 'osd', views.show('osd-detail', detail_of(snapshot, facts.info.osd_id), 'plain')
    for recommendation in snapshot.recommendations:
        yield (
            'recommend <id>',
            views.show('recommend-detail', recommendation, 'plain'),
        )
        if recommendation.change is not None:
            yield 'plan', views.show('plan', plan_of(recommendation, samples.SOAK), 'plain')


def too_wide(text: str, width: int = WIDTH) -> list[str]:
    return [line for line in text.split('\n') if display_width(line) > width]


def printed_commands(snapshot: Snapshot) -> Iterator[str]:
    """The lines of all commands of a snapshot."""
    advice = snapshot.recommendations
    for command in (
        *(command for finding in snapshot.findings for command in finding.commands),
        *(command for r in advice for command in (*r.commands, *r.undo_commands)),
        *(f'ceph rocksdb-tuner apply {r.recommendation_id}' for r in advice),
    ):
        yield from map(clean, shell_command(command).split('\n'))


# Not shrunk: of so large a record that takes minutes, and a failure names the answer anyway.
@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_any_snapshot_fits(data: st.DataObject) -> None:
    """Odd names, huge numbers, unknowns, control and wide characters: 80 columns always.

    Except a command that cannot be continued on another line.
    """
    snapshot = data.draw(samples.any_snapshot())
    whole = set(printed_commands(snapshot))
    for name, text in answers(snapshot):
        assert whole.issuperset(too_wide(text)), name


@given(st.text(max_size=300), st.integers(0, 40), st.text(alphabet='abc: ', max_size=60))
def test_a_paragraph_keeps_to_the_width_whatever_its_label(
    text: str, indent: int, first: str
) -> None:
    assert not too_wide(paragraph(text, indent=indent, first=first))


@example('node-e\u0301', '\u0fc6' * 9 + 'x' * 99)
@example('\u2764\ufe0f' * 60, '\U0001f1e9\U0001f1ea' * 40)
@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_long_names_of_hosts_and_profiles_fit(host: str, profile: str) -> None:
    snapshot = samples.small_cluster()
    first = snapshot.osds[0]
    assert first.options is not None
    odd = first._replace(
        info=replace(first.info, host=host, device_class=host),
        options=replace(first.options, profile=profile, running=profile),
    )
    snapshot = replace(
        snapshot,
        osds=(odd, *snapshot.osds[1:]),
        groups=(replace(snapshot.groups[0], device_class=host, osds=(odd,)),),
    )
    for name, text in answers(snapshot):
        assert not too_wide(text), name


@given(st.integers(1 << 16, 1 << 63), st.integers(1, 1 << 63), st.integers(1, (1 << 31) - 1))
def test_a_model_of_any_number_fits(size: int, base: int, trigger: int) -> None:
    options = (
        f'write_buffer_size={size},max_bytes_for_level_base={base},'
        f'level0_file_num_compaction_trigger={trigger}'
    )
    assert not too_wide(views.show('model', tree(options, KNOWN), 'plain'))


@pytest.mark.parametrize('profile', profiles(), ids=lambda p: p.name)
def test_a_model_of_every_profile_fits(profile: Profile) -> None:
    assert not too_wide(views.show('model', tree(profile.options, KNOWN), 'plain'))
