"""Options of an OSD according to files. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Optional

from ..advise.facts import (
    osd_options,
    release_of_osd,
    settings_in_force,
)
from ..advise.records import OsdOptions, Setting
from ..mgr.records import ConfigEntry, OsdInfo, RunningOption
from ..plan.precedence import UnknownMaskError, deciding_entry
from ..plan.records import ANNEX, OPTION


class Configured(NamedTuple):
    """None is "unknown"."""

    options: Optional[OsdOptions] = None
    settings: Optional[Mapping[str, Setting]] = None
    #: No file has its running options: assumed to be those of the config store.
    assumed: bool = False


def configured(
    osd: OsdInfo,
    entries: Optional[tuple[ConfigEntry, ...]],
    shown: Optional[Mapping[str, RunningOption]],
) -> Configured:
    """``entries``: config store; ``shown``: `config show` of ``osd``; None: missing."""
    if not osd.up:
        return Configured()
    assumed = shown is None
    running = _assumed(osd, entries) if shown is None else _with_defaults(osd, shown)
    if running is None:
        return Configured()
    if entries is None:
        # The entry in force at the next start is unknown, and so is a pending restart.
        options = replace(
            osd_options(osd, (), running),
            next_start=None,
            deciding_who=None,
            pending_restart=None,
            starts=None,
        )
        return Configured(options)
    options = osd_options(osd, entries, running)
    if assumed:
        options = replace(options, pending_restart=None)
    return Configured(options, settings_in_force(osd, entries, running), assumed)


def _with_defaults(
    osd: OsdInfo, shown: Mapping[str, RunningOption]
) -> Optional[Mapping[str, RunningOption]]:
    """`config show` omits unset options: these have the default of the OSD's release."""
    if OPTION in shown and ANNEX in shown:
        return shown
    release = release_of_osd(osd)
    if release is None:
        return None
    defaults = {OPTION: release.default_options, ANNEX: release.default_annex}
    unset = {n: RunningOption(v, 'default', ignores_mon=False) for n, v in defaults.items()}
    return {**unset, **shown}


def _assumed(
    osd: OsdInfo, entries: Optional[tuple[ConfigEntry, ...]]
) -> Optional[Mapping[str, RunningOption]]:
    """Running options of ``osd`` if only the config store sets them and no restart is pending."""
    if entries is None:
        return None
    try:
        found = {
            n: deciding_entry((e for e in entries if e.name == n), osd) for n in (OPTION, ANNEX)
        }
    except UnknownMaskError:
        return None
    set_there = {
        name: RunningOption(entry.value, 'mon', ignores_mon=False)
        for name, entry in found.items()
        if entry is not None
    }
    return _with_defaults(osd, set_there)
