import { RocksDbTunerChart } from './chart';
import { RocksDbTunerDialog } from './dialog';
import { RocksDbTunerMap } from './map';
import { RocksDbTunerPanel } from './panel';
import { watch } from './tab';

// The dashboard may lie below a prefix; this file then does as well.
const script = document.currentScript as HTMLScriptElement;
const base = script.src.split('ui-api/')[0] ?? '/';

customElements.define('rocksdb-tuner-chart', RocksDbTunerChart);
customElements.define('rocksdb-tuner-dialog', RocksDbTunerDialog);
customElements.define('rocksdb-tuner-map', RocksDbTunerMap);
customElements.define('rocksdb-tuner-panel', RocksDbTunerPanel);
watch(base);
