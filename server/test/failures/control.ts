// Labelled failures in a run's control flow: raised errors, loops, waits and credits.
import type { FailureCase } from './failure-case.ts';

const raise = (error: object) => [{ complain: { raise: { error } } }];
const note = { note: { set: { a: 1 } } };

export const controlFailures: readonly FailureCase[] = [
  {
    name: 'the workflow itself says that a session has expired',
    label: 'authentication',
    do: raise({ type: 'authentication', status: 401, detail: 'The session has expired.' }),
  },
  {
    name: 'the workflow itself says that the order is not valid',
    label: 'validation',
    do: raise({ type: 'validation', status: 400, title: 'Invalid order', detail: 'An order needs a customer.' }),
  },
  {
    name: 'the workflow itself says that nobody approved in time',
    label: 'timeout',
    do: raise({ type: 'timeout', status: 408, detail: 'Nobody approved within two days.' }),
  },
  {
    name: 'the workflow itself says that the stock is not sufficient',
    label: 'bad_request',
    do: raise({ type: 'https://shop.example.com/errors/out-of-stock', status: 409, detail: 'Only two are left.' }),
  },
  {
    name: 'the workflow itself gives a reason that only its author understands',
    label: 'unknown',
    do: raise({ type: 'runtime', status: 500, detail: 'E-42' }),
  },
  {
    name: 'an error of the standard, by its full name',
    label: 'authorization',
    do: raise({ type: 'https://serverlessworkflow.io/spec/1.0.0/errors/authorization', status: 403, detail: 'No.' }),
  },
  { name: 'a task jumps to itself', label: 'step_limit', do: [{ again: { set: { a: 1 }, then: 'again' } }] },
  {
    name: 'two tasks jump to each other',
    label: 'step_limit',
    do: [{ ping: { set: { a: 1 }, then: 'pong' } }, { pong: { set: { a: 2 }, then: 'ping' } }],
  },
  {
    name: 'a loop within a loop has too many turns',
    label: 'step_limit',
    do: [
      {
        outer: {
          for: { each: 'x', in: '${ [range(40)] }' },
          do: [{ inner: { for: { each: 'y', in: '${ [range(40)] }' }, do: [note] } }],
        },
      },
    ],
  },
  {
    name: 'an error is caught and tried again without end',
    label: 'step_limit',
    do: [
      {
        attempt: {
          try: raise({ type: 'validation', status: 400 }),
          catch: { do: [note] },
          then: 'attempt',
        },
      },
    ],
  },
  {
    name: 'a task waits for longer than the group that it belongs to may take',
    label: 'timeout',
    do: [{ group: { do: [{ pause: { wait: { seconds: 60 } } }], timeout: { after: { seconds: 1 } } } }],
  },
  {
    name: 'a loop takes longer than it may',
    label: 'timeout',
    do: [
      {
        each_one: {
          for: { each: 'x', in: '${ [range(100)] }' },
          do: [{ pause: { wait: { milliseconds: 100 } } }],
          timeout: { after: { seconds: 1 } },
        },
      },
    ],
  },
  { name: 'the workspace has no credits left', label: 'credits', do: [note], place: 'no credits' },
  {
    name: 'the credits do not suffice for the reply of an agent',
    label: 'credits',
    do: [{ ask: { call: 'agent.send', with: { agent_id: '{agent}', content: 'Hi' } } }],
    place: 'few credits',
  },
];
