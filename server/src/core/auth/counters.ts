// Owns the counting behind rate limits: fixed windows in Redis, shared by all processes. While Redis cannot be reached
// each process counts for itself, and says so on every answer.
import { Redis } from 'ioredis';

export interface Count {
  readonly count: number;
  readonly resetMs: number;
  /** False while this process counts alone. */
  readonly shared: boolean;
}

export interface Counters {
  /** Adds to a counter and gives what it then holds; `by` 0 only looks. */
  add(name: string, windowSeconds: number, by?: number): Promise<Count>;
  /** Whether counts are shared right now. */
  isConnected(): boolean;
  close(): void;
}

const script = `
local n = redis.call('INCRBY', KEYS[1], ARGV[2])
if n == tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) return {n, ARGV[1]} end
return {n, redis.call('PTTL', KEYS[1])}`;

// A Redis that hangs must not make every request wait for it. One watch over the connection, instead of a timer per
// command, drops a connection that has not answered for this long; what waits on it is then counted here.
const patienceMs = 250;
const longestRetryMs = 1_000;

interface CountingRedis extends Redis {
  countUp(key: string, windowMs: number, by: number): Promise<[number, number | string]>;
}

export function openCounters(url: string, prefix: string): Counters {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false, // a server still loading answers an error, which is caught like any other
    disconnectTimeout: 100,
    connectTimeout: 1_000,
    retryStrategy: (attempt: number) => Math.min(attempt * 50, longestRetryMs),
    scripts: { countUp: { lua: script, numberOfKeys: 1 } },
  }) as CountingRedis;
  redis.on('error', () => {}); // reported by readiness and by the headers of each answer
  const local = new LocalCounters();
  let waiting = 0;
  let heardAt = 0;
  let watching: NodeJS.Timeout | undefined; // from the first count on: a worker never counts
  const watch = () => {
    if (waiting === 0 || performance.now() - heardAt <= patienceMs) return;
    heardAt = performance.now(); // once per stall
    redis.disconnect(true);
  };
  return {
    async add(name, windowSeconds, by = 1) {
      if (redis.status !== 'ready') return local.add(name, windowSeconds, by);
      watching ??= setInterval(watch, patienceMs / 2).unref();
      if (waiting === 0) heardAt = performance.now();
      waiting += 1;
      try {
        const [count, left] = await redis.countUp(prefix + name, windowSeconds * 1000, by);
        heardAt = performance.now();
        return { count, resetMs: Number(left), shared: true };
      } catch {
        return local.add(name, windowSeconds, by);
      } finally {
        waiting -= 1;
      }
    },
    isConnected: () => redis.status === 'ready',
    close: () => {
      clearInterval(watching);
      redis.disconnect();
    },
  };
}

class LocalCounters {
  readonly #windows = new Map<string, { count: number; endsAt: number }>();

  #sweptAt = 0;

  add(name: string, windowSeconds: number, by: number): Count {
    const now = Date.now();
    let window = this.#windows.get(name);
    if (window === undefined || window.endsAt <= now) {
      this.#forgetEnded(now);
      window = { count: 0, endsAt: now + windowSeconds * 1000 };
      this.#windows.set(name, window);
    }
    window.count += by;
    return { count: window.count, resetMs: window.endsAt - now, shared: false };
  }

  #forgetEnded(now: number): void {
    if (this.#windows.size < 10_000 || now - this.#sweptAt < 1_000) return;
    this.#sweptAt = now;
    if (this.#windows.size > 200_000) this.#windows.clear(); // more callers than one process can tell apart
    for (const [name, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(name);
  }
}
