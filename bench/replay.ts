// Measures replaying a recorded flow: a run costs no model call, and its steps take at most 1.3 of the time that the same steps
// take if they are scripted directly in playwright-core with the same evidence, taken by the same commands: a picture after each, and
// a trace. The ratio to a script without evidence is measured too. Blocks alternate.
import { chromium } from 'playwright-core';
import { type ShopFlow, shopFlows } from '../sandbox/src/demo-shop/flows.ts';
import { chromiumPath, startTestInstallation, type TestInstallation } from './browser-tests/installation.ts';
import { runScripted } from './browser-tests/scripted.ts';
import type { Bench, BenchOptions } from './lib/bench.ts';
import { createDatabase } from './lib/services.ts';
import { median, rounded } from './lib/statistics.ts';

const ratioBar = 1.3;
const flowName = 'A note is changed';
const password = 'a long enough password';

interface Block {
  /** From the opened page to the end of the last step, in milliseconds. */
  readonly replayed: number;
  readonly scripted: number;
  /** Scripted without evidence. */
  readonly bare: number;
  /** From the request to the verdict, with the start of a browser and a user. */
  readonly wholeRun: number;
  /** The same for the script: a browser is started and closed. */
  readonly wholeScript: number;
}

export const replay: Bench = async (options) => {
  const database = await createDatabase('replay');
  const redis = { REDIS_PREFIX: `bench:${process.pid}:` };
  const installation = await startTestInstallation({ databaseUrl: database.url, redis });
  try {
    return await measure(installation, options);
  } finally {
    await installation.close();
    await database.drop();
  }
};

async function measure(installation: TestInstallation, { quick, progress }: BenchOptions) {
  const app = await installation.publish();
  const flow = shopFlows.get(flowName) as ShopFlow;
  const flowId = await installation.createFlow(app.id, flow);
  const recorded = await run(installation, app.id, flowId);
  progress(`recorded: ${recorded.steps} steps, ${installation.model.requests.length} calls of the model`);
  const requestsBefore = installation.model.requests.length;
  const blocks: Block[] = [];
  for (let number = 1; number <= (quick ? 3 : 9); number += 1) {
    const block = await measureBlock(installation, app, flow, flowId, number);
    blocks.push(block);
    progress(
      Object.entries(block)
        .map(([name, ms]) => `${name} ${Math.round(ms)} ms`)
        .join(', '),
    );
  }
  const modelCalls = installation.model.requests.length - requestsBefore;
  const ratio = rounded(median(blocks.map(({ replayed, scripted }) => replayed / scripted)));
  const middle = (name: keyof Block) => Math.round(median(blocks.map((block) => block[name])));
  return {
    figures: {
      steps: recorded.steps,
      blocks: blocks.length,
      model_calls: modelCalls,
      ratio,
      ratio_to_bare_script: rounded(median(blocks.map(({ replayed, bare }) => replayed / bare))),
      replayed_ms: middle('replayed'),
      scripted_ms: middle('scripted'),
      bare_script_ms: middle('bare'),
      whole_run_ms: middle('wholeRun'),
      whole_script_ms: middle('wholeScript'),
    },
    judged: [
      { bar: 'replaying costs no model call', met: modelCalls === 0 },
      {
        bar: `replayed steps take <= ${ratioBar} of the same steps scripted with the same evidence`,
        met: ratio <= ratioBar,
      },
    ],
    skipped: quick ? ['6 of 9 blocks'] : [],
  };
}

/** One of each, in an order that changes from block to block. */
async function measureBlock(
  installation: TestInstallation,
  app: { readonly id: string; readonly url: string },
  flow: ShopFlow,
  flowId: string,
  number: number,
): Promise<Block> {
  let [replayed, scripted, bare] = [{ steps: 0, stepsMs: 0, wholeMs: 0 }, { stepsMs: 0, wholeMs: 0 }, { stepsMs: 0 }];
  const script = async (withEvidence: boolean) => {
    const email = `visitor-${number}-${withEvidence}@customers.example`;
    await installation.addUser(app.id, email, password);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return runScript(app.url, flow, { email, password }, withEvidence);
  };
  const parts = [
    async () => {
      replayed = await run(installation, app.id, flowId);
    },
    async () => {
      scripted = await script(true);
    },
    async () => {
      bare = await script(false);
    },
  ];
  for (let turn = 0; turn < parts.length; turn += 1) await parts[(turn + number) % parts.length]?.();
  return {
    replayed: replayed.stepsMs,
    scripted: scripted.stepsMs,
    bare: bare.stepsMs,
    wholeRun: replayed.wholeMs,
    wholeScript: scripted.wholeMs,
  };
}

/** Runs the flow in Plinth. Times of steps are those of the report. */
async function run(installation: TestInstallation, appId: string, flowId: string) {
  const startedAt = performance.now();
  const execution = await installation.start(appId, flowId);
  const { status, error_message } = await installation.waitForEnd(appId, execution);
  const wholeMs = performance.now() - startedAt;
  const { steps } = await installation.readReport(appId, execution);
  if (status !== 'passed') throw new Error(`a run ended as ${status}: ${error_message}`);
  const times = steps.map(({ at }) => Date.parse(at));
  return { steps: steps.length, stepsMs: Math.max(...times) - Math.min(...times), wholeMs };
}

async function runScript(
  url: string,
  { calls }: ShopFlow,
  visitor: { readonly email: string; readonly password: string },
  withEvidence: boolean,
) {
  const startedAt = performance.now();
  const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
  const browser = await chromium.launch({ executablePath: chromiumPath, args });
  const stepsMs = await runScripted(browser, url, calls, visitor, withEvidence).finally(() => browser.close());
  return { stepsMs, wholeMs: performance.now() - startedAt };
}
