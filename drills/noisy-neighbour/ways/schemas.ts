// The schemas in the hostile workspace's apps. They accept what the attacks send, and make it as expensive as
// possible.

const open = { read: true, write: true };
/**
 * An empty element passes every test but the last. With 10,000 elements, the tests take most of a request's evaluation
 * steps.
 */
const testsOfElement = {
  ...Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`f${n}`, { $ne: n }])),
  last: { $exists: true },
};
const costlyRule = { $nor: Array.from({ length: 6 }, () => ({ 'data.items': { $elemMatch: testsOfElement } })) };

/**
 * The slowest pattern that was found for its size. The matcher follows the states of every start position, and none
 * matches.
 */
const worstPattern = '[ab]*a[abc]{400}\\b';

export const bigSchema = {
  name: 'Big',
  properties: {
    title: { type: 'string' },
    state: { type: 'string' },
    price: { type: 'number' },
    n: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
  },
  rls: open,
};

export const hostileSchemas = [
  bigSchema,
  {
    name: 'Loose',
    properties: { key: { type: 'string' }, text: { type: 'string' }, any: { type: 'object' } },
    rls: open,
  },
  {
    name: 'Costly',
    properties: { items: { type: 'array', items: { type: 'object' } } },
    rls: { ...open, create: costlyRule, update: costlyRule },
  },
  { name: 'Pattern', properties: { text: { type: 'string', pattern: worstPattern } }, rls: open },
  {
    name: 'Unique',
    properties: Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`k${n}`, { type: 'string' }])),
    unique: Array.from({ length: 5 }, (_, n) => [`k${n * 3}`, `k${n * 3 + 1}`, `k${n * 3 + 2}`]),
    rls: open,
  },
];
