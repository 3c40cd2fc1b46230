// `plinth backup`, which writes the database and the stored objects of one moment into a folder, or restores such a folder
// into a scratch database to see whether it is whole.
import { parseArguments, UsageError } from './arguments.ts';
import { makeBackup } from './backup/make.ts';
import { verifyBackup } from './backup/verify.ts';
import { backupUsage } from './usages.ts';

const flag = { type: 'boolean', default: false } as const;
const options = {
  keep: { type: 'string' },
  keys: { type: 'string' },
  'skip-objects': flag,
  'allow-missing': flag,
  verify: flag,
} as const;

export async function backup(args: string[]): Promise<void> {
  const { values, words } = parseArguments(args, { usage: backupUsage, options, maxWords: 1 });
  const { keep, keys: keysFile, verify } = values;
  const choices = { skipObjects: values['skip-objects'], allowMissing: values['allow-missing'] };
  const [path] = words;
  if (path === undefined) throw new UsageError(backupUsage);
  if (verify) {
    if (Object.keys(values).length > 3 || choices.skipObjects || choices.allowMissing)
      throw new UsageError(backupUsage, '--verify takes no other option.');
    return verifyBackup(path);
  }
  if (keep !== undefined && !/^[1-9]\d{0,3}$/.test(keep))
    throw new UsageError(backupUsage, '--keep must be a whole number from 1 to 9999.');
  await makeBackup(path, { ...choices, keep: keep === undefined ? undefined : Number(keep), keysFile });
}
