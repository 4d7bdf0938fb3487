"""Custom profiles: validation and storage.

The JSON Schema of a profile is ``knowledge/schemas/own_profile.schema.json``. No release's mgr has
jsonschema, so `_Document` validates instead; the tests compare the two. Custom profiles are never
recommended, since nothing was published about them.
"""

from __future__ import annotations

import errno
import json
import logging
import re
from dataclasses import dataclass, field, fields
from typing import Annotated, Optional

from ..kinds import Only
from ..mgr.protocols import Store
from ..options.releases import known_releases
from ..options.verdict import BadQuestionError, judge
from ..store.codec import OMITTABLE, StoredStateError, decode
from ..store.stored import Stored
from .profiles import DEFAULT, Hardware, Profile, Provenance, profile, profiles

log = logging.getLogger(__name__)

KEY = 'profile/'
PROFILES_MAX = 100

_RELEASES = tuple(dict.fromkeys(release.name for release in known_releases()))
#: Printed unescaped to terminals and logs.
_Line = Annotated[str, Only(str.isprintable, 'one line of printable characters')]
_Text = Annotated[
    _Line, Only(lambda text: 1 <= len(text) <= 1000, 'a text of 1 to 1000 characters')
]


@dataclass(frozen=True)
class _Document:
    """The profile as written by the operator and as stored."""

    name: Annotated[
        str,
        Only(
            re.compile(r'[a-z0-9][a-z0-9.-]{0,62}', re.ASCII).fullmatch,
            'a name: 1 to 63 of a-z, 0-9, "." and "-"',
        ),
    ]
    title: _Text
    options: _Line
    releases: Annotated[
        tuple[Annotated[str, Only(_RELEASES.__contains__, f'one of {", ".join(_RELEASES)}')], ...],
        Only(
            lambda names: len(names) == len(set(names)) > 0,
            f'at least one of {", ".join(_RELEASES)}, each once',
        ),
    ]
    source: _Text
    cautions: Annotated[
        tuple[_Text, ...], Only(lambda texts: len(texts) <= 20, 'at most 20 texts')
    ] = field(default=(), metadata=OMITTABLE)
    provenance: Optional[Provenance] = field(default=None, metadata=OMITTABLE)


_NAMES = tuple(each.name for each in fields(_Document))


def decode_custom_profile(text: Optional[str]) -> Profile:
    """Parse a custom profile.

    Raises BadQuestionError: EINVAL with the place in the document and the reason, EEXIST for the
    name of a built-in profile.
    """
    if text is None or not text.strip():
        raise _invalid('no profile was given: pass its JSON with -i <file>, "-i -" for stdin')
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(f'the profile is not valid JSON: {error}') from None
    try:
        own = custom_profile(**vars(decode(_Document, document)))
    except StoredStateError as error:
        raise _invalid(f'invalid profile: {error}') from None
    unknown = next((name for name in document if name not in _NAMES), None)
    if unknown is not None:
        raise _invalid(f'invalid profile: "{unknown}" is unknown; expected: {", ".join(_NAMES)}')
    if own.provenance is not None:
        raise _invalid('"provenance" is written by experiments only: remove it')
    for release in (r for r in known_releases() if r.name in own.own_releases):
        problems = judge(own.options, (release,)).worst.result.problems
        for problem in (p for p in problems if p.severity == 'error'):
            about = '' if problem.option is None else f'{problem.option}: '
            raise _invalid(
                f'"options" is refused for {release.label} ({problem.rule}): {about}'
                f'{problem.message}'
            )
    return own


def _invalid(message: str) -> BadQuestionError:
    return BadQuestionError(errno.EINVAL, message)


#: Default of releases, suitability, hardware and evidence.
_UNPUBLISHED = ((), (), Hardware(None, ()), ())


def custom_profile(
    name: str,
    title: str,
    options: str,
    releases: tuple[str, ...],
    source: str,
    cautions: tuple[str, ...] = (),
    provenance: Optional[Provenance] = None,
) -> Profile:
    """Raises BadQuestionError (EEXIST) for the name of a built-in profile."""
    if name in {DEFAULT, *(built_in.name for built_in in profiles())}:
        raise BadQuestionError(
            errno.EEXIST, f'"name" is "{name}", a built-in profile that cannot be changed'
        )
    return Profile(
        name, title, options, *_UNPUBLISHED, cautions, None, None, source, releases, provenance
    )


@dataclass(frozen=True)
class CustomProfiles:
    """Custom profiles in the mgr's store. Reads are cheap; writes may wait for a mon."""

    store: Store

    def all(self) -> tuple[Profile, ...]:
        """All custom profiles by name; unreadable ones are logged and left out."""
        found = (self._read(key) for key in self.store.keys(KEY))
        return tuple(own for own in found if own is not None)

    def everything(self) -> tuple[Profile, ...]:
        """The built-in profiles, then the custom ones."""
        return (*profiles(), *self.all())

    def get(self, name: str) -> Profile:
        """Raises BadQuestionError (ENOENT)."""
        return profile(name, self.everything())

    def add(self, own: Profile) -> Profile:
        """Raises BadQuestionError: EEXIST for an existing name, ENOSPC at the maximum number."""
        names = [known.name for known in self.all()]
        if own.name in names:
            raise BadQuestionError(
                errno.EEXIST,
                f'profile "{own.name}" already exists; remove it first to replace it',
            )
        if len(names) >= PROFILES_MAX:
            raise BadQuestionError(
                errno.ENOSPC, f'there are {PROFILES_MAX} profiles already; remove one first'
            )
        values = {name: getattr(own, name) for name in _NAMES if name != 'releases'}
        self._stored(KEY + own.name).save(_Document(releases=own.own_releases, **values))
        return own

    def remember(self, own: Profile) -> None:
        """Add a profile that an experiment found, or replace the one of the same experiment.

        Raises BadQuestionError if another profile has that name, and like `add`.
        """
        known = {profile.name: profile for profile in self.all()}.get(own.name)
        if known is not None and known.provenance is not None:
            self.remove(own.name)
        self.add(own)

    def remove(self, name: str) -> None:
        """Raises BadQuestionError: EPERM for a built-in profile, ENOENT for an unknown one."""
        if name in {built_in.name for built_in in profiles()}:
            raise BadQuestionError(
                errno.EPERM, f'"{name}" is a built-in profile, which cannot be removed'
            )
        # Unreadable profiles can be removed, too.
        if KEY + name not in self.store.keys(KEY):
            own = ', '.join(known.name for known in self.all()) or 'none'
            raise BadQuestionError(
                errno.ENOENT, f'no custom profile "{name}"; custom profiles: {own}'
            )
        self._stored(KEY + name).save(None)

    def _read(self, key: str) -> Optional[Profile]:
        try:
            stored = self._stored(key).load()
            # Not checked again, so that an accepted profile remains visible.
            return None if stored is None else custom_profile(**vars(stored))
        except (BadQuestionError, StoredStateError) as error:
            log.warning('the stored %s cannot be read: %s', key, error)
        return None

    def _stored(self, key: str) -> Stored[_Document]:
        return Stored(self.store, key, _Document)
