// Measures the client for programs: every operation called through it on the real app, calls whose answers are lost, its
// size, what its types cost a consumer's compiler, and how soon the packed plinthctl starts. The calls are those of the
// client's tests, which this runs and reads the figures of.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureStart } from '../client/cli/test/start.ts';
import { compile, type compilers, installClient } from '../client/sdk/test/installed.ts';
import { measureSize } from '../client/sdk/test/size.ts';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { cpuMs, cpuMsWithChildren } from '../harness/cpu.ts';
import { startPostgres } from '../harness/postgres.ts';
import { median, rounded } from '../harness/statistics.ts';
import { register } from '../server/test/derived/register.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const checkBarsSeconds = { 'TypeScript 6': 3, 'TypeScript 7': 0.6 } as const;
const startBarMs = 40;
/** The oldest version that the client supports. */
const oldestNode = '20.19';
/** Pages, redirects and a retired operation. */
const notForPrograms = 13;

export const client: Bench = async (options) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-client-'));
  try {
    const oldest = await installNode(folder);
    const calls = await measureCalls(folder, oldest, options);
    const size = await measureSize();
    const checks = await measureChecks(folder, options);
    const start = await measureStart(join(folder, 'packed'), options.quick ? 9 : 21);
    const startMs = start.version.medianMs - start.node.medianMs;
    return {
      figures: {
        ...calls,
        size_gz: { with_table: size.withTable, without_table: size.withoutTable },
        type_check_cpu_seconds: checks,
        start_ms: {
          node: rounded(start.node.medianMs, 0),
          version: rounded(start.version.medianMs, 0),
          help: rounded(start.help.medianMs, 0),
        },
      },
      judged: [
        {
          bar: `${register.length - notForPrograms} of ${register.length - notForPrograms} operations called`,
          met: calls.operations_called === register.length - notForPrograms && calls.failed === 0,
        },
        { bar: 'random losses: no second effect, every unknown outcome said', met: calls.model.runs >= 2000 },
        {
          bar: 'through a lossy proxy: no second effect, every unknown outcome said',
          met: calls.live.second_effects === 0 && calls.live.calls >= (options.quick ? 60 : 200),
        },
        { bar: 'with its table <= 12 kB compressed', met: size.withTable <= 12 * 1024 },
        { bar: 'without <= 8 kB', met: size.withoutTable <= 8 * 1024 },
        { bar: 'the packed client works in Chromium and each version of Node', met: calls.runtimes_failed === 0 },
        ...Object.entries(checkBarsSeconds).map(([compiler, seconds]) => ({
          bar: `the samples are checked by ${compiler} in <= ${seconds} s of CPU time`,
          met: checks[compiler as keyof typeof checks].samples <= seconds,
        })),
        { bar: `the packed plinthctl --version <= bare Node + ${startBarMs} ms`, met: startMs <= startBarMs },
      ],
      skipped: oldest === undefined ? [`Node ${oldestNode} could not be installed`] : [],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

interface Assertion {
  readonly title: string;
  readonly status: string;
  readonly meta: { readonly figures?: Readonly<Record<string, number>> };
}

/** Returns the path of the oldest version of Node that is supported, or undefined if there is no registry to get it from. */
async function installNode(folder: string): Promise<string | undefined> {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = join(folder, 'oldest');
  mkdirSync(prefix);
  const install = ['install', '--prefix', prefix, '--no-audit', '--no-fund', `${name}@${oldestNode}`];
  const [status] = await once(spawn('npm', install, { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit');
  return status === 0 ? join(prefix, 'node_modules', name, 'bin/node') : undefined;
}

const isRuntime = ({ title }: Assertion): boolean => /client works in/.test(title);

/** Runs the client's tests with servers of its own. */
async function measureCalls(folder: string, oldest: string | undefined, { quick, progress }: BenchOptions) {
  const postgres = await startPostgres();
  try {
    const output = join(folder, 'calls.json');
    const tests = ['operations', 'retries', 'live', 'runtimes'].map((name) => `client/sdk/test/${name}.test.ts`);
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const child = spawn(process.execPath, [vitest, 'run', ...tests, '--reporter=json', `--outputFile=${output}`], {
      cwd: root,
      env: {
        ...process.env,
        TEST_DATABASE_URL: postgres.url.replace(/\/postgres$/, ''),
        ...(!quick && { ALL_CASES: '1' }),
        ...(oldest !== undefined && { NODES: oldest }),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await once(child, 'exit');
    const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as {
      testResults: { assertionResults: Assertion[] }[];
    };
    const results = testResults.flatMap(({ assertionResults }) => assertionResults);
    const figuresOf = (title: string) => results.find((each) => each.title.startsWith(title))?.meta.figures ?? {};
    const passed = results.filter(({ status }) => status === 'passed');
    const called = passed.filter(({ title }) => /^sends \w+ as the document describes it$/.test(title));
    progress(`${passed.length} of ${results.length} tests of calls passed`);
    return {
      operations_called: called.length,
      failed: results.length - passed.length,
      runtimes: passed.filter(isRuntime).length,
      runtimes_failed: results.filter((result) => isRuntime(result) && result.status !== 'passed').length,
      model: figuresOf('have no second effect') as { runs: number },
      live: figuresOf('take effect once') as { calls: number; second_effects: number },
    };
  } finally {
    postgres.stop();
  }
}

/** The CPU time of the compilers, for the samples and for a program that is empty. */
async function measureChecks(folder: string, { quick, progress }: BenchOptions) {
  const consumer = join(folder, 'consumer');
  await installClient(consumer, ['samples.ts']);
  writeFileSync(join(consumer, 'empty.ts'), 'export {};\n');
  const measure = async (compiler: keyof typeof compilers, files: string[]) => {
    const times: number[] = [];
    for (let run = 0; run < (quick ? 3 : 9); run += 1) {
      const before = readChildrenMs();
      const said = await compile(consumer, compiler, 'nodenext', files);
      if (said !== '') throw new Error(said);
      times.push(readChildrenMs() - before);
    }
    return rounded(median(times) / 1000);
  };
  const checkWith = async (compiler: keyof typeof compilers) => {
    const samples = await measure(compiler, ['samples.ts']);
    progress(`${compiler}: ${samples} s`);
    return { samples, empty_program: await measure(compiler, ['empty.ts']) };
  };
  return { 'TypeScript 6': await checkWith('TypeScript 6'), 'TypeScript 7': await checkWith('TypeScript 7') };
}

/** The CPU time of processes that were started here and have ended. */
const readChildrenMs = (): number => cpuMsWithChildren(process.pid, []) - cpuMs(process.pid);
