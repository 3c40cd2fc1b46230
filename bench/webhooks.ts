// Measures how fast a backlog is delivered, how soon a delivery begins, and whether hanging webhooks slow down a
// healthy one.
import type { Bench, Judged } from '../harness/bench.ts';
import { measureDrain, publishAndDeliver } from './webhooks/drain.ts';
import { startEnvironment } from './webhooks/environment.ts';
import { measureBesideHanging } from './webhooks/hanging.ts';
import { measureLatency, warmUp } from './webhooks/latency.ts';

/**
 * Limits for the CPU time per delivery: Plinth's client compared with undici alone, and sending to a name compared with
 * sending to an address.
 */
const clientBars = { undici: 1.4, name: 1.2 };
const rates = [25, 200] as const;

const full = {
  drain: { events: 1_000, blocks: 9 },
  latency: { seconds: 10, blocks: 9 },
  hanging: { backlog: 10_000, rounds: 3, blocks: 9 },
};
const short = {
  drain: { events: 200, blocks: 9 },
  latency: { seconds: 1, blocks: 2 },
  hanging: { backlog: 200, rounds: 1, blocks: 2 },
};

export const webhooks: Bench = async ({ quick, progress }) => {
  const size = quick ? short : full;
  const environment = await startEnvironment();
  try {
    const drain = await measureDrain(environment, size.drain.events, size.drain.blocks, progress);
    const together = quick ? {} : await publishAndDeliver(environment, 20, progress);
    await warmUp(environment);
    const latencies = [];
    for (const rate of rates) {
      const measured = await measureLatency(environment, { rate, ...size.latency }, progress);
      latencies.push({ rate, ...measured });
    }
    const healthy = await measureBesideHanging(environment, size.hanging, progress);
    const judged: Judged[] = [
      {
        bar: `the client's CPU per delivery <= ${clientBars.undici} of undici's`,
        met: drain.client_cpu_ratio_to_undici <= clientBars.undici,
      },
      {
        bar: `to a name <= ${clientBars.name} of to an address`,
        met: drain.client_cpu_ratio_of_name_to_address <= clientBars.name,
      },
      {
        bar: "a healthy webhook's p95 beside hanging webhooks <= max(1.5x, +20 ms)",
        met: healthy.p95_beside_ms <= Math.max(1.5 * healthy.p95_alone_ms, healthy.p95_alone_ms + 20),
      },
    ];
    return {
      figures: { ...drain, ...together, commit_to_first_byte: latencies, ...healthy },
      judged,
      skipped: quick ? ['deliveries/s while publishing'] : [],
    };
  } finally {
    await environment.close();
  }
};
