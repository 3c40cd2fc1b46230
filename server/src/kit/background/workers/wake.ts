// Owns wake-ups: hints over Redis that there is something to do. A hint may be lost; the poll is the guarantee.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { newId } from '../../ids.ts';

export interface WakeUps {
  /** Tells every worker that `topic` has something to do: at once, and what follows within milliseconds together. */
  notify(topic: string): void;
  /** Calls `heard` at each hint about `topic`, from this process or any other; gives the way to stop that. */
  listen(topic: string, heard: () => void): () => void;
  /** How long a loop that listens may rest: longer while hints come through. */
  pollMs(): number;
  close(): void;
}

const gatherMs = 2;
const pollMs = { hearing: 2_000, deaf: 500 };

const options = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  enableReadyCheck: false,
  connectTimeout: 1_000,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000),
};

export function openWakeUps(url: string, prefix: string): WakeUps {
  const channel = `${prefix}wake`;
  const self = newId();
  const listeners = new Map<string, Set<() => void>>();
  const told = new Set<string>();
  const sender = new Redis(url, options);
  sender.on('error', () => {}); // readiness says whether Redis can be reached
  let receiver: Redis | undefined;
  let timer: NodeJS.Timeout | undefined;

  const tellHere = (topic: string) => {
    for (const listener of listeners.get(topic) ?? []) listener();
  };
  const send = () => {
    timer = undefined;
    if (told.size === 0) return;
    if (sender.status === 'ready') sender.publish(channel, [self, ...told].join(' ')).catch(() => {});
    told.clear();
    timer = setTimeout(send, gatherMs);
  };
  return {
    notify(topic) {
      tellHere(topic); // whoever listens in this process need not wait for the way there and back
      told.add(topic);
      if (timer === undefined) send();
    },
    listen(topic, listener) {
      const heard = listeners.get(topic) ?? new Set();
      listeners.set(topic, heard.add(listener));
      receiver ??= subscribe(url, channel, (message) => {
        const [from, ...topics] = message.split(' ');
        if (from !== self) for (const topic of topics) tellHere(topic);
      });
      return () => {
        heard.delete(listener);
        if (heard.size === 0 && listeners.get(topic) === heard) listeners.delete(topic);
      };
    },
    pollMs: () => (receiver?.status === 'ready' ? pollMs.hearing : pollMs.deaf),
    close() {
      clearTimeout(timer);
      sender.disconnect();
      receiver?.disconnect();
    },
  };
}

function subscribe(url: string, channel: string, onMessage: (message: string) => void): Redis {
  const redis = new Redis(url, options);
  redis.on('error', () => {});
  redis.on('ready', () => void redis.subscribe(channel).catch(() => {}));
  redis.on('message', (_channel, message) => onMessage(message));
  return redis;
}

/** A loop's rest between two turns: until the time is up, somebody wakes it, or it is to stop. */
export class WakeableSleep {
  #woken = false;
  #ring: (() => void) | undefined;

  /** Ends the present rest, or the next one before it begins: a hint that comes during a turn is not lost. */
  wake = (): void => {
    this.#woken = true;
    this.#ring?.();
  };

  async sleep(ms: number, stop: AbortSignal): Promise<void> {
    if (!this.#woken && !stop.aborted) {
      const rung = new AbortController();
      this.#ring = () => rung.abort();
      await sleep(ms, undefined, { signal: AbortSignal.any([stop, rung.signal]) }).catch(() => {});
      this.#ring = undefined;
    }
    this.#woken = false;
  }
}
