// The pull webhook that `plinthctl listen` reads: what it needs of the operations for apps and for agents, and the
// webhook itself, which is created at the first start.
import { hostname } from 'node:os';
import { isPlinthError, type Plinth } from '../../../sdk/src/index.ts';
import { CommandError, exitCodes } from '../exit.ts';
import type { Output } from '../output.ts';
import type { PositionFile } from './position.ts';

/** The operations on the webhooks of one app or agent. */
export interface Webhooks {
  readonly ownerId: string;
  readonly allEvents: readonly string[];
  create(fields: { readonly description: string; readonly events: readonly string[] }): PromiseLike<Webhook>;
  get(webhook_id: string): PromiseLike<Webhook>;
  update(webhook_id: string, change: WebhookChange): PromiseLike<Webhook>;
  stream(webhook_id: string, after_seq: number | undefined, signal: AbortSignal): AsyncIterable<StreamedEvent>;
  ack(webhook_id: string, up_to_sequence: number): PromiseLike<unknown>;
  /** Whether the log has a delivery after this number. */
  hasAfter(webhook_id: string, after_seq: number): Promise<boolean>;
}

interface Webhook {
  readonly id: string;
  readonly mode: 'push' | 'pull';
  readonly events: readonly string[];
  readonly disabled_at: string | null;
  readonly secret?: string | null;
}

interface WebhookChange {
  readonly enabled?: boolean;
  readonly events?: readonly string[];
}

type App = ReturnType<Plinth['app']>;
type EventOf<Call extends { stream(): AsyncIterable<unknown> }> =
  ReturnType<Call['stream']> extends AsyncIterable<infer Event> ? Event : never;
export type StreamedEvent = EventOf<ReturnType<App['streamAppDeliveries']>>;
export type StreamedDelivery = Extract<StreamedEvent, { event: 'delivery' }>['data'];

const after = (after_seq: number | undefined) => (after_seq === undefined ? {} : { after_seq });

export function webhooksOfApp(plinth: Plinth, app_id: string): Webhooks {
  const app = plinth.app(app_id);
  type Events = Parameters<App['createAppWebhook']>[0]['events'];
  return {
    ownerId: app_id,
    allEvents: ['entity.created', 'entity.updated', 'entity.deleted'],
    create: ({ events, ...fields }) => app.createAppWebhook({ ...fields, mode: 'pull', events: events as Events }),
    get: (webhook_id) => app.getAppWebhook({ webhook_id }),
    update: (webhook_id, { events, ...change }) =>
      app.updateAppWebhook({ webhook_id, ...change, ...(events && { events: events as Events }) }),
    stream: (webhook_id, from, signal) => app.streamAppDeliveries({ webhook_id, ...after(from) }, { signal }).stream(),
    ack: (webhook_id, up_to_sequence) => app.ackAppDeliveries({ webhook_id, up_to_sequence }),
    hasAfter: async (webhook_id, after_seq) =>
      (await app.listAppDeliveries({ webhook_id, after_seq, limit: 1 })).items.length > 0,
  };
}

export function webhooksOfAgent(plinth: Plinth, agent_id: string): Webhooks {
  const agent = plinth.agent(agent_id);
  type Events = Parameters<typeof agent.createAgentWebhook>[0]['events'];
  return {
    ownerId: agent_id,
    allEvents: ['message.created', 'message.completed'],
    create: ({ events, ...fields }) => agent.createAgentWebhook({ ...fields, mode: 'pull', events: events as Events }),
    get: (webhook_id) => agent.getAgentWebhook({ webhook_id }),
    update: (webhook_id, { events, ...change }) =>
      agent.updateAgentWebhook({ webhook_id, ...change, ...(events && { events: events as Events }) }),
    stream: (webhook_id, from, signal) =>
      agent.streamAgentDeliveries({ webhook_id, ...after(from) }, { signal }).stream(),
    ack: (webhook_id, up_to_sequence) => agent.ackAgentDeliveries({ webhook_id, up_to_sequence }),
    hasAfter: async (webhook_id, after_seq) =>
      (await agent.listAgentDeliveries({ webhook_id, after_seq, limit: 1 })).items.length > 0,
  };
}

export interface WebhookChoice {
  /** The webhook that the person named. */
  readonly named: string | undefined;
  readonly events: readonly string[] | undefined;
}

/** Finds the webhook of the last time, or creates one. Turns it on, and subscribes it to the events that were named. */
export async function prepareWebhook(
  webhooks: Webhooks,
  file: PositionFile,
  { url, output }: { readonly url: string; readonly output: Pick<Output, 'say'> },
  { named, events }: WebhookChoice,
): Promise<string> {
  const known = named ?? (await file.read())?.webhook_id;
  const found = known === undefined ? undefined : await findWebhook(webhooks, known, named !== undefined);
  if (found === undefined) {
    const description = `plinthctl listen on ${hostname()}`.slice(0, 500);
    const { id, secret } = await webhooks.create({ description, events: events ?? webhooks.allEvents });
    await file.write({ url, webhook_id: id, ...(secret && { secret }) });
    output.say(`Created the pull webhook ${id}. To see its secret: plinthctl listen --print-secret`);
    return id;
  }
  if (found.mode === 'push')
    throw new CommandError(
      `The webhook ${found.id} sends its deliveries to an address, so nobody can acknowledge them. Listen without --webhook: a pull webhook is created.`,
      'webhook_is_push',
      exitCodes.refused,
    );
  const change = {
    ...(found.disabled_at !== null && { enabled: true }),
    ...(events && !isSame(events, found.events) && { events }),
  };
  if (Object.keys(change).length > 0) await webhooks.update(found.id, change);
  if (change.enabled) output.say(`The webhook ${found.id} was off. It is on again.`);
  return found.id;
}

/** Returns undefined if the webhook of the last time was deleted. */
async function findWebhook(webhooks: Webhooks, id: string, isNamed: boolean): Promise<Webhook | undefined> {
  try {
    return await webhooks.get(id);
  } catch (error) {
    if (!isNamed && isPlinthError(error, 'webhook_not_found')) return undefined;
    throw error;
  }
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each) => b.includes(each));
