// Runs a hostile agent's or repository's attempts to break out of the command sandbox, and detects success with
// canaries outside it. Running the same attempts without the sandbox proves that the canaries work. Requires root,
// bubblewrap and control groups, and fails without them.
import { spawnSync } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Canaries, openCanaries } from '../../../test/support/canaries.ts';
import type { Attempt } from '../../../test/support/escape-kit/attempt.ts';
import { exhaustion } from '../../../test/support/escape-kit/exhaustion.ts';
import { network } from '../../../test/support/escape-kit/network.ts';
import { privileges } from '../../../test/support/escape-kit/privileges.ts';
import { reading } from '../../../test/support/escape-kit/reading.ts';
import { repositories } from '../../../test/support/escape-kit/repositories.ts';
import { serverUrl } from '../../../test/support/template.ts';
import { openCommandSandbox } from './index.ts';
import type { CommandSandbox } from './types.ts';

// Hostile repositories are tested in server/test/e2e/hostile-repositories.test.ts, with coding sessions' scripts.
const attempts = [...reading, ...network, ...privileges, ...exhaustion];
const maxOutputBytes = 20_000;
const defaultTimeoutMs = 20_000;
/** Time for killing and cleaning up on a busy machine. */
const slackMs = 3_000;
const firstUid = 1_000_000 + (process.pid % 100_000) * 256;

let canaries: Canaries;
let sandbox: CommandSandbox;
const problems: string[] = [];
let count = 0;
/** These run one at a time in the same clone, because they leave at most a few small files behind. */
const leavesNothing = [...reading, ...network];
let sharedClone: string;

beforeAll(async () => {
  canaries = await openCanaries(firstUid, serverUrl);
  sandbox = openCommandSandbox({
    bwrap: '/usr/bin/bwrap',
    firstUid,
    cgroup: undefined,
    memoryMb: 128,
    processes: 48,
    processors: 2,
    diskBytes: 100 * 1024 * 1024,
    entries: 5_000,
    onProblem: (why) => problems.push(why),
  });
  expect(await sandbox.check()).toEqual({ available: true });
  sharedClone = makeClone();
});

afterAll(async () => {
  await sandbox.close();
  await canaries.close();
  expect(problems).toEqual([]);
});

function makeClone(): string {
  count += 1;
  const clone = join(canaries.folder, `clone${count}`);
  mkdirSync(clone, { mode: 0o700 });
  chownSync(clone, canaries.uid, canaries.uid);
  return clone;
}

async function runInSandbox(clone: string, script: string, timeoutMs: number) {
  const result = await sandbox.run({
    folder: clone,
    command: ['/bin/sh', '-c', script],
    environment: canaries.environment,
    timeoutMs,
    maxOutputBytes,
    signal: new AbortController().signal,
  });
  if (result.outcome === 'unavailable') throw new Error(result.reason);
  return result;
}

describe('the command sandbox contains a command that', () => {
  test.each(attempts)('$name', async (attempt) => {
    const { script, outcome, timeoutMs = defaultTimeoutMs } = attempt;
    const clone = leavesNothing.includes(attempt) ? sharedClone : makeClone();
    const result = await runInSandbox(clone, script, timeoutMs);
    expect(await canaries.judge(result.output, clone)).toEqual([]);
    if (outcome !== undefined) expect(result.outcome).toBe(outcome);
    expect(result.duration_ms).toBeLessThan(timeoutMs + slackMs);
    expect(Buffer.byteLength(result.output)).toBeLessThan(maxOutputBytes + 100);
    if (clone === sharedClone) return;
    await sandbox.removeFolder(clone);
    expect(existsSync(clone)).toBe(false);
    // Deleting the folder did not follow any links.
    expect(await canaries.judge('', canaries.environment.OTHER_CLONE ?? '')).toEqual([
      'took the secret into the clone',
    ]);
  });
});

describe('without the sandbox, a canary notices a command that', () => {
  test.each([...attempts, ...repositories].filter(({ succeedsOutside }) => succeedsOutside))(
    '$name',
    async (attempt) => {
      const clone = makeClone();
      const output = runOutside(clone, attempt);
      // On a busy machine, it takes a moment until this process has counted a connection or seen its victim end.
      await expect.poll(() => canaries.judge(output, clone)).not.toEqual([]);
      await canaries.restore();
    },
  );
});

/**
 * Runs as the same user, in the same folder, with the same knowledge. The output is written to a file, because a
 * process left behind would keep a pipe open.
 */
function runOutside(clone: string, { script, then }: Attempt): string {
  const file = join(canaries.folder, `output${count}`);
  const descriptor = openSync(file, 'w');
  for (const text of then === undefined ? [script] : [script, then])
    spawnSync('/bin/sh', ['-c', text], {
      cwd: clone,
      uid: canaries.uid,
      gid: canaries.uid,
      env: {
        PATH: '/usr/bin:/bin',
        HOME: '/nonexistent',
        ...canaries.secretEnvironment,
        ...canaries.environment,
      },
      timeout: 20_000,
      stdio: ['ignore', descriptor, descriptor],
    });
  closeSync(descriptor);
  return readFileSync(file, 'latin1');
}
