// Remembers apps that have recently sent an event again. They may do so again, so their event ids are looked up
// before the events are stored.
import { LatestMap } from '../../kit/latest-map.ts';

const rememberedMs = 60_000;
/**
 * If more apps repeat events, some are forgotten. Their next repeated event makes one more transaction fail, but no
 * data is lost.
 */
const maxApps = 10_000;

export interface RepeatingApps {
  has(app_id: string, now: Date): boolean;
  add(app_id: string, now: Date): void;
}

export function createRepeatingApps(): RepeatingApps {
  const rememberedUntil = new LatestMap<string, number>(maxApps);
  return {
    has: (app_id, now) => (rememberedUntil.get(app_id) ?? 0) > now.getTime(),
    add: (app_id, now) => {
      rememberedUntil.set(app_id, now.getTime() + rememberedMs);
    },
  };
}
