// Checks the files in deploy/ that operators copy: Prometheus alert rules and a Grafana dashboard. Their queries are
// parsed with Prometheus's own grammar and compared with the metrics that a process exposes and docs/operate/monitor.md
// lists.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startWorld } from './support/world.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
const { groups } = parse(read('deploy/prometheus/alerts.yml')) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { x: number; y: number; w: number; h: number };
  readonly targets: { refId: string; expr: string }[];
}
const { panels } = JSON.parse(read('deploy/grafana/plinth.json')) as { panels: Panel[] };

const monitorPage = read('docs/operate/monitor.md');
/** Each metric's labels in the documentation's table. */
const documented = new Map(
  [...monitorPage.matchAll(/^\| `(plinth_\w+)` \| ([\w, –]+) \|/gm)].map(([, name = '', labels = '']) => [
    name,
    labels === '–' ? [] : labels.split(', '),
  ]),
);

const world = await startWorld();
await world.startWorker();
await world.call('GET', '/healthz');
const exposition = await world.app.metrics.render();
const types = new Map(
  [...exposition.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
);
/** Every metric name that can be queried. A histogram has three. */
const exposed = new Set(
  [...types].flatMap(([name, type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
  ),
);
/** Labels that Prometheus or the metric type adds. */
const otherLabels = ['instance', 'job', 'le'];

/** Returns the metrics and labels that an expression uses. Throws if the expression is not valid PromQL. */
function analyse(expression: string): { metrics: string[]; labels: string[] } {
  const text = expression.replaceAll('$__rate_interval', '5m'); // one of Grafana's built-in variables
  const metrics: string[] = [];
  const labels: string[] = [];
  parser.parse(text).iterate({
    enter(node) {
      const name = text.slice(node.from, node.to);
      if (node.type.isError) throw new Error(`not valid at "${text.slice(node.from)}": ${expression}`);
      if (node.name === 'Identifier' && node.matchContext(['VectorSelector'])) metrics.push(name);
      if (node.name === 'LabelName') labels.push(name);
    },
  });
  return { metrics, labels };
}

function expectExposed(expression: string): void {
  const { metrics, labels } = analyse(expression);
  expect(metrics, expression).not.toEqual([]);
  expect(metrics.filter((name) => !exposed.has(name))).toEqual([]);
  const known = metrics.flatMap((name) => documented.get(name.replace(/_(bucket|sum|count)$/, '')) ?? []);
  expect(labels.filter((label) => ![...known, ...otherLabels].includes(label))).toEqual([]);
}

describe('the alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s queries what a process exposes', (_name, rule) => {
    expectExposed(rule.expr);
  });

  it('have a severity, a sentence for the pager, what to do, and a line in the documentation', () => {
    expect(rules.length).toBeGreaterThan(10);
    for (const { alert, labels, annotations, for: duration } of rules) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/^\S.{10,}/);
      expect(annotations.description).toMatch(/\.$/);
      expect(duration ?? '0m').toMatch(/^\d+m$/);
      expect(monitorPage).toContain(`| \`${alert}\` |`);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('are those that the documentation lists', () => {
    const listed = [...monitorPage.matchAll(/^\| `(Plinth\w+)` \|/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });
});

// Debian's package `prometheus` has the program.
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

describe.skipIf(!hasPromtool)('promtool (skipped if it is not installed)', () => {
  it('accepts the alert rules, which fire in the cases of alerts.test.yml and in no others', () => {
    const run = (...args: string[]) =>
      spawnSync('promtool', args, { cwd: fileURLToPath(new URL('../../deploy/prometheus', import.meta.url)) });
    for (const got of [run('check', 'rules', 'alerts.yml'), run('test', 'rules', 'alerts.test.yml')])
      expect(got.status, `${got.stdout}${got.stderr}`).toBe(0);
  });
});

describe('the dashboard', () => {
  it.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s queries what a process exposes',
    (_title, panel) => {
      for (const { expr } of panel.targets) expectExposed(expr);
    },
  );

  it('has panels with ids of their own that do not overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it('shows every metric of Plinth', () => {
    const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => analyse(expr).metrics)));
    const forgotten = [...types.keys()].filter(
      (name) => name.startsWith('plinth_') && ![name, `${name}_bucket`, `${name}_sum`].some((each) => shown.has(each)),
    );
    expect(forgotten).toEqual([]);
  });
});

describe('the documentation', () => {
  it('lists every metric of Plinth, and no other', () => {
    const ours = [...types.keys()].filter((name) => name.startsWith('plinth_'));
    expect([...documented.keys()].sort()).toEqual(ours.sort());
  });

  it('lists the labels of every metric', () => {
    for (const [, name = '', labels = ''] of exposition.matchAll(/^(plinth_\w+?)(?:_bucket|_sum|_count)?\{(.*)\}/gm)) {
      const names = [...labels.matchAll(/(\w+)=/g)].map(([, label]) => label as string);
      const allowed = [...(documented.get(name) ?? []), ...otherLabels];
      expect(
        names.filter((label) => !allowed.includes(label)),
        name,
      ).toEqual([]);
    }
  });
});

it('an expression that is wrong is found: its syntax, its metric, its label', () => {
  expect(() => analyse('sum(rate(plinth_http_requests_total[5m])')).toThrow('not valid');
  expect(() => expectExposed('plinth_no_such_metric > 0')).toThrow('plinth_no_such_metric');
  expect(() => expectExposed('plinth_queue_depth{stat="due"} > 0')).toThrow('stat');
});

describe('the systemd units', () => {
  const readUnit = (kind: string) =>
    new Map(
      read(`deploy/systemd/plinth-${kind}.service`)
        .split('\n')
        .flatMap((line) => (/^[A-Z]/.test(line) ? [line.split(/=(.*)/).slice(0, 2) as [string, string]] : [])),
    );
  const installPage = read('docs/operate/install.md');

  it.each([
    ['api', 'api', 'plinth', 40],
    ['worker', 'worker', 'plinth', 20],
    ['strangers-worker', 'worker', 'root', 20],
  ])(
    'start the %s: `plinth %s` as %s, with the memory limits and the %d s to stop that the page states',
    (name, kind, user, seconds) => {
      const unit = readUnit(name);
      expect(unit.get('ExecStart')).toBe(`/opt/plinth/bin/plinth ${kind}`);
      expect(installPage).toContain(`plinth-${name}`);
      expect(unit.get('User')).toBe(user);
      expect(read(`deploy/systemd/plinth-${name}.service`)).toContain(
        '\nEnvironment=PLINTH_ENV_FILE=/etc/plinth/plinth.env\n',
      );
      const queues = unit.get('Environment')?.replace(/.*WORKER_QUEUES=/, '');
      if (kind === 'worker') expect(installPage).toContain(`\`${queues}\``);
      for (const variable of ['NODE_OPTIONS=--max-old-space-size=256', 'MALLOC_ARENA_MAX=2']) {
        expect(read(`deploy/systemd/plinth-${name}.service`)).toContain(variable);
        expect(installPage).toContain(`\n${variable}\n`);
      }
      expect(installPage).toMatch(kind === 'api' ? /Allow 40 s for the API/ : /20 s for a\s+worker/);
      expect(Number(unit.get('TimeoutStopSec'))).toBeGreaterThan(seconds);
      expect(unit.get('Restart')).toBe('always');
    },
  );

  const backupPage = read('docs/operate/backup.md');

  it.each([
    ['backup', 'backup /var/backups/plinth --keep 7'],
    ['backup-verify', 'backup --verify /var/backups/plinth'],
  ])('run `plinth %s` by a timer that the page names, and catch up after the machine was off', (name, command) => {
    const unit = readUnit(name);
    expect(unit.get('ExecStart')).toBe(`/opt/plinth/bin/plinth ${command}`);
    expect([unit.get('Type'), unit.get('User')]).toEqual(['oneshot', undefined]);
    expect(unit.get('Environment')).toBe('MIGRATE_DATABASE_URL_FILE=/etc/plinth/secrets/migrate_database_url');
    expect(backupPage).toContain(`plinth-${name}.timer`);
    const timer = read(`deploy/systemd/plinth-${name}.timer`);
    expect(timer).toMatch(/^Persistent=true$/m);
    expect(timer).toMatch(/^RandomizedDelaySec=\d+min$/m);
    expect(timer).toMatch(/^WantedBy=timers\.target$/m);
  });

  const hasAnalyzer = spawnSync('systemd-analyze', ['--version']).status === 0 && existsSync('/usr/lib/systemd/system');

  it.skipIf(!hasAnalyzer)('are read by systemd without a complaint about them', () => {
    for (const name of ['api.service', 'worker.service', 'backup.timer', 'backup-verify.timer']) {
      const path = fileURLToPath(new URL(`../../deploy/systemd/plinth-${name}`, import.meta.url));
      const { stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
      const lines = stderr.split('\n').filter((line) => line.includes('plinth-') && line.includes(':'));
      expect(lines.filter((line) => !line.includes('/opt/plinth/bin/plinth is not executable'))).toEqual([]);
    }
  });
});
