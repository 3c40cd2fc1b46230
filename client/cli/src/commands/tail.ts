// `plinthctl tail`: prints what happens, as it happens, until Ctrl+C.

import type { AuditEntry, StreamedWebhookDelivery, WebhookDelivery, WorkflowRun } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { agentOption, appOption } from '../options.ts';
import { colour } from '../output.ts';
import { parseNumber } from '../values.ts';
import { poll } from '../waiting.ts';
import { openWebhookLog, type WebhookOptions } from '../webhook-log.ts';

interface TailOptions extends WebhookOptions {
  readonly count?: number;
  readonly type?: string;
}

const waiting = 'Waiting for what comes next; Ctrl+C ends it.';

const countOption = ['--count <number>', 'end after so many lines', parseNumber] as const;

export const define: Define = (command, cli) => {
  command
    .command('audit')
    .description("Follow the workspace's audit log")
    .option('--type <types>', 'only these, such as app.* or app.published,member.removed')
    .option(...countOption)
    .action((options: TailOptions) => tailAudit(cli, options));
  command
    .command('deliveries')
    .description('Follow the deliveries of a webhook')
    .argument('[webhook]', 'its id, description or address; needed if there is more than one')
    .option(...appOption)
    .option(...agentOption)
    .option(...countOption)
    .action((webhook: string | undefined, options: TailOptions) => tailDeliveries(cli, webhook, options));
  command
    .command('runs')
    .description('Follow the runs of the workflows of an app')
    .option(...appOption)
    .option(...countOption)
    .action((options: TailOptions) => tailRuns(cli, options));
};

/** Prints lines until there are as many as wanted. Returns whether more are wanted. */
function createPrinter<Item>(cli: Cli, count: number | undefined, describe: (item: Item) => string) {
  let printed = 0;
  return async (item: Item): Promise<boolean> => {
    await cli.output.line(item, () => describe(item));
    printed += 1;
    return count === undefined || printed < count;
  };
}

const time = (at: string): string => colour('dim', at.slice(11, 19));

/** Entries have a number once they are sealed, a few seconds after they were written. Then none is missed. */
async function tailAudit(cli: Cli, { count, type }: TailOptions): Promise<void> {
  const { plinth, url } = await cli.connect();
  const filter = type === undefined ? {} : { type };
  const [newest] = (await plinth.listAuditLog({ limit: 50 })).items.filter(({ sequence }) => sequence !== null);
  let last = newest?.sequence ?? 0;
  cli.output.say(`Following the audit log of ${url}${type === undefined ? '' : `, only ${type}`}. ${waiting}`);
  const print = createPrinter<AuditEntry>(cli, count, ({ occurred_at, type, actor, target, outcome }) =>
    [
      time(occurred_at),
      outcome === 'refused' ? colour('red', type) : type,
      `${target.kind} ${target.id}`,
      `by ${actor.email ?? actor.kind.replaceAll('_', ' ')}`,
    ].join('  '),
  );
  await poll(async () => {
    const entries: AuditEntry[] = [];
    for await (const entry of plinth.listAuditLog({ ...filter, after_sequence: last }, { signal: cli.signal }))
      entries.push(entry);
    entries.sort((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
    last = Math.max(last, entries.at(-1)?.sequence ?? 0);
    for (const entry of entries) if (!(await print(entry))) return false;
    return true;
  }, cli.signal);
}

async function tailDeliveries(cli: Cli, webhook: string | undefined, options: TailOptions): Promise<void> {
  const log = await openWebhookLog(cli, webhook, options);
  const print = createPrinter<WebhookDelivery>(
    cli,
    options.count,
    ({ created_date, sequence, event_type, status, last_status_code }) =>
      [time(created_date), `#${sequence}`, event_type, status, last_status_code ?? ''].join('  ').trimEnd(),
  );
  let isReady = false;
  for await (const { event, data } of log.stream()) {
    if (event === 'ready') {
      if (!isReady) cli.output.say(`Following the deliveries of ${log.name}. ${waiting}`);
      isReady = true;
      continue;
    }
    const delivery = event === 'delivery' ? (data as StreamedWebhookDelivery).delivery : (data as WebhookDelivery);
    if (!(await print(delivery))) return;
  }
}

async function tailRuns(cli: Cli, { app: named, count }: TailOptions): Promise<void> {
  const { app, app_id } = await cli.connectToApp(named);
  cli.output.say(`Following the runs of the workflows of the app ${named ?? app_id}. ${waiting}`);
  const since = new Date().toISOString();
  const seen = new Map<string, string>();
  const print = createPrinter<WorkflowRun>(
    cli,
    count,
    ({ started_at, workflow_name, status, status_reason, error_message, steps_count }) =>
      [
        time(started_at),
        workflow_name,
        status === 'failed' ? colour('red', status) : status,
        `${steps_count} steps`,
        error_message ?? status_reason ?? '',
      ]
        .join('  ')
        .trimEnd(),
  );
  await poll(async () => {
    const runs: WorkflowRun[] = [];
    for await (const run of app.listAppRuns({ since }, { signal: cli.signal })) runs.push(run);
    for (const run of runs.reverse()) {
      if (seen.get(run.run_id) === run.status) continue;
      seen.set(run.run_id, run.status);
      if (!(await print(run))) return false;
    }
    return true;
  }, cli.signal);
}
