// Attacks with bodies that are expensive to read, check or store.
import type { HostileWorkspace } from '../seed.ts';
import { pick, type Way } from '../way.ts';

const maxBulk = 10 * 1024 * 1024 - 1024;

/** Builds a body on first use and then reuses it. */
function once(build: () => string): () => Buffer {
  let built: Buffer | undefined;
  return () => (built ??= Buffer.from(build()));
}

const list = (count: number, item: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => item(n)).join();
const records =
  (entity: string, suffix = '') =>
  (workspace: HostileWorkspace, n: number) =>
    `/api/apps/${pick(workspace.apps, n)}/entities/${entity}${suffix}`;

const post =
  (path: (workspace: HostileWorkspace, n: number) => string, body: () => Buffer): Way['request'] =>
  (workspace, n) => ({
    method: 'POST',
    path: path(workspace, n),
    body: body(),
  });

const asMember = { by: 'member', manner: 'requests', connections: 8 } as const;

const unknownKeys = once(() => `{${list(8_000, (n) => `"unknown${n}":1`)}}`);
const unknownInBulk = once(() => `[${list(500, (r) => `{${list(295, (n) => `"u${n}":${r}`)}}`)}]`);
const deep = once(() => `{"any":${'['.repeat(500_000)}${']'.repeat(500_000)}}`);
const deepAllowed = once(() => `{"any":${list(1, () => `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`)}}`);
const hugeNumbers = once(() => `{"any":{"n":[${list(4_000, () => '9'.repeat(250))}]}}`);
const longKeys = once(() => `{"any":{${list(100, (n) => `"${n}${'k'.repeat(10_000)}":1`)}}}`);
const sameKeys = once(() => `{${list(60_000, (n) => `"text":"${n}"`)}}`);
const manyFaults = once(() => `[${list(500, () => '{"key":1,"text":2,"any":3}')}]`);
const fullBulk = once(
  () => `[${list(500, (n) => `{"key":"${n}","text":"${'x'.repeat(Math.floor(maxBulk / 500) - 40)}"}`)}]`,
);
const manyFields = once(() => `[${list(500, () => `{"any":{${list(295, (n) => `"f${n}":${n}`)}}}`)}]`);
const upsert = once(
  () =>
    `{"key":["key"],"records":[${list(500, (n) => `{"key":"${n}","text":"${'x'.repeat(Math.floor(maxBulk / 500) - 60)}"}`)}]}`,
);
const costlyItems = once(() => `{"items":[${list(10_000, () => '{}')}]}`);
const worstText = once(() => `{"text":"${'a'.repeat(6_000)}"}`);
const tooLarge = once(() => 'x'.repeat(2 * maxBulk));
const uniqueBulk = (n: number) =>
  `[${list(500, (r) => `{${list(15, (k) => `"k${k}":"${n}-${r}-${Math.random()}"`)}}`)}]`;

const largeText = 'x'.repeat(249_000);

export const bodyWays: readonly Way[] = [
  {
    ...asMember,
    // Each lookup includes the record. A statement shared with other callers' lookups would include it as well.
    name: 'records of 250 KB, twelve at a time',
    quick: true,
    connections: 12,
    reaches: ['200', '429'],
    request: ({ apps, largeRecords }, n) => ({
      method: 'PUT',
      path: `/api/apps/${apps[0]}/entities/Loose/${pick(largeRecords, n)}`,
      body: JSON.stringify({ text: `${n} ${largeText}` }),
    }),
  },
  {
    ...asMember,
    name: '8,000 unknown keys',
    quick: true,
    reaches: ['200'],
    request: post(records('Loose'), unknownKeys),
  },
  {
    ...asMember,
    name: '500 records with 295 unknown keys',
    reaches: ['200'],
    request: post(records('Loose', '/bulk'), unknownInBulk),
  },
  { ...asMember, name: 'a million brackets', quick: true, reaches: ['422'], request: post(records('Loose'), deep) },
  {
    ...asMember,
    name: 'nested as deep as allowed',
    reaches: ['200', '422'],
    request: post(records('Loose'), deepAllowed),
  },
  { ...asMember, name: 'huge numbers', reaches: ['422', '200'], request: post(records('Loose'), hugeNumbers) },
  {
    ...asMember,
    name: 'keys of 10,000 characters',
    reaches: ['422', '200'],
    request: post(records('Loose'), longKeys),
  },
  { ...asMember, name: 'the same key 60,000 times', reaches: ['200'], request: post(records('Loose'), sameKeys) },
  { ...asMember, name: '1,500 faults', reaches: ['422'], request: post(records('Loose', '/bulk'), manyFaults) },
  { ...asMember, name: 'bulk creates of 10 MiB', reaches: ['200'], request: post(records('Loose', '/bulk'), fullBulk) },
  {
    ...asMember,
    name: 'bulk creates of 149,000 values',
    reaches: ['200'],
    request: post(records('Loose', '/bulk'), manyFields),
  },
  { ...asMember, name: 'upserts of 10 MiB', reaches: ['200'], request: post(records('Loose', '/upsert'), upsert) },
  {
    ...asMember,
    name: 'rules at the step budget',
    quick: true,
    reaches: ['409', '200'],
    request: post(records('Costly'), costlyItems),
  },
  { ...asMember, name: 'patterns at the step budget', reaches: ['422'], request: post(records('Pattern'), worstText) },
  {
    ...asMember,
    name: '500 records with 5 unique keys each',
    reaches: ['200'],
    request: (workspace, n) => ({
      method: 'POST',
      path: records('Unique', '/bulk')(workspace, n),
      body: uniqueBulk(n),
    }),
  },
  {
    ...asMember,
    by: 'app user',
    name: 'bulk creates by app users',
    reaches: ['200'],
    request: post((workspace) => records('Loose', '/bulk')(workspace, 0), fullBulk),
  },
  {
    ...asMember,
    name: 'bodies beyond the limit',
    reaches: ['413', 'closed'],
    request: post(records('Loose', '/bulk'), tooLarge),
  },
  {
    ...asMember,
    name: 'the same Idempotency-Key',
    connections: 32,
    reaches: ['200', '409'],
    request: (workspace) => ({
      method: 'POST',
      path: records('Loose')(workspace, 0),
      body: '{"text":"same"}',
      headers: { 'idempotency-key': 'same' },
      token: pick(workspace.members, 0),
    }),
  },
];
