"""What `check` and `explain` are asked about, and how they answer: plain, and as JSON by schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocksdb_tuner import present
from rocksdb_tuner.options.releases import known_releases, release_of
from rocksdb_tuner.options.verdict import (
    TEXT_MAX_BYTES,
    BadQuestionError,
    all_options,
    find_option,
    find_release,
    judge,
    releases_to_judge,
)
from rocksdb_tuner.present import render
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
    plain = render.check(verdict, 'plain')
    assert all(display_width(line) <= WIDTH for line in plain.split('\n'))
    assert fits('check', render.check(verdict, 'json'))


def test_the_release_where_the_string_does_worst_comes_first() -> None:
    verdict = judge('max_total_wal_size=1G,ttl=1,periodic_compaction_seconds=1', known_releases())
    accepted = [bool(one.result.accepted) for one in verdict.by_release]
    assert accepted == sorted(accepted)
    assert {one.release.name for one in verdict.by_release} >= {'pacific', 'reef', 'tentacle'}


def test_a_string_that_one_rocksdb_does_not_know_is_not_accepted_for_a_mixed_cluster() -> None:
    """blob_garbage_collection_age_cutoff came after RocksDB 6.8."""
    newer = 'enable_blob_garbage_collection=false'
    pacific, reef = find_release('pacific'), find_release('reef')
    assert judge(newer, (reef,)).worst.result.accepted
    both = judge(newer, (reef, pacific))
    assert not both.worst.result.accepted
    assert both.worst.release.name == 'pacific'


def test_what_is_in_effect_is_shown_beside_what_was_written() -> None:
    text = 'max_write_buffer_number=4,min_write_buffer_number_to_merge=16,write_buffer_size=64MB'
    verdict = judge(text, (find_release('reef'),))
    rows = [line.split() for line in render.check(verdict, 'plain').split('\n')]
    assert ['min_write_buffer_number_to_merge', '16', '3'] in rows
    assert ['write_buffer_size', '64MB', '67108864'] in rows
    document = json.loads(render.check(verdict, 'json'))
    assert document['effective']['min_write_buffer_number_to_merge'] == '3'
    assert 'clamped' in {problem['rule'] for problem in document['problems']}


@pytest.mark.parametrize(
    ('text', 'name', 'since'),
    [
        ('pacific', 'pacific', '16.2.0'),
        ('Reef', 'reef', '18.2.4'),
        ('18.2', 'reef', '18.2.4'),
        ('18.2.1', 'reef', '18.2.0'),
        ('18.2.9', 'reef', '18.2.4'),
        ('20.2.4', 'tentacle', '20.2.0'),
    ],
)
def test_a_release_is_found_by_name_or_number(text: str, name: str, since: str) -> None:
    release = find_release(text)
    assert (release.name, release.since) == (name, since)


@pytest.mark.parametrize('text', ['', 'reeff', '21.1', '18', '18.x', '15.2.17', '18.2.4.1', '٣.٢'])
def test_a_release_that_is_not_known_is_named_with_those_that_are(text: str) -> None:
    with pytest.raises(BadQuestionError, match='known are pacific') as error:
        find_release(text)
    assert f'"{text}"' in str(error.value)


def test_without_a_release_those_of_the_osds_are_judged_each_once() -> None:
    reef, pacific = release_of('18.2.7', 'reef'), release_of('16.2.15', 'pacific')
    assert releases_to_judge(None, [reef, None, pacific, reef]) == (reef, pacific)
    assert releases_to_judge(None, [None]) == known_releases()
    assert releases_to_judge('pacific', [reef]) == (pacific,)


def test_a_string_longer_than_the_config_store_takes_is_refused() -> None:
    with pytest.raises(BadQuestionError, match='65537 bytes'):
        judge('x' * (TEXT_MAX_BYTES + 1), known_releases())


def test_every_option_is_explained() -> None:
    options = tuple(all_options().values())
    assert fits('explain-ls', render.option_list(options, 'json'))
    listed = render.option_list(options, 'plain')
    assert all(info.name in listed for info in options)
    for info in options:
        assert fits('explain', render.explain(find_option(info.name), 'json'))
        plain = render.explain(info, 'plain')
        assert all(display_width(line) <= WIDTH for line in plain.split('\n'))
        assert info.source.split()[0] in plain


@pytest.mark.parametrize(
    ('name', 'said'),
    [
        ('write_bufer_size', 'write_buffer_size'),
        ('WRITE_BUFFER_SIZE', 'write_buffer_size'),
        ('zzz', '"explain" alone lists all'),
        ('', '"explain" alone'),
    ],
)
def test_an_option_that_is_not_known_is_named_with_those_that_look_like_it(
    name: str, said: str
) -> None:
    with pytest.raises(BadQuestionError, match=said):
        find_option(name)
