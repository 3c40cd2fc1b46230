// The last refusal, for `plinthctl explain`. Of the command, its name and the ids that it used are stored: the rest may be secret.
import { join } from 'node:path';
import { configFolder, readJson, writeJson } from './files.ts';

export interface LastRefusal {
  readonly command: string;
  readonly at: string;
  readonly problem: Readonly<Record<string, unknown>>;
  /** The operation, and the ids that it was called with. */
  readonly subject: Readonly<Record<string, unknown>>;
}

const file = () => join(configFolder(), 'last-refusal.json');

/** The command was refused in any case: a folder that can't be written changes nothing about that. */
export async function rememberRefusal(
  argv: readonly string[],
  problem: LastRefusal['problem'],
  subject: LastRefusal['subject'],
): Promise<void> {
  const refusal: LastRefusal = { command: argv[0] ?? '', at: new Date().toISOString(), problem, subject };
  await writeJson(file(), refusal).catch(() => undefined);
}

export const readLastRefusal = (): Promise<LastRefusal | undefined> => readJson<LastRefusal>(file());
