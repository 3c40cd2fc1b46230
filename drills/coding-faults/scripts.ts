// Each session's script. Scripts are drawn from the seed in advance, so every boundary and every git host fault is
// covered, regardless of how the processes race.

import type { Random } from '../../harness/random.ts';
import type { Fault } from '../../sandbox/src/faults.ts';
import { type Boundary, boundaries } from '../../server/src/features/coding-sessions/index.ts';

export { type Boundary, boundaries };

export const gitCalls = ['fetch', 'push', 'list_pulls', 'create_pull'] as const;

/** The sandbox's temporary faults. */
export const gitFaults = ['drop_before', 'drop_after', 'delay', 'duplicate', 'error_before', 'error_after'] as const;

export const kinds = [
  'edit',
  'command',
  'question',
  'approval',
  'answer',
  'follow_up',
  'folded_message',
  'cancel_queued',
  'cancel_running',
  'cancel_command',
  'cancel_needs_input',
  'cancel_opening',
  'cancel_created',
] as const;
export type Kind = (typeof kinds)[number];

export interface Kill {
  readonly boundary: Boundary;
  /** 1 means the first time that the session reaches the boundary. */
  readonly occurrence: number;
}

export interface Script {
  /** Starts at 1. */
  readonly number: number;
  readonly kind: Kind;
  readonly key: string;
  readonly title: string;
  /** The app's index. */
  readonly app: number;
  /** The number of concurrent launch requests with the same key. */
  readonly launches: number;
  readonly kills: readonly Kill[];
  /** How long the user takes to answer or to send the next message. */
  readonly pauseMs: number;
}

/** One session of each kind, but two of `edit` and `command`, which open pull requests. */
const quickKinds: readonly Kind[] = kinds.flatMap((kind) =>
  kind === 'edit' || kind === 'command' ? [kind, kind] : kind,
);

const opensPullRequest = (kind: Kind): boolean =>
  ['edit', 'command', 'question', 'approval', 'follow_up', 'folded_message'].includes(kind);

/** Lists the boundaries that a session of this kind passes before it ends or is cancelled. */
function listBoundaries(kind: Kind): readonly Boundary[] {
  const until = (last: Boundary) => boundaries.slice(0, boundaries.indexOf(last) + 1);
  if (opensPullRequest(kind)) return boundaries;
  if (kind === 'answer') return [...until('model_answered'), 'completed'];
  if (kind === 'cancel_queued') return [];
  if (kind === 'cancel_opening') return until('pushed');
  if (kind === 'cancel_created') return until('moved_to_opening');
  return until('step_recorded');
}

/** The boundaries that every step passes. */
const ofSteps: ReadonlySet<Boundary> = new Set(['step_inserted', 'model_answered', 'tools_ran', 'step_recorded']);

export interface Plan {
  readonly sessions: number;
  readonly apps: number;
  /** The share of sessions whose worker is killed a second time. */
  readonly killedTwice: number;
}

export function drawScripts({ sessions, apps, killedTwice }: Plan, random: Random): Script[] {
  const pick = createPicker(random);
  const scripts = Array.from({ length: sessions }, (_, index): Script => {
    const number = index + 1;
    const kind = quickKinds[index % quickKinds.length] as Kind;
    const wanted = random() < killedTwice ? 2 : 1;
    // Few kinds reach the last boundaries, so those kinds are killed there first.
    const kills = pick('kill', listBoundaries(kind), wanted, opensPullRequest(kind)).map((boundary) => ({
      boundary,
      occurrence: ofSteps.has(boundary) && kind !== 'answer' ? 1 + Math.floor(random() * 2) : 1,
    }));
    return {
      number,
      kind,
      key: `drill-${number}-${Math.floor(random() * 1e9).toString(36)}`,
      title: `Session ${number} ${kind.replaceAll('_', ' ')}`,
      app: index % apps,
      launches: index % 5 === 0 ? 10 : 1 + Math.floor(random() * 2),
      kills,
      pauseMs: Math.floor(random() * 1_500),
    };
  });
  return shuffle(scripts, random);
}

const spares = 6;

/** Creates sessions for kills that were not possible in the session they were drawn for. */
export const drawSpares = ({ sessions, apps }: Pick<Plan, 'sessions' | 'apps'>): Script[] =>
  Array.from({ length: spares }, (_, index) => {
    const number = sessions + 1 + index;
    const title = `Session ${number} edit`;
    return {
      number,
      kind: 'edit',
      key: `spare-${number}`,
      title,
      app: number % apps,
      launches: 1,
      kills: [],
      pauseMs: 0,
    };
  });

/** Draws every fault for every call `rounds` times, in random order, with one or two successful calls in between. */
export const drawGitFaults = (rounds: number, random: Random): Fault[] =>
  gitCalls.flatMap((call) =>
    shuffle(Array.from({ length: rounds }, () => gitFaults).flat(), random).map(
      (fault): Fault => ({ call, fault, times: 1, after: 1 + Math.floor(random() * 2), delay_ms: random() * 3_000 }),
    ),
  );

/**
 * Picks the items that were picked least often under the same name. Ties are broken at random, or in favour of the last
 * items.
 */
function createPicker(random: Random) {
  const counts = new Map<string, number>();
  return <Item extends string>(name: string, items: readonly Item[], count: number, prefersLast = false): Item[] =>
    items
      .map((item, index) => {
        const preference = prefersLast ? 1 - index / items.length : random();
        return { item, order: (counts.get(`${name} ${item}`) ?? 0) + preference / 2 };
      })
      .sort((a, b) => a.order - b.order)
      .slice(0, count)
      .map(({ item }) => {
        counts.set(`${name} ${item}`, (counts.get(`${name} ${item}`) ?? 0) + 1);
        return item;
      });
}

const shuffle = <Item>(items: readonly Item[], random: Random): Item[] =>
  items
    .map((item) => ({ item, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
