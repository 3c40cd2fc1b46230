// Owns the figures a process counts about itself, for Prometheus.
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface Metrics {
  answered(operation: string, status: number, seconds: number): void;
  text(): Promise<string>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
  return {
    answered(operation, status, seconds) {
      requests.inc({ operation, status });
      duration.observe({ operation }, seconds);
      if (status === 429) limited.inc({ operation });
    },
    text: () => registry.metrics(),
  };
}
