// Attacks that make the database read, sort, count and export as much as the limits allow.
import { pick, type Way } from '../way.ts';

const member = { by: 'member', manner: 'requests', connections: 32 } as const;
const admin = { ...member, by: 'admin' } as const;

/** Lists the entity with 200,000 records. */
const list =
  (query: Readonly<Record<string, string>>, suffix = ''): Way['request'] =>
  ({ apps }) => ({
    method: 'GET',
    path: `/api/apps/${apps[0]}/entities/Big${suffix}?${new URLSearchParams(query)}`,
  });
const q = (query: object) => JSON.stringify(query);

const contains = q({ title: { $contains: 'zz' } });
const manyValues = q({ $or: Array.from({ length: 20 }, (_, n) => ({ tags: { $in: words(40, n) } })) });
function words(count: number, seed: number): string[] {
  return Array.from({ length: count }, (_, n) => `word${seed}x${n}`);
}
const manyConditions = q({ $and: Array.from({ length: 20 }, (_, n) => ({ title: { $contains: `z${n}` } })) });
const searchTerms = JSON.stringify({
  search_terms: Array.from({ length: 200 }, (_, n) => n.toString(16)),
  page_size: 100,
});
const members =
  (body: string): Way['request'] =>
  () => ({ method: 'POST', path: '/api/workspace/members/list', body });

export const queryWays: readonly Way[] = [
  {
    ...member,
    name: 'sorts without an index',
    reaches: ['200'],
    request: list({ sort: 'price,-title,n', limit: '1000' }),
  },
  {
    ...member,
    name: 'filters without an index',
    reaches: ['200', '503'],
    request: list({ q: contains, limit: '1000' }),
  },
  { ...member, name: 'counts', reaches: ['200', '503'], request: list({ q: contains }, '/count') },
  {
    ...member,
    name: 'twenty conditions on text',
    reaches: ['200', '503'],
    request: list({ q: manyConditions }, '/count'),
  },
  { ...member, name: 'queries of 16 KiB', reaches: ['200', '503'], request: list({ q: manyValues }) },
  {
    ...member,
    by: 'app user',
    name: 'sorts by app users',
    reaches: ['200', '503'],
    request: list({ sort: '-title', limit: '1000' }),
  },
  {
    ...member,
    name: 'pipelined lists',
    manner: 'pipelined',
    connections: 16,
    reaches: ['200'],
    request: list({ limit: '1000' }),
  },
  {
    ...member,
    name: 'slow readers of lists',
    manner: 'slow reader',
    connections: 400,
    reaches: ['open'],
    request: list({ limit: '1000' }),
  },
  { ...member, name: '200 search terms', reaches: ['200', '503'], request: members(searchTerms) },
  {
    ...member,
    name: 'searches of members',
    reaches: ['200'],
    request: (_, n) =>
      members(JSON.stringify({ search: (n % 4096).toString(16), sort_by: 'last_active', sort_dir: 'desc' }))(_, n),
  },
  {
    ...member,
    name: 'searches of 10,000 app users',
    reaches: ['200'],
    request: ({ apps }, n) => ({
      method: 'GET',
      path: `/api/apps/${apps[0]}/users?search=${(n % 4096).toString(16)}&limit=100`,
    }),
  },
  {
    ...admin,
    name: 'exports',
    reaches: ['200', '409'],
    request: ({ admins }) => ({ method: 'POST', path: '/api/workspace/export', token: pick(admins, 0) }),
  },
  {
    ...admin,
    name: 'audit exports',
    reaches: ['200'],
    request: () => ({ method: 'GET', path: '/api/workspace/audit-log/export' }),
  },
  {
    ...admin,
    name: 'audit verifications',
    reaches: ['200'],
    request: () => ({ method: 'GET', path: '/api/workspace/audit-log/verify' }),
  },
  {
    ...member,
    name: 'deletes of 5,000',
    connections: 8,
    reaches: ['200', '503'],
    request: ({ apps }) => ({
      method: 'DELETE',
      path: `/api/apps/${apps[0]}/entities/Big`,
      body: '{"query":{"price":{"$gte":0}}}',
    }),
  },
];
