// Owns the people of the drill: each builds and publishes one app again and again, and keeps a journal of what they sent and
// what they were answered.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../lib/retrying-client.ts';
import type { DrillApp } from './environment.ts';
import { fileNames, messageFor, readVersion } from './versions.ts';
import { visit } from './visitors.ts';

export interface TurnLine {
  readonly app: string;
  readonly version: string;
  /** How the turn ended: `ready`, or why it failed. */
  readonly ended: string;
  readonly revision: number;
  /** The roles of the messages that were answered. */
  readonly messages: readonly string[];
}

export interface PublishLine {
  readonly app: string;
  readonly version: string;
  readonly revision: number;
  /** After how many milliseconds visitors of every API process saw it; undefined: not in time. */
  readonly seenAfterMs: number | undefined;
}

export interface Journal {
  readonly turns: TurnLine[];
  readonly publishes: PublishLine[];
}

/** Sends `rounds` messages one after the other, and publishes after each. */
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

/** A process knows what is live for a second. One that was killed is asked when it is back. */
async function waitUntilSeen(apis: readonly string[], app: DrillApp, version: string): Promise<number | undefined> {
  const startedAt = performance.now();
  const [name = ''] = fileNames;
  const waiting = new Set(apis);
  while (performance.now() - startedAt < seenWithinMs) {
    for (const api of waiting) {
      const page = await visit(api, app, name).catch(() => undefined);
      if (page === undefined || readVersion(name, page.text) === version) waiting.delete(api);
    }
    if (waiting.size === 0) return performance.now() - startedAt;
    await sleep(50);
  }
  return undefined;
}
