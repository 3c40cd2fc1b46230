// Runs the programs in docs/guides/receivers, each in its own process.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface RecipeResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

const interpreters: Readonly<Record<string, string>> = { ts: process.execPath, py: 'python3', sh: 'sh' };

/** `input` is written to the program's stdin. */
export async function runRecipe(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  input: string,
): Promise<RecipeResult> {
  const child = startRecipe(name, args, environment);
  child.stdin.on('error', () => {}); // the program may end without reading all of its input
  child.stdin.end(input);
  const [out, error] = [child.stdout.toArray(), child.stderr.toArray()];
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out: (await out).join(''), error: (await error).join('') };
}

/** Starts a program that runs until it is stopped. */
export function startRecipe(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): ChildProcessWithoutNullStreams {
  const file = fileURLToPath(new URL(`../../../docs/guides/receivers/${name}`, import.meta.url));
  const command = interpreters[name.split('.')[1] ?? ''] ?? name;
  return spawn(command, [file, ...args], { env: { PATH: process.env.PATH, ...environment } });
}
