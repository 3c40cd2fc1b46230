// Owns the counters of rate limits: fixed windows in Redis, shared by all processes. While Redis is unavailable, each
// process counts on its own, and every answer says so (`X-Partial-Result: rate_limit`).
import { Redis } from 'ioredis';

export interface Count {
  readonly count: number;
  readonly resetMs: number;
  /** False if this process counted on its own. */
  readonly shared: boolean;
}

export interface Counters {
  /** Adds `by` (default 1) to a counter and returns its new value. 0 reads it. */
  add(name: string, windowSeconds: number, by?: number): Promise<Count>;
  /** Whether Redis answers, as far as this process knows. */
  isConnected(): boolean;
  close(): void;
}

// Returns the new value and the milliseconds until the window ends. The first count of a window sets its end.
const script = `
local n = redis.call('INCRBY', KEYS[1], ARGV[2])
if n == tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) return {n, ARGV[1]} end
return {n, redis.call('PTTL', KEYS[1])}`;

// A Redis that hangs must not delay every request. If it has not answered for this long, the connection is dropped, and
// the requests that wait are counted locally. One timer for the connection costs less than a timer per command. Ticks are
// counted, not milliseconds, so that a process that was busy itself does not give up a Redis that has answered.
const tickMs = 125;
const maxSilentTicks = 2;
const maxRetryDelayMs = 1_000;

interface CountingRedis extends Redis {
  countUp(key: string, windowMs: number, by: number): Promise<[number, number | string]>;
}

/** `onChange` is called with false when Redis is lost, or can't be reached at first, and with true when it is back. */
export function openCounters(
  url: string,
  prefix: string,
  onChange: (isConnected: boolean) => void = () => {},
): Counters {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false, // a server that is loading answers with an error, which is caught below
    disconnectTimeout: 100,
    connectTimeout: 1_000,
    retryStrategy: (attempt: number) => Math.min(attempt * 50, maxRetryDelayMs),
    scripts: { countUp: { lua: script, numberOfKeys: 1 } },
  }) as CountingRedis;
  redis.on('error', () => {}); // reported by `onChange`, by /readyz and by the headers of each answer
  const connection = watchConnection(redis, onChange);
  const local = new LocalCounters();
  let pending = 0;
  let silentTicks = 0;
  let timer: NodeJS.Timeout | undefined; // started by the first count, because a worker hardly counts
  const dropIfSilent = () => {
    if (pending === 0) return;
    silentTicks += 1;
    if (silentTicks <= maxSilentTicks) return;
    silentTicks = 0;
    redis.disconnect(true);
  };
  return {
    async add(name, windowSeconds, by = 1) {
      if (redis.status !== 'ready') return local.add(name, windowSeconds, by);
      timer ??= setInterval(dropIfSilent, tickMs).unref();
      if (pending === 0) silentTicks = 0;
      pending += 1;
      try {
        const [count, resetMs] = await redis.countUp(prefix + name, windowSeconds * 1000, by);
        silentTicks = 0;
        connection.confirm();
        return { count, resetMs: Number(resetMs), shared: true };
      } catch {
        return local.add(name, windowSeconds, by);
      } finally {
        pending -= 1;
      }
    },
    isConnected: connection.isConfirmed,
    close: () => {
      clearInterval(timer);
      connection.stop();
      redis.disconnect();
    },
  };
}

/**
 * Whether Redis answers. An open connection is not enough: a server that hangs accepts connections too, and would be lost
 * and regained again and again.
 */
function watchConnection(redis: Redis, onChange: (isConnected: boolean) => void) {
  let state: 'unknown' | 'answers' | 'lost' = 'unknown';
  const confirm = () => {
    if (state === 'lost') onChange(true);
    state = 'answers';
  };
  const ask = () =>
    redis.ping().then(confirm, () => {
      if (redis.status === 'ready') setTimeout(ask, maxRetryDelayMs).unref(); // it is loading its data
    });
  const onClose = () => {
    if (state !== 'lost') onChange(false);
    state = 'lost';
  };
  redis.on('ready', ask);
  redis.on('close', onClose);
  return { confirm, isConfirmed: () => state === 'answers', stop: () => redis.off('close', onClose) };
}

/** The same windows in memory. */
class LocalCounters {
  readonly #windows = new Map<string, { count: number; endsAt: number }>();

  #sweptAt = 0;

  add(name: string, windowSeconds: number, by: number): Count {
    const now = Date.now();
    let window = this.#windows.get(name);
    if (window === undefined || window.endsAt <= now) {
      this.#removeEnded(now);
      window = { count: 0, endsAt: now + windowSeconds * 1000 };
      this.#windows.set(name, window);
    }
    window.count += by;
    return { count: window.count, resetMs: window.endsAt - now, shared: false };
  }

  #removeEnded(now: number): void {
    if (this.#windows.size < 10_000 || now - this.#sweptAt < 1_000) return;
    this.#sweptAt = now;
    if (this.#windows.size > 200_000) this.#windows.clear(); // bounds the memory; the counts start again
    for (const [name, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(name);
  }
}
