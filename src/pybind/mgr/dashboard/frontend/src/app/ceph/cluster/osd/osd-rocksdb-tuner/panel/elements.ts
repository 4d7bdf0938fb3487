import { RocksDbTunerChart } from './chart';
import { RocksDbTunerDialog } from './dialog';
import { RocksDbTunerMap } from './map';
import { RocksDbTunerPanel } from './panel';
import { RocksDbTunerPlanner } from './planner';
import { RocksDbTunerTable } from './table';

/**
 * Register the custom elements once. They declare their reactive properties and set them in the
 * constructor: Ceph's frontend compiles class fields to definitions, which would hide lit's accessors.
 */
export function define(): void {
  if (customElements.get('rocksdb-tuner-panel')) return;
  customElements.define('rocksdb-tuner-chart', RocksDbTunerChart);
  customElements.define('rocksdb-tuner-dialog', RocksDbTunerDialog);
  customElements.define('rocksdb-tuner-map', RocksDbTunerMap);
  customElements.define('rocksdb-tuner-planner', RocksDbTunerPlanner);
  customElements.define('rocksdb-tuner-table', RocksDbTunerTable);
  customElements.define('rocksdb-tuner-panel', RocksDbTunerPanel);
}
