"""Replaces the names that people chose in a collection, and drops free text. Pure.

A text is kept, replaced or dropped by the field that holds it; a field without a rule is dropped.
Each name has the same replacement everywhere, so references stay intact. New names sort like the
old ones, but no recommendation may depend on that order. Ceph's own names stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any, Callable, TypeVar, Union

from ..advise.profiles import profiles
from ..kinds import Form, Kind, fields_of
from ..knowledge import loader
from ..options.catalogue import catalogue
from ..options.releases import known_releases
from ..options.verdict import all_options
from .records import Collection

#: A word or a number in an option string.
_TOKEN = re.compile(r"""[^\s,;={}()\[\]<>"'`|:/]+""")
#: RocksDB parses a number and a suffix, and ignores the remaining text.
_NUMBER = re.compile(
    r'((?:0[xX][0-9a-fA-F]+|[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?:[kKmMgGtTpPeE]?[bB]?))'
    r'(?![0-9.])(.*)',
    re.DOTALL,
)
#: The kernel's names of disks.
_DISK = re.compile(r'(?:sd|vd|hd|xvd)[a-z]{1,3}|(?:nvme|dm-|md|loop|sr)[0-9]+(?:n[0-9]+)?')
_VERSION = re.compile(r'[0-9]+(?:\.[0-9]+)*')
_OPERATION = re.compile(r'[a-zA-Z][0-9]+')
_OSD = re.compile(r'osd\.[0-9]+')
_RECOMMENDATION = re.compile(r'(.*)(-[0-9a-f]{6})', re.DOTALL)

#: Fields with words that only the module chooses.
DEFINED = frozenset(
    {
        *('ModuleState.limits', 'Evidence.signal', 'Evidence.unit', 'Evidence.wording'),
        *('Predicted.metric', 'SignalVerdict.name', 'ExperimentPlan.objective'),
        *('ExperimentPlan.workload', 'ExperimentPlan.hardware', 'ExperimentPlan.unmeasured'),
    }
)

_T = TypeVar('_T')
_Rule = Callable[[str], str]
#: A rule for each item of a pair; None: drop.
_Rules = Union[_Rule, tuple[_Rule, ...], None]


def anonymous(collection: Collection) -> Collection:
    return _Replacement(collection).of(collection)


@cache
def ceph_words() -> frozenset[str]:
    """Names that Ceph and RocksDB define, in lower case; never replaced, even if a host has one."""
    lists = (words for words in loader.load('ceph_words').values() if isinstance(words, list))
    return frozenset(word.lower() for words in (*lists, all_options()) for word in words)


@cache
def _option_words() -> frozenset[str]:
    """Words of option strings, in lower case."""
    strings = [profile.options for profile in profiles()]
    strings += [release.default_options for release in known_releases()]
    tokens = [token for text in strings for token in _TOKEN.findall(text)]
    tokens += [choice.name for o in catalogue().options.values() for choice in o.choices]
    tokens += [member.name for o in catalogue().options.values() for member in o.members]
    return ceph_words() | {token.lower() for token in tokens}


class _Replacement:
    """New names for the old ones of one collection."""

    def __init__(self, collection: Collection) -> None:
        self._found: defaultdict[str, set[str]] = defaultdict(set)
        self._new: dict[tuple[str, str], str] = {}
        named, word, options = self._named, self._word, self._options
        rules: Mapping[str, _Rules] = {
            'host': named('host'),
            'PoolInfo.name': named('pool'),
            'ManagerInfo.name': named('mgr'),
            'pod_namespace': named('namespace'),
            'Arm.name Conclusion.winner Conclusion.runner_up': named('profile'),
            'device_class device_classes advised_on per_group': word('class'),
            'FailureDomain.kind': word('type'),
            'release require_osd_release manager_release distribution objectstore': word('name'),
            'applications flags health_codes source': word('name'),
            'OsdCollection.running ConfigEntry.name option': word('name'),
            'version created_version manager_version': _beginning(_VERSION),
            'rollout_id campaign_id experiment_id': _beginning(_OPERATION),
            'devices': self._device,
            'FailureDomain.name': self._place,
            'who restoring': self._who,
            'recommendation_id': self._recommendation,
            'actor paused_by': self._actor,
            'value options options_from options_to from_options strings targets': options,
            'sharding': options,
            'entries other_entries final_entries': (self._who, options),
            ' '.join(DEFINED): str,
        }
        #: By "type.field", or by field name for any type.
        self._rules = {field: rule for fields, rule in rules.items() for field in fields.split()}
        # Replaces nothing, but finds all names.
        self.of(collection)
        self._found['bucket'] -= self._found['host'] | self._found['class']
        for kind, names in self._found.items():
            digits = len(str(len(names)))
            # A single word for RocksDB, like the original.
            joint = '' if kind == 'name' else '-'
            for number, name in enumerate(sorted(names), 1):
                self._new[kind, name] = f'{kind}{joint}{number:0{digits}}'

    def of(self, record: _T) -> _T:
        """The record, with names replaced."""
        kind: Any = type(record)
        changed: dict[str, Any] = {}
        for field in fields_of(kind):
            if _has_text(field.kind):
                rule = self._rules.get(f'{kind.__name__}.{field.name}', self._rules.get(field.name))
                changed[field.name] = self._required(field.kind, getattr(record, field.name), rule)
        if is_dataclass(record):
            return replace(record, **changed)  # type: ignore[type-var]
        return record._replace(**changed)  # type: ignore[attr-defined,no-any-return]

    def _value(self, kind: Kind, value: Any, rule: _Rules) -> Any:
        """None: dropped, if it was not None."""
        if value is None or not _has_text(kind):
            return value
        if kind.form is Form.TEXT:
            return rule(value) if callable(rule) else None
        if kind.form is Form.RECORD:
            return self.of(value)
        if kind.form is Form.OPTIONAL:
            return self._value(kind.parts[0], value, rule)
        if kind.form is Form.LIST:
            new = ((self._value(kind.parts[0], item, rule), item) for item in value)
            return type(value)(one for one, item in new if one is not None or item is None)
        if kind.form is Form.FIXED:
            rules = rule if isinstance(rule, tuple) else (rule,) * len(value)
            return tuple(map(self._required, kind.parts, value, rules))
        assert kind.form is Form.MAPPING, kind
        keys = {key: self._value(kind.parts[0], key, rule) for key in value}
        return {
            keys[key]: self._required(kind.parts[1], item, None)
            for key, item in value.items()
            if keys[key] is not None
        }

    def _required(self, kind: Kind, value: Any, rule: _Rules) -> Any:
        """Drops to an empty text."""
        new = self._value(kind, value, rule)
        return '' if new is None and kind.form is Form.TEXT else new

    # -- rules

    def _name(self, kind: str, name: str) -> str:
        self._found[kind].add(name)
        return self._new.get((kind, name), name)

    def _named(self, kind: str) -> _Rule:
        return lambda name: self._name(kind, name)

    def _word(self, kind: str) -> _Rule:
        """Keeps words of Ceph."""
        return lambda word: word if word.lower() in ceph_words() else self._name(kind, word)

    def _device(self, name: str) -> str:
        return name if _DISK.fullmatch(name) else self._name('device', name)

    def _place(self, name: str) -> str:
        """A bucket name; the default root keeps its name."""
        if name in {'', 'default'} or _OSD.fullmatch(name):
            return name
        known = self._new.get(('host', name)) or self._new.get(('class', name))
        return known or self._name('bucket', name)

    def _who(self, who: str) -> str:
        """A config section with masks; of other daemons only their type is kept."""
        section, *masks = who.split('/')
        if not _OSD.fullmatch(section):
            section = self._word('section')(section.partition('.')[0])
        for mask in masks:
            kind, colon, value = mask.partition(':')
            new = self._word('class')
            if kind != 'class':
                kind, new = self._word('type')(kind), self._place
            section += f'/{kind}{colon}{new(value) if colon else ""}'
        return section

    def _recommendation(self, recommendation_id: str) -> str:
        """A bucket or device class name, followed by a digest."""
        match = _RECOMMENDATION.fullmatch(recommendation_id)
        if match is None:
            return ''
        name, digest = match.groups()
        return (name if name in ceph_words() else self._place(name)) + digest

    def _actor(self, actor: str) -> str:
        """ "dashboard:alice" is "dashboard:user-1"; "operator" is an unknown client."""
        by, _, name = actor.rpartition(':')
        if not name or actor == 'operator':
            return 'operator'
        user = self._name('user', name)
        return f'dashboard:{user}' if by == 'dashboard' else user

    def _options(self, text: str) -> str:
        return _TOKEN.sub(lambda match: self._token(match[0]), text)

    def _token(self, token: str) -> str:
        if len(token) == 1 or token.lower() in _option_words():
            return token
        number = _NUMBER.fullmatch(token)
        if number is None:
            return self._name('name', token)
        return number[1] + (self._token(number[2]) if number[2] else '')


def _beginning(pattern: re.Pattern[str]) -> _Rule:
    def rule(text: str) -> str:
        match = pattern.match(text)
        return match[0] if match else ''

    return rule


@cache
def _has_text(kind: Kind) -> bool:
    if kind.form is not Form.RECORD:
        return kind.form is Form.TEXT or any(map(_has_text, kind.parts))
    fields = (field.kind for field in fields_of(kind.hint))
    # Not those of the same type: a plan of a plan.
    return any(_has_text(f) for f in fields if kind not in f.parts)
