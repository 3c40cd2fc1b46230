// Pull webhooks, whose deliveries wait until a program has read them and acknowledges them
// (docs/api/webhooks.md#pull-webhooks).
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { noNotes, unchanged, withNotes } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { WebhookRow } from './contract.ts';
import { acknowledgeBatch, acknowledgedPerBatch } from './store/stream.ts';
import { recordRead } from './store/webhooks.ts';

export const webhookIsPull = (detail: string) => new Problem('conflict', 'webhook_is_pull', detail);

/** The topic of wake-ups for those who follow a webhook's deliveries. */
export const toStreamTopic = (webhook_id: string): string => `webhook:${webhook_id}`;

const maxAcknowledged = 100_000;

/** Acknowledges the oldest deliveries up to a number, at most 100,000 at a time. */
export async function acknowledge(
  db: Db,
  { webhook }: AppAccess & { readonly webhook: WebhookRow },
  { up_to_sequence }: { readonly up_to_sequence: number },
  wake: Pick<WakeUps, 'notify'>,
  now: Date,
) {
  if (webhook.mode === 'push')
    throw new Problem(
      'conflict',
      'webhook_is_push',
      'The deliveries of a push webhook are not acknowledged by calls. Answer each of them with a 2xx at the endpoint.',
    );
  let acknowledged = 0;
  for (let inBatch = acknowledgedPerBatch; inBatch === acknowledgedPerBatch && acknowledged < maxAcknowledged; ) {
    inBatch = await acknowledgeBatch(db, webhook, up_to_sequence, now);
    acknowledged += inBatch;
  }
  await recordRead(db, webhook, now);
  if (acknowledged === 0) return unchanged({ acknowledged });
  wake.notify(toStreamTopic(webhook.id));
  return withNotes({ acknowledged }, noNotes);
}
