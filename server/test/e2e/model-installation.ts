// An installation for turn tests: two APIs as separate processes, and a language model that the test scripts. The
// test starts the workers itself, because it also kills them.
import { afterAll } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { openDatabase } from '../../src/kit/db/database.ts';
import type { Tables } from '../../src/tables.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

export async function startModelInstallation() {
  const model = await startModelSandbox();
  const database = await cloneTemplate();
  const { db, close } = openDatabase<Tables>({ url: database.url, poolSize: 2 });
  afterAll(async () => {
    await model.close();
    await close();
    await database.drop();
  });
  const { plinth, start, startApi } = commandLine({
    ...newKeys(),
    DATABASE_URL: database.url,
    MODEL_URL: model.url,
    WORKER_SLOTS: '4',
  });
  const bootstrapped = await plinth(
    'bootstrap',
    '--email',
    'first@example.com',
    '--name',
    'First',
    '--workspace',
    'Ours',
  );
  const token = bootstrapped.stdout.trim();
  const startWorker = () => start('worker', /"msg":"worker started"/);
  const [a, b] = await Promise.all([startApi(), startApi()]);
  return { model, db, token, startApi, startWorker, a, b };
}
