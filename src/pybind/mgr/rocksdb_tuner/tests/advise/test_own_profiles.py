"""Operators' own profiles: what is refused, with place and reason; kept, listed, removed."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.own_profiles import PROFILES_MAX, OwnProfiles, decode_own_profile
from rocksdb_tuner.advise.profiles import UnknownProfileError, profiles, recognise
from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.present import render

from ..fake_cluster import FakeStore

SCHEMA = json.loads(
    (Path(loader.__file__).parent / 'schemas' / 'own_profile.schema.json').read_text()
)
GOOD: dict[str, Any] = {
    'name': 'our-nvme.2',
    'title': 'What we run on NVMe',
    'options': 'compression=kLZ4Compression,write_buffer_size=8MB,max_total_wal_size=1G',
    'releases': ['pacific', 'reef'],
    'source': 'Our own measurement of May',
    'cautions': ['Not for disks.'],
}


def decoded(**changes: Any) -> Any:
    return decode_own_profile(json.dumps({**GOOD, **changes}))


def test_a_document_becomes_a_profile_that_is_never_recommended() -> None:
    own = decoded()
    assert (own.name, own.own, own.own_releases) == ('our-nvme.2', True, ('pacific', 'reef'))
    assert (own.suitability, own.evidence) == ((), ())
    jsonschema.Draft202012Validator(SCHEMA).validate(GOOD)


@pytest.mark.parametrize(
    ('changes', 'place'),
    [
        ({'name': 'Our'}, '/name'),
        ({'name': ''}, '/name'),
        ({'name': 7}, '/name'),
        ({'title': ''}, '/title'),
        ({'title': 'x' * 1001}, '/title'),
        ({'options': None}, '/options'),
        ({'releases': []}, '/releases'),
        ({'releases': ['reef', 'nautilus']}, '/releases/1'),
        ({'releases': ['reef', 'reef']}, '/releases'),
        ({'releases': 'reef'}, '/releases'),
        ({'cautions': ['', 'x']}, '/cautions/0'),
        ({'cautions': {}}, '/cautions'),
        ({'typo': 1}, '/typo'),
    ],
)
def test_what_the_schema_refuses_is_refused_with_its_place(
    changes: dict[str, Any], place: str
) -> None:
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid({**GOOD, **changes})
    with pytest.raises(BadQuestionError, match=place) as error:
        decoded(**changes)
    assert error.value.errno == errno.EINVAL


@pytest.mark.parametrize('key', ['name', 'title', 'options', 'releases', 'source'])
def test_what_is_missing_is_named(key: str) -> None:
    document = {name: value for name, value in GOOD.items() if name != key}
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    with pytest.raises(BadQuestionError, match=f'/{key}: missing'):
        decode_own_profile(json.dumps(document))


@pytest.mark.parametrize(
    ('text', 'said'),
    [(None, '-i <file>'), (' ', '-i <file>'), ('{', 'no JSON'), ('[1]', 'an object expected')],
)
def test_what_is_no_document_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadQuestionError, match=said):
        decode_own_profile(text)


@pytest.mark.parametrize(
    ('options', 'releases', 'said'),
    [
        ('foo=1', ['reef'], 'Reef .*unknown-option.*foo'),
        ('disableWAL=true', ['reef'], 'forbidden'),
        ('wal_compression=kNoCompression', ['reef', 'pacific'], 'Pacific'),
        ('a=1,,', ['reef'], 'syntax'),
    ],
)
def test_options_that_would_stop_an_osd_are_refused(
    options: str, releases: list[str], said: str
) -> None:
    with pytest.raises(BadQuestionError, match=f'/options: .*{said}'):
        decoded(options=options, releases=releases)


def test_a_built_in_profile_is_never_overridden() -> None:
    store = FakeStore()
    own = OwnProfiles(store)
    with pytest.raises(BadQuestionError, match='built-in') as error:
        decoded(name='lz4-2025')
    assert error.value.errno == errno.EEXIST
    # Not even one that a later release of the module brings.
    own.add(decoded())
    text = store.get('profile/our-nvme.2')
    assert text is not None
    store.set('profile/lz4-2025', text.replace('our-nvme.2', 'lz4-2025'))
    assert own.get('lz4-2025') in profiles()
    assert [known.name for known in own.all()] == ['our-nvme.2']
    with pytest.raises(BadQuestionError) as error:
        own.remove('lz4-2025')
    assert error.value.errno == errno.EPERM


def test_what_was_added_is_there_for_another_manager_until_it_is_removed() -> None:
    store = FakeStore()
    added = OwnProfiles(store).add(decoded())
    successor = OwnProfiles(store)
    assert successor.all() == (added,)
    assert successor.get('our-nvme.2') == added
    assert 'your own' in render.profile_list(successor.everything(), 'plain')
    with pytest.raises(BadQuestionError, match='already'):
        successor.add(decoded())
    successor.remove('our-nvme.2')
    assert successor.all() == ()
    with pytest.raises(BadQuestionError, match='none'):
        successor.remove('our-nvme.2')
    with pytest.raises(UnknownProfileError):
        successor.get('our-nvme.2')


def test_there_is_an_end_to_them() -> None:
    own = OwnProfiles(FakeStore())
    for number in range(PROFILES_MAX):
        own.add(decoded(name=f'p{number}'))
    with pytest.raises(BadQuestionError, match=str(PROFILES_MAX)):
        own.add(decoded(name='one-more'))


@pytest.mark.parametrize('text', ['', '{}', '[]', '{"version": 2, "profile": {}}', 'x'])
def test_what_is_stored_and_cannot_be_read_is_left_out_and_can_be_removed(text: str) -> None:
    store = FakeStore()
    store.set('profile/bad', text)
    own = OwnProfiles(store)
    assert own.all() == ()
    own.remove('bad')
    assert store.get('profile/bad') is None


def test_a_profile_of_one_s_own_names_no_running_string() -> None:
    """What runs is named by what was published."""
    own = decoded()
    assert recognise(own.options, None) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    )
    | st.fixed_dictionaries(
        # What OSDs make of options is not the schema's affair.
        {
            k: st.just(GOOD[k]) | (st.integers() if k == 'options' else st.text(max_size=5))
            for k in GOOD
        }
    )
)
def test_any_document_is_taken_or_refused_with_a_place(document: Any) -> None:
    text = json.dumps(document)
    if jsonschema.Draft202012Validator(SCHEMA).is_valid(document):
        assert decode_own_profile(text).own
    else:
        with pytest.raises(BadQuestionError, match=r'/|JSON'):
            decode_own_profile(text)
