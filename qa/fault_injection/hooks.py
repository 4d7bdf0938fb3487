"""Hooks that tests add to their own copy of the module.

`harness.fault_injection` copies the module, adds this file to the copy and lets the copy import it.
The settings are read from a file beside it at each use, so that a test can change them while the
manager runs. An installed module has none of this.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from rocksdb_tuner import settings
from rocksdb_tuner.advise import facts, memory, proposal, recommend
from rocksdb_tuner.advise.case import Case
from rocksdb_tuner.advise.choice import Target, default_target
from rocksdb_tuner.advise.objections import Name, Objection
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import Reason, Recommendation
from rocksdb_tuner.advise.strings import same_meaning
from rocksdb_tuner.advise.weighing import Origin, Weighed, Weighing
from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.adapter import MgrCluster
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.settings import ReadOption
from rocksdb_tuner.tick import operation_control

SETTINGS = Path(__file__).with_name('fault_injection.json')


def _setting(name: str) -> Any:
    return json.loads(SETTINGS.read_text())[name]


def _remove_held(self: MgrCluster, who: str, name: str) -> None:
    """The monitors remove an entry at once, and answer when the test wants it."""
    _remove(self, who, name)
    while _setting('hold_removals'):
        time.sleep(0.1)


def _changed(request: ChangeRequest, options: str) -> ChangeRequest:
    """Another option string in place of the one that all checks accepted."""
    return replace(
        request,
        targets=tuple((osd_id, options) for osd_id, _ in request.targets),
        final_entries=tuple((who, value and options) for who, value in request.final_entries),
    )


def _unchecked_request(recommendation: Recommendation, actor: str) -> ChangeRequest:
    request = proposal.change_request(recommendation, actor)
    options = _setting('unchecked_options')
    return request if options is None else _changed(request, options)


def _unchecked_start(*about: Any) -> Optional[str]:
    """Nobody sees beforehand that OSDs would not start with such a string."""
    return None if _setting('unchecked_options') is not None else facts.why_unstartable(*about)


def _wanted(case: Case) -> Target:
    """The recommendation for clients' writes: the favorite, or the default of the release."""
    name = _setting('favorite')
    if name is None or case.writer is None:
        return default_target(case)
    return Target(profile(name).options, profile(name), ())


def _against(self: Case, text: str) -> tuple[Objection, ...]:
    """An objection to everything except the favorite."""
    if _setting('favorite') is None or self.writer is None:
        return ()
    if same_meaning(text, _wanted(self).options, self.release.rocksdb_version):
        return ()
    reason = Reason('It is not the favorite profile of the test.', 'the test')
    return (Objection(Name.LARGE_MEMTABLES, reason),)


def _no_conflicts(self: Case) -> None:
    """The OSDs of a test are neither too slow nor running outdated packages."""


def _only_wanted(case: Case, running: Optional[str] = None) -> Weighing:
    """The model's opinion of option sets does not matter either."""
    base = case.running if running is None else running
    runs = Weighed('running options', Origin.RUNNING, base)
    wanted = _wanted(case)
    if _setting('favorite') is None or case.alike(wanted.options, base):
        return Weighing(None, case.known.bars, (runs,))
    better = Weighed('favorite', Origin.PROFILE, wanted.options, chosen=True)
    return Weighing(None, case.known.bars, (runs, better))


def _without_weighing(*args: Any, **more: Any) -> Any:
    """Only predictions make a rollout one for gain."""
    return proposal.changed(*args, **{**more, 'weighed': None})


def _short_soak(option: ReadOption) -> SoakPlan:
    """Batches soak for as long as the test wants, if at all."""
    soak, most_s = _soak(option), float(_setting('batch_soak_s'))
    batches = SoakPlan(min(4.0, most_s), most_s, Inconclusive.PROMOTE) if most_s else None
    return replace(soak, batches=batches)


def _put(owner: object, name: str, hook: object) -> None:
    """Replace an attribute by a hook; a missing one would leave the hook without an effect."""
    if name not in vars(owner):
        raise AttributeError(f'{owner!r} has no {name} that could be replaced')
    setattr(owner, name, hook)


_remove = MgrCluster.remove
_put(MgrCluster, 'remove', _remove_held)
_put(operation_control, 'change_request', _unchecked_request)
_put(operation_control, 'why_unstartable', _unchecked_start)
# A test changes its favorite at will.
_put(memory, 'STEADY_S', 0.0)
_soak = settings.soak_plan
_put(settings, 'soak_plan', _short_soak)
for _name, _hook in (
    ('fixed', lambda case, _: _wanted(case)),
    ('changed', _without_weighing),
    ('weighing', _only_wanted),
):
    _put(recommend, _name, _hook)
_put(Case, 'under_workload', _against)
_put(Case, 'why_no_tuning', property(_no_conflicts))
