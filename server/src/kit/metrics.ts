// A process's metrics, in Prometheus format.
import { timingSafeEqual } from 'node:crypto';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BackgroundMetrics } from './background/metrics.ts';
import { listPurgedRows } from './background/purge.ts';
import { isCancelled } from './db/failures.ts';

/** Compares in constant time. */
export function isBearerToken(authorization: string | undefined, token: string): boolean {
  const actual = Buffer.from(authorization ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

export interface Metrics {
  countRequest(operation: string, status: number, seconds: number): void;
  countRun(queue: string, outcome: string, seconds: number): void;
  countClaim(queue: string, rows: number, seconds: number): void;
  /** Counts owners whose waiting rows only a full look found. */
  countMissed(queue: string, count: number): void;
  /** Counts a failure in a job, a queue or the dispatcher. */
  countFailure(what: string): void;
  /**
   * Adds a counter `NAMEs_total` by outcome, and a histogram `NAME_duration_seconds`. Returns a function that records
   * an outcome.
   */
  addOutcomes(name: string, help: string, buckets: readonly number[]): (outcome: string, seconds: number) => void;
  addHistogram(name: string, help: string, buckets: readonly number[]): (value: number) => void;
  /** Returns a function that increments the counter. */
  addCounter(name: string, help: string): () => void;
  /** Adds a gauge that is read whenever the metrics are rendered. If reading fails, it is missing instead of 0. */
  addGauge(gauge: GaugeReading): void;
  render(): Promise<string>;
}

export interface GaugeReading {
  readonly name: string;
  readonly help: string;
  /** If set, `read` returns a number for each label value. */
  readonly label?: string;
  /** If set, `plinth_queue_unreadable` says under this name whether the gauge could be read in time. */
  readonly queue?: string;
  /** Undefined if there is nothing to show, and the gauge is then missing. */
  read(): Promise<number | undefined | Readonly<Record<string, number>>>;
}

/** `readBackground` is called on every scrape. */
export function createMetrics(readBackground: () => Promise<BackgroundMetrics>): Metrics {
  const registry = new Registry();
  // By default, the event loop is sampled 100 times a second, which takes most of an idle process's CPU time.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 500 });
  const requests = new Counter({
    name: 'plinth_http_requests_total',
    help: 'Requests by operation and status',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'plinth_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last byte of its response',
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
    help: 'Queue row runs in this process, by outcome',
    labelNames: ['queue', 'outcome'],
    registers: [registry],
  });
  const runDuration = new Histogram({
    name: 'plinth_queue_run_duration_seconds',
    help: 'Time from claiming a queue row to completing it',
    labelNames: ['queue'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers: [registry],
  });
  const claimDuration = new Histogram({
    name: 'plinth_claim_seconds',
    help: 'Duration of claims of queue rows, including the wait for the lock of claims',
    labelNames: ['queue'],
    buckets: [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [registry],
  });
  const claimedRows = new Counter({
    name: 'plinth_claim_rows_total',
    help: 'Queue rows claimed by this process',
    labelNames: ['queue'],
    registers: [registry],
  });
  const missed = new Counter({
    name: 'plinth_queue_missed_total',
    help: 'Owners with waiting queue rows that only the repeated full look found; must stay 0',
    labelNames: ['queue'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'plinth_background_failures_total',
    help: 'Failures of jobs, queues and the dispatcher in this process',
    labelNames: ['what'],
    registers: [registry],
  });
  const purged: Counter = new Counter({
    name: 'plinth_purged_rows_total',
    help: 'Expired rows that this process has purged',
    labelNames: ['table'],
    registers: [registry],
    collect() {
      purged.reset();
      for (const [table, rows] of listPurgedRows()) purged.inc({ table }, rows);
    },
  });
  const unreadable = new Gauge({
    name: 'plinth_queue_unreadable',
    help: 'Whether the queue could not be read in time, so its other gauges are missing: 1 or 0',
    labelNames: ['queue'],
    registers: [registry],
  });
  const setBackground = createBackgroundGauges(registry, unreadable);
  /** Read before the text is made, because a reading may set two gauges. */
  const readings: (() => Promise<void>)[] = [];
  return {
    countFailure: (what) => failures.inc({ what }),
    countMissed: (queue, count) => missed.inc({ queue }, count),
    countRun(queue, outcome, seconds) {
      runs.inc({ queue, outcome });
      runDuration.observe({ queue }, seconds);
    },
    countClaim(queue, rows, seconds) {
      claimDuration.observe({ queue }, seconds);
      claimedRows.inc({ queue }, rows);
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
      return (value) => histogram.observe(value);
    },
    addCounter(name, help) {
      const counter = new Counter({ name, help, registers: [registry] });
      return () => counter.inc();
    },
    addGauge({ name, help, label, queue, read: readValue }) {
      const gauge = new Gauge({ name, help, labelNames: label === undefined ? [] : [label], registers: [registry] });
      readings.push(async () => {
        let isUnreadable = false;
        const read = await readValue().catch((error: unknown) => {
          isUnreadable = isCancelled(error);
          return undefined;
        });
        if (label !== undefined) gauge.reset();
        else if (read === undefined) gauge.remove();
        if (typeof read === 'number') gauge.set(read);
        else for (const [value, count] of Object.entries(read ?? {})) gauge.set({ [label ?? '']: value }, count);
        if (queue === undefined) return;
        if (read === undefined && !isUnreadable) unreadable.remove({ queue });
        else unreadable.set({ queue }, Number(isUnreadable));
      });
    },
    async render() {
      setBackground(await readBackground().catch(() => undefined));
      await Promise.all(readings.map((read) => read()));
      return registry.metrics();
    },
  };
}

/** Queue and worker slot metrics. If the database is unavailable, they are missing instead of 0. */
function createBackgroundGauges(
  registry: Registry,
  unreadable: Gauge,
): (metrics: BackgroundMetrics | undefined) => void {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const depth = gauge('plinth_queue_depth', 'Queue rows by state: due, running, failed', ['queue', 'state']);
  const oldest = gauge('plinth_queue_oldest_seconds', 'Time that the oldest due row has been waiting', ['queue']);
  const slots = gauge('plinth_worker_slots', 'Worker slots by state: held, silent, free', ['state']);
  return (metrics) => {
    for (const each of [depth, oldest, slots]) each.reset();
    if (metrics === undefined) return unreadable.reset();
    for (const { queue, oldestSeconds, ...counts } of metrics.queues) {
      oldest.set({ queue }, oldestSeconds);
      unreadable.set({ queue }, 0);
      for (const [state, count] of Object.entries(counts)) depth.set({ queue, state }, count);
    }
    for (const queue of metrics.unreadable) unreadable.set({ queue }, 1);
    for (const state of ['held', 'silent', 'free']) slots.set({ state }, 0); // so alerts see 0 if no worker is running
    for (const { state } of metrics.slots) slots.inc({ state });
  };
}
