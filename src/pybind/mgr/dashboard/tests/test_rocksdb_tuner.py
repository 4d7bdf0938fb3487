# -*- coding: utf-8 -*-

import errno
import json
from unittest import mock

from .. import mgr
from ..controllers._rocksdb_tuner import RocksDBTuner, RocksDBTunerStatus
from ..controllers._rocksdb_tuner_api import read_body
from ..controllers._rocksdb_tuner_experiments import RocksDBTunerExperiments
from ..controllers._rocksdb_tuner_operations import RocksDBTunerOperations
from ..controllers._rocksdb_tuner_profiles import RocksDBTunerProfiles
from ..tests import ControllerTestCase

OK = {'retval': 0, 'stdout': '{"mode": "observe"}', 'stderr': ''}


class RocksDBTunerTest(ControllerTestCase):
    """Requests become commands of the module, and its errors become HTTP statuses."""

    @classmethod
    def setup_server(cls):
        cls.setup_controllers(
            [
                RocksDBTuner,
                RocksDBTunerExperiments,
                RocksDBTunerOperations,
                RocksDBTunerProfiles,
                RocksDBTunerStatus,
            ],
            cp_config={'tools.json_in.processor': read_body},
        )

    def setUp(self):
        super().setUp()
        patcher = mock.patch.object(mgr, 'remote', return_value=OK)
        self.remote = patcher.start()
        self.addCleanup(patcher.stop)

    def asked(self):
        (call,) = self.remote.call_args_list
        module, method, *rest = call.args
        self.assertEqual((module, method), ('rocksdb_tuner', 'remote_command'))
        return rest

    def test_a_read_asks_for_the_command_without_an_actor(self):
        self._get('/api/rocksdb_tuner')
        self.assertStatus(200)
        self.assertJsonBody({'mode': 'observe'})
        self.assertEqual(self.asked(), ['status', {}])

    def test_parameters_of_path_and_query_reach_the_command(self):
        self._get('/api/rocksdb_tuner/osd/3')
        self.assertStatus(200)
        self.assertEqual(self.asked(), ['osd', {'osd_id': '3'}])

    def test_an_unknown_parameter_is_named(self):
        self._get('/api/rocksdb_tuner/trend?osd=1')
        self.assertStatus(400)
        self.assertIn('unknown parameter "osd"', self.json_body()['detail'])
        self.remote.assert_not_called()

    def test_a_change_needs_permission_for_the_configuration(self):
        with mock.patch.object(RocksDBTuner, '_has_permissions', return_value=False):
            self._put('/api/rocksdb_tuner/mode', {'mode': 'observe'})
        self.assertStatus(403)
        self.remote.assert_not_called()

    def test_a_change_names_who_asked_for_it(self):
        with (
            mock.patch.object(RocksDBTuner, '_has_permissions', return_value=True),
            mock.patch(
                'dashboard.controllers._rocksdb_tuner_api.JwtManager.get_username',
                return_value='alice',
            ),
        ):
            self._put('/api/rocksdb_tuner/mode', {'mode': 'observe'})
        self.assertStatus(200)
        self.assertEqual(self.asked(), ['mode', {'mode': 'observe'}, 'dashboard:alice'])

    def test_a_refused_command_becomes_a_status_and_keeps_its_message(self):
        for number, status in ((errno.ENOENT, 404), (errno.EBUSY, 409), (errno.EINVAL, 400)):
            self.remote.return_value = {'retval': -number, 'stdout': '', 'stderr': 'no such id'}
            self._get('/api/rocksdb_tuner/recommendation/x')
            self.assertStatus(status)
            self.assertEqual(self.json_body()['detail'], 'no such id')
            self.assertEqual(self.json_body()['component'], 'rocksdb_tuner')

    def test_a_module_that_is_not_enabled_is_unavailable(self):
        self.remote.side_effect = ImportError('Module not found')
        self._get('/api/rocksdb_tuner')
        self.assertStatus(503)
        self.assertEqual(self.json_body()['code'], 'module_disabled')

    def test_the_text_of_an_exception_stays_in_the_manager(self):
        self.remote.side_effect = RuntimeError('secret')
        self._get('/api/rocksdb_tuner/findings')
        self.assertStatus(500)
        self.assertNotIn('secret', json.dumps(self.json_body()))

    def test_the_tab_gets_the_permissions_of_its_user(self):
        with mock.patch.object(RocksDBTunerStatus, '_has_permissions', return_value=False):
            self._get('/ui-api/rocksdb_tuner/status')
        self.assertStatus(200)
        self.assertJsonBody({'available': True, 'message': None, 'may_change': False})

    def test_a_body_that_is_no_object_is_refused(self):
        self._put('/api/rocksdb_tuner/mode', ['observe'])
        self.assertStatus(400)
        self.remote.assert_not_called()
