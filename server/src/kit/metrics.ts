// Owns the metrics of a process, in the form of Prometheus.
import { timingSafeEqual } from 'node:crypto';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BackgroundMetrics } from './background/metrics.ts';

/** Compares in constant time. */
export function isBearerToken(authorization: string | undefined, token: string): boolean {
  const actual = Buffer.from(authorization ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

export interface Metrics {
  countRequest(operation: string, status: number, seconds: number): void;
  countRun(queue: string, outcome: string, seconds: number): void;
  /** Counts a failure of a job, a queue or the dispatcher. */
  countFailure(what: string): void;
  /** Adds a counter `NAMEs_total` by outcome, and a histogram `NAME_duration_seconds`. Returns what counts one. */
  addOutcomes(name: string, help: string, buckets: readonly number[]): (outcome: string, seconds: number) => void;
  addHistogram(name: string, help: string, buckets: readonly number[]): (seconds: number) => void;
  /** Adds a gauge that is read at every scrape. If it can't be read, it is absent instead of 0. */
  addGauge(gauge: GaugeReading): void;
  render(): Promise<string>;
}

export interface GaugeReading {
  readonly name: string;
  readonly help: string;
  /** With a label, `read` returns a number for each of its values. */
  readonly label?: string;
  read(): Promise<number | Readonly<Record<string, number>>>;
}

/** `readBackground` runs at every scrape. */
export function createMetrics(readBackground: () => Promise<BackgroundMetrics>): Metrics {
  const registry = new Registry();
  // The default samples the event loop 100 times a second, which costs an idle process more than everything else.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 500 });
  const requests = new Counter({
    name: 'plinth_http_requests_total',
    help: 'Requests by operation and status',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'plinth_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
    labelNames: ['operation'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const limited = new Counter({
    name: 'plinth_http_rate_limited_total',
    help: 'Requests refused by a rate limit',
    labelNames: ['operation'],
    registers: [registry],
  });
  const runs = new Counter({
    name: 'plinth_queue_runs_total',
    help: 'Runs of queue rows in this process, by how they ended',
    labelNames: ['queue', 'outcome'],
    registers: [registry],
  });
  const runDuration = new Histogram({
    name: 'plinth_queue_run_duration_seconds',
    help: 'Time from the claim of a queue row to its end',
    labelNames: ['queue'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'plinth_background_failures_total',
    help: 'Failures of jobs, queues and the dispatcher in this process',
    labelNames: ['what'],
    registers: [registry],
  });
  const setBackground = createBackgroundGauges(registry);
  return {
    countFailure: (what) => failures.inc({ what }),
    countRun(queue, outcome, seconds) {
      runs.inc({ queue, outcome });
      runDuration.observe({ queue }, seconds);
    },
    countRequest(operation, status, seconds) {
      requests.inc({ operation, status });
      duration.observe({ operation }, seconds);
      if (status === 429) limited.inc({ operation });
    },
    addOutcomes(name, help, buckets) {
      const counter = new Counter({ name: `${name}s_total`, help, labelNames: ['outcome'], registers: [registry] });
      const histogram = new Histogram({
        name: `${name}_duration_seconds`,
        help: `Duration: ${help}`,
        buckets: [...buckets],
        registers: [registry],
      });
      return (outcome, seconds) => {
        counter.inc({ outcome });
        histogram.observe(seconds);
      };
    },
    addHistogram(name, help, buckets) {
      const histogram = new Histogram({ name, help, buckets: [...buckets], registers: [registry] });
      return (seconds) => histogram.observe(seconds);
    },
    addGauge({ name, help, label, read: readValue }) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: label === undefined ? [] : [label],
        registers: [registry],
        collect: async () => {
          const read = await readValue().catch(() => undefined);
          if (label !== undefined) gauge.reset();
          else if (read === undefined) gauge.remove();
          if (typeof read === 'number') gauge.set(read);
          else for (const [value, count] of Object.entries(read ?? {})) gauge.set({ [label ?? '']: value }, count);
        },
      });
    },
    async render() {
      setBackground(await readBackground().catch(() => undefined));
      return registry.metrics();
    },
  };
}

/** Metrics of queues and worker slots. If the database does not answer, they are absent instead of 0. */
function createBackgroundGauges(registry: Registry): (metrics: BackgroundMetrics | undefined) => void {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const depth = gauge('plinth_queue_depth', 'Rows of a queue by state: due, running, failed', ['queue', 'state']);
  const oldest = gauge('plinth_queue_oldest_seconds', 'How long the oldest row that is due has waited', ['queue']);
  const slots = gauge('plinth_worker_slots', 'Worker slots by state: held, silent, free', ['state']);
  return (metrics) => {
    for (const each of [depth, oldest, slots]) each.reset();
    if (metrics === undefined) return;
    for (const { queue, oldestSeconds, ...counts } of metrics.queues) {
      oldest.set({ queue }, oldestSeconds);
      for (const [state, count] of Object.entries(counts)) depth.set({ queue, state }, count);
    }
    for (const state of ['held', 'silent', 'free']) slots.set({ state }, 0); // an alert needs the 0 of a missing worker
    for (const { state } of metrics.slots) slots.inc({ state });
  };
}
