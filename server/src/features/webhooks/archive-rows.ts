// Defines how webhooks are stored in an archive. Imported webhooks have no secret and stay off until their owner turns
// them on. Events that occur in the meantime are kept as `missed`.
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, counter, mayReferTo, newRowId, owner, refersTo, time } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { list, oneOf, text, urlText } from '../../kit/http/shapes.ts';
import { entityNames, LastError, noTarget, type Scope, webhookEvents, webhookModes } from './contract.ts';
import { maxWebhooks } from './webhook.ts';

const allEvents = [...webhookEvents.agent, ...webhookEvents.app] as const;

export const webhookArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  webhooks: {
    columns: {
      workspace_id: owner,
      id: newRowId,
      app_id: refersTo('apps'),
      scope: oneOf('agent', 'app'),
      mode: oneOf(...webhookModes).default('push'), // older archives have none
      target_url: z.union([urlText, z.literal(noTarget)]),
      events: list(oneOf(...allEvents), 1, allEvents.length),
      entity_names: entityNames.nullable(),
      description: text(0, 500).nullable(),
      last_trigger_time: time.nullable(),
      last_error: LastError.nullable(),
      consecutive_failures: counter,
      disabled_at: time.nullable(),
      created_date: time,
      updated_date: time,
      created_by_id: mayReferTo('people'),
    },
    atMost: { per: 'app_id', rows: 2 * maxWebhooks },
    complete: checkWebhook,
  },
  webhook_sequences: {
    columns: { workspace_id: owner, webhook_id: refersTo('webhooks'), last_sequence: z.int().min(0).max(1e12) },
  },
};

function checkWebhook(row: Row): Row {
  const known: readonly string[] = webhookEvents[row.scope as Scope];
  if (!(row.events as string[]).every((event) => known.includes(event)))
    throw new ArchiveError(`events must be one of ${known.join(', ')}`);
  if ((row.mode === 'pull') !== (row.target_url === noTarget))
    throw new ArchiveError(`target_url must be ${noTarget} of pull webhooks, and only of these`);
  return row;
}
