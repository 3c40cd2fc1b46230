// The entry point of webhooks, which send agents' and apps' events to endpoints and log every delivery.
import type { Metrics } from '../../kit/metrics.ts';
import { deliveryQueueOf, type WebhookJobDeps, warningQueue, webhookJobs } from './background.ts';
import { listenForDeliveries } from './fan-out.ts';
import { type WebhookDeps, webhookRoutes } from './routes.ts';
import { createSigner } from './signing.ts';
import { pauseWebhooksOf } from './webhook.ts';

export { webhookArchiveTables } from './archive-rows.ts';

type WebhookFeatureDeps = Omit<WebhookDeps, 'signer'> & WebhookJobDeps & { readonly metrics: Metrics };

export function webhooks({ metrics, ...external }: WebhookFeatureDeps) {
  const deps = {
    ...external,
    signer: createSigner(external.secrets),
    onAttempt: metrics.addOutcomes(
      'plinth_webhook_attempt',
      'Attempts to deliver to a webhook, by outcome',
      [0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ),
    onFirstAttempt: metrics.addHistogram(
      'plinth_webhook_first_attempt_seconds',
      'Time from an event to the end of the first attempt to deliver it',
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    ),
  };
  return {
    routes: webhookRoutes(deps),
    listeners: [listenForDeliveries(deps.wake)],
    queues: [deliveryQueueOf(deps), warningQueue(deps)],
    jobs: webhookJobs(deps),
    /** Lets the members feature turn off a removed member's webhooks. */
    pauseWebhooksOf,
  };
}
