// Searches for anything left over after all sessions have ended: processes, cgroups, folders, and copies of the token.
import { readdirSync, readFileSync, utimesSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../../server/test/support/client.ts';
import type { Ending } from './clients.ts';
import type { DescendantWatch } from './descendants.ts';
import type { Environment } from './environment.ts';

const goneWithinMs = 30_000;

/** Waits until nothing is left, or until a timeout. Returns what remains. */
export async function listLeftovers(environment: Environment, watch: DescendantWatch): Promise<string[]> {
  const { sessionFolder, temporary, cgroups, processes } = environment;
  // At its start and every minute after that, a worker removes other workers' leftovers that are older than a minute.
  const longAgo = new Date(Date.now() - 10 * 60_000);
  for (const folder of [sessionFolder, temporary])
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), longAgo, longAgo);
  processes.kill('worker', () => 0);
  await processes.allReady();
  for (const end = Date.now() + goneWithinMs; ; await sleep(500)) {
    const left = [...watch.living(), ...cgroups.list(), ...readdirSync(sessionFolder), ...readdirSync(temporary)];
    if (left.length === 0 || Date.now() > end) return left;
  }
}

/**
 * Lists the places where the git host's token was found. The git host and the database, which stores the token
 * encrypted, are not searched.
 */
export async function listLeaks(
  environment: Environment,
  watch: DescendantWatch,
  endings: readonly Ending[],
): Promise<string[]> {
  const { folder, canary } = environment;
  const inFiles = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(folder, 'host')))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => readFileSync(file).includes(canary));
  const inAnswers: string[] = [];
  for (const ending of endings)
    for (const [name, text] of await readPublic(environment, ending))
      if (text.includes(canary)) inAnswers.push(`${name} of session ${ending.script.number}`);
  return [...watch.leaks, ...inFiles, ...inAnswers];
}

/** Reads everything about a session that a user can see. */
async function readPublic({ processes }: Environment, { app, last }: Ending): Promise<[string, string][]> {
  const [api = ''] = processes.apis;
  const session = `/api/apps/${app.id}/imported/sessions/${last.id}`;
  const repository = await call(api, 'GET', `/api/apps/${app.id}/imported/repository`, { as: app.token });
  const page = await call(api, 'GET', `/editor/${app.id}/sessions/${last.id}`, { as: app.token });
  return [
    ['the session', JSON.stringify(last)],
    ['the repository', repository.text],
    ['the page', page.text],
    ['the events', await readEvents(`${api}${session}/events`, app.token)],
  ];
}

const streamedWithinMs = 300;

/** Reads all events so far. */
async function readEvents(url: string, token: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'last-event-id': '0' };
  const asked = request(url, { headers }, (response) => {
    response.on('data', (chunk) => {
      text += String(chunk);
    });
    response.on('close', () => resolve(text));
  });
  asked.on('error', () => resolve(text));
  asked.end();
  setTimeout(() => asked.destroy(), streamedWithinMs);
  return promise;
}
