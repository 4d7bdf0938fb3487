"""OSDs and groups of golden texts, which stand in JSON: an OSD is named by what differs from a
default one of Pacific without any measurement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from rocksdb_tuner.advise.facts import osd_options
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.mgr.records import ConfigEntry, FailureDomain
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details, WriteLatency
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.observe.trend import Forecast, Outlook
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from ..fake_cluster import DEFAULTS
from .builders import PACIFIC, entry, osd_info, running, workload

#: Short names of long strings, also in golden texts.
NAMED = {
    'Pacific': PACIFIC,
    'Reef': DEFAULTS['reef'],
    'of 2019': profile('alternate-2019').options,
    'variant D': profile('variant-2022-d').options,
    'variant C': profile('variant-2022-c').options,
}
_SIZE = re.compile(r'(\d+)([KMG])')
_UNITS = {'K': 10, 'M': 20, 'G': 30}


class Scenario(NamedTuple):
    title: str
    #: Ids of the conditions that it is about.
    about: str = ''
    osds: tuple[OsdFacts, ...] = ()
    #: OSDs of other groups.
    others: tuple[OsdFacts, ...] = ()
    entries: tuple[ConfigEntry, ...] = ()
    does: Optional[Workload] = None
    #: With the commands.
    whole: bool = False
    more: Mapping[str, Any] = {}


def scenarios(path: Path) -> tuple[Scenario, ...]:
    return tuple(_scenario(**known) for known in json.loads(path.read_text(encoding='utf-8')))


def _scenario(**known: Any) -> Scenario:
    for name, read in (('osds', _osds), ('others', _osds), ('entries', _entries), ('does', _does)):
        if name in known:
            known[name] = read(known[name])
    return Scenario(**known)


def shortened(text: str) -> str:
    for name, options in NAMED.items():
        text = text.replace(options, f'<{name}>')
    return text


def _osds(known: Iterable[Any]) -> tuple[OsdFacts, ...]:
    return tuple(_osd(**{'osd_id': n, **one}) for n, one in enumerate(known))


def _osd(
    osd_id: int,
    release: str = 'pacific',
    runs: Optional[str] = '<Pacific>',
    source: str = 'default',
    entries: Iterable[Any] = (),
    annex: str = '',
    **more: Any,
) -> OsdFacts:
    info = osd_info(osd_id, release, **_values(more.pop('info', {})))
    signals = more.pop('signals', {})
    options = (
        None
        if runs is None
        else osd_options(info, _entries(entries), running(_text(runs), source, annex))
    )
    found = OsdFacts(
        info,
        None if signals is None else Signals(osd_id, **{'window_s': 30.0, **_values(signals)}),
        None,
        options,
    )
    return found._replace(
        **{name: _READ.get(name, _as_it_is)(value) for name, value in more.items()}
    )


def _entries(known: Iterable[Any]) -> tuple[ConfigEntry, ...]:
    return tuple(entry(who, _text(value), *name) for who, value, *name in known)


def _does(known: Any) -> Workload:
    name, *more = known
    found = workload(WorkloadClass(name), *(m for m in more if not isinstance(m, list)))
    evidence = [Evidence(*e) for m in more if isinstance(m, list) for e in m]
    return found._replace(evidence=tuple(evidence)) if evidence else found


def _details(known: Mapping[str, Any]) -> Details:
    values = {'time_s': 0.0, **_values(known)}
    return Details(**{**dict.fromkeys(Details._fields[:6]), **values})


def _as_it_is(value: Any) -> Any:
    return value


_READ: Mapping[str, Callable[[Any], Any]] = {
    'workload': _does,
    'details': _details,
    'rocksdb_times': lambda known: RocksdbTimes(
        **{**dict.fromkeys(RocksdbTimes._fields[:4]), **known}
    ),
    'settings': lambda known: {name: Setting(*value) for name, value in known.items()},
    'last_start': lambda known: LastStart(*known),
    'forecast': lambda known: Forecast(Outlook(known[0]), *known[1:]),
}


def _text(text: str) -> str:
    for name, options in NAMED.items():
        text = text.replace(f'<{name}>', options)
    return text


def _values(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in known.items()}


def _value(name: str, value: Any) -> Any:
    """Sizes may have a unit."""
    if name == 'failure_domain':
        return FailureDomain(*value)
    if name == 'latency':
        return WriteLatency(**value)
    size = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if size is not None:
        return int(size[1]) << _UNITS[size[2]]
    return tuple(value) if isinstance(value, list) else value
