// Measures how fast a backlog is delivered, compared with a bare loop and the fair sender, and how fast events are
// delivered while they are being published.
import { once } from 'node:events';
import { cpuUs } from '../../harness/cpu.ts';
import { rounded } from '../../harness/statistics.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { medianOf, ratioOf, runBlocks } from '../lib/blocks.ts';
import type { LoopOrder } from './bare-loop.ts';
import {
  type Agent,
  agentCount,
  type Environment,
  publishMessage,
  publishMessages,
  webhooksPerAgent,
} from './environment.ts';
import { bodyOf } from './message.ts';
import type { Seen } from './receiver.ts';

const concurrentPerAgent = 16;

type Progress = (line: string) => void;

const perSecond = ({ count, firstAt, lastAt }: Seen): number => (count - 1) / ((lastAt - firstAt) / 1000);

interface DrainBlock {
  readonly perSecond: number;
  /** The client's CPU time per delivery. NaN if the client has no process of its own. */
  readonly clientUs: number;
}

/**
 * Publishes all events in one transaction. The rate is measured at the receiver, from the first delivery to the last.
 */
export async function measureDrain(environment: Environment, events: number, blocks: number, progress: Progress) {
  const { agents, receiver, bareLoop, fairEvents } = environment;
  const deliveries = events * webhooksPerAgent;
  const drain = async (start: () => Promise<unknown>): Promise<number> => {
    await receiver.request('reset');
    await start();
    return perSecond(await receiver.until(deliveries));
  };
  const order = { atOnce: concurrentPerAgent, each: events / agentCount, body: bodyOf(newId(), newId()) };
  const runLoop = (client: LoopOrder['client']) => async (): Promise<DrainBlock> => {
    const before = cpuUs([bareLoop.pid as number]);
    const perSecond = await drain(() => {
      bareLoop.send({ ...order, client } satisfies LoopOrder);
      return once(bareLoop, 'message');
    });
    return { perSecond, clientUs: (cpuUs([bareLoop.pid as number]) - before) / deliveries };
  };
  const withoutClient = (start: () => Promise<unknown>) => async (): Promise<DrainBlock> => ({
    perSecond: await drain(start),
    clientUs: Number.NaN,
  });
  const owners = Array.from({ length: events }, (_, n) => n % agentCount);
  const sides = {
    bare: runLoop('plinth'),
    plinth: withoutClient(() => publishMessages(environment, agents, events)),
    fair: withoutClient(() => fairEvents.publish(owners)),
    undici: runLoop('undici'),
    by_name: runLoop('by name'),
  };
  const measured = await runBlocks(sides, (run) => run(), {
    what: 'drain',
    count: blocks,
    warmUp: 1,
    describe: ({ perSecond }) => `${rounded(perSecond, 0)}/s`,
    progress,
  });
  const { bare, plinth, fair, undici, by_name } = measured;
  const ratio = (over: DrainBlock[], under: DrainBlock[], field: keyof DrainBlock) =>
    rounded(ratioOf(over, under, field), 3);
  return {
    client_cpu_us: {
      plinth: medianOf(bare, 'clientUs', 0),
      'by name': medianOf(by_name, 'clientUs', 0),
      undici: medianOf(undici, 'clientUs', 0),
    },
    client_cpu_ratio_to_undici: ratio(bare, undici, 'clientUs'),
    client_cpu_ratio_of_name_to_address: ratio(by_name, bare, 'clientUs'),
    drain_ratio: ratio(plinth, bare, 'perSecond'),
    drain_ratio_to_undici: ratio(plinth, undici, 'perSecond'),
    drain_ratio_to_fair: ratio(plinth, fair, 'perSecond'),
    drain_per_second: medianOf(plinth, 'perSecond', 0),
    bare_per_second: medianOf(bare, 'perSecond', 0),
    undici_per_second: medianOf(undici, 'perSecond', 0),
    fair_per_second: medianOf(fair, 'perSecond', 0),
  };
}

export async function publishAndDeliver(environment: Environment, seconds: number, progress: Progress) {
  const { agents, receiver } = environment;
  await receiver.request('reset');
  const end = performance.now() + seconds * 1000;
  let published = 0;
  const client = async () => {
    while (performance.now() < end) {
      published += 1;
      await publishMessage(environment, agents[published % agentCount] as Agent);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  const rate = perSecond(await receiver.until(published * webhooksPerAgent, 120_000));
  progress(`published ${rounded(published / seconds, 0)} events/s, delivered ${rounded(rate, 0)}/s`);
  return { published_per_second: rounded(published / seconds, 0), deliveries_per_second: rounded(rate, 0) };
}
