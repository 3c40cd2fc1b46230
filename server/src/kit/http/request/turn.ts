// Decides when a workspace's request is received and run: after the workspace's other large bodies, after a pause if
// the workspace has held the process for a long time, and within its share of the database.
import { setTimeout as sleep } from 'node:timers/promises';
import { NoShare, type Release, type Shares } from '../../db/shares.ts';
import { createFairGate, type FairGate, GateClosed } from '../../fair-gate.ts';
import { Problem } from '../../problem.ts';
import { collectHolds, createProcessTime, NoTurn, type ProcessTime } from '../../process-time.ts';
import { nameClient } from '../connection/client-address.ts';
import type { Actor, Exchange } from '../exchange.ts';
import { expectedLength, limitFor } from './receive.ts';

export interface Turns {
  readonly shares: Shares;
  readonly processTime: ProcessTime;
  /** Lookups for callers with a recently valid credential, by workspace. */
  readonly knownCallers: FairGate;
  /** Lookups for all other callers, by address. */
  readonly strangers: FairGate;
  /** Large bodies that are being received or processed, by workspace. */
  readonly largeBodies: FairGate;
  /** Delays the refusal for a caller that fails repeatedly. */
  pauseRefusal(): Promise<void>;
}

const largeBodyBytes = 256 * 1024;

export const createTurns = (shares: Shares): Turns => ({
  shares,
  processTime: createProcessTime(),
  // There are few places, because each lookup in progress delays the next caller. A caller that sends thousands of
  // requests only delays itself. Strangers can use any number of addresses, but they do not delay known callers.
  knownCallers: createFairGate({ inAll: 16, perOwner: 12, maxWaitingOfOwner: 2_000, maxWaitMs: 10_000 }),
  strangers: createFairGate({ inAll: 8, perOwner: 4, maxWaitingOfOwner: 2_000, maxWaitMs: 10_000 }),
  // Until the response is sent, a large body takes up many times its size in memory.
  largeBodies: createFairGate({ inAll: 8, perOwner: 1, maxWaitingOfOwner: 50, maxWaitMs: 15_000 }),
  pauseRefusal: createPause(),
});

const maxPaused = 2_000; // paused requests take memory
/** Pauses vary in length, so paused callers do not all return at the same time. */
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

/**
 * Waits for the caller's turn, then looks up the caller. Turns are by workspace if `knownAs` names it, or else by
 * address.
 */
export async function inTurn<Result>(
  exchange: Exchange,
  knownAs: string | undefined,
  { knownCallers, strangers, processTime }: Turns,
  lookUp: () => Promise<Result>,
): Promise<Result> {
  const place = knownAs === undefined ? strangers.enter(nameClient(exchange.address)) : knownCallers.enter(knownAs);
  const leave = typeof place === 'function' ? place : await orBusy(() => place);
  exchange.isKnownCaller = knownAs !== undefined;
  const holds: number[] = [];
  try {
    return await collectHolds((heldMs) => void holds.push(heldMs), lookUp);
  } finally {
    leave();
    // Counted only now, because the caller was not known before.
    const owner = nameOwner(exchange.actor);
    if (owner !== undefined) for (const heldMs of holds) processTime.count(owner, heldMs);
  }
}

/**
 * Returns the owner whose turn the request needs. A workspace's people and keys count as one owner, and each app's
 * users as another.
 */
export function nameOwner(actor: Actor | undefined): string | undefined {
  if (!actor?.workspaceId) return undefined;
  return actor.isOutsider ? `${actor.workspaceId} ${actor.appId}` : actor.workspaceId;
}

/** Waits before a large body is read, so a waiting request does not keep its body in memory. */
export async function waitToReceive(exchange: Exchange, { largeBodies, processTime }: Turns): Promise<void> {
  const owner = nameOwner(exchange.actor);
  if (owner === undefined || !mayBeLarge(exchange)) return;
  await orBusy(async () => {
    const leave = await largeBodies.enter(owner);
    exchange.leaveLargeBodies = leave; // called once the operation has run, so slow readers occupy no place
    const { raw } = exchange.reply;
    raw.once('close', leave); // the client has disconnected
    if (raw.destroyed || raw.closed) leave();
    await processTime.waitForTurn(owner);
  });
}

const mayBeLarge = (exchange: Exchange): boolean =>
  exchange.operation.body !== undefined &&
  Math.min(expectedLength(exchange.request.raw), limitFor(exchange)) >= largeBodyBytes;

const noShare: Release = () => {};
const patientWaitMs = 60_000;

/**
 * Requests outside any workspace take no share. Their work is short, and their rate is limited per address or person.
 */
export async function waitToRun({ actor, operation }: Exchange, { shares, processTime }: Turns): Promise<Release> {
  const { work = 'short' } = operation;
  const owner = nameOwner(actor);
  if (!actor?.workspaceId || owner === undefined) return noShare;
  const workOwner = { owner: actor.workspaceId, part: actor.appId };
  const deadline = work === 'patient' ? performance.now() + patientWaitMs : undefined;
  const remainingMs = () => (deadline === undefined ? undefined : Math.max(0, deadline - performance.now()));
  return orBusy(async () => {
    for (;;) {
      await processTime.waitForTurn(owner, remainingMs());
      if (work === 'outside' || work === 'reserved') return noShare;
      const release = await shares.take(work === 'short' ? 'short' : 'slow', workOwner, { waitMs: remainingMs() });
      if (processTime.mayRun(owner)) return release;
      release(); // the owner's other requests have held the process in the meantime
    }
  });
}

/** Replaces errors about too much work in progress with a 503. */
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
    'Too many requests from this workspace, app or address are in progress. Nothing was changed. Retry in a moment.',
    { headers: { 'retry-after': '1' } },
  );
