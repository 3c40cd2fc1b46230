// Measures replaying a recorded flow. A replay makes no model calls, and its steps take at most 1.3 times as long as
// the same steps scripted directly in playwright-core, with the same evidence (a screenshot after each step, and a
// trace) recorded by the same commands. The ratio to a script without evidence is measured as well. Blocks alternate.
import { chromium } from 'playwright-core';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { chromiumPath, startTestInstallation, type TestInstallation } from '../harness/browser-tests.ts';
import { createDatabase } from '../harness/services.ts';
import { median, rounded } from '../harness/statistics.ts';
import { type ShopFlow, shopFlows } from '../sandbox/src/demo-shop/flows.ts';
import { runScripted } from './browser-tests/scripted.ts';

const ratioBar = 1.3;
const flowName = 'A note is changed';
const password = 'a long enough password';

interface Block {
  /** The time from the opened page to the end of the last step, in milliseconds. */
  readonly replayed: number;
  readonly scripted: number;
  /** The duration of the scripted steps without evidence. */
  readonly bare: number;
  /** The time from the request to the verdict, including starting a browser and creating a user. */
  readonly wholeRun: number;
  /** The script's total time, including starting and closing a browser. */
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

/** Measures each kind once, in an order that varies between blocks. */
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

/** Runs the flow in Plinth. The report provides the durations of the steps. */
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
