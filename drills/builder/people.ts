// The drill's people. Each repeatedly builds and publishes one app, and keeps a journal of requests and responses.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../harness/retrying-client.ts';
import type { DrillApp } from './environment.ts';
import { fileNames, messageFor, readVersion } from './versions.ts';
import { visit } from './visitors.ts';

export interface TurnLine {
  readonly app: string;
  readonly version: string;
  /** The turn's outcome: `ready`, or the reason why it failed. */
  readonly ended: string;
  readonly revision: number;
  /** The roles of the response's messages. */
  readonly messages: readonly string[];
}

export interface PublishLine {
  readonly app: string;
  readonly version: string;
  readonly revision: number;
  /** The milliseconds until every API process served the version. Undefined if one of them took too long. */
  readonly seenAfterMs: number | undefined;
}

export interface Journal {
  readonly turns: TurnLine[];
  readonly publishes: PublishLine[];
}

/** Sends `rounds` messages in sequence, and publishes after each message. */
export async function build(
  { call, apis }: { call: Call; apis: readonly string[] },
  app: DrillApp,
  number: number,
  rounds: number,
  journal: Journal,
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    const version = `${number}-${round}`;
    const turn = (await call('POST', `/api/apps/${app.id}/chat/message`, { content: messageFor(version) })).body;
    journal.turns.push({
      app: app.id,
      version,
      ended: turn.status.state === 'ready' ? 'ready' : turn.status.message,
      revision: turn.app.revision,
      messages: turn.conversation.messages.map(({ role }: { role: string }) => role),
    });
    const { revision } = (await call('POST', `/api/apps/${app.id}/deploy`, {})).body;
    journal.publishes.push({ app: app.id, version, revision, seenAfterMs: await waitUntilSeen(apis, app, version) });
  }
}

const seenWithinMs = 5_000;
const restartedWithinMs = 60_000;

async function waitUntilSeen(apis: readonly string[], app: DrillApp, version: string): Promise<number | undefined> {
  const waits = await Promise.all(apis.map((api) => waitUntilSeenAt(api, app, version)));
  return waits.some((waitedMs) => waitedMs === undefined) ? undefined : Math.max(...waits.map((ms) => ms ?? 0));
}

/**
 * Returns the milliseconds until the process at this address served the version. A process caches the live version for a
 * second. The time starts again while the process is down, because it was killed.
 */
async function waitUntilSeenAt(api: string, app: DrillApp, version: string): Promise<number | undefined> {
  const [name = ''] = fileNames;
  const deadline = performance.now() + restartedWithinMs;
  let startedAt = performance.now();
  while (performance.now() < Math.min(deadline, startedAt + seenWithinMs)) {
    const page = await visit(api, app, name).catch(() => undefined);
    if (page === undefined) startedAt = performance.now();
    else if (readVersion(name, page.text) === version) return performance.now() - startedAt;
    await sleep(50);
  }
  return undefined;
}
