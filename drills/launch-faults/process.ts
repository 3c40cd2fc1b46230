// A process of the drill: the API or a worker as the command line starts it. The times of advertising pass faster in a quick run, and
// images are fetched from a server of the drill.
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
  // Campaigns that arrive very late are found by the comparison of all, for which nobody waits an hour here.
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
