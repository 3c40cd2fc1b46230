// Runs a measurement or a drill: npm run bench -- NAME [--quick] [--only PART] [--against FOLDER]. Progress is printed
// to stderr. The last line of stdout is a JSON object. The exit code is 0 if every judged bar is met.
import { parseArgs } from 'node:util';
import { agents } from '../bench/agents.ts';
import { audit } from '../bench/audit.ts';
import { client } from '../bench/client.ts';
import { consoleBench } from '../bench/console.ts';
import { credits } from '../bench/credits.ts';
import { devReload } from '../bench/dev-reload.ts';
import { entities } from '../bench/entities.ts';
import { events } from '../bench/events.ts';
import { fingerprints } from '../bench/fingerprints.ts';
import { geo } from '../bench/geo.ts';
import { heldSnapshot } from '../bench/held-snapshot.ts';
import { history } from '../bench/history.ts';
import { ingest } from '../bench/ingest.ts';
import { members } from '../bench/members.ts';
import { pipeline } from '../bench/pipeline.ts';
import { plantedBugs } from '../bench/planted-bugs.ts';
import { publish } from '../bench/publish.ts';
import { queues } from '../bench/queues.ts';
import { replay } from '../bench/replay.ts';
import { rules } from '../bench/rules.ts';
import { scanCorpus } from '../bench/scan-corpus.ts';
import { storedBytes } from '../bench/stored-bytes.ts';
import { webhooks } from '../bench/webhooks.ts';
import { workflows } from '../bench/workflows.ts';
import { accountFaults } from '../drills/account-faults.ts';
import { browserFaults } from '../drills/browser-faults.ts';
import { builder } from '../drills/builder.ts';
import { codingFaults } from '../drills/coding-faults.ts';
import { deploy } from '../drills/deploy.ts';
import { ingestFaults } from '../drills/ingest-faults.ts';
import { launchFaults } from '../drills/launch-faults.ts';
import { listen } from '../drills/listen.ts';
import { lookups } from '../drills/lookups.ts';
import { noisyNeighbour } from '../drills/noisy-neighbour.ts';
import { repeats } from '../drills/repeats.ts';
import { slotsDrill } from '../drills/slots.ts';
import { ssrf } from '../drills/ssrf.ts';
import { tenantIsolation } from '../drills/tenant-isolation.ts';
import { webhookFaults } from '../drills/webhook-faults.ts';
import { workflowFaults } from '../drills/workflow-faults.ts';
import type { Bench } from '../harness/bench.ts';
import { measureBusy } from '../harness/machine.ts';
import { rounded } from '../harness/statistics.ts';

const benches: Record<string, Bench> = {
  'account-faults': accountFaults,
  agents,
  audit,
  'browser-faults': browserFaults,
  builder,
  client,
  'coding-faults': codingFaults,
  console: consoleBench,
  credits,
  deploy,
  'dev-reload': devReload,
  entities,
  events,
  fingerprints,
  ingest,
  'ingest-faults': ingestFaults,
  geo,
  'held-snapshot': heldSnapshot,
  history,
  'launch-faults': launchFaults,
  listen,
  lookups,
  members,
  'noisy-neighbour': noisyNeighbour,
  'tenant-isolation': tenantIsolation,
  pipeline,
  'planted-bugs': plantedBugs,
  publish,
  queues,
  repeats,
  replay,
  rules,
  'scan-corpus': scanCorpus,
  slots: slotsDrill,
  ssrf,
  'stored-bytes': storedBytes,
  webhooks,
  'webhook-faults': webhookFaults,
  'workflow-faults': workflowFaults,
  workflows,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, against: { type: 'string' }, only: { type: 'string' } },
});
const [name = ''] = positionals;
const bench = benches[name];
if (bench === undefined) {
  console.error(
    `usage: npm run bench -- NAME [--quick] [--only PART] [--against FOLDER], where NAME is one of: ${Object.keys(benches).join(', ')}`,
  );
  process.exit(2);
}
for (const [option, takers] of [
  ['against', ['entities', 'ingest', 'pipeline']],
  ['only', ['entities', 'held-snapshot', 'history', 'queues', 'repeats']],
] as const)
  if (values[option] !== undefined && !takers.some((taker) => taker === name)) {
    console.error(`${name} does not take --${option}; only these do: ${takers.join(', ')}`);
    process.exit(2);
  }
const busy = rounded(await measureBusy());
console.error(`the machine was ${rounded(busy * 100, 0)} % busy before this run`);
const report = await bench({ ...values, progress: (line) => console.error(line) });
console.log(JSON.stringify({ bench: name, busy_before: busy, ...report }));
process.exitCode = report.judged.every((judged) => judged.met) ? 0 : 1;
