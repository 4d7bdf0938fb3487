"""Accepted values that are surprising or dangerous. Pure."""

from __future__ import annotations

from typing import Iterator, Mapping

from .catalogue import Catalogue, OptionInfo
from .effective import member_of
from .problems import Problem, problem
from .reading import read_option
from .syntax import OptionSet
from .values import Reading, ValueRefusedError

#: Options for which 0 (or, for times, 2**64 - 2) selects the default.
_ZERO_IS_DEFAULT = frozenset(
    {
        'arena_block_size',
        'delayed_write_rate',
        'max_compaction_bytes',
        'periodic_compaction_seconds',
        'soft_pending_compaction_bytes_limit',
        'ttl',
    }
)


def surprises(
    option_set: OptionSet, values: Mapping[str, str], version: str, known: Catalogue
) -> Iterator[Problem]:
    """Values that take effect differently than written, or not at all."""
    for name, value in option_set:
        if member_of(name, version, known) is not None:
            continue
        info = known.options[name]
        facts = info.versions[version]
        if not facts.value_read:
            yield problem('removed-option', name, f'No effect: {facts.no_effect}', info.source)
            continue
        reading = read_option(info, value, version)
        if reading.surprise:
            yield problem('lenient-number', name, reading.surprise)
        if facts.no_effect:
            if reading.text != facts.default:
                yield problem('no-effect', name, f'No effect: {facts.no_effect}', info.source)
        elif name in values and not _same_value(reading, values[name], info):
            yield problem('clamped', name, f'RocksDB silently changes {value} to {values[name]}')


def _same_value(reading: Reading, in_effect: str, info: OptionInfo) -> bool:
    if reading.text == in_effect:
        return True
    # 0 and the second-largest number request the default.
    asks_for_default = reading.number in (0, float((1 << 64) - 2))
    return asks_for_default and info.name in _ZERO_IS_DEFAULT


def dangers(option_set: OptionSet, version: str, known: Catalogue) -> Iterator[Problem]:
    for name, value in option_set:
        info = known.options.get(name)
        if info is None or version not in info.versions:
            continue
        number = None
        text = value
        if info.versions[version].value_read:
            try:
                reading = read_option(info, value, version)
            except ValueRefusedError:
                continue
            number, text = reading.number, reading.text
        if (
            info.danger
            and text not in info.danger.harmless_values
            and not _is_default(info, version, text)
        ):
            yield problem(info.danger.level, name, info.danger.why, info.source)
        elif not info.assessed and not _is_default(info, version, text):
            yield problem(
                'not-assessed',
                name,
                'Its effect on BlueStore has not been assessed: the module does not set it',
            )
        if (
            info.sane
            and number is not None
            and not (info.sane.minimum <= number <= info.sane.maximum)
            and not (info.bounds and number == info.bounds.exempt)
        ):
            yield problem(
                'out-of-range',
                name,
                f'{info.spelled(number)} is outside {info.spelled(info.sane.minimum)} to '
                f'{info.spelled(info.sane.maximum)}: {info.sane.why}',
                info.source,
            )


def _is_default(info: OptionInfo, version: str, text: str) -> bool:
    return info.versions[version].default == text


def about_the_set(option_set: OptionSet) -> Iterator[Problem]:
    if not option_set.items:
        yield problem(
            'empty',
            None,
            "An empty string selects RocksDB's own defaults (Snappy, 2 memtables of 64 MiB, no WAL "
            "limit), not Ceph's; to use Ceph's defaults, remove the option",
        )
    for name, value in option_set.overridden:
        yield problem(
            'duplicate',
            name,
            f'Given more than once: {option_set.get(name)} overrides {value}',
        )
