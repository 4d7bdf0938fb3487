"""The module as ceph-mgr sees it: options, commands, the serve loop. Wiring only.

The annotations of the command handlers are the grammar of the command line, so they are not
postponed here, and use `typing`'s names, which Pacific's mgr compares as types.
"""

import errno
import logging
import threading
import time
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional

from mgr_module import HandleCommandResult, MgrModule, Option

from .advise.check_subjects import subjects
from .advise.compare import compare, sides
from .advise.derive import derive
from .advise.given import Given, given
from .advise.own_profiles import OwnProfiles, decode_own_profile
from .advise.profiles import Profile, UnknownProfileError
from .advise.records import Kind, Recommendation
from .advise.situation import Situation, find_situation
from .advise.tree import tree
from .arguments import what_is_wrong
from .collection.report import report
from .deep.look import DeepLookRefused
from .metrics_endpoint import MetricsEndpoint
from .metrics_settings import url, wanted_address
from .metrics_text import MetricsText
from .mgr.adapter import MgrCluster, MgrStore
from .mgr.protocols import CommandError
from .mgr.releases import OSD_MAP_CHANGED, CLICommand, CLIReadCommand, CLIWriteCommand
from .options.verdict import BadQuestionError, all_options, find_option, judge_for
from .present import render
from .present.layout import clean, shown_error
from .requests import BusyError
from .rollout.errors import RolloutRefused
from .settings import METRICS_OSD_LIMIT, SETTINGS, Settings, read_mode, read_settings
from .shared_text import SharedText
from .snapshot import Mode
from .steps import reason_of
from .tuner import Tuner
from .units import natural

log = logging.getLogger(__name__)

#: Who asked, until the audit log tells: the mgr does not tell a module which client sent a command.
OPERATOR = 'operator'
#: Kinds of recommendations that a rollout or a compaction campaign can carry out.
CARRIED_OUT = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE, Kind.COMPACT})
#: As many lines as one tells apart in a chart, and a canary with its controls.
TREND_OSDS_MAX = 24
#: What `status` says after a browser found no place for the tab.
TAB_NOTICE = (
    'The tab of the Ceph Dashboard cannot be placed: the page Cluster » OSDs of this release is '
    'otherwise than the tab knows it. Its REST API and the command line have everything.'
)
#: Browsers report it again while it lasts, and nobody reports that it is over.
TAB_NOTICE_S = 86400.0
#: After an unexpected error the loop goes on, but not as fast as it can.
ERROR_PAUSE_S = 10.0
#: However often options are set, ticks are not closer than this.
TICK_SPACING_S = 1.0


class CommandRefusedError(Exception):
    """A command's input is wrong; the text names it, says why, and what would be right."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.errno = code


class Module(MgrModule):
    """Answers commands from the newest snapshot; one serve thread measures, decides and acts."""

    CLICommand = CLICommand
    NOTIFY_TYPES = [OSD_MAP_CHANGED]
    MODULE_OPTIONS: List[Option] = [Option(**setting.declaration()) for setting in SETTINGS]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        # Nothing is asked or computed here: the mgr becomes active only when this returns.
        self._wake = threading.Event()
        self._stopping = False
        #: An option of the module was set: the next tick is due at once.
        self._options_set = False
        #: Who asks, by thread, where it is not the command line.
        self._asking = threading.local()
        self._cluster = MgrCluster(self)
        store = MgrStore(self)
        self._profiles = OwnProfiles(store)
        self._tuner = Tuner(
            self._cluster,
            store,
            self._settings,
            manager_version=_short_version(self.version),
            manager_release=self.release_name,
            read_mode=self._mode,
        )
        self._tuner.wake = self._wake.set
        self._metrics = MetricsEndpoint(
            MetricsText(
                lambda: self._tuner.snapshot,
                lambda: METRICS_OSD_LIMIT.read(self.get_module_option),
            )
        )
        self._metrics_uri = ''
        self._reports = SharedText()
        #: Until when `status` says that the tab has no place, on the monotonic clock.
        self._tab_notice_until_s = float('-inf')

    # -- the loop

    def serve(self) -> None:
        """Tick until the mgr stops the module; nothing that a tick raises ends the loop.

        What wakes the loop in between is answered without a tick.
        """
        steps = self._tuner.steps
        steps.run('loading', self._tuner.load)
        ticked_s = due_s = time.monotonic()
        try:
            while not self._stopping:
                if time.monotonic() >= due_s:
                    self._options_set = False
                    ticked_s = time.monotonic()
                    pause_s = ERROR_PAUSE_S
                    if steps.run('tick', self._tuner.tick):
                        pause_s = self._tuner.next_tick_in_s()
                    self._publish_health(self._serve_metrics())
                    due_s = time.monotonic() + pause_s
                else:
                    steps.run('requests', self._tuner.take_requests)
                    # What was asked for may have to be looked at sooner.
                    due_s = min(due_s, time.monotonic() + self._tuner.next_tick_in_s())
                if self._options_set:
                    due_s = min(due_s, ticked_s + TICK_SPACING_S)
                self._wake.wait(max(0.0, due_s - time.monotonic()))
                self._wake.clear()
        finally:
            self._metrics.close()
            self._tuner.close()

    def shutdown(self) -> None:
        self._stopping = True
        self._cluster.close()
        self._wake.set()

    def notify(self, notify_type: str, notify_id: str) -> None:  # noqa: ARG002 - Ceph's
        if notify_type == OSD_MAP_CHANGED:
            self._cluster.invalidate_map()

    def config_notify(self) -> None:
        self._options_set = True
        self._wake.set()

    def _publish_health(self, metrics_problem: Optional[str]) -> None:
        """Raise and clear health checks; where that fails, one that says so."""
        steps = self._tuner.steps
        # The tick itself may be what fails.
        snapshot = replace(self._tuner.snapshot, failing=steps.failing)

        def publish() -> None:
            self.set_health_checks(render.health_checks(snapshot, metrics_problem))

        if not steps.run('health checks', publish):
            steps.run(
                'health check of this',
                lambda: self.set_health_checks(render.failing_checks(steps.failing, None)),
            )

    def _serve_metrics(self) -> Optional[str]:
        """Serve metrics where the options say now; returns why that fails, None if it does not."""
        try:
            address = wanted_address(self)
            problem = self._metrics.follow(address)
            uri = '' if address is None or problem else url(self, address)
            if uri != self._metrics_uri:
                self.set_uri(uri)
                self._metrics_uri = uri
        except Exception as error:  # noqa: BLE001 - metrics are the least of what this loop is for
            self._tuner.steps.failed('metrics', error)
            return reason_of(error)
        self._tuner.steps.works('metrics')
        return problem

    def _settings(self) -> Settings:
        return read_settings(self.get_module_option)

    def _mode(self) -> Mode:
        return read_mode(self.get_module_option)

    # -- commands that read

    @CLIReadCommand('rocksdb-tuner status')
    def cmd_status(self, format: str = 'plain') -> HandleCommandResult:
        """Show mode, sampling, groups with their workload and options, and what is open"""
        snapshot = replace(self._tuner.snapshot, failing=self._tuner.steps.failing)
        if time.monotonic() < self._tab_notice_until_s:
            snapshot = replace(snapshot, notices=(*snapshot.notices, TAB_NOTICE))
        return self._answer(lambda: render.status(snapshot, format))

    @CLIReadCommand('rocksdb-tuner osd')
    def cmd_osd(
        self, osd_id: Optional[str] = None, deep: bool = False, format: str = 'plain'
    ) -> HandleCommandResult:
        """Show what every OSD does, or all that is known of one"""

        def answer() -> str:
            snapshot = self._tuner.snapshot
            if osd_id is None:
                if deep:
                    raise CommandRefusedError(
                        errno.EINVAL, '--deep looks at one OSD: name it, as in "osd deep 3"'
                    )
                return render.osds(snapshot, format)
            number = _osd_number(osd_id)
            if not deep:
                return render.osd(snapshot, number, format)
            render.osd(snapshot, number, format)
            # Other modules come this way too, and have asked for the permission themselves. A
            # command of whoever may only read cannot be told from others here.
            if not self._asked_by_a_module():
                raise CommandRefusedError(
                    errno.EACCES,
                    '--deep changes options of the OSD for a moment, which takes the permission to '
                    f'write: "ceph rocksdb-tuner osd deep {number}"',
                )
            return self._deep_look(number, format)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner workload')
    def cmd_workload(self, format: str = 'plain') -> HandleCommandResult:
        """Show what the clients do, by device class and by OSD, with the evidence"""
        return self._answer(lambda: render.workload(self._tuner.snapshot, format))

    @CLIReadCommand('rocksdb-tuner findings')
    def cmd_findings(self, format: str = 'plain') -> HandleCommandResult:
        """Show what an expert would point out, worst first"""
        return self._answer(lambda: render.findings(self._tuner.snapshot, format))

    @CLIReadCommand('rocksdb-tuner recommend')
    def cmd_recommend(self, format: str = 'plain') -> HandleCommandResult:
        """Show what should change, or why nothing needs to"""
        return self._answer(lambda: render.recommend(self._tuner.snapshot, format))

    @CLIReadCommand('rocksdb-tuner candidates')
    def cmd_candidates(self, format: str = 'plain') -> HandleCommandResult:
        """Show the option sets that were weighed for each group, and what came of it"""
        return self._answer(lambda: render.candidates(self._tuner.snapshot, format))

    @CLIReadCommand('rocksdb-tuner show')
    def cmd_show(self, recommendation_id: str, format: str = 'plain') -> HandleCommandResult:
        """Show one recommendation in full, with the exact commands and the exact undo"""
        return self._answer(
            lambda: render.show(
                self._recommendation(recommendation_id), format, self._settings().soak
            )
        )

    @CLIReadCommand('rocksdb-tuner profile ls')
    def cmd_profile_ls(self, format: str = 'plain') -> HandleCommandResult:
        """List the known option sets"""
        return self._answer(lambda: render.profile_list(self._profiles.everything(), format))

    @CLIReadCommand('rocksdb-tuner profile show')
    def cmd_profile_show(self, name: str, format: str = 'plain') -> HandleCommandResult:
        """Show one option set with its published evidence"""
        return self._answer(lambda: render.profile(self._profile(name), format))

    @CLIReadCommand('rocksdb-tuner profile diff')
    def cmd_profile_diff(
        self,
        name: str,
        other: Optional[str] = None,
        osd: Optional[str] = None,
        release: Optional[str] = None,
        format: str = 'plain',
    ) -> HandleCommandResult:
        """Compare two option sets, or what an OSD runs with one, option by option"""

        def answer() -> str:
            osd_id = None if osd is None else _osd_number(osd)
            second = None if other is None else self._profile(other)
            first = self._profile(name)
            asked = sides(self._tuner.snapshot.osds, first, second, osd_id, release)
            return render.comparison(compare(*asked), format)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner profile derive')
    def cmd_profile_derive(
        self,
        osd: Optional[str] = None,
        workload: Optional[str] = None,
        cores: Optional[int] = None,
        release: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
        format: str = 'plain',
    ) -> HandleCommandResult:
        """Derive an option set from the published goals, and say which published one it is"""

        def answer() -> str:
            said = given(
                workload=workload, cores=cores, db_size=db_size, wal_size=wal_size, memory=memory
            )
            return render.derivation(derive(self._situation(osd, release, said)), format)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner model')
    def cmd_model(
        self,
        options: str,
        osd: Optional[str] = None,
        workload: Optional[str] = None,
        cores: Optional[int] = None,
        release: Optional[str] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
        data: Optional[str] = None,
        ingest: Optional[str] = None,
        key_size: Optional[str] = None,
        cfs: Optional[str] = None,
        format: str = 'plain',
    ) -> HandleCommandResult:
        """Show what an option string makes of WAL, memory, levels, stalls, write amplification"""

        def answer() -> str:
            said = given(
                workload=workload,
                cores=cores,
                db_size=db_size,
                wal_size=wal_size,
                memory=memory,
                data=data,
                ingest=ingest,
                key_size=key_size,
                cfs=cfs,
            )
            return render.model(tree(options, self._situation(osd, release, said)), format)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner check')
    def cmd_check(
        self,
        options: str,
        release: Optional[str] = None,
        osd: Optional[str] = None,
        device_class: Optional[str] = None,
        cores: Optional[int] = None,
        db_size: Optional[str] = None,
        wal_size: Optional[str] = None,
        memory: Optional[str] = None,
        cfs: Optional[str] = None,
        format: str = 'plain',
    ) -> HandleCommandResult:
        """Judge an option string: would an OSD start, what would it run, what is unwise"""

        def answer() -> str:
            asked = subjects(
                self._tuner.snapshot.osds,
                osd_id=None if osd is None else _osd_number(osd),
                device_class=device_class,
                release=release,
                said=given(cores=cores, db_size=db_size, wal_size=wal_size, memory=memory, cfs=cfs),
            )
            return render.check(judge_for(options, asked), format)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner explain')
    def cmd_explain(
        self, option: Optional[str] = None, format: str = 'plain'
    ) -> HandleCommandResult:
        """List the options that are known, or explain one"""

        def answer() -> str:
            if option is None:
                return render.option_list(tuple(all_options().values()), format)
            return render.explain(find_option(option), format)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner history')
    def cmd_history(self, format: str = 'plain') -> HandleCommandResult:
        """Show every change that was made, by whom, and how it ended"""
        return self._answer(lambda: render.history(self._tuner.snapshot, format))

    @CLIReadCommand('rocksdb-tuner report')
    def cmd_report(self, anonymous: bool = False, format: str = 'plain') -> HandleCommandResult:
        """Show all that is known as one JSON document, to attach to a ticket or judge offline"""

        def answer() -> str:
            render.check_format(format)
            published, pretty = self._tuner.published, format == 'json-pretty'

            def write() -> str:
                collection = self._tuner.collection(published)
                return report(collection, anonymous=anonymous, pretty=pretty)

            return self._reports.get((published, anonymous, pretty), write)

        return self._answer(answer)

    @CLIReadCommand('rocksdb-tuner rollout status')
    def cmd_rollout_status(self, format: str = 'plain') -> HandleCommandResult:
        """Show the rollout or compaction campaign under way, or the last ones"""
        snapshot = self._tuner.snapshot
        return self._answer(
            lambda: render.rollout(
                snapshot.rollout, snapshot.campaign, format, snapshot.campaign_waits_for
            )
        )

    # -- commands that change

    @CLIWriteCommand('rocksdb-tuner mode')
    def cmd_mode(self, mode: Optional[str] = None, format: str = 'plain') -> HandleCommandResult:
        """Show or set how much the module may do: off, observe, recommend, auto-apply"""

        def answer() -> str:
            if mode is None:
                return render.mode(self._mode(), format)
            render.check_format(format)
            wanted = _mode(mode)
            self.set_module_option('mode', wanted.value)
            self.config_notify()
            return render.mode(wanted, format)

        return self._answer(answer)

    @CLIWriteCommand('rocksdb-tuner osd deep')
    def cmd_osd_deep(self, osd_id: str, format: str = 'plain') -> HandleCommandResult:
        """Show what the RocksDB of an OSD tells about itself"""
        return self._answer(lambda: self._deep_look(_osd_number(osd_id), format))

    @CLIWriteCommand('rocksdb-tuner profile add')
    def cmd_profile_add(
        self, format: str = 'plain', inbuf: Optional[str] = None
    ) -> HandleCommandResult:
        """Keep an option set of your own, from the JSON given with -i <file>"""

        def answer() -> str:
            render.check_format(format)
            own = decode_own_profile(inbuf)
            return render.profile(self._tuner.submit(lambda: self._profiles.add(own)), format)

        return self._answer(answer)

    @CLIWriteCommand('rocksdb-tuner profile rm')
    def cmd_profile_rm(self, name: str, format: str = 'plain') -> HandleCommandResult:
        """Remove an option set of your own"""

        def answer() -> str:
            render.check_format(format)
            self._tuner.submit(lambda: self._profiles.remove(name))
            return render.profile_list(self._profiles.everything(), format)

        return self._answer(answer)

    @CLIWriteCommand('rocksdb-tuner apply')
    def cmd_apply(
        self, recommendation_id: str, dry_run: bool = False, format: str = 'plain'
    ) -> HandleCommandResult:
        """Carry out a recommendation, step by step; --dry-run only prints the plan"""

        def answer() -> str:
            recommendation = self._recommendation(recommendation_id)
            if recommendation.kind not in CARRIED_OUT:
                raise CommandRefusedError(
                    errno.EINVAL,
                    f'"{recommendation_id}" is nothing that can be applied; "ceph rocksdb-tuner '
                    f'show {recommendation_id}" says what to do',
                )
            compact = recommendation.kind is Kind.COMPACT
            if dry_run and compact:
                return render.show(recommendation, format)
            if dry_run:
                return render.plan(recommendation, self._settings().soak, format)
            actor = self._actor()

            def begin() -> None:
                state = self._begin(recommendation, actor)
                if actor == OPERATOR:
                    self._tuner.find_actor(
                        state,
                        {'prefix': 'rocksdb-tuner apply', 'recommendation_id': recommendation_id},
                    )

            return self._change(begin, format)

        return self._answer(answer)

    @CLIWriteCommand('rocksdb-tuner rollback')
    def cmd_rollback(
        self, rollout_id: Optional[str] = None, format: str = 'plain'
    ) -> HandleCommandResult:
        """Restore exactly what was there before a rollout (default: the last one)"""
        actor = self._actor()
        return self._answer(
            lambda: self._change(lambda: self._tuner.rollback(rollout_id, actor), format)
        )

    @CLIWriteCommand('rocksdb-tuner rollout pause')
    def cmd_rollout_pause(self, format: str = 'plain') -> HandleCommandResult:
        """Let the rollout stand still once the OSD in flight is safe"""
        actor = self._actor()
        return self._answer(lambda: self._change(lambda: self._tuner.pause(actor), format))

    @CLIWriteCommand('rocksdb-tuner rollout resume')
    def cmd_rollout_resume(self, format: str = 'plain') -> HandleCommandResult:
        """Go on with a paused rollout"""
        return self._answer(lambda: self._change(self._tuner.resume, format))

    @CLIWriteCommand('rocksdb-tuner rollout abort')
    def cmd_rollout_abort(self, format: str = 'plain') -> HandleCommandResult:
        """End the rollout where it is, with the OSD in flight brought to safety"""
        actor = self._actor()
        return self._answer(lambda: self._change(lambda: self._tuner.abort(actor), format))

    @CLIWriteCommand('rocksdb-tuner rollout ack')
    def cmd_rollout_ack(self, format: str = 'plain') -> HandleCommandResult:
        """Take note of a rollout that failed or was rolled back: its health check clears"""
        return self._answer(lambda: self._change(self._tuner.acknowledge, format))

    # -- for the dashboard

    def remote_command(
        self, command: str, arguments: Dict[str, Any], actor: str = OPERATOR
    ) -> Dict[str, Any]:
        """A command of this module, asked by another one with `mgr.remote`: its answer in JSON.

        ``command`` has underscores for spaces; ``actor`` is who asks, for the history. The caller
        gets {retval, stdout, stderr} anew: up to Squid what is returned is shared between
        interpreters, from Tentacle on it is copied.
        """
        handler = getattr(self, f'cmd_{command}', None)
        if handler is not None:
            arguments = {'format': 'json', **arguments}
        else:
            handler = getattr(self, f'view_{command}', None)
        if handler is None:
            text = f'no command "{clean(str(command))[:60]}"'
            return {'retval': -errno.EINVAL, 'stdout': '', 'stderr': text}
        problem = what_is_wrong(handler, arguments)
        if problem is not None:
            return {'retval': -errno.EINVAL, 'stdout': '', 'stderr': clean(problem)}
        self._asking.actor = actor
        try:
            result: HandleCommandResult = handler(**arguments)
        finally:
            del self._asking.actor
        return {'retval': result.retval, 'stdout': result.stdout, 'stderr': result.stderr}

    def tab_has_no_place(self) -> None:
        """A browser found the page of the dashboard otherwise than its tab must have it."""
        self._tab_notice_until_s = time.monotonic() + TAB_NOTICE_S

    def view_osd_map(self) -> HandleCommandResult:
        """What all OSDs do, by columns: JSON only"""
        return self._answer(lambda: render.osd_map(self._tuner.snapshot))

    def view_trend(
        self, osds: Optional[str] = None, device_class: Optional[str] = None
    ) -> HandleCommandResult:
        """What OSDs, named "1,2,3", or those of a device class did in the last hours: JSON only"""

        def answer() -> str:
            trends = self._tuner.trends
            if (osds is None) == (device_class is None):
                raise CommandRefusedError(errno.EINVAL, 'give either "osds" or "device_class"')
            if device_class is not None:
                found = trends.of_class(device_class)
                return render.trend((), None if found is None else (device_class, found))
            known = {facts.info.osd_id for facts in self._tuner.snapshot.osds}
            numbers = [_osd_number(text) for text in str(osds).split(',')]
            if len(numbers) > TREND_OSDS_MAX:
                raise CommandRefusedError(
                    errno.EINVAL,
                    f'{len(numbers)} OSDs are too many, at most {TREND_OSDS_MAX} are shown at once',
                )
            for number in numbers:
                if number not in known:
                    raise CommandRefusedError(errno.ENOENT, f'osd.{number} is not known')
            read = [(number, trends.of_osd(number)) for number in dict.fromkeys(numbers)]
            return render.trend([(n, trend) for n, trend in read if trend is not None], None)

        return self._answer(answer)

    def view_growth(self, osd_id: str) -> HandleCommandResult:
        """How the DB of an OSD grew, with the forecast: JSON only"""

        def answer() -> str:
            number = _osd_number(osd_id)
            published = self._tuner.published
            return render.growth(published.snapshot, number, published.growth_of(number))

        return self._answer(answer)

    # -- shared by the handlers

    def _actor(self) -> str:
        """Who asked for what the calling thread does."""
        return getattr(self._asking, 'actor', OPERATOR)

    def _asked_by_a_module(self) -> bool:
        return hasattr(self._asking, 'actor')

    def _deep_look(self, osd_id: int, format: str) -> str:
        # First what may be wrong with the question.
        render.osd(self._tuner.snapshot, osd_id, format)
        look = self._tuner.look_deep(osd_id)
        return render.osd(self._tuner.snapshot, osd_id, format, look)

    def _begin(self, recommendation: Recommendation, actor: str) -> str:
        """The id of the rollout or campaign that begins."""
        if recommendation.kind is Kind.COMPACT:
            return self._tuner.compact(recommendation, actor).campaign_id
        return self._tuner.start(recommendation, actor).rollout_id

    def _change(self, work: Callable[[], object], format: str) -> str:
        # A wrong format must not leave a change behind that was answered with an error.
        render.check_format(format)
        self._tuner.submit(work)
        return render.rollout(*self._tuner.changes, format, self._tuner.campaign_waits_for)

    def _situation(self, osd: Optional[str], release: Optional[str], said: Given) -> Situation:
        osd_id = None if osd is None else _osd_number(osd)
        return find_situation(self._tuner.snapshot.osds, osd_id, release, said)

    def _profile(self, name: str) -> Profile:
        try:
            return self._profiles.get(name)
        except UnknownProfileError as error:
            raise CommandRefusedError(errno.ENOENT, str(error)) from None

    def _recommendation(self, recommendation_id: str) -> Recommendation:
        known = {r.recommendation_id: r for r in self._tuner.snapshot.recommendations}
        if recommendation_id not in known:
            choices = ', '.join(sorted(known)) or 'none at present'
            raise CommandRefusedError(
                errno.ENOENT,
                f'there is no recommendation "{recommendation_id}"; recommendations: {choices}',
            )
        return known[recommendation_id]

    def _answer(self, answer: Callable[[], str]) -> HandleCommandResult:
        try:
            return HandleCommandResult(stdout=answer())
        except (
            CommandRefusedError,
            RolloutRefused,
            CommandError,
            BusyError,
            DeepLookRefused,
            BadQuestionError,
            render.PresentError,
        ) as error:
            return HandleCommandResult(retval=-error.errno, stderr=shown_error(str(error)))
        except Exception as error:
            log.exception('a command failed')
            return HandleCommandResult(
                retval=-errno.EIO,
                stderr=f'internal error ({type(error).__name__}); the mgr log has the details',
            )


def _short_version(text: str) -> str:
    """ "16.2.15" of "ceph version 16.2.15 (hash) pacific (stable)"."""
    words = text.removeprefix('ceph version ').split()
    return words[0] if words else text


def _osd_number(text: str) -> int:
    number = natural(text.removeprefix('osd.'))
    if number is None:
        raise CommandRefusedError(
            errno.EINVAL, f'"{text}" is no OSD: give its number, as in "3" or "osd.3"'
        )
    return number


def _mode(text: str) -> Mode:
    try:
        return Mode(text)
    except ValueError:
        choices = ', '.join(mode.value for mode in Mode)
        raise CommandRefusedError(errno.EINVAL, f'"{text}" is no mode; modes: {choices}') from None
