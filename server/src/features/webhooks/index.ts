// The entry point of webhooks: endpoints that receive the events of agents and apps, and the log of every delivery.
import { listenAfterCommit } from '../../events.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import { afterCommit } from '../../kit/db/database.ts';
import { type DeliveryMetrics, deliveryQueueOf, type WebhookJobDeps, warningQueue, webhookJobs } from './background.ts';
import { webhookEvents } from './contract.ts';
import { deliveryQueue } from './delivery.ts';
import { fanOut } from './fan-out.ts';
import { type WebhookDeps, webhookRoutes } from './routes.ts';
import { createSigner } from './signing.ts';
import { pauseWebhooksOf } from './webhook.ts';

export { webhookArchiveTables } from './archive-rows.ts';

type WebhookFeatureDeps = Omit<WebhookDeps, 'signer'> &
  WebhookJobDeps &
  DeliveryMetrics & { readonly mail: Mail; readonly baseUrl: string };

export function webhooks(external: WebhookFeatureDeps) {
  const deps = { ...external, signer: createSigner(external.secrets) };
  return {
    routes: webhookRoutes(deps),
    listeners: [
      listenAfterCommit([...webhookEvents.agent, ...webhookEvents.app], async (db, events, now) => {
        if ((await fanOut(db, events, now)) > 0) afterCommit(db, () => deps.wake.notify(deliveryQueue));
      }),
    ],
    queues: [deliveryQueueOf(deps), warningQueue(deps)],
    jobs: webhookJobs(deps),
    /** What the members feature needs to turn off the webhooks of a member who is removed. */
    pauseWebhooksOf,
  };
}
