// Stores events from many requests together. Requests that arrive while transactions run are gathered for the
// next transaction, because a commit and several round trips per request would take up most of the time.
import { gather } from '../../kit/background/gather.ts';
import { transaction } from '../../kit/db/database.ts';
import { classifyFailure, isUniqueViolation } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { createRepeatingApps, type RepeatingApps } from './repeating-apps.ts';
import {
  type DaySize,
  insertEventIds,
  insertEvents,
  lockApp,
  lockFreeApps,
  type Sighting,
  saveSightings,
  saveSizes,
} from './store/events.ts';

export interface StoredEvent {
  readonly app_id: string;
  /** The id that the caller sent, which identifies repeated events. Null if the caller sent none. */
  readonly sent_id: string | null;
  readonly user_id: string | null;
  readonly at: Date;
  /** The row as text, or null for a heartbeat, which has no row. */
  readonly line: string | null;
}

// What a row takes in addition to its text: its header, and its entries in indexes.
const eventRowBytes = 40;
const idRowBytes = 120;
const measureLine = ({ line }: StoredEvent): number => (line === null ? 0 : Buffer.byteLength(line) + eventRowBytes);
const measureId = ({ sent_id }: StoredEvent): number => (sent_id === null ? 0 : idRowBytes);

/** How many bytes these events will take. A heartbeat counts as one, because it may be a new user's. */
export const measureEvents = (events: readonly StoredEvent[]): number =>
  events.reduce((sum, event) => sum + Math.max(1, measureLine(event) + measureId(event)), 0);

/** One request's events. */
interface Batch {
  readonly app_id: string;
  readonly events: readonly StoredEvent[];
  readonly length: number;
  readonly now: Date;
  /**
   * Whether a transaction with these events has failed because an id, possibly in another batch, was already stored.
   */
  readonly mayRepeat: boolean;
  resolve(duplicates: number): void;
  reject(error: unknown): void;
}

const maxEvents = 4_000;
const maxLength = 4 * 1024 * 1024;
/** The number of concurrent transactions. While PostgreSQL processes one, the other's rows are sent. */
const maxTransactions = 2;
/** How many apps can be stored separately at the same time. */
const maxApart = 4;

/** Stores one app's events, and returns how many of them were already stored. */
export type Ingest = (events: readonly StoredEvent[], now: Date) => Promise<number>;

interface IngestionDeps {
  readonly db: Db;
  /** Called after a transaction failed because an id was already stored, and before its events are stored again. */
  readonly onRetry: () => void;
}

/** State shared by all transactions. */
interface Storing extends IngestionDeps {
  readonly repeating: RepeatingApps;
}

export function createIngestion(deps: IngestionDeps): Ingest {
  const storing = { ...deps, repeating: createRepeatingApps() };
  const apart = createApart(storing);
  const gatherers = Array.from({ length: maxTransactions }, () =>
    gather<Batch>({ handle: (batches) => storeTogether(storing, batches, apart), countFitting }),
  );
  return (events, now) => {
    const [first] = events;
    if (first === undefined) return Promise.resolve(0);
    const { app_id } = first;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const length = events.reduce((sum, { line }) => sum + (line?.length ?? 0), 0);
    const batch = { app_id, events, length, now, mayRepeat: false, resolve, reject };
    // An app always uses the same gatherer, because two transactions with its events would wait for each other.
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
 * First, apps locked by another transaction are set aside, to be stored separately. If an id was already stored, the
 * same batches are retried with an id lookup. If the transaction fails for any other reason, each app is stored in its
 * own transaction, so if one app's events can't be stored, only its own requests fail. If the connection was lost, the
 * events may have been stored, so the callers have to repeat them.
 */
async function storeTogether(storing: Storing, batches: readonly Batch[], apart: Apart): Promise<void> {
  let free: readonly Batch[] = batches;
  const error = await tryToStore(async () => {
    const duplicates = await transaction(storing.db, async (db) => {
      const locked = await lockFreeApps(db, [...new Set(batches.map(({ app_id }) => app_id))]);
      free = batches.filter(({ app_id }) => locked.has(app_id));
      apart.add(batches.filter(({ app_id }) => !locked.has(app_id)));
      return storeBatches(db, free, ({ app_id, mayRepeat, now }) => mayRepeat || storing.repeating.has(app_id, now));
    });
    resolveAll(storing, free, duplicates);
  });
  if (error === undefined) return;
  if (classifyFailure(error) === 'connection_lost') rejectAll(free, error);
  else if (isUniqueViolation(error) && !free.some(({ mayRepeat }) => mayRepeat))
    await storeTogether(storing, prepareRetry(storing, free), apart);
  else apart.add(free);
}

/** Returns the batches to store again, this time with an id lookup. */
function prepareRetry({ onRetry }: Storing, batches: readonly Batch[]): Batch[] {
  onRetry();
  return batches.map((batch) => ({ ...batch, mayRepeat: true }));
}

// ---- storing apps separately

interface Apart {
  /**
   * Whether any of the app's events are waiting or being stored here. If so, further events should join them instead of
   * waiting elsewhere.
   */
  has(app_id: string): boolean;
  add(batches: readonly Batch[]): void;
}

/** Stores each app's events in a separate transaction, which waits until the app is free. */
function createApart(storing: Storing): Apart {
  const waiting = new Map<string, Batch[]>();
  const active = new Set<string>();
  const storeWaiting = () => {
    for (const [app_id, batches] of waiting) {
      if (active.size >= maxApart) return;
      if (active.has(app_id)) continue;
      const fitting = countFitting(batches);
      waiting.delete(app_id);
      if (fitting < batches.length) waiting.set(app_id, batches.slice(fitting)); // behind the other waiting apps
      active.add(app_id);
      void storeOfApp(storing, app_id, batches.slice(0, fitting), apart).then(() => {
        active.delete(app_id);
        storeWaiting();
      });
    }
  };
  const apart: Apart = {
    has: (app_id) => waiting.has(app_id) || active.has(app_id),
    add: (batches) => {
      for (const batch of batches) {
        const ofApp = waiting.get(batch.app_id);
        if (ofApp === undefined) waiting.set(batch.app_id, [batch]);
        else ofApp.push(batch);
      }
      storeWaiting();
    },
  };
  return apart;
}

async function storeOfApp(storing: Storing, app_id: string, batches: readonly Batch[], apart: Apart): Promise<void> {
  const isLookedUp = batches.some(({ mayRepeat, now }) => mayRepeat || storing.repeating.has(app_id, now));
  const error = await tryToStore(async () => {
    const duplicates = await transaction(storing.db, async (db) => {
      await lockApp(db, app_id);
      return storeBatches(db, batches, () => isLookedUp);
    });
    resolveAll(storing, batches, duplicates);
  });
  if (error === undefined) return;
  if (isUniqueViolation(error) && !isLookedUp) apart.add(prepareRetry(storing, batches));
  else rejectAll(batches, error);
}

function resolveAll({ repeating }: Storing, batches: readonly Batch[], duplicates: readonly number[]): void {
  batches.forEach((batch, index) => {
    const count = duplicates[index] ?? 0;
    if (count > 0) repeating.add(batch.app_id, batch.now);
    batch.resolve(count);
  });
}

function rejectAll(batches: readonly Batch[], error: unknown): void {
  for (const batch of batches) batch.reject(error);
}

/** Returns the error, if any. */
const tryToStore = (store: () => Promise<void>): Promise<unknown> => store().catch((error: unknown) => error);

// ---- storing batches

type IsLookedUp = (batch: Batch) => boolean;

/** Stores the batches in this transaction, which has locked their apps. Returns how many duplicates each batch has. */
async function storeBatches(db: Db, batches: readonly Batch[], isLookedUp: IsLookedUp): Promise<number[]> {
  const repeated = await findRepeated(db, batches, isLookedUp);
  const fresh = batches.map(({ events }) =>
    repeated.size === 0 ? events : events.filter((event) => !repeated.has(event)),
  );
  const events = fresh.flat();
  const lines = events.map(({ line }) => line).filter((line) => line !== null);
  if (lines.length > 0) await insertEvents(db, lines);
  const sightings = listSightings(events);
  if (sightings.length > 0) await saveSightings(db, sightings);
  const sizes = sumSizes(events, batches[0]?.now);
  if (sizes.length > 0) await saveSizes(db, sizes);
  return batches.map(({ events }, index) => events.length - (fresh[index]?.length ?? 0));
}

/** Stores the ids. Returns the events whose id was already stored, or belongs to an earlier event in these batches. */
async function findRepeated(db: Db, batches: readonly Batch[], isLookedUp: IsLookedUp): Promise<Set<StoredEvent>> {
  const repeated = new Set<StoredEvent>();
  const apps = new Map<string, { readonly byId: Map<string, StoredEvent>; readonly isLookedUp: boolean }>();
  for (const batch of batches) {
    const app = apps.get(batch.app_id) ?? { byId: new Map(), isLookedUp: isLookedUp(batch) };
    apps.set(batch.app_id, app);
    for (const event of batch.events) {
      if (event.sent_id === null) continue;
      if (app.byId.has(event.sent_id)) repeated.add(event);
      else app.byId.set(event.sent_id, event);
    }
  }
  const now = batches[0]?.now;
  if (now === undefined) return repeated;
  const ids = [...apps].map(([app_id, { byId, isLookedUp }]) => ({ app_id, event_ids: [...byId.keys()], isLookedUp }));
  for (const { app_id, event_id } of await insertEventIds(db, ids, now)) {
    const event = apps.get(app_id)?.byId.get(event_id);
    if (event !== undefined) repeated.add(event);
  }
  return repeated;
}

/** Adds up the bytes by app and day. An event counts on its own day, and its id on the day on which it was received. */
function sumSizes(events: readonly StoredEvent[], now = new Date(0)): DaySize[] {
  // Grouped by app and then by day, because a combined key would create a new string for each event.
  const apps = new Map<string, Map<number, number>>();
  for (const event of events) {
    const days = apps.get(event.app_id) ?? new Map<number, number>();
    apps.set(event.app_id, days);
    for (const [at, bytes] of [[event.at, measureLine(event)] as const, [now, measureId(event)] as const]) {
      const day = Math.floor(at.getTime() / dayMs);
      if (bytes > 0) days.set(day, (days.get(day) ?? 0) + bytes);
    }
  }
  return [...apps].flatMap(([app_id, days]) => [...days].map(([day, bytes]) => ({ app_id, day: toDate(day), bytes })));
}

const dayMs = 24 * 60 * 60 * 1_000;
const toDate = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

/** Returns when each user was last seen in these events, both by an event and by a heartbeat. */
function listSightings(events: readonly StoredEvent[]): Sighting[] {
  const sightings: Sighting[] = [];
  // Grouped by app and then by user, because a combined key would create a new string for each event.
  const apps = new Map<string, Map<string, Sighting>>();
  for (const { app_id, user_id, at, line } of events) {
    if (user_id === null) continue;
    const users = apps.get(app_id) ?? new Map<string, Sighting>();
    apps.set(app_id, users);
    let seen = users.get(user_id);
    if (seen === undefined) {
      seen = { app_id, user_id, last_event_at: null, last_heartbeat_at: null };
      users.set(user_id, seen);
      sightings.push(seen);
    }
    if (line === null) seen.last_heartbeat_at = later(seen.last_heartbeat_at, at);
    else seen.last_event_at = later(seen.last_event_at, at);
  }
  return sightings;
}

const later = (a: Date | null, b: Date): Date => (a !== null && a >= b ? a : b);
