"""The subjects of `check` and `explain`, and their answers: plain, and as JSON by schema."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocksdb_tuner import present
from rocksdb_tuner.options.checks import TEXT_MAX_BYTES
from rocksdb_tuner.options.effective import effective
from rocksdb_tuner.options.releases import KnownRelease, known_releases, release_of
from rocksdb_tuner.options.syntax import parse
from rocksdb_tuner.options.verdict import (
    BadQuestionError,
    Subject,
    all_options,
    find_option,
    find_release,
    judge,
    judge_for,
    releases_to_judge,
)
from rocksdb_tuner.present import views
from rocksdb_tuner.present.layout import WIDTH, display_width

SCHEMAS = Path(present.__file__).parent / 'schemas'


def fits(name: str, text: str) -> bool:
    schema = json.loads((SCHEMAS / f'{name}.schema.json').read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    return True


@example('compression=kLZ4Compression,,')
@example('a={b={c=\x00}}')
@example('=' * 500)
@example('write_buffer_size=64 MB;x')
@given(st.text(max_size=200) | st.text('abc=,;{} 0123456789kMG_', max_size=200))
def test_any_string_gets_an_answer_that_fits_and_no_failure(text: str) -> None:
    verdict = judge(text, known_releases())
    plain = views.show('check', verdict, 'plain')
    assert all(display_width(line) <= WIDTH for line in plain.split('\n'))
    assert fits('check', views.show('check', verdict))


def test_release_with_the_worst_result_comes_first() -> None:
    verdict = judge('max_total_wal_size=1G,ttl=1,periodic_compaction_seconds=1', known_releases())
    accepted = [bool(one.result.accepted) for one in verdict.by_release]
    assert accepted == sorted(accepted)
    assert {one.release.name for one in verdict.by_release} >= {'pacific', 'reef', 'tentacle'}


def test_string_unknown_to_one_rocksdb_is_not_accepted_for_a_mixed_cluster() -> None:
    """blob_garbage_collection_age_cutoff came after RocksDB 6.8."""
    newer = 'enable_blob_garbage_collection=false'
    pacific, reef = find_release('pacific'), find_release('reef')
    assert judge(newer, (reef,)).worst.result.accepted
    both = judge(newer, (reef, pacific))
    assert not both.worst.result.accepted
    assert both.worst.release.name == 'pacific'


@pytest.mark.parametrize(
    ('text', 'name', 'since'),
    [
        ('pacific', 'pacific', '16.2.0'),
        ('Reef', 'reef', '18.2.4'),
        ('18.2', 'reef', '18.2.4'),
        ('18.2.3', 'reef', '18.2.0'),
        ('18.2.4', 'reef', '18.2.4'),
        ('20.2.9', 'tentacle', '20.2.0'),
    ],
)
def test_release_is_found_by_name_or_by_the_newest_defaults_up_to_a_number(
    text: str, name: str, since: str
) -> None:
    release = find_release(text)
    assert (release.name, release.since) == (name, since)


@pytest.mark.parametrize('text', ['', 'reeff', '23.1', '18', '18.x', '15.2.17', '18.2.4.1', '٣.٢'])
def test_unknown_release_is_answered_with_the_known_ones(text: str) -> None:
    with pytest.raises(BadQuestionError, match='known releases: pacific') as error:
        find_release(text)
    assert f'"{text}"' in str(error.value)


def test_without_a_release_each_release_of_the_osds_is_checked_once() -> None:
    reef, pacific = release_of('18.2.7', 'reef'), release_of('16.2.15', 'pacific')
    assert releases_to_judge(None, [reef, None, pacific, reef]) == (reef, pacific)
    assert releases_to_judge(None, [None]) == known_releases()
    assert releases_to_judge('pacific', [reef]) == (pacific,)


@pytest.mark.parametrize('release', known_releases(), ids=lambda release: release.since)
def test_maximum_length_is_enough_for_all_rocksdb_options(release: KnownRelease) -> None:
    everything = effective(parse(release.default_options), release.rocksdb_version)
    assert len(','.join(f'{name}={value}' for name, value in everything.items())) < TEXT_MAX_BYTES


@pytest.mark.parametrize(
    ('less', 'more'),
    [
        (
            f'{option}={first}' + part * (TEXT_MAX_BYTES // 4 // len(part)) + last,
            f'{option}={first}' + part * ((TEXT_MAX_BYTES - 200) // len(part)) + last,
        )
        for option in (
            'max_bytes_for_level_multiplier_additional',
            'compression_per_level',
            'compression_opts',
            'write_buffer_size',
        )
        for first, part, last in (
            ('', '1:', '1'),
            ('', 'kZSTD:', 'kZSTD'),
            ('{', 'level=1;', '}'),
            ('', '{', ''),
            ('', '9', ''),
            ('1', ',{a=1}', ''),
        )
    ],
)
def test_check_time_is_proportional_to_the_length_of_the_text(less: str, more: str) -> None:
    """No part of it is quadratic; 12: four times as long, on a machine that does other things."""
    assert _cpu_s(more) < max(0.5, 12 * _cpu_s(less))


def test_check_of_the_longest_list_and_of_most_names_takes_less_than_a_second() -> None:
    names = ','.join(f'o{number}=1' for number in range(1000))
    elements = 'max_bytes_for_level_multiplier_additional=' + ':'.join(['1'] * 4000)
    braces = ','.join(f'{{a{number}=1}}' for number in range(900))
    for text in (names, elements, braces):
        assert _cpu_s(text) < 2, text[:40]


def _cpu_s(text: str) -> float:
    """Of the quicker of two, so that no file is read."""
    taken = []
    for blank in ('', ' '):
        began = time.process_time()
        judge(f'{text}{blank}', known_releases())
        taken.append(time.process_time() - began)
    return min(taken)


def test_every_option_is_explained() -> None:
    options = tuple(all_options().values())
    assert fits('explain-ls', views.show('explain-ls', options))
    listed = views.show('explain-ls', options, 'plain')
    assert all(info.name in listed for info in options)
    for info in options:
        assert fits('explain', views.show('explain', find_option(info.name)))
        plain = views.show('explain', info, 'plain')
        assert all(display_width(line) <= WIDTH for line in plain.split('\n'))
        assert info.source.split()[0] in plain


def test_unknown_release_is_einval_and_unknown_option_enoent() -> None:
    with pytest.raises(BadQuestionError) as no_release:
        find_release('23.2.0')
    assert no_release.value.errno == errno.EINVAL
    assert str(no_release.value) == (
        'unknown release "23.2.0"; known releases: pacific, quincy, reef, squid, tentacle'
    )
    with pytest.raises(BadQuestionError) as no_option:
        find_option('write_bufer_sizes')
    assert no_option.value.errno == errno.ENOENT
    assert str(no_option.value).startswith(
        'unknown option "write_bufer_sizes"; did you mean write_buffer_size'
    )
    with pytest.raises(BadQuestionError) as too_long:
        judge('x' * (TEXT_MAX_BYTES + 1), known_releases())
    assert too_long.value.errno == errno.EINVAL
    assert judge('x' * TEXT_MAX_BYTES, known_releases()).worst.result.accepted is False


def test_at_most_three_similar_names_are_suggested() -> None:
    with pytest.raises(BadQuestionError) as many:
        find_option('max_write_buffer_numbe')
    assert str(many.value).count(' or ') == 2
    with pytest.raises(BadQuestionError, match='without an argument lists all'):
        find_option('wxbfsz')


def test_results_are_ordered_by_start_then_errors_then_warnings() -> None:
    """Refused before unknown before accepted; then the most errors, then the most warnings."""
    pacific, reef = find_release('pacific'), find_release('reef')
    subjects = {
        'accepted': Subject(reef, annex='ttl=1'),
        'a warning more': Subject(reef, annex='ttl=1,ttl=1'),
        'an error': Subject(reef, annex='disableWAL=1'),
        'not told': Subject(reef, annex='{ttl=1},ttl=2'),
        'refused': Subject(pacific, annex='foo=1'),
        'refused, and more errors': Subject(pacific, annex='foo=1,bar=1'),
    }
    verdict = judge_for('max_total_wal_size=1G', subjects.values())
    order = [
        next(name for name, subject in subjects.items() if subject is one.subject)
        for one in verdict.by_release
    ]
    assert order == [
        *('refused, and more errors', 'refused', 'not told'),
        *('an error', 'a warning more', 'accepted'),
    ]
    assert verdict.worst.text == 'max_total_wal_size=1G,foo=1,bar=1'
    assert verdict.worst.release is pacific
    counted = [(one.count('error'), one.count('warning')) for one in verdict.by_release]
    assert counted[0] == (2, 0)
    assert counted[-2:] == [(0, 4), (0, 3)]
