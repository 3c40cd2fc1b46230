// npm run bench -- NAME [--quick]: progress on stderr, one JSON object as the last line of stdout, exit 0 when every
// judged bar is met.

import { accountFaults } from '../drills/account-faults.ts';
import { browserFaults } from '../drills/browser-faults.ts';
import { builder } from '../drills/builder.ts';
import { codingFaults } from '../drills/coding-faults.ts';
import { deploy } from '../drills/deploy.ts';
import { ingestFaults } from '../drills/ingest-faults.ts';
import { launchFaults } from '../drills/launch-faults.ts';
import { noisyNeighbour } from '../drills/noisy-neighbour.ts';
import { slotsDrill } from '../drills/slots.ts';
import { ssrf } from '../drills/ssrf.ts';
import { tenantIsolation } from '../drills/tenant-isolation.ts';
import { webhookFaults } from '../drills/webhook-faults.ts';
import { workflowFaults } from '../drills/workflow-faults.ts';
import { agents } from './agents.ts';
import { audit } from './audit.ts';
import { credits } from './credits.ts';
import { devReload } from './dev-reload.ts';
import { entities } from './entities.ts';
import { events } from './events.ts';
import { fingerprints } from './fingerprints.ts';
import { geo } from './geo.ts';
import { ingest } from './ingest.ts';
import type { Bench } from './lib/bench.ts';
import { members } from './members.ts';
import { pipeline } from './pipeline.ts';
import { plantedBugs } from './planted-bugs.ts';
import { publish } from './publish.ts';
import { queues } from './queues.ts';
import { replay } from './replay.ts';
import { rules } from './rules.ts';
import { scanCorpus } from './scan-corpus.ts';
import { webhooks } from './webhooks.ts';
import { workflows } from './workflows.ts';

const benches: Record<string, Bench> = {
  'account-faults': accountFaults,
  agents,
  audit,
  'browser-faults': browserFaults,
  builder,
  'coding-faults': codingFaults,
  credits,
  deploy,
  'dev-reload': devReload,
  entities,
  events,
  fingerprints,
  ingest,
  'ingest-faults': ingestFaults,
  geo,
  'launch-faults': launchFaults,
  members,
  'noisy-neighbour': noisyNeighbour,
  'tenant-isolation': tenantIsolation,
  pipeline,
  'planted-bugs': plantedBugs,
  publish,
  queues,
  replay,
  rules,
  'scan-corpus': scanCorpus,
  slots: slotsDrill,
  ssrf,
  webhooks,
  'webhook-faults': webhookFaults,
  'workflow-faults': workflowFaults,
  workflows,
};

const [name = '', ...flags] = process.argv.slice(2);
const bench = benches[name];
if (bench === undefined) {
  console.error(`usage: npm run bench -- NAME [--quick], where NAME is one of: ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
const report = await bench({ quick: flags.includes('--quick'), progress: (line) => console.error(line) });
console.log(JSON.stringify({ bench: name, ...report }));
process.exitCode = report.judged.every((judged) => judged.met) ? 0 : 1;
