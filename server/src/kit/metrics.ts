// Owns the figures a process counts about itself, for Prometheus.
import { timingSafeEqual } from 'node:crypto';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BackgroundMetrics } from './background/metrics.ts';

/** Whether this is the bearer token, in a time that does not tell how much of it is right. */
export function isBearerToken(authorization: string | undefined, token: string): boolean {
  const given = Buffer.from(authorization ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export interface Metrics {
  countRequest(operation: string, status: number, seconds: number): void;
  countRun(queue: string, outcome: string, seconds: number): void;
  render(): Promise<string>;
}

/** `later` is read from the database when the figures are asked for. */
export function createMetrics(later: () => Promise<BackgroundMetrics>): Metrics {
  const registry = new Registry();
  // The default looks 100 times a second at the event loop: a process with nothing to do would spend its time on that.
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
  const setLater = createBackgroundGauges(registry);
  return {
    countRun(queue, outcome, seconds) {
      runs.inc({ queue, outcome });
      runDuration.observe({ queue }, seconds);
    },
    countRequest(operation, status, seconds) {
      requests.inc({ operation, status });
      duration.observe({ operation }, seconds);
      if (status === 429) limited.inc({ operation });
    },
    async render() {
      setLater(await later().catch(() => undefined));
      return registry.metrics();
    },
  };
}

/** What waits, how old, what failed, and who works. Without an answer of the database they are absent, not 0. */
function createBackgroundGauges(registry: Registry): (figures: BackgroundMetrics | undefined) => void {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const depth = gauge('plinth_queue_depth', 'Rows of a queue by state: due, running, failed', ['queue', 'state']);
  const oldest = gauge('plinth_queue_oldest_seconds', 'How long the oldest row that is due has waited', ['queue']);
  const workflows = gauge('plinth_workflows', 'Workflows by name and state', ['workflow', 'state']);
  const slots = gauge('plinth_worker_slots', 'Worker slots by state: held, silent, free', ['state']);
  return (figures) => {
    for (const each of [depth, oldest, workflows, slots]) each.reset();
    if (figures === undefined) return;
    for (const { queue, oldestSeconds, ...counts } of figures.queues) {
      oldest.set({ queue }, oldestSeconds);
      for (const [state, count] of Object.entries(counts)) depth.set({ queue, state }, count);
    }
    for (const { name, state, count } of figures.workflows) workflows.set({ workflow: name, state }, count);
    for (const { state } of figures.slots) slots.inc({ state });
  };
}
