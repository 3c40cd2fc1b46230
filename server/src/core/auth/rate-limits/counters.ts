// The rate-limit counters: fixed windows in Redis, shared by all processes. While Redis is unavailable, each
// process counts separately, and every response reports this with `X-Partial-Result: rate_limit`.
//
// All counts from one turn of the event loop are sent in one command, because the overhead of a command is larger than
// the cost of a count. Each request still gets the exact value of its own count.
import { Redis } from 'ioredis';

export interface Count {
  readonly count: number;
  readonly resetMs: number;
  /** False if only this process counted. */
  readonly shared: boolean;
}

export interface Counters {
  /** Adds `by` (default 1) to a counter and returns its new value. Adding 0 only reads the counter. */
  add(name: string, windowSeconds: number, by?: number): Promise<Count>;
  /** Whether Redis responded the last time this process used it. */
  isConnected(): boolean;
  close(): void;
}

// For each counter, takes the window length in milliseconds and the step, and returns the new value and the
// milliseconds until the window ends. The first count of a window sets its end.
const script = `
local counted = {}
for i, key in ipairs(KEYS) do
  local windowMs, step = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local value = redis.call('INCRBY', key, step)
  counted[2 * i - 1] = value
  if value == step then
    redis.call('PEXPIRE', key, windowMs)
    counted[2 * i] = windowMs
  else
    counted[2 * i] = redis.call('PTTL', key)
  end
end
return counted`;

// A hanging Redis must not delay every request. If it has not replied for this long, the connection is dropped and the
// waiting requests are counted locally. One timer per connection costs less than a timer per command. The time is
// measured in ticks instead of milliseconds, so a process that was itself busy does not drop a Redis that has replied.
const tickMs = 125;
const maxSilentTicks = 2;
const maxRetryDelayMs = 1_000;

interface CountingRedis extends Redis {
  countUp(keyCount: number, ...keysThenWindowsAndSteps: (string | number)[]): Promise<number[]>;
}

/** The counts from one turn of the event loop. Counts for the same counter are added up. */
interface Turn {
  readonly counters: Map<string, { readonly index: number; readonly windowMs: number; step: number }>;
  readonly counted: Promise<number[]>;
}

/**
 * Calls `onChange` with false when the connection is lost or can't be opened, and with true when Redis responds again.
 */
export function openCounters(
  url: string,
  prefix: string,
  onChange: (isConnected: boolean) => void = () => {},
): Counters {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false, // a server that is still loading returns an error, which is caught below
    disconnectTimeout: 100,
    connectTimeout: 1_000,
    retryStrategy: (attempt: number) => Math.min(attempt * 50, maxRetryDelayMs),
    scripts: { countUp: { lua: script } },
  }) as CountingRedis;
  redis.on('error', () => {}); // reported by `onChange`, /readyz and the response headers
  const connection = watchConnection(redis, onChange);
  const local = new LocalCounters();
  let pending = 0;
  let silentTicks = 0;
  let timer: NodeJS.Timeout | undefined; // started by the first count, because workers rarely count
  const dropIfSilent = () => {
    if (pending === 0) return;
    silentTicks += 1;
    if (silentTicks <= maxSilentTicks) return;
    silentTicks = 0;
    redis.disconnect(true);
  };
  let turn: Turn | undefined;

  function beginTurn(): Turn {
    const { promise, resolve } = Promise.withResolvers<number[]>();
    const counters: Turn['counters'] = new Map();
    // Runs once all requests that have arrived have been read, and before the process waits for more.
    setImmediate(() => {
      turn = undefined;
      resolve(send(counters));
    });
    return { counters, counted: promise };
  }

  async function send(counters: Turn['counters']): Promise<number[]> {
    pending += 1;
    try {
      const keys = Array.from(counters.keys(), (name) => prefix + name);
      const steps = Array.from(counters.values(), ({ windowMs, step }) => [windowMs, step]).flat();
      const counted = await redis.countUp(keys.length, ...keys, ...steps);
      silentTicks = 0;
      connection.confirm();
      return counted;
    } finally {
      pending -= 1;
    }
  }

  return {
    async add(name, windowSeconds, by = 1) {
      if (redis.status !== 'ready') return local.add(name, windowSeconds, by);
      timer ??= setInterval(dropIfSilent, tickMs).unref();
      if (pending === 0) silentTicks = 0;
      turn ??= beginTurn();
      const { counters, counted } = turn;
      const counter = counters.get(name) ?? { index: counters.size, windowMs: windowSeconds * 1000, step: 0 };
      counters.set(name, counter);
      counter.step += by;
      const stepUpToHere = counter.step;
      try {
        const answer = await counted;
        const value = answer[2 * counter.index] as number;
        const resetMs = answer[2 * counter.index + 1] as number;
        return { count: value - counter.step + stepUpToHere, resetMs, shared: true };
      } catch {
        // Redis may have counted part of the turn before it failed. Counting that part twice is better than not
        // counting it at all.
        return local.add(name, windowSeconds, by);
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
 * Tracks whether Redis responds. An open connection is not enough, because a hanging server still accepts connections
 * and would repeatedly be reported as lost and restored.
 */
function watchConnection(redis: Redis, onChange: (isConnected: boolean) => void) {
  let state: 'unknown' | 'answers' | 'lost' = 'unknown';
  const confirm = () => {
    if (state === 'lost') onChange(true);
    state = 'answers';
  };
  const ask = () =>
    redis.ping().then(confirm, () => {
      if (redis.status === 'ready') setTimeout(ask, maxRetryDelayMs).unref(); // Redis is still loading its data
    });
  const onClose = () => {
    if (state !== 'lost') onChange(false);
    state = 'lost';
  };
  redis.on('ready', ask);
  redis.on('close', onClose);
  return { confirm, isConfirmed: () => state === 'answers', stop: () => redis.off('close', onClose) };
}

/** Counters with the same windows, but in memory. */
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
    if (this.#windows.size > 200_000) this.#windows.clear(); // limits memory use; all counts restart at 0
    for (const [name, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(name);
  }
}
