// Owns when a request of a workspace is received and run: after large bodies of the same workspace, after a pause if the
// workspace held the process for long, and within its share of the database.
import { setTimeout as sleep } from 'node:timers/promises';
import { NoShare, type Release, type Shares } from '../db/shares.ts';
import { createFairGate, type FairGate, GateClosed } from '../fair-gate.ts';
import { Problem } from '../problem.ts';
import { createProcessTime, NoTurn, type ProcessTime } from '../process-time.ts';
import { nameClient } from './client-address.ts';
import type { Actor, Exchange } from './exchange.ts';
import { expectedLength, limitFor } from './receive.ts';

export interface Turns {
  readonly shares: Shares;
  readonly processTime: ProcessTime;
  /** By workspace: requests with a credential that was valid of late, while it is looked up again. */
  readonly knownCallers: FairGate;
  /** By address: all other requests whose caller is being looked up. */
  readonly strangers: FairGate;
  /** By workspace: large bodies that are received or worked on. */
  readonly largeBodies: FairGate;
  /** Before the refusal of a caller who fails again and again. */
  pauseRefusal(): Promise<void>;
}

const largeBodyBytes = 256 * 1024;

export const createTurns = (shares: Shares): Turns => ({
  shares,
  processTime: createProcessTime(),
  // Few, because whoever comes next waits for a step of each. Whoever sends thousands of requests at once waits for itself,
  // and strangers, who have as many addresses as they like, do not make callers wait whom we know.
  knownCallers: createFairGate({ inAll: 16, perOwner: 12, maxWaitingOfOwner: 2_000, maxWaitMs: 10_000 }),
  strangers: createFairGate({ inAll: 8, perOwner: 4, maxWaitingOfOwner: 2_000, maxWaitMs: 10_000 }),
  // A large body takes many times its size in memory until it is answered.
  largeBodies: createFairGate({ inAll: 8, perOwner: 1, maxWaitingOfOwner: 50, maxWaitMs: 15_000 }),
  pauseRefusal: createPause(),
});

const maxPaused = 2_000; // they take memory
/** Of different lengths, so that those who wait do not all come back at once. */
const choosePauseMs = (): number => 500 + Math.random() * 500;

function createPause(): () => Promise<void> {
  let paused = 0;
  return async () => {
    if (paused >= maxPaused) return;
    paused += 1;
    await sleep(choosePauseMs());
    paused -= 1;
  };
}

/** Looks the caller up when it is the turn of their workspace, if `knownAs` names it, or of their address. */
export async function inTurn<Result>(
  { address }: Exchange,
  knownAs: string | undefined,
  { knownCallers, strangers }: Turns,
  lookUp: () => Promise<Result>,
): Promise<Result> {
  const place = knownAs === undefined ? strangers.enter(nameClient(address)) : knownCallers.enter(knownAs);
  const leave = typeof place === 'function' ? place : await orBusy(() => place);
  try {
    return await lookUp();
  } finally {
    leave();
  }
}

/** Who waits: the people and keys of a workspace together, and apart from them the users of each of its apps. */
export function nameOwner(actor: Actor | undefined): string | undefined {
  if (!actor?.workspaceId) return undefined;
  return actor.isOutsider ? `${actor.workspaceId} ${actor.appId}` : actor.workspaceId;
}

/** Waits before a large body is read, so that those that wait take no memory. */
export async function waitToReceive(exchange: Exchange, { largeBodies, processTime }: Turns): Promise<void> {
  const owner = nameOwner(exchange.actor);
  if (owner === undefined || !mayBeLarge(exchange)) return;
  await orBusy(async () => {
    const leave = await largeBodies.enter(owner);
    exchange.leaveLargeBodies = leave; // when the operation has run: a slow reader of its answer keeps no place
    const { raw } = exchange.reply;
    raw.once('close', leave); // the client has gone
    if (raw.destroyed || raw.closed) leave();
    await processTime.waitForTurn(owner);
  });
}

const mayBeLarge = (exchange: Exchange): boolean =>
  exchange.operation.body !== undefined &&
  Math.min(expectedLength(exchange.request.raw), limitFor(exchange)) >= largeBodyBytes;

const noShare: Release = () => {};

/** A request in no workspace takes no share: its work is short, and its rate is limited per address or person. */
export async function waitToRun({ actor, operation }: Exchange, { shares, processTime }: Turns): Promise<Release> {
  const { work = 'short' } = operation;
  const owner = nameOwner(actor);
  if (!actor?.workspaceId || owner === undefined) return noShare;
  const workOwner = { owner: actor.workspaceId, part: actor.appId };
  return orBusy(async () => {
    for (;;) {
      await processTime.waitForTurn(owner);
      if (work === 'outside' || work === 'reserved') return noShare;
      const release = await shares.take(work, workOwner);
      if (processTime.mayRun(owner)) return release;
      release(); // while it waited for the share, others of the workspace held the process
    }
  });
}

/** 503 in place of an error that says that too much is at work already. */
export async function orBusy<Result>(wait: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await wait();
  } catch (error) {
    throw error instanceof NoShare || error instanceof NoTurn || error instanceof GateClosed ? busy() : error;
  }
}

const busy = () =>
  new Problem(
    'unavailable',
    'busy',
    'Too many requests of this workspace, app or address are being worked on. Nothing was changed. Retry in a moment.',
    { headers: { 'retry-after': '1' } },
  );
