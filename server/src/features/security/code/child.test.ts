// Tests the code-reading process after its parent process has exited.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const repeated = String.raw`(\S+)+x`.repeat(12);
const bomb = `Deno.serve(async (req) => {
  const { url } = await req.json();
  return /^${repeated}\\n$/.test(url) ? fetch(url) : new Response();
});`;

/** Starts the process and prints its id after sending it a file that it never finishes. */
const owner = `
import { fork } from 'node:child_process';
import { once } from 'node:events';
const child = fork(${JSON.stringify(new URL('child.ts', import.meta.url).pathname)}, [String(process.pid)], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
child.send({ kind: 'add', path: 'functions/bomb.ts', code: ${JSON.stringify(bomb)} });
await once(child, 'message');
child.send({ kind: 'read', path: 'functions/bomb.ts' }, () => console.log(child.pid));
child.on('message', () => process.exit(1));
`;

/** A process that has exited but has not been reaped is listed with the state Z. */
const isRunning = async (pid: number): Promise<boolean> => {
  const { stdout } = await run('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
};

it('the process that reads code ends with its owner, even while a file keeps it busy', async () => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', owner], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(parent.stdout, 'data');
  const pid = Number(String(line));
  try {
    await sleep(1_500);
    expect(await isRunning(pid)).toBe(true);
    expect(parent.exitCode).toBeNull(); // the parent exits once it gets a reply
    parent.kill('SIGKILL');
    await expect.poll(() => isRunning(pid), { interval: 200 }).toBe(false);
  } finally {
    parent.kill('SIGKILL');
    if (await isRunning(pid)) process.kill(pid, 'SIGKILL');
  }
});
