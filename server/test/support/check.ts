// Owns `npm run check`, which CI runs: first the checks of the code, all at once, then the tests. `npm run boundaries` is
// left out, because server/test/boundaries.test.ts checks the same.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('../../..', import.meta.url));
const checks = [['lint'], ['types'], ['dead'], ['describe', '--', '--check']];

const areGood = await Promise.all(checks.map(run));
if (areGood.includes(false)) process.exit(1);
process.exitCode = spawnSync('npm', ['test'], { cwd, stdio: 'inherit' }).status ?? 1;

/** Runs a script of package.json, and prints what it printed when it has ended. */
async function run([script = '', ...args]: readonly string[]): Promise<boolean> {
  const startedAt = performance.now();
  const child = spawn('npm', ['run', '--silent', script, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const printed: Buffer[] = [];
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = await once(child, 'close');
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${script}: ${code === 0 ? 'passed' : 'failed'} in ${seconds} s\n${Buffer.concat(printed)}`);
  return code === 0;
}
