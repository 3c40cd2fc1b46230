// Owns storing the events of many requests together. While transactions run, the requests that come are gathered for the next,
// because a commit and a few round trips for each request would be most of the work.
import { gather } from '../../kit/background/gather.ts';
import { transaction } from '../../kit/db/database.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { insertEventIds, insertEvents, lockApp, lockFreeApps, type Sighting, saveSightings } from './store/events.ts';

export interface StoredEvent {
  readonly app_id: string;
  /** The id that the caller sent, by which a repeated event is recognised; null if none was. */
  readonly sent_id: string | null;
  readonly user_id: string | null;
  readonly at: Date;
  /** The row as text; null for a heartbeat, which is not stored. */
  readonly line: string | null;
}

/** The events of one request. */
interface Batch {
  readonly app_id: string;
  readonly events: readonly StoredEvent[];
  readonly length: number;
  readonly now: Date;
  resolve(duplicates: number): void;
  reject(error: unknown): void;
}

const maxEvents = 4_000;
const maxLength = 4 * 1024 * 1024;
/** How many transactions run at the same time: while PostgreSQL works on one, rows of the other are sent. */
const maxTransactions = 2;
/** How many apps are stored apart at a time. */
const maxApart = 4;

/** Stores events of one app, and returns how many of them were stored before. */
export type Ingest = (events: readonly StoredEvent[], now: Date) => Promise<number>;

export function createIngestion(db: Db): Ingest {
  const apart = createApart(db);
  const gatherers = Array.from({ length: maxTransactions }, () =>
    gather<Batch>({ handle: (batches) => storeTogether(db, batches, apart), countFitting }),
  );
  return (events, now) => {
    const [first] = events;
    if (first === undefined) return Promise.resolve(0);
    const { app_id } = first;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const length = events.reduce((sum, { line }) => sum + (line?.length ?? 0), 0);
    const batch = { app_id, events, length, now, resolve, reject };
    // An app always has the same one: two transactions would wait for each other.
    const gatherer = gatherers[Number.parseInt(app_id.slice(-4), 16) % maxTransactions];
    if (apart.has(app_id)) apart.add([batch]);
    else gatherer?.(batch);
    return promise;
  };
}

function countFitting(waiting: readonly Batch[]): number {
  let events = 0;
  let length = 0;
  const index = waiting.findIndex((batch) => {
    events += batch.events.length;
    length += batch.length;
    return events > maxEvents || length > maxLength;
  });
  return index === -1 ? waiting.length : Math.max(1, index);
}

/**
 * Apps that another transaction holds are left to be stored apart, before anything is done. If it fails, the batches of each
 * app are stored apart: what can't be stored fails the requests of its own app only, and nobody else waits for it. If the
 * connection was lost, the events may have been stored, so it is left to the callers to repeat them.
 */
async function storeTogether(db: Db, batches: readonly Batch[], apart: Apart): Promise<void> {
  let free: readonly Batch[] = batches;
  const error = await tryToStore(async () => {
    const duplicates = await transaction(db, async (db) => {
      const locked = await lockFreeApps(db, [...new Set(batches.map(({ app_id }) => app_id))]);
      free = batches.filter(({ app_id }) => locked.has(app_id));
      apart.add(batches.filter(({ app_id }) => !locked.has(app_id)));
      return storeBatches(db, free);
    });
    resolveAll(free, duplicates);
  });
  if (error === undefined) return;
  if (classifyFailure(error) === 'connection_lost') rejectAll(free, error);
  else apart.add(free);
}

// ---- apart

interface Apart {
  /** Whether events of the app wait or are being stored here. More of them would only wait elsewhere. */
  has(app_id: string): boolean;
  add(batches: readonly Batch[]): void;
}

/** Stores events of each app in a transaction of its own, which waits until the app is free. */
function createApart(db: Db): Apart {
  const waiting = new Map<string, readonly Batch[]>();
  const storing = new Set<string>();
  const storeWaiting = () => {
    for (const [app_id, batches] of waiting) {
      if (storing.size >= maxApart) return;
      if (storing.has(app_id)) continue;
      const fitting = countFitting(batches);
      if (fitting === batches.length) waiting.delete(app_id);
      else waiting.set(app_id, batches.slice(fitting));
      storing.add(app_id);
      void storeOfApp(db, app_id, batches.slice(0, fitting)).then(() => {
        storing.delete(app_id);
        storeWaiting();
      });
    }
  };
  return {
    has: (app_id) => waiting.has(app_id) || storing.has(app_id),
    add: (batches) => {
      for (const batch of batches) waiting.set(batch.app_id, [...(waiting.get(batch.app_id) ?? []), batch]);
      storeWaiting();
    },
  };
}

async function storeOfApp(db: Db, app_id: string, batches: readonly Batch[]): Promise<void> {
  const error = await tryToStore(async () => {
    const duplicates = await transaction(db, async (db) => {
      await lockApp(db, app_id);
      return storeBatches(db, batches);
    });
    resolveAll(batches, duplicates);
  });
  if (error !== undefined) rejectAll(batches, error);
}

function resolveAll(batches: readonly Batch[], duplicates: readonly number[]): void {
  batches.forEach((batch, index) => {
    batch.resolve(duplicates[index] ?? 0);
  });
}

function rejectAll(batches: readonly Batch[], error: unknown): void {
  for (const batch of batches) batch.reject(error);
}

/** Returns the error, if there was one. */
const tryToStore = (store: () => Promise<void>): Promise<unknown> => store().catch((error: unknown) => error);

// ---- storing

/** Stores the batches, whose apps are locked, in this transaction. Returns how many duplicates each has. */
async function storeBatches(db: Db, batches: readonly Batch[]): Promise<number[]> {
  const isRepeated = await findRepeated(db, batches);
  const fresh = batches.map(({ events }) => events.filter((event) => !isRepeated.has(event)));
  const lines = fresh.flatMap((events) => events.flatMap(({ line }) => line ?? []));
  if (lines.length > 0) await insertEvents(db, lines);
  const sightings = listSightings(fresh.flat());
  if (sightings.length > 0) await saveSightings(db, sightings);
  return batches.map(({ events }, index) => events.length - (fresh[index]?.length ?? 0));
}

/** Events whose id was stored before, or is that of an earlier event of these batches. */
async function findRepeated(db: Db, batches: readonly Batch[]): Promise<Set<StoredEvent>> {
  const repeated = new Set<StoredEvent>();
  const byKey = new Map<string, StoredEvent>();
  for (const { events } of batches)
    for (const event of events) {
      if (event.sent_id === null) continue;
      const key = event.app_id + event.sent_id;
      if (byKey.has(key)) repeated.add(event);
      else byKey.set(key, event);
    }
  const now = batches[0]?.now;
  if (byKey.size === 0 || now === undefined) return repeated;
  const keys = [...byKey.values()].map(({ app_id, sent_id }) => ({ app_id, event_id: sent_id ?? '' }));
  for (const { app_id, event_id } of await insertEventIds(db, keys, now)) {
    const event = byKey.get(app_id + event_id);
    if (event !== undefined) repeated.add(event);
  }
  return repeated;
}

/** When each user was last seen in these events, by an event and by a heartbeat. */
function listSightings(events: readonly StoredEvent[]): Sighting[] {
  const sightings = new Map<string, Sighting>();
  for (const { app_id, user_id, at, line } of events) {
    if (user_id === null) continue;
    const key = app_id + user_id;
    let seen = sightings.get(key);
    if (seen === undefined) {
      seen = { app_id, user_id, last_event_at: null, last_heartbeat_at: null };
      sightings.set(key, seen);
    }
    if (line === null) seen.last_heartbeat_at = later(seen.last_heartbeat_at, at);
    else seen.last_event_at = later(seen.last_event_at, at);
  }
  return [...sightings.values()];
}

const later = (a: Date | null, b: Date): Date => (a !== null && a >= b ? a : b);
