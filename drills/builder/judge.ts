// Judges the drill by the journals of the people, visitors and model, and by the API's final state.
import type { Judged } from '../../harness/bench.ts';
import type { Call } from '../../harness/retrying-client.ts';
import type { DrillApp } from './environment.ts';
import { creditsPerTurn, type ModelCall } from './model.ts';
import type { Journal } from './people.ts';
import { messageFor } from './versions.ts';
import type { Sightings } from './visitors.ts';

export interface Evidence {
  readonly journal: Journal;
  readonly sightings: Sightings;
  readonly modelCalls: readonly ModelCall[];
  readonly rounds: number;
  readonly kills: Readonly<Record<'api' | 'worker', number>>;
  readonly leastKills: number;
}

export async function judge(
  call: Call,
  apps: readonly DrillApp[],
  evidence: Evidence,
): Promise<{ judged: Judged[]; figures: Record<string, unknown> }> {
  const { journal, sightings, modelCalls, rounds, kills, leastKills } = evidence;
  const turns = apps.length * rounds;
  const failed = journal.turns.filter(({ ended }) => ended !== 'ready');
  const chats = await readChats(call, apps);
  const revisions = await readRevisions(call, apps);
  const credits = (await call('GET', '/api/workspace/credits')).body;
  const halves = sightings.listings.filter(({ versions }) => versions.length > 1 || versions.includes('unknown'));
  const mixed = listMixedVersions(sightings);
  const late = journal.publishes.filter(({ seenAfterMs }) => seenAfterMs === undefined);
  const repeated = listRepeatedSteps(modelCalls);
  return {
    figures: {
      turns: journal.turns.length,
      failed: failed.slice(0, 5),
      publishes: journal.publishes.length,
      kills,
      model_calls: modelCalls.length,
      model_calls_repeated_for_a_crash: modelCalls.length - new Set(modelCalls.map(toKey)).size,
      pages_seen: sightings.files.length,
      listings_seen: sightings.listings.length,
      credits_used: credits.used,
      slowest_to_be_seen_ms: Math.round(Math.max(0, ...journal.publishes.map(({ seenAfterMs }) => seenAfterMs ?? 0))),
      faults: { lost: findLost(chats, journal), halves: halves.slice(0, 3), mixed: mixed.slice(0, 3), repeated, late },
    },
    judged: [
      {
        bar: 'every turn ended as if nothing had happened',
        met: journal.turns.length === turns && failed.length === 0,
      },
      { bar: 'every message is in the chat once, with one answer', met: findLost(chats, journal).length === 0 },
      { bar: 'each turn is one revision', met: revisions.every((revision) => revision === 1 + rounds) },
      { bar: 'nobody saw a half revision', met: sightings.listings.length > 0 && halves.length === 0 },
      { bar: 'no recorded step was asked of the model again', met: repeated.length === 0 },
      { bar: 'every turn was charged once', met: credits.used === turns * creditsPerTurn && credits.reserved === 0 },
      {
        bar: 'every publish was answered, and seen in time',
        met: journal.publishes.length === turns && late.length === 0,
      },
      { bar: 'visitors saw only whole versions', met: sightings.files.length > 0 && mixed.length === 0 },
      { bar: 'processes were killed often enough', met: kills.api >= leastKills && kills.worker >= leastKills },
    ],
  };
}

const toKey = ({ version, step }: ModelCall): string => `${version} ${step}`;

/** A step is requested only after the previous step has been recorded, so a turn's steps never go backwards. */
function listRepeatedSteps(calls: readonly ModelCall[]): string[] {
  const latest = new Map<string, number>();
  return calls.flatMap((call) => {
    const before = latest.get(call.version) ?? 0;
    latest.set(call.version, Math.max(before, call.step));
    return call.step < before ? [toKey(call)] : [];
  });
}

/**
 * Lists pages that were missing or incomplete, or whose version does not match their revision. A page may be missing only
 * if it was requested before any process had served the app.
 */
function listMixedVersions({ files }: Sightings): object[] {
  const firstServed = new Map<string, number>();
  for (const { app, status, answeredAt } of files)
    if (status === 200) firstServed.set(app, Math.min(firstServed.get(app) ?? answeredAt, answeredAt));
  const versions = new Map<string, string>();
  return files.filter(({ app, askedAt, status, revision, version }) => {
    if (status === 404 && askedAt < (firstServed.get(app) ?? Number.POSITIVE_INFINITY)) return false;
    if (status !== 200 || version === undefined) return true;
    const key = `${app} ${revision}`;
    const known = versions.get(key) ?? version;
    versions.set(key, known);
    return known !== version;
  });
}

type Chat = readonly { readonly role: string; readonly content: string }[];

async function readChats(call: Call, apps: readonly DrillApp[]): Promise<Map<string, Chat>> {
  const chats = new Map<string, Chat>();
  for (const { id } of apps) {
    const messages: Chat[number][] = [];
    let query = '?limit=100';
    for (;;) {
      const page = (await call('GET', `/api/apps/${id}/chat/full-conversation${query}`)).body;
      messages.unshift(...page.items.toReversed());
      if (!page.has_more) break;
      query = `?limit=100&cursor=${page.next_cursor}`;
    }
    chats.set(id, messages);
  }
  return chats;
}

const readRevisions = (call: Call, apps: readonly DrillApp[]): Promise<number[]> =>
  Promise.all(apps.map(async ({ id }) => (await call('GET', `/api/apps/${id}`)).body.revision));

/** Lists versions whose message does not appear in the chat exactly once, followed by exactly one reply. */
function findLost(chats: ReadonlyMap<string, Chat>, { turns }: Journal): string[] {
  return turns
    .filter(({ app, version }) => {
      const chat = chats.get(app) ?? [];
      const at = chat.flatMap(({ role, content }, index) =>
        role === 'user' && content === messageFor(version) ? [index] : [],
      );
      const answer = chat[(at[0] ?? -2) + 1];
      const isAnswered = answer?.role === 'assistant' && answer.content === `Version ${version} is written.`;
      return at.length !== 1 || !isAnswered || chat.length !== 2 * turns.filter((turn) => turn.app === app).length;
    })
    .map(({ version }) => version);
}
