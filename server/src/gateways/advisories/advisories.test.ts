// Tests the advisory client against the sandbox, and against servers that send malformed responses.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AdvisoriesSandbox, type OsvRecord, startAdvisories } from '../../../../sandbox/src/advisories/server.ts';
import { startRawServer } from '../../../../sandbox/src/raw-server.ts';
import { type Advisories, openAdvisories } from './index.ts';

const record = (id: string, name: string, modified = '2026-01-01T00:00:00Z'): OsvRecord => ({
  id,
  modified,
  aliases: [`CVE-${id}`],
  summary: `Fault ${id}`,
  affected: [
    {
      package: { name, ecosystem: 'npm' },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '1.0.0' }, { fixed: '1.5.0' }] }],
    },
  ],
  database_specific: { severity: 'HIGH', other: 'ignored' },
});

let sandbox: AdvisoriesSandbox;
let advisories: Advisories;
const failures: string[] = [];

beforeAll(async () => {
  sandbox = await startAdvisories({ records: [] });
  advisories = openAdvisories({ url: sandbox.url, onFailure: ({ reason }) => failures.push(reason), timeoutMs: 1_000 });
});
afterAll(async () => {
  await advisories.close();
  await sandbox.close();
});
afterEach(() => {
  sandbox.clear();
  sandbox.setFaults();
  sandbox.setPageSize(1_000);
  failures.length = 0;
});

describe('find', () => {
  it('answers a list per package, in their order', async () => {
    sandbox.add(record('A-1', 'left'), record('A-2', 'left'), record('B-1', '@scope/right'));
    const modified = '2026-01-01T00:00:00Z';
    expect(
      await advisories.find([
        { name: '@scope/right', version: '1.2.0' },
        { name: 'left', version: '1.5.0' },
        { name: 'left', version: '1.4.9' },
      ]),
    ).toEqual({
      outcome: 'read',
      isComplete: true,
      lists: [
        [{ id: 'B-1', modified }],
        [],
        [
          { id: 'A-1', modified },
          { id: 'A-2', modified },
        ],
      ],
    });
  });

  it('sends at most 1,000 queries at a time, and follows pages', async () => {
    sandbox.add(...['A-1', 'A-2', 'A-3'].map((id) => record(id, 'p1700')));
    sandbox.setPageSize(1);
    const before = sandbox.calls.length;
    const packages = Array.from({ length: 2_100 }, (_, index) => ({ name: `p${index}`, version: '1.0.0' }));
    const found = await advisories.find(packages);
    if (found.outcome !== 'read') throw new Error(found.reason);
    expect(found.lists[1700]?.map(({ id }) => id)).toEqual(['A-1', 'A-2', 'A-3']);
    expect(found.lists.flat()).toHaveLength(3);
    expect(sandbox.calls.length - before).toBe(3 + 2);
  });

  it('says if there were more pages than it reads', async () => {
    sandbox.add(...Array.from({ length: 12 }, (_, index) => record(`A-${index}`, 'left')));
    sandbox.setPageSize(1);
    expect(await advisories.find([{ name: 'left', version: '1.0.0' }])).toMatchObject({ isComplete: false });
  });

  it('repeats a request without an answer once', async () => {
    sandbox.add(record('A-1', 'left'));
    sandbox.setFaults({ call: 'querybatch', fault: 'drop_before', times: 1 });
    expect(await advisories.find([{ name: 'left', version: '1.0.0' }])).toMatchObject({ lists: [[{ id: 'A-1' }]] });
    expect(failures).toEqual([]);
  });

  it.each([
    ['error_before', 'status_500'],
    ['drop_before', 'reset'],
    ['delay', 'timeout'],
    ['refuse', 'status_400'],
  ] as const)('is unavailable after %s', async (fault, reason) => {
    sandbox.setFaults({ call: 'querybatch', fault, delay_ms: 3_000 });
    expect(await advisories.find([{ name: 'left', version: '1.0.0' }])).toEqual({ outcome: 'unavailable', reason });
  });

  it('ends when it is aborted', async () => {
    const aborted = AbortSignal.abort();
    expect(await advisories.find([{ name: 'left', version: '1.0.0' }], aborted)).toMatchObject({ reason: 'aborted' });
  });
});

describe('read', () => {
  const reference = { id: 'A-1', modified: '2026-01-01T00:00:00Z' };

  it('answers what Plinth needs of an advisory, and asks for it once', async () => {
    sandbox.add(record('A-1', 'left'));
    const read = await advisories.read(reference);
    expect(read).toMatchObject({
      outcome: 'read',
      advisory: { id: 'A-1', aliases: ['CVE-A-1'], database_specific: { severity: 'HIGH' } },
    });
    const before = sandbox.calls.length;
    expect(await advisories.read(reference)).toEqual(read);
    expect(sandbox.calls.length).toBe(before);
  });

  it('asks again for an advisory that has changed', async () => {
    sandbox.add({ ...record('A-1', 'left', '2026-02-01T00:00:00Z'), summary: 'Worse than thought' });
    expect(await advisories.read({ ...reference, modified: '2026-02-01T00:00:00Z' })).toMatchObject({
      advisory: { summary: 'Worse than thought' },
    });
  });

  it('says that an advisory does not exist', async () => {
    expect(await advisories.read({ ...reference, id: 'A-404' })).toEqual({ outcome: 'missing' });
  });

  it('cuts what is too long, and refuses what is no advisory', async () => {
    const long = record('L-1', 'left');
    sandbox.add({
      ...long,
      summary: 'x'.repeat(5_000),
      aliases: Array.from({ length: 500 }, (_, index) => `C-${index}`),
    });
    const read = await advisories.read({ ...reference, id: 'L-1' });
    if (read.outcome !== 'read') throw new Error('not read');
    expect(read.advisory.summary).toHaveLength(300);
    expect(read.advisory.aliases).toHaveLength(32);
    sandbox.add({ ...long, id: 'L-2', affected: [{ package: { name: 7, ecosystem: 'npm' } }] as never });
    expect(await advisories.read({ ...reference, id: 'L-2' })).toEqual({
      outcome: 'unavailable',
      reason: 'unreadable',
    });
  });
});

describe('a server that is none', () => {
  it.each([
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 'unreadable'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{"results":[]}', 'unreadable'],
    ['SSH-2.0-OpenSSH\r\n', 'protocol'],
    [`HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n${' '.repeat(33 * 1024 * 1024)}`, 'too_large'],
  ])('is unavailable: %.20s', async (text, reason) => {
    const server = await startRawServer({ address: '127.0.0.1', onData: (socket) => socket.write(text) });
    const client = openAdvisories({ url: `http://127.0.0.1:${server.port}` });
    expect(await client.find([{ name: 'left', version: '1.0.0' }])).toEqual({ outcome: 'unavailable', reason });
    await client.close();
    await server.close();
  });
});

it('asks nobody without an address', async () => {
  const none = openAdvisories({ url: undefined });
  expect(none.isOffline).toBe(true);
  expect(await none.find([{ name: 'left', version: '1.0.0' }])).toEqual({ outcome: 'unavailable', reason: 'off' });
});
