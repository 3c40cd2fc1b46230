// A process in the drill: the API or a worker, as the command line starts it. A quick run has shorter advertising time
// limits. Images are fetched from the drill's own server.
import { Resolver } from 'node:dns/promises';
import type { createApp } from '../../server/src/app.ts';
import { serve } from '../../server/src/commands/api.ts';
import { worker } from '../../server/src/commands/worker.ts';
import { readConfig } from '../../server/src/config.ts';
import { type AdsTimes, defaultTimes } from '../../server/src/features/ads/times.ts';

const speed = Number(process.env.DRILL_SPEED);
const { emptyReads, resendMs, ...times } = defaultTimes;
const faster = Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, ms / speed])) as typeof times;
const adsTimes: AdsTimes = {
  ...faster,
  emptyReads,
  resendMs: resendMs.map((ms) => ms / speed),
  // Campaigns that appear very late are found by comparing all campaigns. With the default limits, that takes up to an
  // hour, which is too long for a drill.
  enabledStatusMs: 20_000,
  otherStatusMs: 20_000,
};
const deps = {
  adsTimes,
  adPlatform: { changeTimeoutMs: adsTimes.requestMs, readTimeoutMs: 20_000 / speed },
  outbound: {
    extraCa: process.env.DRILL_CA as string,
    dns: () => {
      const resolver = new Resolver({ timeout: 2_000, tries: 3 });
      resolver.setServers([process.env.DRILL_DNS as string]);
      return resolver;
    },
  },
} satisfies Partial<Parameters<typeof createApp>[1]>;

if (process.argv[2] === 'worker') await worker(deps);
else await serve(readConfig(), undefined, deps);
