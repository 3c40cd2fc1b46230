// The drill's scenarios.
import type { Answer } from './receiver.ts';
import {
  completed,
  define,
  type ExpectedCall,
  type ExpectedStep,
  failed,
  manual,
  nothingElse,
  pick,
  type Scenario,
} from './scenario.ts';

/** `origin` is the receiver's origin. */
export function createScenarios(origin: string): readonly Scenario[] {
  const post = (call: string, answers: string) => ({
    call: 'http',
    with: {
      method: 'post',
      endpoint: `\${ "${origin}/" + $context.token + "/" + ${call} + "/" + ${answers} }`,
      body: { token: '${ $context.token }' },
    },
  });
  const postOnce = (call: string) => post(`"${call}"`, '"200"');
  return [
    createCalls('calls', 'run', manual, post('$item.name', '$item.answers')),
    createCalls('hooked', 'hook', { config: { trigger_type: 'webhook' } }, post('$item.name', '$item.answers')),
    createChain(),
    createWaits(postOnce),
    createFails(),
    createEmits(),
    createCancels(post('"before"', '"slow"'), postOnce('never')),
    createOrders(post('"ship"', '"200"')),
  ];
}

/** The workflows that the scenarios trigger. */
export const triggeredWorkflows: readonly { name: string; definition: object; trigger: object }[] = [
  {
    name: 'echo',
    trigger: { config: { trigger_type: 'entity', entity_name: 'Task', event_types: ['create', 'update'] } },
    definition: define('echo', createRecord('Echo', { token: '${ .token }', n: '${ .n }' })),
  },
  {
    name: 'receive',
    trigger: { config: { trigger_type: 'event', type: 'drill.announced' } },
    definition: define('receive', createRecord('Received', { token: '${ .token }' })),
  },
];

export const entityNames = ['Task', 'Echo', 'Received', 'Order', 'Shipment', 'Tick'];

/** Builds a workflow that runs once, at this time, and writes a record. */
export const defineTick = (token: string, at: Date) => ({
  name: token,
  trigger: { config: { trigger_type: 'scheduled', at: at.toISOString() } },
  definition: define('tick', createRecord('Tick', { token })),
});

function createRecord(entity: string, data: object) {
  return { keep: { call: 'entity.create', with: { entity, data } } };
}

// ---- calls in a loop, each attempted several times

const scripts: readonly Answer[][] = [
  ['200'],
  ['200'],
  ['200'],
  ['slow'],
  ['500', '200'],
  ['cut', '200'],
  ['503', 'cut', 'slow'],
  ['500', '500', '500', '500'],
];
const retriesPerCall = 3;

function createCalls(name: string, startedBy: 'run' | 'hook', trigger: object, send: object): Scenario {
  const retry = { delay: { milliseconds: 100 }, limit: { attempt: { count: retriesPerCall } } };
  const attempt = {
    try: [{ send }],
    catch: { errors: { with: { type: 'communication' } }, retry, do: [{ fallBack: { set: { has_failed: true } } }] },
  };
  const loop = { for: { each: 'item', in: '${ $context.items }' }, do: [{ attempt }] };
  return {
    name,
    startedBy,
    trigger,
    definition: define(name, { loop }, { finish: { set: { done: true } } }),
    draw(token, random) {
      const count = Math.floor(random() * 4); // the loop may have no iterations
      const calls: ExpectedCall[] = Array.from({ length: count }, (_, n) => ({
        call: `call-${n}`,
        answers: pick(random, scripts),
      }));
      const items = calls.map(({ call, answers }) => ({ name: call, answers: answers.join('-') }));
      const steps = [completed('begin'), ...calls.flatMap(({ answers }) => attemptsOf(answers)), completed('finish')];
      return { token, input: { token, items }, expected: { ...nothingElse, status: 'completed', steps, calls } };
    },
  };
}

function attemptsOf(answers: readonly Answer[]): ExpectedStep[] {
  const isTaken = (answer: Answer) => answer === '200' || answer === 'slow';
  const sends = answers.map((answer, n) => (isTaken(answer) ? completed('send', n + 1) : failed('send', n + 1)));
  return isTaken(answers.at(-1) as Answer) ? sends : [...sends, completed('fallBack')];
}

// ---- records: one created, changed twice and read; each change starts `echo`

function createChain(): Scenario {
  const update = (n: unknown) => ({ call: 'entity.update', with: { entity: 'Task', id: '${ .id }', data: { n } } });
  const look = { call: 'entity.get', with: { entity: 'Task', id: '${ .id }' } };
  const check = { switch: [{ right: { when: '${ .n == 2 }', then: 'finish' } }, { wrong: { then: 'stop' } }] };
  const stop = { raise: { error: { type: 'runtime', status: 500, title: 'A change was lost or done twice' } } };
  return {
    name: 'chain',
    startedBy: 'run',
    trigger: manual,
    definition: define(
      'chain',
      { make: { call: 'entity.create', with: { entity: 'Task', data: { token: '${ .token }', n: 0 } } } },
      { first: update('${ .n + 1 }') },
      { second: update('${ .n + 1 }') },
      { look },
      { check },
      { finish: { set: { done: true }, then: 'end' } },
      { stop },
    ),
    draw: (token) => ({
      token,
      input: { token },
      expected: {
        ...nothingElse,
        status: 'completed',
        steps: ['begin', 'make', 'first', 'second', 'look', 'check', 'finish'].map((name) => completed(name)),
        records: { Task: [`${token} 2`], Echo: [`${token} 0`, `${token} 1`, `${token} 2`] },
        causes: { echo: 3 },
      },
    }),
  };
}

// ---- waits between two calls

const waitSeconds = [1, 5, 20];

function createWaits(postOnce: (call: string) => object): Scenario {
  const cases = waitSeconds.map((seconds) => ({
    [`case${seconds}`]: { when: `\${ $context.seconds == ${seconds} }`, then: `pause${seconds}` },
  }));
  const pauses = waitSeconds.map((seconds) => ({ [`pause${seconds}`]: { wait: { seconds }, then: 'after' } }));
  return {
    name: 'waits',
    startedBy: 'run',
    trigger: manual,
    definition: define('waits', { before: postOnce('before') }, { choose: { switch: cases } }, ...pauses, {
      after: postOnce('after'),
    }),
    draw(token, random) {
      const seconds = pick(random, waitSeconds);
      return {
        token,
        input: { token, seconds },
        expected: {
          ...nothingElse,
          status: 'completed',
          steps: ['begin', 'before', 'choose', `pause${seconds}`, 'after'].map((name) => completed(name)),
          calls: ['before', 'after'].map((call) => ({ call, answers: ['200'] })),
          wait: { from: 'before', to: 'after', ms: seconds * 1000 },
        },
      };
    },
  };
}

// ---- runs that fail on purpose

function createFails(): Scenario {
  const decide = { switch: [{ bad: { when: '${ .fail }', then: 'stop' } }, { good: { then: 'finish' } }] };
  const error = { type: 'validation', status: 422, title: 'Refused', detail: 'It was meant to be refused' };
  return {
    name: 'fails',
    startedBy: 'run',
    trigger: manual,
    definition: define(
      'fails',
      { decide },
      { finish: { set: { done: true }, then: 'end' } },
      { stop: { raise: { error } } },
    ),
    draw(token, random) {
      const fail = random() < 0.4; // twenty failures in a row would turn the workflow off
      const before = [completed('begin'), completed('decide')];
      return {
        token,
        input: { token, fail },
        expected: fail
          ? {
              ...nothingElse,
              status: 'failed',
              steps: [...before, failed('stop')],
              error_message: "Task 'stop' failed: ",
            }
          : { ...nothingElse, status: 'completed', steps: [...before, completed('finish')] },
      };
    },
  };
}

// ---- an event that triggers another workflow

function createEmits(): Scenario {
  const announce = { emit: { event: { with: { type: 'drill.announced', data: { token: '${ .token }' } } } } };
  return {
    name: 'emits',
    startedBy: 'run',
    trigger: manual,
    definition: define('emits', { announce }, { finish: { set: { done: true } } }),
    draw: (token) => ({
      token,
      input: { token },
      expected: {
        ...nothingElse,
        status: 'completed',
        steps: ['begin', 'announce', 'finish'].map((name) => completed(name)),
        records: { Received: [token] },
        causes: { receive: 1 },
      },
    }),
  };
}

// ---- runs that are cancelled, before, during or after a call

const cancelledWithinMs = 2_500;

function createCancels(before: object, never: object): Scenario {
  return {
    name: 'cancels',
    startedBy: 'run',
    trigger: manual,
    definition: define('cancels', { before }, { pause: { wait: { minutes: 30 } } }, { never }),
    draw: (token, random) => ({
      token,
      input: { token },
      cancelAfterMs: random() * cancelledWithinMs,
      expected: {
        ...nothingElse,
        status: 'cancelled',
        steps: [completed('begin'), completed('before'), completed('pause')],
        calls: [{ call: 'before', answers: ['slow'] }],
      },
    }),
  };
}

// ---- runs started by a record, if a condition is met

function createOrders(ship: object): Scenario {
  const config = { trigger_type: 'entity', entity_name: 'Order', event_types: ['create'] };
  return {
    name: 'orders',
    startedBy: 'record',
    entity: 'Order',
    trigger: { config, condition: '.data.n > 0' },
    definition: define('orders', { ship }, createRecord('Shipment', { token: '${ $context.token }' })),
    draw(token, random) {
      const n = pick(random, [0, 1]);
      const steps = ['begin', 'ship', 'keep'].map((name) => completed(name));
      const calls: ExpectedCall[] = [{ call: 'ship', answers: ['200'] }];
      const records = { Shipment: [token] };
      return {
        token,
        input: { token, n },
        expected: n === 0 ? undefined : { ...nothingElse, status: 'completed', steps, calls, records },
      };
    },
  };
}
