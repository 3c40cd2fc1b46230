// `plinthctl webhooks`: which deliveries are missing, and sending them again.

import type { WebhookDelivery } from '../../../sdk/src/index.ts';
import { Sequence } from '../../../sdk/src/webhooks.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError } from '../exit.ts';
import { agentOption, appOption, collect } from '../options.ts';
import { table } from '../output.ts';
import { parseNumber, readValue } from '../values.ts';
import { openWebhookLog, type Replay, type WebhookLog, type WebhookOptions } from '../webhook-log.ts';

interface MissingOptions extends WebhookOptions {
  readonly received?: string;
}

interface ReplayOptions extends WebhookOptions {
  readonly status?: readonly string[];
  readonly after?: number;
  readonly to?: number;
  readonly limit?: number;
}

const webhookArgument = ['[webhook]', 'its id, description or address; needed if there is more than one'] as const;

export const define: Define = (command, cli) => {
  command
    .command('missing')
    .description('List the deliveries that your endpoint has not accepted, or the numbers that you have not received')
    .argument(...webhookArgument)
    .option(...appOption)
    .option(...agentOption)
    .option('--received <file>', 'the numbers that you have received, one per line: @file, or - for stdin')
    .action((webhook: string | undefined, options: MissingOptions) => listMissing(cli, webhook, options));
  command
    .command('replay')
    .description('Send deliveries again, at most ten per second; by default those that failed or were missed')
    .argument(...webhookArgument)
    .option(...appOption)
    .option(...agentOption)
    .option('--status <status>', 'failed, missed, pending, delivered or expired; can be repeated', collect)
    .option('--after <number>', 'only those after this sequence number', parseNumber)
    .option('--to <number>', 'only those up to this sequence number', parseNumber)
    .option('--limit <number>', 'at most so many; 1,000 by default', parseNumber)
    .action((webhook: string | undefined, options: ReplayOptions) => replay(cli, webhook, options));
};

async function listMissing(cli: Cli, webhook: string | undefined, options: MissingOptions): Promise<void> {
  const log = await openWebhookLog(cli, webhook, options);
  if (options.received !== undefined) return listNotReceived(cli, log, options.received);
  const items: WebhookDelivery[] = [];
  for (const status of ['failed', 'missed', 'held', 'expired', 'pending'] as const)
    for await (const delivery of log.list({ status })) items.push(delivery);
  items.sort((a, b) => a.sequence - b.sequence);
  await cli.output.show({ webhook_id: log.webhook_id, items }, () =>
    table(
      items,
      [
        ['number', ({ sequence }) => sequence],
        ['status', ({ status }) => status],
        ['event', ({ event_type }) => event_type],
        ['attempts', ({ attempts_made }) => attempts_made],
        ['answer', ({ last_status_code }) => last_status_code],
        ['created', ({ created_date }) => created_date],
      ],
      `${log.target_url} has accepted everything.`,
    ),
  );
}

/** Compares the numbers that a receiver has stored with those of the log, whose numbers have no gaps. */
async function listNotReceived(cli: Cli, log: WebhookLog, source: string): Promise<void> {
  const numbers = (await readValue(source)).split(/\s+/).filter((text) => text !== '');
  if (numbers.some((text) => !/^\d+$/.test(text)))
    throw new CommandError('--received must contain numbers only, one per line.');
  const received = new Sequence();
  for (const text of numbers) received.add(Number(text));
  const missing: number[] = [...received.missing];
  const highest = Math.max(0, ...numbers.map(Number));
  for await (const { sequence } of log.list({ after_seq: highest })) missing.push(sequence);
  const last = missing.at(-1) ?? highest;
  await cli.output.show({ webhook_id: log.webhook_id, up_to: Math.max(last, highest), missing }, () =>
    missing.length === 0
      ? `Nothing is missing up to ${highest}.`
      : `Missing: ${missing.join(', ')}. Send them again with: plinthctl webhooks replay --status delivered --status failed --status missed --after ${(missing[0] ?? 1) - 1} --to ${last}`,
  );
}

async function replay(cli: Cli, webhook: string | undefined, options: ReplayOptions): Promise<void> {
  const log = await openWebhookLog(cli, webhook, options);
  const { status, after, to, limit } = options;
  const queued = await log.replay({
    ...(status !== undefined && { statuses: status as NonNullable<Replay['statuses']> }),
    ...(after !== undefined && { after_seq: after }),
    ...(to !== undefined && { to_seq: to }),
    ...(limit !== undefined && { limit }),
  });
  await cli.output.show(queued, () =>
    queued.queued === 0
      ? 'There was nothing to send again.'
      : queued.queued === 1
        ? `Sending delivery ${queued.first_seq} again.`
        : `Sending ${queued.queued} deliveries again, number ${queued.first_seq} to ${queued.last_seq}.`,
  );
}
