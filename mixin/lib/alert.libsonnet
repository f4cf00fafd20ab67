// alert(config, name, ...) makes one alert: everything that an operator may want
// to change comes from config.alerts[name], the rest is the same for all.
local text = import 'text.libsonnet';
{
  severities:: ['critical', 'warning', 'info'],

  new(config, name, expr, summary, description, dashboard)::
    assert std.objectHas(config.alerts, name) : 'no configuration for alert ' + name;
    local own = config.alerts[name];
    // <key> in a text is the value of that key of the alert's configuration.
    local plain(v) = if std.isNumber(v) && v != std.floor(v) then '%g' % v else std.toString(v);
    local told(s) = std.foldl(function(s, key) std.strReplace(s, '<' + key + '>', plain(own[key])), std.objectFields(own), s);
    assert std.member($.severities, own.severity) : '%s: unknown severity %s' % [name, own.severity];
    assert text.seconds(own['for']) <= 3600 : name + ': for is longer than an hour, use a range instead';
    {
      alert: name,
      // expr is a function of the alert's own configuration.
      expr: expr(own {
        cluster: config.clusterLabel,
        step: config.step,
        selector: config.selector,
        // Of the windows that are looked at in other steps than usual, their own.
        present(expr, window, step=config.step):: text.present(expr, window, step, config.share),
      }),
      'for': own['for'],
      [if config.keepFiringFor && std.objectHas(own, 'keep_firing_for') then 'keep_firing_for']: own.keep_firing_for,
      labels: { severity: own.severity } + config.alertLabels,
      annotations: {
        summary: told(summary),
        description: told(description),
        runbook_url: config.runbookURLPattern % name,
        [if config.grafanaURL != '' then 'dashboard_url']: '%s/d/%s' % [config.grafanaURL, config.dashboardUIDPrefix + dashboard],
      },
    },

  // Parts of annotations. A label that is missing prints nothing.
  inCluster(config):: '{{ with $labels.%s }} in cluster {{ . }}{{ end }}' % config.clusterLabel,

  // The name of the alert's pool, asked for when the alert is written, so that a
  // renamed pool does not make a new alert.
  pool(config)::
    'pool {{ with printf `cephrisk:pool_info{%(cluster)s=%%q,pool_id=%%q}` $labels.%(cluster)s $labels.pool_id | query }}{{ (. | first).Labels.name }}{{ else }}{{ $labels.pool_id }}{{ end }}' % { cluster: config.clusterLabel },

  // list(query, item) writes the items of a query about the alert's cluster and,
  // with labels, about these labels of the alert.
  list(config, metric, labels, item, wrap='%s', lead='', none='', sort='')::
    local all = [config.clusterLabel] + labels;
    local matchers = std.join(',', [l + '=%q' for l in all]);
    local args = std.join(' ', ['$labels.' + l for l in all]);
    '{{ with printf `%(query)s` %(args)s | query }}%(lead)s{{ range $i, $s := %(sorted)s }}{{ if $i }}, {{ end }}%(item)s{{ end }}.{{ else }}%(none)s{{ end }}' % {
      query: wrap % ('%s{%s}' % [metric, matchers]),
      args: args,
      lead: lead,
      item: item,
      // Equal values come in any order: without a label to sort by, so does the text.
      sorted: if sort == '' then '.' else 'sortByLabel "%s" .' % sort,
      none: none,
    },
}
