// Panels of these dashboards: Grafana's JSON, with what they have in common.
{
  local datasource = { type: 'prometheus', uid: '${datasource}' },
  local steps(values) = { mode: 'absolute', steps: values },

  neutral:: [{ color: 'text', value: null }],
  bad(color, from=1):: [{ color: 'green', value: null }, { color: color, value: from }],

  target(expr, legend, format='time_series'):: {
    datasource: datasource,
    expr: expr,
    legendFormat: legend,
    format: format,
    instant: format == 'table',
    refId: 'A',
  },

  panel(type, title, description, targets, unit):: {
    type: type,
    title: title,
    description: description,
    datasource: datasource,
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
    fieldConfig: { defaults: { unit: unit }, overrides: [] },
  },

  graph(title, description, targets, unit, max=null)::
    $.panel('timeseries', title, description, targets, unit) {
      fieldConfig+: { defaults+: {
        min: 0,
        [if max != null then 'max']: max,
        custom: { fillOpacity: 8, showPoints: 'never', spanNulls: false },
      } },
      options: {
        legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
    },

  stat(title, description, expr, unit, thresholds, legend='')::
    $.panel('stat', title, description, [$.target(expr, legend)], unit) {
      fieldConfig+: { defaults+: {
        thresholds: steps(thresholds),
        color: { mode: 'thresholds' },
      } },
      options: {
        reduceOptions: { calcs: ['lastNotNull'] },
        colorMode: 'value',
        graphMode: 'none',
        textMode: if legend == '' then 'value' else 'name',
      },
    },

  // `names`: the columns to show, by label or field, and their headings.
  table(title, description, expr, names, unit='none')::
    $.panel('table', title, description, [$.target(expr, '', 'table')], unit) {
      transformations: [
        { id: 'filterFieldsByName', options: { include: { names: std.objectFields(names) } } },
        { id: 'organize', options: { renameByName: names } },
      ],
    },

  // Open the dashboard of an OSD from a line of a graph, or from a row of a table.
  osdLink(from):: {
    title: 'Show ${%s}' % from,
    url: '/d/%s?var-osd=${%s}&${cluster:queryparam}&${datasource:queryparam}&${__url_time_range}'
         % [$.osdDashboard, from],
  },

  // Grafana's grid is 24 wide; a heading is 1 high.
  place(rows)::
    local row(title) = { type: 'row', title: title, collapsed: false, panels: [] };
    local next(done, r) =
      local width = std.floor(24 / std.length(r.panels));
      local heading = if r.title == '' then 0 else 1;
      {
        y: done.y + heading + r.height,
        panels: done.panels
                + (if heading == 1 then [row(r.title) { gridPos: { x: 0, y: done.y, w: 24, h: 1 } }] else [])
                + [
                  r.panels[i] { gridPos: { x: i * width, y: done.y + heading, w: width, h: r.height } }
                  for i in std.range(0, std.length(r.panels) - 1)
                ],
      };
    local placed = std.foldl(next, rows, { y: 0, panels: [] }).panels;
    [placed[i] { id: i + 1 } for i in std.range(0, std.length(placed) - 1)],

  // Times at which operations began and ended. A manager that takes over reports the same ones.
  local operations(name, kind, color) =
    local annotation(event, expr, text) =
      $.addAnnotationSchema('%s %s' % [name, event], datasource, color, 'dashboard') {
        expr: 'max by (%s) (%s) * 1000' % [$.labels(['phase']), expr],
        useValueForTime: true,
        step: '60s',
        titleFormat: text,
      };
    [
      annotation(
        'started',
        $.series(kind + '_start_timestamp_seconds'),
        '%s started' % name,
      ),
      annotation(
        'ended',
        '(%s == 1) * on (%s) group_left () %s' % [
          $.series(kind + '_phase', 'phase=~"done|rolled-back|failed|aborted"'),
          $.labels(['instance']),
          $.series(kind + '_update_timestamp_seconds'),
        ],
        '%s: {{phase}}' % name,
      ),
    ],

  dashboard(title, uid, variables, rows):: {
    title: title,
    uid: uid,
    tags: $._config.dashboardTags,
    schemaVersion: 38,
    editable: false,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    links: [$.addLinkSchema('Browse Dashboards', $._config.dashboardTags)],
    annotations: { list: [
      $.addAnnotationSchema(
        'Annotations & Alerts', '-- Grafana --', 'rgba(0, 211, 255, 1)', 'dashboard', builtIn=1, hide=true
      ),
    ] + operations('Rollout', 'rollout', 'blue') + operations('Experiment', 'experiment', 'purple') },
    templating: {
      list: [
        { name: 'datasource', label: 'Data Source', type: 'datasource', query: 'prometheus', current: {} },
        $.addClusterTemplate(),
      ] + variables,
    },
    panels: $.place(rows),
  },
}
