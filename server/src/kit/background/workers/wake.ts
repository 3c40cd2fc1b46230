// Wake-ups: hints, sent through Redis, that there is work to do. Hints can be lost, so correctness relies on
// polling.
import { Redis } from 'ioredis';
import { newId } from '../../ids.ts';

export interface WakeUps {
  /**
   * Wakes all listeners on `topic`, in any process. Sends the first hint immediately, and batches hints that follow
   * within 2 ms.
   */
  notify(topic: string): void;
  /** Wakes only this process's listeners on `topic`. */
  notifyLocally(topic: string): void;
  /** Calls `onWake` for each hint on `topic`. Returns a function that stops listening. */
  listen(topic: string, onWake: () => void): () => void;
  /** How long a loop may sleep between polls. The time is longer while Redis is connected. */
  pollMs(): number;
  close(): void;
}

const batchMs = 2;
const pollMs = { connected: 2_000, disconnected: 500 };

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
  const pendingTopics = new Set<string>();
  const sender = new Redis(url, options);
  sender.on('error', () => {}); // `/readyz` reports whether Redis can be reached
  let receiver: Redis | undefined;
  let timer: NodeJS.Timeout | undefined;

  const notifyLocally = (topic: string) => {
    for (const listener of listeners.get(topic) ?? []) listener();
  };
  const sendPending = () => {
    timer = undefined;
    if (pendingTopics.size === 0) return;
    if (sender.status === 'ready') sender.publish(channel, [self, ...pendingTopics].join(' ')).catch(() => {});
    pendingTopics.clear();
    timer = setTimeout(sendPending, batchMs);
  };
  return {
    notify(topic) {
      notifyLocally(topic); // this process's listeners don't need to wait for Redis
      pendingTopics.add(topic);
      if (timer === undefined) sendPending();
    },
    notifyLocally,
    listen(topic, listener) {
      const topicListeners = listeners.get(topic) ?? new Set();
      listeners.set(topic, topicListeners.add(listener));
      receiver ??= subscribe(url, channel, (message) => {
        const [from, ...topics] = message.split(' ');
        if (from !== self) for (const topic of topics) notifyLocally(topic);
      });
      return () => {
        topicListeners.delete(listener);
        if (topicListeners.size === 0 && listeners.get(topic) === topicListeners) listeners.delete(topic);
      };
    },
    pollMs: () => (receiver?.status === 'ready' ? pollMs.connected : pollMs.disconnected),
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

/** A sleep that `wake` can end early. */
export class WakeableSleep {
  #woken = false;
  #interrupt: (() => void) | undefined;

  /** Ends the current sleep, or else the next one as soon as it starts, so a hint between two sleeps is not lost. */
  wake = (): void => {
    this.#woken = true;
    this.#interrupt?.();
  };

  async sleep(ms: number, stop: AbortSignal): Promise<void> {
    if (!this.#woken && !stop.aborted) {
      // Uses no AbortController, because creating its abort error takes longer than the rest of a wake-up.
      const { promise, resolve } = Promise.withResolvers<void>();
      const interrupt = () => resolve();
      const timer = setTimeout(interrupt, ms);
      stop.addEventListener('abort', interrupt);
      this.#interrupt = interrupt;
      await promise;
      this.#interrupt = undefined;
      stop.removeEventListener('abort', interrupt);
      clearTimeout(timer);
    }
    this.#woken = false;
  }
}
