// Finds out whether a webhook is sent the events of an app's records, whose deliveries then count towards the storage. That
// there is none is trusted for a minute.
import { sql } from 'kysely';
import { LatestMap } from '../../kit/latest-map.ts';
import type { Db } from '../../tables.ts';

/** Events of one entity. */
export interface StoredEvents {
  readonly app_id: string;
  readonly entity_name: string;
  readonly names: readonly string[];
  /** What their bodies and deliveries take, if there is one webhook. */
  readonly bytes: number;
}

const trustedMs = 60_000;

export function createDelivered(maxKnown: number) {
  /** When it was read that no webhook is sent these events. */
  const undelivered = new LatestMap<string, number>(maxKnown);
  const keyOf = ({ app_id, entity_name, names }: StoredEvents) => `${app_id} ${entity_name} ${names.join()}`;

  return {
    isKnownToBeNone(events: StoredEvents, now: Date): boolean {
      const readAt = undelivered.get(keyOf(events));
      return readAt !== undefined && Math.abs(now.getTime() - readAt) < trustedMs;
    },
    async read(
      db: Db,
      workspace: { readonly workspace_id: string },
      events: StoredEvents,
      now: Date,
    ): Promise<boolean> {
      const { rows } = await sql<{ found: boolean }>`select exists (select from webhooks
        where workspace_id = ${workspace.workspace_id} and app_id = ${events.app_id} and events && ${[...events.names]}::text[]
          and (entity_names is null or ${events.entity_name} = any(entity_names))) as found`.execute(db);
      const isDelivered = rows[0]?.found ?? false;
      if (!isDelivered) undelivered.set(keyOf(events), now.getTime());
      return isDelivered;
    },
  };
}
