// The log of a webhook's deliveries, which apps and agents have alike.

import type { Plinth, Replayed, WebhookDelivery } from '../../sdk/src/index.ts';
import type { Cli } from './cli.ts';
import { CommandError } from './exit.ts';
import { findId, quote } from './names.ts';
import type { AppOption } from './options.ts';

export interface WebhookOptions extends AppOption {
  readonly agent?: string;
}

export interface Replay {
  readonly statuses?: ('pending' | 'delivered' | 'failed' | 'missed' | 'expired')[];
  readonly after_seq?: number;
  readonly to_seq?: number;
  readonly limit?: number;
}

interface DeliveryFilter {
  readonly status?: WebhookDelivery['status'];
  readonly after_seq?: number;
}

/** One webhook, of an app or an agent. */
export interface WebhookLog {
  readonly webhook_id: string;
  readonly target_url: string;
  /** What people call it, in quotes. */
  readonly name: string;
  list(filter: DeliveryFilter): AsyncIterable<WebhookDelivery>;
  replay(replay: Replay): PromiseLike<Replayed>;
  stream(): AsyncIterable<{ readonly event: string; readonly data: unknown }>;
}

/** The webhook with this id, description or address; without a name the only one. */
export async function openWebhookLog(
  cli: Cli,
  wished: string | undefined,
  { app, agent }: WebhookOptions,
): Promise<WebhookLog> {
  if (agent !== undefined) {
    const { plinth, agent_id } = await cli.connectToAgent(agent);
    const webhook = await choose(plinth, { agent_id }, wished, await plinth.listAgentWebhooks({ agent_id }));
    const ids = { agent_id, webhook_id: webhook.id };
    return {
      webhook_id: webhook.id,
      target_url: webhook.target_url,
      name: nameOf(webhook),
      list: (filter) => plinth.listAgentDeliveries({ ...ids, ...filter }, { signal: cli.signal }),
      replay: (replay) => plinth.replayAgentWebhook({ ...ids, ...replay }),
      stream: () => plinth.streamAgentDeliveries(ids, { signal: cli.signal }).stream(),
    };
  }
  const { plinth, app_id } = await cli.connectToApp(app);
  const webhook = await choose(plinth, { app_id }, wished, await plinth.listAppWebhooks({ app_id }));
  const ids = { app_id, webhook_id: webhook.id };
  return {
    webhook_id: webhook.id,
    target_url: webhook.target_url,
    name: nameOf(webhook),
    list: (filter) => plinth.listAppDeliveries({ ...ids, ...filter }, { signal: cli.signal }),
    replay: (replay) => plinth.replayAppWebhook({ ...ids, ...replay }),
    stream: () => plinth.streamAppDeliveries(ids, { signal: cli.signal }).stream(),
  };
}

interface Choice {
  readonly id: string;
  readonly target_url: string;
  readonly description: string | null;
}

const nameOf = ({ description, target_url }: Omit<Choice, 'id'>): string => quote(description ?? target_url);

async function choose<Webhook extends Choice>(
  plinth: Plinth,
  owner: Readonly<Record<string, string>>,
  wished: string | undefined,
  webhooks: readonly Webhook[],
): Promise<Webhook> {
  const id = wished === undefined ? undefined : await findId(plinth, 'webhook_id', wished, owner);
  const found = webhooks.filter((webhook) => id === undefined || webhook.id === id);
  const [webhook] = found;
  if (webhook === undefined)
    throw new CommandError(
      id === undefined ? 'There is no webhook yet.' : `There is no webhook ${quote(wished ?? '')}.`,
      'not_found',
    );
  if (found.length > 1)
    throw new CommandError(`Which webhook? Name one of them: ${found.map(nameOf).join(', ')}`, 'ambiguous');
  return webhook;
}
