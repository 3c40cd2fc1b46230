// Worker slots: the numbered places that worker processes occupy. A slot's holder has an advisory lock and a
// lease. A crashed process loses the lock immediately, and a frozen process or unreachable host loses the lease within
// seconds. Work is claimed under the slot's epoch. When a slot changes hands, its previous holder's database sessions
// are terminated before the new holder starts work.
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { toErrorText } from '../error-text.ts';

export interface SlotOptions {
  readonly url: string;
  /** How many workers run concurrently. Additional processes wait as spares. */
  readonly slots: number;
  /** A holder without a heartbeat for this long loses its slot. */
  readonly leaseMs?: number;
  /** How often a spare checks for a free slot. */
  readonly pollMs?: number;
  /** Called once, if the first attempt to reach the database fails. Attempts continue until one succeeds. */
  readonly onUnreachable?: (error: unknown) => void;
}

export interface SlotEpoch {
  readonly slot: number;
  readonly epoch: number;
}

export interface WorkerSlot extends SlotEpoch {
  /** The `application_name` for this worker's other connections, by which the next holder finds and terminates them. */
  readonly sessionName: string;
  /** Resolves with the reason when the slot is lost. The process must then exit immediately. */
  readonly lost: Promise<string>;
  /** Calls `recover` for each abandoned slot that no other worker has acquired, while holding the slot's lock. */
  recoverAbandonedSlots(recover: (slot: SlotEpoch) => Promise<void>): Promise<number>;
  /** Records that all work claimed under earlier epochs of this slot has been released. */
  markRecovered(): Promise<void>;
  /** Releases the slot. No work may be claimed under it afterwards. */
  release(): Promise<void>;
}

export const defaultLeaseMs = 8_000;
const lockSpace = 0x706c; // advisory lock keys are (lockSpace, slot)

const isSlotLock = `locktype = 'advisory' and classid = ${lockSpace} and objsubid = 2
  and database = (select oid from pg_database where datname = current_database())`;
const lockedSlots = `select objid::int from pg_locks where ${isSlotLock}`;

// What a transaction does may follow the name (snapshots.ts).
const isSessionOfSlot = `(application_name = $1 or starts_with(application_name, $1 || ' '))`;

const toSessionName = ({ slot, epoch }: SlotEpoch): string => `plinth worker ${slot}.${epoch}`;

/** Waits for a free slot. Returns undefined if `stop` is aborted first. */
export async function acquireSlot(options: SlotOptions, stop: AbortSignal): Promise<WorkerSlot | undefined> {
  const leaseMs = options.leaseMs ?? defaultLeaseMs;
  const client = await connect(options, leaseMs, stop);
  if (client === undefined) return undefined;
  try {
    const slot = await waitForSlot(client, options, leaseMs, stop);
    if (slot !== undefined) return await keepSlot(client, await startEpoch(client, slot), leaseMs);
  } catch (error) {
    await client.end(); // otherwise an idle process would hold the lock
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

/** Opens the connection that holds the lock. It must be neither pooled nor shared. */
async function connect(
  { url, onUnreachable }: SlotOptions,
  leaseMs: number,
  stop: AbortSignal,
): Promise<pg.Client | undefined> {
  let report = onUnreachable;
  for (let waitMs = 100; !stop.aborted; waitMs = Math.min(waitMs * 2, 2_000)) {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'plinth worker',
      connectionTimeoutMillis: 5_000,
      statement_timeout: leaseMs,
      query_timeout: leaseMs, // if the network fails, the server's statement timeout never arrives
      keepAlive: true,
    });
    client.on('error', () => {}); // reported by `lost`
    try {
      await client.connect();
      return client;
    } catch (error) {
      report?.(error);
      report = undefined;
      await client.end().catch(() => {});
      await sleep(waitMs, undefined, { signal: stop }).catch(() => {}); // the database may still be starting
    }
  }
  return undefined;
}

interface UnrecoveredSlot extends SlotEpoch {
  readonly is_locked: boolean;
  /** Whether the last heartbeat is older than the lease. */
  readonly is_silent: boolean;
}

/** Lists the slots under which work may still be claimed: held slots and abandoned slots. */
async function listUnrecoveredSlots(client: pg.Client, leaseMs: number): Promise<UnrecoveredSlot[]> {
  const { rows } = await client.query<UnrecoveredSlot>({
    name: 'list unrecovered slots',
    text: `select slot, epoch::int as epoch, slot in (${lockedSlots}) as is_locked,
        heartbeat_at < clock_timestamp() - $1 * interval '1 ms' as is_silent
      from worker_slots where recovered_epoch < epoch`,
    values: [leaseMs],
  });
  return rows;
}

/** Terminates all sessions of silent holders. This releases their locks and prevents them from committing anything. */
async function terminateSilentHolders(
  client: pg.Client,
  slots: readonly UnrecoveredSlot[],
  leaseMs: number,
): Promise<void> {
  for (const holder of slots) {
    if (!holder.is_locked || !holder.is_silent) continue;
    // The statement checks again, because another worker may already have done this, and the slot may have a new
    // holder.
    await client.query(
      `with silent as materialized (select slot from worker_slots
         where slot = $2 and epoch = $3 and heartbeat_at < clock_timestamp() - $4 * interval '1 ms')
       select pg_terminate_backend(pid) from pg_stat_activity
       where exists (select 1 from silent) and (datname = current_database() and ${isSessionOfSlot}
         or pid in (select pid from pg_locks where ${isSlotLock} and objid = $2))`,
      [toSessionName(holder), holder.slot, holder.epoch, leaseMs],
    );
  }
}

/** Tries slots with unreleased work first. */
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
  const { rows } = await client.query<{ is_locked: boolean }>(
    'select pg_try_advisory_lock($1::int, $2::int) as is_locked',
    [lockSpace, slot],
  );
  return rows[0]?.is_locked === true;
}

/** Increments the epoch and terminates the previous holder's sessions, which prevents it from committing anything. */
async function startEpoch(client: pg.Client, slot: number): Promise<SlotEpoch> {
  const { rows } = await client.query<SlotEpoch>(
    `update worker_slots set epoch = epoch + 1, holder = $2, heartbeat_at = clock_timestamp()
     where slot = $1 returning slot, epoch::int as epoch`,
    [slot, `${hostname()}:${process.pid}`],
  );
  const current = rows[0] as SlotEpoch;
  await client.query(
    `select pg_terminate_backend(pid, 3000) from pg_stat_activity
     where datname = current_database() and ${isSessionOfSlot} and pid <> pg_backend_pid()`,
    [toSessionName({ slot, epoch: current.epoch - 1 })],
  );
  return current;
}

async function keepSlot(client: pg.Client, current: SlotEpoch, leaseMs: number): Promise<WorkerSlot> {
  const sessionName = toSessionName(current);
  await client.query("select set_config('application_name', $1, false)", [sessionName]);
  const lost = Promise.withResolvers<string>();
  const onEnd = () => lost.resolve('the connection that holds the slot was closed');
  client.once('end', onEnd);
  const held = [current]; // includes abandoned slots while they are being recovered
  const heartbeats = sendHeartbeats(client, held, leaseMs, lost.resolve);
  return {
    ...current,
    sessionName,
    lost: lost.promise,
    async recoverAbandonedSlots(recover) {
      const others = (await listUnrecoveredSlots(client, leaseMs)).filter(({ slot }) => slot !== current.slot);
      await terminateSilentHolders(client, others, leaseMs);
      return recoverAbandoned(client, held, others, recover);
    },
    markRecovered: () => saveRecoveredEpoch(client, current, current.epoch - 1),
    async release() {
      clearInterval(heartbeats);
      await saveRecoveredEpoch(client, current, current.epoch);
      client.off('end', onEnd);
      await client.end();
    },
  };
}

/** Sends heartbeats for the held slots, four per lease. Calls `lost` when the slot is no longer safe to use. */
function sendHeartbeats(
  client: pg.Client,
  held: readonly SlotEpoch[],
  leaseMs: number,
  lost: (reason: string) => void,
): NodeJS.Timeout {
  let lastHeartbeatAt = performance.now();
  let isSending = false;
  const send = async () => {
    if (performance.now() - lastHeartbeatAt > leaseMs) return lost(`heartbeat failed for ${leaseMs} ms`);
    if (isSending) return;
    isSending = true;
    try {
      const { rows } = await client.query<SlotEpoch>(
        `update worker_slots s set heartbeat_at = clock_timestamp() from unnest($1::int[], $2::bigint[]) held(slot, epoch)
         where s.slot = held.slot and s.epoch = held.epoch returning s.slot`,
        [held.map(({ slot }) => slot), held.map(({ epoch }) => epoch)],
      );
      if (!rows.some(({ slot }) => slot === held[0]?.slot)) return lost('another worker took the slot');
      lastHeartbeatAt = performance.now();
    } catch (error) {
      lost(`heartbeat failed: ${toErrorText(error)}`);
    } finally {
      isSending = false;
    }
  };
  return setInterval(() => void send(), leaseMs / 4);
}

async function saveRecoveredEpoch(
  client: pg.Client,
  { slot, epoch }: SlotEpoch,
  recoveredEpoch: number,
): Promise<void> {
  await client.query('update worker_slots set recovered_epoch = $3 where slot = $1 and epoch = $2', [
    slot,
    epoch,
    recoveredEpoch,
  ]);
}

async function recoverAbandoned(
  client: pg.Client,
  held: SlotEpoch[],
  slots: readonly UnrecoveredSlot[],
  recover: (slot: SlotEpoch) => Promise<void>,
): Promise<number> {
  let recovered = 0;
  for (const { slot, is_locked } of slots) {
    if (is_locked || !(await tryLockSlot(client, slot))) continue;
    try {
      const abandoned = await startEpoch(client, slot);
      held.push(abandoned);
      await recover(abandoned);
      await saveRecoveredEpoch(client, abandoned, abandoned.epoch);
      recovered += 1;
    } finally {
      held.splice(1);
      await client.query('select pg_advisory_unlock($1::int, $2::int)', [lockSpace, slot]);
    }
  }
  return recovered;
}
