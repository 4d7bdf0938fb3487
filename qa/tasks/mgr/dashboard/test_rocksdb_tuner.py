# -*- coding: utf-8 -*-

from .helper import DashboardTestCase, JAny, JLeaf, JList, JObj

#: RocksDB knows no such option: an OSD with it does not start.
UNKNOWN = 'write_buffer_sise=1024'


class RocksDBTunerTest(DashboardTestCase):
    """The REST API of the module, as a browser uses it."""

    AUTH_ROLES = ['cluster-manager']

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._load_module('rocksdb_tuner')
        # The dashboard starts again with the manager, maybe with another one.
        cls._base_uri = None
        cls.update_base_uri()

    def test_status(self):
        data = self._get('/api/rocksdb_tuner')
        self.assertStatus(200)
        self.assertSchema(
            data,
            JObj(
                {
                    'mode': JLeaf(str),
                    'release': JAny(none=True),
                    'sampling': JObj({}, allow_unknown=True),
                    'groups': JList(JObj({}, allow_unknown=True)),
                    'findings': JObj(
                        {'error': JLeaf(int), 'warning': JLeaf(int), 'info': JLeaf(int)}
                    ),
                },
                allow_unknown=True,
            ),
        )

    def test_check_refuses_an_unknown_option(self):
        data = self._get('/api/rocksdb_tuner/check', params={'options': UNKNOWN})
        self.assertStatus(200)
        self.assertFalse(data['accepted'])

    def test_an_unknown_recommendation_is_not_found(self):
        self._get('/api/rocksdb_tuner/recommendation/no-such-recommendation')
        self.assertStatus(404)

    def test_an_unknown_parameter_is_refused(self):
        self._get('/api/rocksdb_tuner/trend', params={'osd': '0'})
        self.assertStatus(400)

    def test_the_mode_is_set_and_invalid_modes_are_refused(self):
        self._put('/api/rocksdb_tuner/mode', {'mode': 'observe'})
        self.assertStatus(200)
        self.assertEqual(self._get('/api/rocksdb_tuner/mode')['mode'], 'observe')
        self._put('/api/rocksdb_tuner/mode', {'mode': 'no-such-mode'})
        self.assertStatus(400)
        self._put('/api/rocksdb_tuner/mode', {'mode': 'recommend'})
        self.assertStatus(200)

    @DashboardTestCase.RunAs('reader', 'reader', ['read-only'])
    def test_who_may_read_cannot_change(self):
        self._get('/api/rocksdb_tuner/findings')
        self.assertStatus(200)
        self._put('/api/rocksdb_tuner/mode', {'mode': 'off'})
        self.assertStatus(403)

    @DashboardTestCase.RunAs('stranger', 'stranger', ['rgw-manager'])
    def test_who_may_not_read_osds_reads_nothing(self):
        self._get('/api/rocksdb_tuner')
        self.assertStatus(403)
