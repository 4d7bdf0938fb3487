"""Operators' own profiles: what a document of one must be, and where they are kept.

The document's JSON Schema is ``knowledge/schemas/own_profile.schema.json``. It is checked by hand,
since no release's mgr has jsonschema; the tests hold the two together. A profile of one's own is
never recommended: nothing was published of it.
"""

from __future__ import annotations

import errno
import json
import logging
import re
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

from ..mgr.protocols import Store
from ..options.releases import known_releases
from ..options.verdict import BadQuestionError, judge
from ..store.errors import StoredStateError
from ..store.text import pack, unpack
from .profiles import Hardware, Profile, UnknownProfileError, profiles

__all__ = ['OwnProfiles', 'decode_own_profile']

log = logging.getLogger(__name__)

KEY = 'profile/'
#: As many as anybody will tell apart.
PROFILES_MAX = 100
_NAME = re.compile(r'[a-z0-9][a-z0-9.-]{0,62}', re.ASCII)
_TEXT_MAX_CHARS = 1000
_CAUTIONS_MAX = 20
_DOCUMENT_VERSION = 1


def decode_own_profile(text: Optional[str]) -> Profile:
    """The profile that a document describes.

    Raises BadQuestionError (EINVAL) with the place in the document and the reason, EEXIST for the
    name of a built-in profile.
    """
    if text is None or not text.strip():
        raise BadQuestionError(
            errno.EINVAL,
            'no profile was given: pass its JSON with -i <file>, "-i -" for stdin',
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadQuestionError(errno.EINVAL, f'the profile is no JSON: {error}') from None
    own = _profile(document)
    _refuse_what_does_not_start(own)
    return own


def _profile(document: object) -> Profile:
    entry = _object(document)
    name = _text(entry, 'name')
    if not _NAME.fullmatch(name):
        raise _refused(
            '/name', f'"{name}" is no name: 1 to 63 of a-z, 0-9, "." and "-" expected', name
        )
    if name in {built_in.name for built_in in profiles()}:
        raise BadQuestionError(
            errno.EEXIST, f'/name: "{name}" is a built-in profile, which stays as it is'
        )
    return Profile(
        name=name,
        title=_text(entry, 'title'),
        options=_text(entry, 'options', least=0, most=None),
        release_defaults=(),
        suitability=(),
        hardware=Hardware(None, ()),
        evidence=(),
        cautions=_texts(entry, 'cautions', _CAUTIONS_MAX),
        superseded=None,
        superseded_from_rocksdb=None,
        source=_text(entry, 'source'),
        own_releases=_releases(entry),
    )


def _object(document: object) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise _refused('', 'an object expected', document)
    required, optional = ('name', 'title', 'options', 'releases', 'source'), ('cautions',)
    for key in document:
        if key not in (*required, *optional):
            known = ', '.join((*required, *optional))
            raise BadQuestionError(errno.EINVAL, f'/{key}: not known; known are {known}')
    for key in required:
        if key not in document:
            raise BadQuestionError(errno.EINVAL, f'/{key}: missing')
    return document


def _text(
    entry: Mapping[str, Any], key: str, *, least: int = 1, most: Optional[int] = _TEXT_MAX_CHARS
) -> str:
    return _checked_text(entry[key], f'/{key}', least, most)


def _checked_text(value: object, place: str, least: int, most: Optional[int]) -> str:
    if not isinstance(value, str):
        raise _refused(place, 'a text expected', value)
    if len(value) < least or (most is not None and len(value) > most):
        raise _refused(place, f'{least} to {most} characters expected', value)
    # It is shown on terminals and in logs as it is.
    if not value.isprintable():
        raise _refused(place, 'one line of printable characters expected', value)
    return value


def _texts(entry: Mapping[str, Any], key: str, most: int) -> tuple[str, ...]:
    values = entry.get(key, [])
    if not isinstance(values, list) or len(values) > most:
        raise _refused(f'/{key}', f'a list of at most {most} texts expected', values)
    return tuple(
        _checked_text(value, f'/{key}/{number}', 1, _TEXT_MAX_CHARS)
        for number, value in enumerate(values)
    )


def _releases(entry: Mapping[str, Any]) -> tuple[str, ...]:
    known = tuple(dict.fromkeys(release.name for release in known_releases()))
    names = _texts(entry, 'releases', len(known))
    if not names:
        raise _refused('/releases', f'at least one of {", ".join(known)} expected', list(names))
    for number, name in enumerate(names):
        if name not in known:
            raise _refused(f'/releases/{number}', f'one of {", ".join(known)} expected', name)
        if name in names[:number]:
            raise _refused(f'/releases/{number}', 'each release once', name)
    return names


def _refuse_what_does_not_start(own: Profile) -> None:
    for release in known_releases():
        if release.name not in own.own_releases:
            continue
        result = judge(own.options, (release,)).worst.result
        errors = [found for found in result.problems if found.severity == 'error']
        if errors:
            about = '' if errors[0].option is None else f'{errors[0].option}: '
            raise BadQuestionError(
                errno.EINVAL,
                f'/options: refused for {release.label} ({errors[0].rule}): {about}'
                f'{errors[0].message}',
            )


def _refused(place: str, expected: str, value: object) -> BadQuestionError:
    shown = json.dumps(value)
    shown = shown if len(shown) <= 60 else shown[:60] + '...'
    return BadQuestionError(errno.EINVAL, f'{place or "/"}: {expected}, not {shown}')


def _document(own: Profile) -> dict[str, Union[str, list[str]]]:
    return {
        'name': own.name,
        'title': own.title,
        'options': own.options,
        'releases': list(own.own_releases),
        'source': own.source,
        'cautions': list(own.cautions),
    }


@dataclass(frozen=True)
class OwnProfiles:
    """Operators' profiles in the manager's store. Reading is cheap; writing may wait for a mon."""

    store: Store

    def all(self) -> tuple[Profile, ...]:
        """By name. What cannot be read is left out, and said in the log."""
        found = (self._read(key) for key in self.store.keys(KEY))
        return tuple(own for own in found if own is not None)

    def everything(self) -> tuple[Profile, ...]:
        """The built-in ones, then operators' own."""
        return (*profiles(), *self.all())

    def get(self, name: str) -> Profile:
        """Raises UnknownProfileError."""
        known = self.everything()
        for candidate in known:
            if candidate.name == name:
                return candidate
        raise UnknownProfileError(name, [candidate.name for candidate in known])

    def add(self, own: Profile) -> Profile:
        """Raises BadQuestionError: EEXIST where the name is taken, ENOSPC where there are many."""
        names = [known.name for known in self.all()]
        if own.name in names:
            raise BadQuestionError(
                errno.EEXIST,
                f'there is a profile "{own.name}" already; remove it first to replace it',
            )
        if len(names) >= PROFILES_MAX:
            raise BadQuestionError(
                errno.ENOSPC, f'there are {PROFILES_MAX} profiles already; remove one first'
            )
        text = pack({'version': _DOCUMENT_VERSION, 'profile': _document(own)})
        self.store.set(KEY + own.name, text)
        return own

    def remove(self, name: str) -> None:
        """Raises BadQuestionError: EPERM for a built-in profile, ENOENT for none."""
        if name in {built_in.name for built_in in profiles()}:
            raise BadQuestionError(errno.EPERM, f'"{name}" is a built-in profile, which stays')
        # What cannot be read any more can be removed all the same.
        if KEY + name not in self.store.keys(KEY):
            own = ', '.join(known.name for known in self.all()) or 'none'
            raise BadQuestionError(
                errno.ENOENT, f'there is no profile "{name}" of your own; there are: {own}'
            )
        self.store.set(KEY + name, None)

    def _read(self, key: str) -> Optional[Profile]:
        text = self.store.get(key)
        if text is None:
            return None
        try:
            stored = unpack(text, _DOCUMENT_VERSION, _DOCUMENT_VERSION)
            # Not judged again: what was taken once stays to be seen.
            return _profile(stored.get('profile'))
        except (BadQuestionError, StoredStateError) as error:
            log.warning('the stored %s cannot be read: %s', key, error)
        return None
