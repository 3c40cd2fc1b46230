// `plinthctl listen`: forwards the deliveries of a pull webhook to a local address, or prints them. A delivery is
// acknowledged after the receiver has answered with a 2xx, so none is lost when this program is killed.
import { setTimeout as wait } from 'node:timers/promises';
import { isPlinthError } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { type Acknowledger, createAcknowledger } from '../listen/acknowledge.ts';
import { createForward, type Forward, parseTarget } from '../listen/forward.ts';
import { openPosition, type Position, type PositionFile } from '../listen/position.ts';
import {
  prepareWebhook,
  type StreamedDelivery,
  type Webhooks,
  webhooksOfAgent,
  webhooksOfApp,
} from '../listen/webhook.ts';

interface ListenOptions {
  readonly app?: string;
  readonly agent?: string;
  readonly webhook?: string;
  readonly events?: readonly string[];
  readonly forwardTo?: string;
  readonly from?: string;
  readonly untilIdle?: string | true;
  readonly printSecret?: boolean;
}

export const define: Define = (command, cli) => {
  command
    .option('--app <app>', 'the id or name of the app whose events are wanted; by default that of plinth.json')
    .option('--agent <agent>', 'the id or name of the agent whose events are wanted, instead of an app')
    .option('--webhook <id>', 'a pull webhook of your own, instead of one that is created')
    .option('--events <types...>', 'the types of events, such as entity.created; by default all')
    .option('--forward-to <address>', 'where to send the deliveries; without it, they are printed')
    .option('--from <number>', 'begin with this number again, instead of where the last run stopped')
    .option('--until-idle [seconds]', 'end when nothing has come for this long; by default 3 seconds')
    .option('--print-secret', 'print the secret that signs the deliveries, and end')
    .action((options: ListenOptions) => listen(cli, options));
};

async function listen(cli: Cli, options: ListenOptions): Promise<void> {
  const forward = options.forwardTo === undefined ? undefined : createForward(parseTarget(options.forwardTo));
  const from = options.from === undefined ? undefined : parseNumber(options.from, '--from');
  const idleMs = options.untilIdle === undefined ? undefined : parseIdle(options.untilIdle);
  const { url, webhooks } = await openWebhooks(cli, options);
  const file = await openPosition(url, options.webhook ?? webhooks.ownerId);
  try {
    const { webhook: named, events } = options;
    const webhook_id = await prepareWebhook(webhooks, file, { url, output: cli.output }, { named, events });
    const stored = await file.read();
    const position: Position = stored?.webhook_id === webhook_id ? stored : { url, webhook_id };
    if (options.printSecret) return await printSecret(cli, position);
    const listener = { cli, webhooks, file, forward, idleMs };
    await follow(listener, from === undefined ? position : { ...position, sequence: from - 1 });
  } finally {
    await file.release();
  }
}

async function openWebhooks(cli: Cli, { app, agent }: ListenOptions): Promise<{ url: string; webhooks: Webhooks }> {
  if (agent === undefined) {
    const { plinth, url, app_id } = await cli.connectToApp(app);
    return { url, webhooks: webhooksOfApp(plinth, app_id) };
  }
  const { plinth, url, agent_id } = await cli.connectToAgent(agent);
  return { url, webhooks: webhooksOfAgent(plinth, agent_id) };
}

function parseNumber(text: string, name: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new CommandError(`${name} must be a number from 1.`);
  return Number(text);
}

const parseIdle = (value: string | true): number => 1000 * (value === true ? 3 : parseNumber(value, '--until-idle'));

async function printSecret(cli: Cli, { secret, webhook_id }: Position): Promise<void> {
  if (secret === undefined)
    throw new CommandError(
      'The secret of this webhook was shown when it was created, and is not known here.',
      'secret_unknown',
      exitCodes.refused,
    );
  if (cli.settings().json || cli.settings().jq !== undefined) await cli.output.show({ webhook_id, secret });
  else cli.output.raw(`${secret}\n`);
}

interface Listener {
  readonly cli: Cli;
  readonly webhooks: Webhooks;
  readonly file: PositionFile;
  readonly forward: Forward | undefined;
  readonly idleMs: number | undefined;
}

/** Follows the stream, and opens it again when it is lost, until the person stops it or nothing more comes. */
async function follow(listener: Listener, start: Position): Promise<void> {
  const { cli, webhooks, forward, idleMs } = listener;
  const acknowledger = createAcknowledger((sequence) => webhooks.ack(start.webhook_id, sequence));
  const reader = createReader(listener, start, acknowledger);
  cli.output.say(forward ? 'Forwarding deliveries. Ctrl+C ends it.' : 'Printing deliveries. Ctrl+C ends it.');
  try {
    for (let pauseMs = 1000; !cli.signal.aborted; ) {
      const countBefore = reader.count;
      try {
        if ((await reader.read()) === 'idle') break;
      } catch (error) {
        if (cli.signal.aborted) break;
        if (idleMs !== undefined || !isTemporary(error)) throw error;
        cli.output.say(`${error.message} Trying again in ${pauseMs / 1000} s.`);
        await wait(pauseMs, undefined, { signal: cli.signal }).catch(() => undefined);
        pauseMs = reader.count > countBefore ? 1000 : Math.min(2 * pauseMs, 30_000);
      }
    }
  } finally {
    await acknowledger.flush();
  }
  const { count, sequence } = reader;
  const received = count === 1 ? '1 delivery' : `${count} deliveries`;
  cli.output.say(count === 0 ? 'Nothing came.' : `Received ${received}, up to number ${sequence}.`);
}

/** The client has tried several times already. */
const isTemporary = (error: unknown): error is Error =>
  isPlinthError(error) &&
  (error.status === undefined
    ? ['unreachable', 'timeout'].includes(error.code)
    : error.status >= 500 || error.status === 429);

interface Reader {
  readonly count: number;
  readonly sequence: number | undefined;
  /** Reads the stream until it must be opened again, or nothing more comes. */
  read(): Promise<'again' | 'idle'>;
}

function createReader(
  { cli, webhooks, file, forward, idleMs }: Listener,
  start: Position,
  acknowledger: Acknowledger,
): Reader {
  const { webhook_id } = start;
  let { sequence } = start;
  let count = 0;

  async function receive(delivery: StreamedDelivery, openedAt: number): Promise<boolean> {
    const number = delivery.delivery.sequence;
    if (sequence !== undefined && number <= sequence) return true;
    sayGap(number);
    const received = forward
      ? await forwardUntilReceived(cli, forward, delivery, openedAt)
      : await print(cli, delivery);
    if (!received) return false;
    sequence = number;
    count += 1;
    await file.write({ ...start, sequence });
    acknowledger.note(sequence);
    return true;
  }

  function sayGap(next: number): void {
    if (sequence === undefined || next <= sequence + 1) return;
    const gap = next === sequence + 2 ? `Delivery ${next - 1} is` : `Deliveries ${sequence + 1} to ${next - 1} are`;
    cli.output.say(`${gap} no longer in the log.`);
    sequence = next - 1;
  }

  async function readOnce(idle: Idle): Promise<'again' | 'idle'> {
    const openedAt = Date.now();
    const signal = AbortSignal.any([cli.signal, idle.signal]);
    for await (const event of webhooks.stream(webhook_id, sequence, signal)) {
      idle.clear();
      if (event.event === 'ready') sayGap(event.data.from_sequence);
      if (event.event === 'delivery' && !(await receive(event.data, openedAt))) return 'again';
      if (cli.signal.aborted) return 'again';
      idle.start();
    }
    return 'again';
  }

  return {
    get count() {
      return count;
    },
    get sequence() {
      return sequence;
    },
    async read() {
      const idle = createIdle(idleMs);
      try {
        return await readOnce(idle);
      } catch (error) {
        if (idle.signal.aborted && !cli.signal.aborted)
          return sequence !== undefined && (await webhooks.hasAfter(webhook_id, sequence)) ? 'again' : 'idle';
        if (!isPlinthError(error, 'validation') || sequence === undefined) throw error;
        cli.output.say(
          `The server has no delivery ${sequence}: it was restored from a backup. Beginning with what nobody has acknowledged.`,
        );
        sequence = undefined;
        return 'again';
      } finally {
        idle.clear();
      }
    },
  };
}

interface Idle {
  readonly signal: AbortSignal;
  start(): void;
  clear(): void;
}

/** Aborts when nothing has come for this long. */
function createIdle(idleMs: number | undefined): Idle {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  return {
    signal: controller.signal,
    start() {
      if (idleMs !== undefined) timer = setTimeout(() => controller.abort(), idleMs);
    },
    clear: () => clearTimeout(timer),
  };
}

/**
 * Sends a delivery until the receiver answers with a 2xx. Returns false if it must be read again first: receivers refuse
 * signatures that are older than five minutes, and a delivery that waited behind others was signed some time ago.
 */
async function forwardUntilReceived(
  cli: Cli,
  forward: Forward,
  delivery: StreamedDelivery,
  openedAt: number,
): Promise<boolean> {
  for (let attempt = 1; !cli.signal.aborted; attempt += 1) {
    if (isOld(delivery, openedAt, Date.now())) return false;
    const startedAt = Date.now();
    const answer = await forward(delivery).catch((error: Error) => error.message);
    if (typeof answer === 'number' && answer >= 200 && answer < 300) {
      await report(cli, delivery, { status: answer, duration_ms: Date.now() - startedAt });
      return true;
    }
    const pauseMs = Math.min(500 * 2 ** attempt, 30_000);
    const { sequence } = delivery.delivery;
    const problem = typeof answer === 'number' ? `the receiver answered ${answer}` : answer;
    const hint = attempt === 3 ? ` To leave it out: --from ${sequence + 1}.` : '';
    cli.output.say(`${sequence}: ${problem}. Trying again in ${pauseMs / 1000} s.${hint}`);
    await wait(pauseMs, undefined, { signal: cli.signal }).catch(() => undefined);
  }
  return false;
}

const maxSignatureAgeMs = 120_000;

/** If the clocks of the two machines differ, the stream is opened once a minute at most. */
export const isOld = ({ headers }: Pick<StreamedDelivery, 'headers'>, openedAt: number, now: number): boolean =>
  now - Number(headers['webhook-timestamp']) * 1000 > maxSignatureAgeMs && now - openedAt > 60_000;

const report = (cli: Cli, { delivery }: StreamedDelivery, answer: { status: number; duration_ms: number }) => {
  const { sequence, event_type, id: delivery_id } = delivery;
  return cli.output.line({ sequence, event_type, delivery_id, ...answer }, () =>
    [String(sequence).padStart(6), event_type, answer.status, `${answer.duration_ms} ms`].join('  '),
  );
};

async function print(cli: Cli, { delivery: { sequence, event_type, id }, body }: StreamedDelivery): Promise<true> {
  await cli.output.line({ sequence, event_type, delivery_id: id, event: JSON.parse(body) }, () =>
    [String(sequence).padStart(6), event_type, body].join('  '),
  );
  return true;
}
