"""Operators' own profiles: what is refused, with place and reason; kept, listed, removed."""

from __future__ import annotations

import errno
import json
import unicodedata
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.custom_profiles import PROFILES_MAX, CustomProfiles, decode_custom_profile
from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.present import views

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
    return decode_custom_profile(json.dumps({**GOOD, **changes}))


def test_custom_profile_from_a_document_is_never_recommended() -> None:
    own = decoded()
    assert (own.name, own.own, own.own_releases) == ('our-nvme.2', True, ('pacific', 'reef'))
    assert (own.suitability, own.evidence) == ((), ())
    jsonschema.Draft202012Validator(SCHEMA).validate(GOOD)


@pytest.mark.parametrize(
    ('options', 'releases', 'message'),
    [
        ('foo=1', ['reef'], 'Reef .*unknown-option.*foo'),
        ('disableWAL=true', ['reef'], 'forbidden'),
        ('wal_compression=kNoCompression', ['reef', 'pacific'], 'Pacific'),
        ('a=1,,', ['reef'], 'syntax'),
    ],
)
def test_options_that_prevent_an_osd_start_are_refused(
    options: str, releases: list[str], message: str
) -> None:
    with pytest.raises(BadQuestionError, match=f'"options" is refused for .*{message}'):
        decoded(options=options, releases=releases)


def test_built_in_profile_is_never_overridden() -> None:
    store = FakeStore()
    own = CustomProfiles(store)
    with pytest.raises(BadQuestionError, match='built-in') as error:
        decoded(name='lz4-2025')
    assert error.value.errno == errno.EEXIST
    # Not even one added by a later release of the module.
    own.add(decoded())
    text = store.get('profile/our-nvme.2')
    assert text is not None
    store.set('profile/lz4-2025', text.replace('our-nvme.2', 'lz4-2025'))
    assert own.get('lz4-2025') in profiles()
    assert [known.name for known in own.all()] == ['our-nvme.2']
    with pytest.raises(BadQuestionError) as error:
        own.remove('lz4-2025')
    assert error.value.errno == errno.EPERM


def test_added_profile_is_seen_by_other_managers_until_removed() -> None:
    store = FakeStore()
    added = CustomProfiles(store).add(decoded())
    successor = CustomProfiles(store)
    assert successor.all() == (added,)
    assert successor.get('our-nvme.2') == added
    assert '(custom)' in views.show('profile-ls', successor.everything(), 'plain')
    with pytest.raises(BadQuestionError, match='already'):
        successor.add(decoded())
    successor.remove('our-nvme.2')
    assert successor.all() == ()
    with pytest.raises(BadQuestionError, match='none'):
        successor.remove('our-nvme.2')
    with pytest.raises(BadQuestionError):
        successor.get('our-nvme.2')


#: Characters of every kind, the unprintable ones as often as all others.
TEXTS = st.text(
    st.characters(codec='utf-8')
    | st.characters(categories=['Cc', 'Cf', 'Cn', 'Co', 'Cs', 'Zl', 'Zp', 'Zs']),
    max_size=5,
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner),
    )
    | st.fixed_dictionaries(
        # The schema does not cover how OSDs interpret options.
        {k: st.just(GOOD[k]) | (st.integers() if k == 'options' else TEXTS) for k in GOOD}
    )
)
def test_any_document_is_taken_or_refused_with_a_place(document: Any) -> None:
    """The schema and the code agree on every document, except for characters of a newer Unicode."""
    text = json.dumps(document)
    if jsonschema.Draft202012Validator(SCHEMA).is_valid(document) and not unassigned(document):
        assert decode_custom_profile(text).own
    else:
        with pytest.raises(BadQuestionError, match=r'"|JSON|it is .* instead of an object'):
            decode_custom_profile(text)


def unassigned(document: dict[str, Any]) -> bool:
    """Whether a text of a valid document has what is no character in the Unicode of this Python."""
    texts = (document['title'], document['source'], *document.get('cautions', []))
    return any(unicodedata.category(c) == 'Cn' for text in texts for c in text)


# -- messages


def refused(text: Any) -> str:
    with pytest.raises(BadQuestionError) as error:
        decode_custom_profile(text if text is None else json.dumps(text))
    return str(error.value)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'name': 'Our'}, '"name" is "Our" instead of a name: 1 to 63 of a-z, 0-9, "." and "-"'),
        ({'title': 'x' * 1001}, f'"title" is "{"x" * 59}... instead of a text of 1 to 1000 char'),
        ({'title': 'a\x1b'}, '"title" is "a\\u001b" instead of one line of printable characters'),
        ({'options': 7}, '"options" is 7 instead of a string'),
        (
            {'releases': ['reef', 'nautilus']},
            '"releases[1]" is "nautilus" instead of one of pacific, quincy, reef, ',
        ),
        (
            {'releases': ['reef', 'reef']},
            '"releases" is ["reef", "reef"] instead of at least one of pacific, quincy, reef, ',
        ),
        ({'cautions': ['x', 'x' * 1001]}, '"cautions[1]" is "xxx'),
        (
            {'typo': 1},
            '"typo" is unknown; expected: name, title, options, releases, source, cautions',
        ),
        (
            {'options': 'foo=1'},
            '"options" is refused for Pacific (from 16.2.0) (unknown-option): foo: ',
        ),
    ],
)
def test_error_has_the_place_and_the_valid_form(changes: dict[str, Any], message: str) -> None:
    assert refused({**GOOD, **changes}).removeprefix('invalid profile: ').startswith(message)


def test_errors_of_the_store_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    store = FakeStore()
    own = CustomProfiles(store)
    for number in range(PROFILES_MAX - 1):
        own.add(decoded(name=f'p{number}'))
    own.add(decoded(name='last'))
    with pytest.raises(BadQuestionError) as full:
        own.add(decoded(name='more'))
    assert full.value.errno == errno.ENOSPC
    assert str(full.value) == 'there are 100 profiles already; remove one first'
    with pytest.raises(BadQuestionError) as taken:
        own.add(decoded(name='last'))
    assert taken.value.errno == errno.EEXIST
    with pytest.raises(BadQuestionError) as unknown:
        own.remove('nobody')
    assert unknown.value.errno == errno.ENOENT
    assert 'no custom profile "nobody"; custom profiles: last, p0, p1, ' in str(unknown.value)
    caplog.clear()
    store.set('profile/last', '{"version": 2, "profile": {}}')
    store.set('profile/p0', '[')
    assert len(own.all()) == PROFILES_MAX - 2
    newer = 'it was written in version 2 of the format; this module reads version 1'
    assert f'the stored profile/last cannot be read: {newer}' in caplog.messages
    assert any(text.startswith('the stored profile/p0 cannot be read') for text in caplog.messages)
    assert json.loads(store.values['profile/p1']) == {
        'version': 1,
        'record': {**GOOD, 'name': 'p1', 'provenance': None},
        'pieces': {},
    }
    with pytest.raises(BadQuestionError, match='p98') as missing:
        own.get('nobody')
    assert missing.value.errno == errno.ENOENT
    assert own.everything() == (*profiles(), *own.all())
