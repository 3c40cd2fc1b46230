// Owns what is to happen in each session of the drill: drawn from the seed before anything starts, so that every boundary and every
// fault of the git host has its turn, however the processes race.
import type { Fault } from '../../sandbox/src/faults.ts';
import { type Boundary, boundaries } from '../../server/src/features/coding-sessions/index.ts';
import type { Random } from '../lib/random.ts';

export { type Boundary, boundaries };

export const gitCalls = ['fetch', 'push', 'list_pulls', 'create_pull'] as const;

/** Those of the sandbox that go away by themselves. */
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
  /** 1: the first time that the session comes there. */
  readonly occurrence: number;
}

export interface Script {
  /** 1 for the first session. */
  readonly number: number;
  readonly kind: Kind;
  readonly key: string;
  readonly title: string;
  /** Which of the apps. */
  readonly app: number;
  /** How many clients send the launch at once, with the same key. */
  readonly launches: number;
  readonly kills: readonly Kill[];
  /** How long a person takes to answer, or to send the next message. */
  readonly pauseMs: number;
}

/** One of each kind, and those that make pull requests more often. */
const quickKinds: readonly Kind[] = kinds.flatMap((kind) =>
  kind === 'edit' || kind === 'command' ? [kind, kind] : kind,
);

const opensPullRequest = (kind: Kind): boolean =>
  ['edit', 'command', 'question', 'approval', 'follow_up', 'folded_message'].includes(kind);

/** The boundaries that a session of this kind passes before its end, or before it is cancelled. */
function listBoundaries(kind: Kind): readonly Boundary[] {
  const until = (last: Boundary) => boundaries.slice(0, boundaries.indexOf(last) + 1);
  if (opensPullRequest(kind)) return boundaries;
  if (kind === 'answer') return [...until('model_answered'), 'completed'];
  if (kind === 'cancel_queued') return [];
  if (kind === 'cancel_opening') return until('pushed');
  if (kind === 'cancel_created') return until('moved_to_opening');
  return until('step_recorded');
}

/** These are passed in every step. */
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
    // Few kinds come to the last boundaries, so these begin there.
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

/** For kills that could not be done in the session that they were drawn for. */
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

/** Every fault for every call, `rounds` times, in a random order, with one or two calls in between that pass. */
export const drawGitFaults = (rounds: number, random: Random): Fault[] =>
  gitCalls.flatMap((call) =>
    shuffle(Array.from({ length: rounds }, () => gitFaults).flat(), random).map(
      (fault): Fault => ({ call, fault, times: 1, after: 1 + Math.floor(random() * 2), delay_ms: random() * 3_000 }),
    ),
  );

/** Picks those that were picked least often before under the same name; of several, at random, or those that come last. */
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
