// The entry point of webhooks: endpoints that receive the events of agents and apps, and the log of every delivery.
import type { Mail } from '../../gateways/mail/index.ts';
import { type DeliveryMetrics, deliveryQueueOf, type WebhookJobDeps, warningQueue, webhookJobs } from './background.ts';
import { listenForDeliveries } from './fan-out.ts';
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
    listeners: [listenForDeliveries(deps.wake)],
    queues: [deliveryQueueOf(deps), warningQueue(deps)],
    jobs: webhookJobs(deps),
    /** What the members feature needs to turn off the webhooks of a member who is removed. */
    pauseWebhooksOf,
  };
}
