"""The rocksdb_tuner manager module on a real cluster, as Ceph's own test lab runs it."""

import errno
import json
import logging
from typing import Any

from teuthology.exceptions import CommandFailedError

from .mgr_test_case import MgrTestCase

log = logging.getLogger(__name__)

OPTION = 'bluestore_rocksdb_options'
#: RocksDB knows no such option: an OSD with it does not start.
UNKNOWN = 'write_buffer_sise=1024'


class TestRocksDBTuner(MgrTestCase):
    """That the module measures OSDs, judges strings, and changes nothing by itself."""

    MGRS_REQUIRED = 1
    #: Two samples, of which the first may wait for the first reports of OSDs.
    SAMPLED_WITHIN_S = 180

    def setUp(self) -> None:
        super().setUp()
        self.setup_mgrs()
        self._load_module('rocksdb_tuner')
        self.mgr_cluster.set_module_conf('rocksdb_tuner', 'sample_interval', '10')

    def _command(self, *words: str) -> str:
        out: str = self.mgr_cluster.mon_manager.raw_cluster_cmd(*words)
        return out

    def _tuner(self, *words: str) -> Any:
        return json.loads(self._command('rocksdb-tuner', *words, '--format=json'))

    def _sampled(self) -> bool:
        age = self._tuner('status')['sampling']['last_sample_age_s']
        return age is not None

    def test_samples_osds(self) -> None:
        """That every OSD that is up is sampled."""
        self.wait_until_true(self._sampled, timeout=self.SAMPLED_WITHIN_S)
        known = {
            osd['osd'] for osd in json.loads(self._command('osd', 'dump', '--format=json'))['osds']
        }
        self.assertEqual({osd['osd'] for osd in self._tuner('osd')}, known)

    def test_check_refuses_unknown_option(self) -> None:
        """That a string with which no OSD would start is not accepted, though the mon takes it."""
        answer = self._tuner('check', UNKNOWN)
        self.assertFalse(answer['accepted'])
        self.assertIn('error', {problem['severity'] for problem in answer['problems']})

    def test_check_accepts_the_default(self) -> None:
        """That the option string of the release is accepted."""
        default = json.loads(self._command('config', 'help', OPTION, '--format=json'))['default']
        self.assertTrue(self._tuner('check', default)['accepted'])

    def test_changes_nothing_by_itself(self) -> None:
        """That sampling and recommending leave the configuration database as it was."""
        before = self._entries()
        self.wait_until_true(self._sampled, timeout=self.SAMPLED_WITHIN_S)
        self._tuner('recommend')
        self.assertEqual(self._entries(), before)

    def _entries(self) -> list:
        dump = json.loads(self._command('config', 'dump', '--format=json'))
        return [entry for entry in dump if entry['section'].startswith('osd')]

    def test_refuses_unknown_recommendation(self) -> None:
        """That a recommendation that does not exist is an error, ENOENT."""
        with self.assertRaises(CommandFailedError) as refused:
            self._command('rocksdb-tuner', 'apply', 'no-such-recommendation')
        self.assertEqual(refused.exception.exitstatus, errno.ENOENT)

    def test_mode_survives_failover(self) -> None:
        """That the mode belongs to the cluster, not to a manager."""
        self._command('rocksdb-tuner', 'mode', 'observe')
        self.mgr_cluster.mgr_fail()
        self.wait_until_true(lambda: self.mgr_cluster.get_active_id() != '', timeout=60)
        self.wait_until_true(self._answers, timeout=60)
        self.assertEqual(self._tuner('status')['mode'], 'observe')
        self._command('rocksdb-tuner', 'mode', 'recommend')

    def _answers(self) -> bool:
        try:
            self._tuner('status')
        except (CommandFailedError, ValueError):
            return False
        return True
