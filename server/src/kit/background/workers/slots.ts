// Owns worker slots: who runs as which number. A slot is an advisory lock, so a process that dies frees it at once; and a
// lease, so a process that is frozen, or whose host is gone while its connections still look open, loses it in seconds.
// What an earlier holder had begun is told by its epoch, and its open sessions are ended before anybody follows.
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export interface SlotOptions {
  readonly url: string;
  /** How many workers run at once; more wait as spares. */
  readonly slots: number;
  /** How long a holder may be silent before its slot is taken from it. */
  readonly leaseMs?: number;
  /** How often a spare looks for a free slot. */
  readonly pollMs?: number;
}

export interface SlotEpoch {
  readonly slot: number;
  readonly epoch: number;
}

export interface WorkerSlot extends SlotEpoch {
  /** What this worker's other connections call themselves, so that whoever follows can end them. */
  readonly sessionName: string;
  /** Resolves with the reason when the slot is lost. The process must then end at once. */
  readonly lost: Promise<string>;
  /** Slots whose holder is gone and that nobody has taken yet: given to `settle` one at a time, under their lock. */
  recoverAbandonedSlots(settle: (claim: SlotEpoch) => Promise<void>): Promise<number>;
  /** Says that everything begun before this claim was given back. */
  markRecovered(): Promise<void>;
  /** Lets go of the slot, with nothing left begun. */
  release(): Promise<void>;
}

export const defaultLeaseMs = 8_000;
const lockSpace = 0x706c; // advisory locks (space, slot)

const isSlotLock = `locktype = 'advisory' and classid = ${lockSpace} and objsubid = 2
  and database = (select oid from pg_database where datname = current_database())`;
const lockedSlots = `select objid::int from pg_locks where ${isSlotLock}`;

/** What the sessions of one holder are called. */
const sessionNameOf = ({ slot, epoch }: SlotEpoch): string => `plinth worker ${slot}.${epoch}`;

/** Waits until a slot is free, or `stop`. Gives undefined when stopped first. */
export async function acquireSlot(options: SlotOptions, stop: AbortSignal): Promise<WorkerSlot | undefined> {
  const leaseMs = options.leaseMs ?? defaultLeaseMs;
  const client = await connect(options.url, leaseMs, stop);
  if (client === undefined) return undefined;
  try {
    const slot = await waitForSlot(client, options, leaseMs, stop);
    if (slot !== undefined) return await keepSlot(client, await startEpoch(client, slot), leaseMs);
  } catch (error) {
    await client.end(); // a lock that is kept by nobody at work would be kept for ever
    throw error;
  }
  await client.end();
  return undefined;
}

async function waitForSlot(
  client: pg.Client,
  options: SlotOptions,
  leaseMs: number,
  stop: AbortSignal,
): Promise<number | undefined> {
  await client.query(
    'insert into worker_slots (slot) select generate_series(0, $1::int - 1) on conflict (slot) do nothing',
    [options.slots],
  );
  while (!stop.aborted) {
    await terminateSilentHolders(client, await listUnrecoveredSlots(client, leaseMs), leaseMs);
    const slot = await lockFreeSlot(client, options.slots);
    if (slot !== undefined) return slot;
    await sleep(options.pollMs ?? 250, undefined, { signal: stop }).catch(() => {});
  }
  return undefined;
}

/** One connection of its own: it holds the lock, so it must be neither pooled nor shared. */
async function connect(url: string, leaseMs: number, stop: AbortSignal): Promise<pg.Client | undefined> {
  for (let waitMs = 100; !stop.aborted; waitMs = Math.min(waitMs * 2, 2_000)) {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'plinth worker',
      connectionTimeoutMillis: 5_000,
      statement_timeout: leaseMs,
      query_timeout: leaseMs, // a network that is gone answers nothing at all
      keepAlive: true,
    });
    client.on('error', () => {}); // heard by `lost`
    try {
      await client.connect();
      return client;
    } catch {
      await client.end().catch(() => {});
      await sleep(waitMs, undefined, { signal: stop }).catch(() => {}); // the database may be starting too
    }
  }
  return undefined;
}

interface UnrecoveredSlot extends SlotEpoch {
  readonly locked: boolean;
  readonly silent: boolean;
}

/** Slots in which something was begun and not settled: held, or left behind. */
async function listUnrecoveredSlots(client: pg.Client, leaseMs: number): Promise<UnrecoveredSlot[]> {
  const { rows } = await client.query<UnrecoveredSlot>({
    name: 'list unsettled slots',
    text: `select slot, epoch::int as epoch, slot in (${lockedSlots}) as locked,
        heartbeat_at < clock_timestamp() - $1 * interval '1 ms' as silent
      from worker_slots where recovered_epoch < epoch`,
    values: [leaseMs],
  });
  return rows;
}

/** Ends every session of holders that have been silent for too long: their locks go, and nothing they do commits. */
async function terminateSilentHolders(
  client: pg.Client,
  unsettled: readonly UnrecoveredSlot[],
  leaseMs: number,
): Promise<void> {
  for (const holder of unsettled) {
    if (!holder.locked || !holder.silent) continue;
    // Asked again in the same statement: somebody else may have done this already, and a new holder be at work.
    await client.query(
      `with silent as materialized (select slot from worker_slots
         where slot = $2 and epoch = $3 and heartbeat_at < clock_timestamp() - $4 * interval '1 ms')
       select pg_terminate_backend(pid) from pg_stat_activity
       where exists (select 1 from silent) and (datname = current_database() and application_name = $1
         or pid in (select pid from pg_locks where ${isSlotLock} and objid = $2))`,
      [sessionNameOf(holder), holder.slot, holder.epoch, leaseMs],
    );
  }
}

/** Slots with unfinished business come first. */
async function lockFreeSlot(client: pg.Client, slots: number): Promise<number | undefined> {
  const { rows } = await client.query<{ slot: number }>(
    `select slot from worker_slots where slot < $1 and slot not in (${lockedSlots})
     order by recovered_epoch = epoch, slot`,
    [slots],
  );
  for (const { slot } of rows) if (await tryLockSlot(client, slot)) return slot;
  return undefined;
}

async function tryLockSlot(client: pg.Client, slot: number): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1::int, $2::int) as mine', [
    lockSpace,
    slot,
  ]);
  return rows[0]?.mine === true;
}

/** Counts the epoch up, and ends what the earlier holder still has open: nothing of it commits after this. */
async function startEpoch(client: pg.Client, slot: number): Promise<SlotEpoch> {
  const { rows } = await client.query<SlotEpoch>(
    `update worker_slots set epoch = epoch + 1, holder = $2, heartbeat_at = clock_timestamp()
     where slot = $1 returning slot, epoch::int as epoch`,
    [slot, `${hostname()}:${process.pid}`],
  );
  const claim = rows[0] as SlotEpoch;
  await client.query(
    `select pg_terminate_backend(pid, 3000) from pg_stat_activity
     where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()`,
    [sessionNameOf({ slot, epoch: claim.epoch - 1 })],
  );
  return claim;
}

async function keepSlot(client: pg.Client, claim: SlotEpoch, leaseMs: number): Promise<WorkerSlot> {
  const sessionName = sessionNameOf(claim);
  await client.query("select set_config('application_name', $1, false)", [sessionName]);
  const lost = Promise.withResolvers<string>();
  const ended = () => lost.resolve('the connection that holds the slot ended');
  client.once('end', ended);
  const held = [claim]; // and for a moment those it settles for others
  const beating = sendHeartbeats(client, held, leaseMs, lost.resolve);
  return {
    ...claim,
    sessionName,
    lost: lost.promise,
    async recoverAbandonedSlots(settle) {
      const unsettled = (await listUnrecoveredSlots(client, leaseMs)).filter(({ slot }) => slot !== claim.slot);
      await terminateSilentHolders(client, unsettled, leaseMs);
      return recoverAbandoned(client, held, unsettled, settle);
    },
    markRecovered: () => saveRecoveredEpoch(client, claim, claim.epoch - 1),
    async release() {
      clearInterval(beating);
      await saveRecoveredEpoch(client, claim, claim.epoch);
      client.off('end', ended);
      await client.end();
    },
  };
}

/** Tells the database that this worker lives; and this worker that it does not, when that can no longer be told. */
function sendHeartbeats(
  client: pg.Client,
  held: readonly SlotEpoch[],
  leaseMs: number,
  lost: (reason: string) => void,
): NodeJS.Timeout {
  let toldAt = performance.now();
  let telling = false;
  const tell = async () => {
    if (performance.now() - toldAt > leaseMs) return lost(`nothing could be told for ${leaseMs} ms`);
    if (telling) return;
    telling = true;
    try {
      const { rows } = await client.query<SlotEpoch>(
        `update worker_slots s set heartbeat_at = clock_timestamp() from unnest($1::int[], $2::bigint[]) held(slot, epoch)
         where s.slot = held.slot and s.epoch = held.epoch returning s.slot`,
        [held.map(({ slot }) => slot), held.map(({ epoch }) => epoch)],
      );
      if (!rows.some(({ slot }) => slot === held[0]?.slot)) return lost('somebody else has taken the slot');
      toldAt = performance.now();
    } catch (error) {
      lost(`the slot could not be kept: ${(error as Error).message}`);
    } finally {
      telling = false;
    }
  };
  return setInterval(() => void tell(), leaseMs / 4);
}

async function saveRecoveredEpoch(client: pg.Client, { slot, epoch }: SlotEpoch, settledEpoch: number): Promise<void> {
  await client.query('update worker_slots set recovered_epoch = $3 where slot = $1 and epoch = $2', [
    slot,
    epoch,
    settledEpoch,
  ]);
}

async function recoverAbandoned(
  client: pg.Client,
  held: SlotEpoch[],
  unsettled: readonly UnrecoveredSlot[],
  settle: (claim: SlotEpoch) => Promise<void>,
): Promise<number> {
  let settled = 0;
  for (const { slot, locked } of unsettled) {
    if (locked || !(await tryLockSlot(client, slot))) continue;
    try {
      const claim = await startEpoch(client, slot);
      held.push(claim);
      await settle(claim);
      await saveRecoveredEpoch(client, claim, claim.epoch);
      settled += 1;
    } finally {
      held.splice(1);
      await client.query('select pg_advisory_unlock($1::int, $2::int)', [lockSpace, slot]);
    }
  }
  return settled;
}
