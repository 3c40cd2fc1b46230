// Runs a check's steps. Each step prints its name, its outcome and its duration.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { root } from './root.ts';

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs steps in parallel. Each command's output is printed after the command has ended. */
export async function runTogether(steps: readonly Step[]): Promise<boolean> {
  const results = await Promise.all(steps.map((step) => runStep(step, 'pipe')));
  return !results.includes(false);
}

/** Runs one step and prints its output as it appears. */
export const runAlone = (step: Step): Promise<boolean> => runStep(step, 'inherit');

async function runStep({ name, command, environment }: Step, output: 'inherit' | 'pipe'): Promise<boolean> {
  const startedAt = performance.now();
  const [program = '', ...args] = command;
  const env = { ...process.env, ...environment };
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', output, output] });
  const stop = () => child.kill(); // stops the command if the check is stopped
  process.once('exit', stop);
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = await once(child, 'close');
  process.off('exit', stop);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(Buffer.concat(printed));
  console.log(`== ${name}: ${code === 0 ? 'passed' : 'failed'} in ${seconds} s`);
  return code === 0;
}
