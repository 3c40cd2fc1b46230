// Runs a program. What it prints is shown only if it fails.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  const [code, signal] = await once(child, 'close');
  if (code === 0) return Buffer.concat(output).toString();
  const printed = Buffer.concat([...output, ...errors]).toString();
  throw new Error(`${[program, ...args].join(' ')} ended with ${code ?? signal}:\n${printed}`);
}
