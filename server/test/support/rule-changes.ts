// Generates rule changes that open access, and rule changes that do not.

/** The fields that the rules test. */
export const ruleFields = {
  title: { type: 'string' },
  state: { type: 'string', enum: ['draft', 'open', 'done', 'archived'] },
  level: { type: 'integer' },
  urgent: { type: 'boolean' },
  tags: { type: 'array', items: { type: 'string' } },
  lines: {
    type: 'array',
    items: { type: 'object', properties: { sku: { type: 'string' }, count: { type: 'integer' } } },
  },
  address: { type: 'object', properties: { zip: { type: 'string' }, city: { type: 'string' } } },
  due: { type: 'string', format: 'date' },
  owner: { type: 'string' },
  team: { type: 'string' },
};

export interface RuleChange {
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}

const anyone = { user_condition: { id: '{{user.id}}' } };

/** Each condition tests a different field, so none implies another. */
const conditions: readonly object[] = [
  { created_by_id: '{{user.id}}' },
  { 'data.state': { $in: ['draft', 'open'] } },
  { 'data.level': { $gte: 3, $lt: 9 } },
  { 'data.urgent': true },
  { 'data.tags': { $all: ['a', 'b'] } },
  { 'data.lines': { $elemMatch: { sku: 'x', count: { $gt: 2 } } } },
  { 'data.address.zip': '10115' },
  { 'data.due': { $lte: '2026-06-30' } },
  { 'data.owner': '{{user.email}}' },
  { 'data.team': '{{user.data.team}}' },
  { user_condition: { role: 'admin' } },
  { user_condition: { 'data.level': 7 } },
];

/** Pairs of similar tests. The second test allows records that the first does not. */
const widened: readonly (readonly [before: object, after: object])[] = [
  [{ 'data.state': 'draft' }, { 'data.state': { $in: ['draft', 'done'] } }],
  [{ 'data.state': { $nin: ['done', 'archived'] } }, { 'data.state': { $ne: 'done' } }],
  [{ 'data.level': { $gt: 5 } }, { 'data.level': { $gte: 5 } }],
  [{ 'data.level': { $gte: 3, $lt: 9 } }, { 'data.level': { $gte: 3, $lte: 9 } }],
  [{ 'data.level': { $gt: 5 } }, { 'data.level': { $exists: true } }],
  [{ 'data.urgent': true }, { 'data.urgent': { $exists: true } }],
  [{ 'data.urgent': { $ne: null } }, { 'data.urgent': { $in: [true, false, null] } }],
  [{ 'data.tags': { $all: ['a', 'b'] } }, { 'data.tags': { $in: ['a', 'b'] } }],
  [{ 'data.tags': { $size: 2 } }, { $or: [{ 'data.tags': { $size: 2 } }, { 'data.tags': { $size: 3 } }] }],
  [{ 'data.tags': 'a', 'data.title': { $ne: 'x' } }, { 'data.tags': 'a' }],
  [
    { 'data.lines': { $elemMatch: { sku: 'x', count: { $gt: 2 } } } },
    { 'data.lines': { $elemMatch: { sku: 'x', count: { $gt: 1 } } } },
  ],
  [
    { 'data.lines': { $elemMatch: { sku: 'x', count: 1 } } },
    { $and: [{ 'data.lines': { $elemMatch: { sku: 'x' } } }, { 'data.lines': { $elemMatch: { count: 1 } } }] },
  ],
  [{ 'data.address.zip': '1' }, { 'data.address.city': 'B' }],
  [{ 'data.due': { $lt: '2026-06-30' } }, { 'data.due': { $lte: '2026-06-30' } }],
  [{ 'data.due': { $lt: '2026-06-30' } }, { 'data.due': { $lt: '2026-07' } }],
  [{ 'data.owner': '{{user.email}}' }, { 'data.owner': { $in: ['{{user.email}}', '{{user.id}}'] } }],
  [{ 'data.owner': 'x-{{user.id}}' }, { 'data.owner': { $in: ['x-{{user.id}}', 'y-{{user.id}}'] } }],
  [{ 'data.team': '{{user.data.team}}', 'data.urgent': true }, { 'data.team': '{{user.data.team}}' }],
  [{ 'data.level': { $lt: '{{user.data.level}}' } }, { 'data.level': { $lte: '{{user.data.level}}' } }],
  [{ user_condition: { role: 'admin', 'data.level': 7 } }, { user_condition: { 'data.level': 7 } }],
  [{ user_condition: { 'data.teams': 'red' } }, { $or: [{ user_condition: { 'data.teams': 'blue' } }] }],
  [{ $nor: [{ 'data.state': 'done' }, { 'data.urgent': true }] }, { $nor: [{ 'data.state': 'done' }] }],
  [{ $nor: [{ 'data.owner': { $ne: '{{user.email}}' } }] }, { 'data.owner': { $gte: '{{user.email}}' } }],
  [{ is_sample: true }, { is_sample: { $in: [true, false] } }],
  [{ created_date: { $gte: '2026' } }, { created_date: { $gte: '2025-07' } }],
  [{ created_by: 'boss@app.example' }, { created_by: { $ne: 'nobody@app.example' } }],
];

/** Lists rule changes that each allow something that was denied before. */
export function listOpeningChanges(): RuleChange[] {
  const changes: RuleChange[] = [];
  for (const [at, condition] of conditions.entries()) {
    const [second, third] = [conditions[(at + 1) % conditions.length], conditions[(at + 5) % conditions.length]];
    const add = (name: string, before: unknown, after: unknown) =>
      changes.push({ name: `${name} ${at}`, before, after });
    add('from no rule', undefined, condition);
    add('from nobody', false, condition);
    add('to everyone', condition, true);
    add('to every user', condition, anyone);
    for (const [by, other] of conditions.entries())
      if (by !== at) add(`an alternative (${by})`, condition, { $or: [condition, other] });
    add('without a condition', { $and: [condition, second, third] }, { $and: [condition, third] });
    add('or for and', { $and: [condition, second] }, { $or: [condition, second] });
    add('without a denial', { $and: [condition, { $nor: [second] }] }, condition);
    add('inside an alternative', { $or: [third, { $and: [condition, second] }] }, { $or: [third, condition] });
  }
  for (const [at, [before, after]] of widened.entries()) changes.push({ name: `wider ${at}`, before, after });
  return changes;
}

const not = (condition: unknown) => ({ $nor: [condition] });

/** Lists rule changes that allow nothing that was denied before. */
export function listHarmlessChanges(): RuleChange[] {
  const changes: RuleChange[] = [];
  const all = [...conditions, ...widened.flat()];
  for (const [at, condition] of all.entries()) {
    const [second, third] = [all[(at + 3) % all.length], all[(at + 7) % all.length]];
    const add = (name: string, before: unknown, after: unknown) =>
      changes.push({ name: `${name} ${at}`, before, after });
    add('another order', { $or: [condition, second, third] }, { $or: [third, condition, second] });
    add('a double negation', condition, not(not(condition)));
    add('De Morgan', not({ $and: [condition, second] }), { $or: [not(condition), not(second)] });
    add('De Morgan for or', { $nor: [condition, second] }, { $and: [not(condition), not(second)] });
    add(
      'distribution',
      { $and: [condition, { $or: [second, third] }] },
      {
        $or: [{ $and: [condition, second] }, { $and: [condition, third] }],
      },
    );
    add('absorption', condition, { $or: [condition, { $and: [condition, second] }] });
    add('an added condition', condition, { $and: [condition, second] });
    add('fewer alternatives', { $or: [condition, second, third] }, { $or: [condition, third] });
    add('from every user', anyone, condition);
    add('from everyone', true, condition);
    add('to nobody', condition, false);
    add('to no rule', condition, undefined);
  }
  for (const [at, [before, after]] of widened.entries()) {
    if (isComparable(at)) changes.push({ name: `narrower ${at}`, before: after, after: before });
  }
  return [...changes, ...valueRewrites.map(([before, after], at) => ({ name: `values ${at}`, before, after }))];
}

/** Indexes of pairs whose first rule also allows something that the second denies. */
const incomparable = [12, 20];
const isComparable = (at: number): boolean => !incomparable.includes(at);

/** Pairs that are equivalent because of their values, not because of how their conditions are combined. */
const valueRewrites: readonly (readonly [before: object, after: object])[] = [
  [{ $or: [{ 'data.state': 'draft' }, { 'data.state': 'open' }] }, { 'data.state': { $in: ['open', 'draft'] } }],
  [
    { 'data.state': { $nin: ['done', 'archived'] } },
    { $nor: [{ 'data.state': 'archived' }, { 'data.state': 'done' }] },
  ],
  [{ 'data.tags': { $all: ['a', 'b'] } }, { $and: [{ 'data.tags': 'b' }, { 'data.tags': { $in: ['a'] } }] }],
  [{ 'data.level': { $gte: 3 } }, { $or: [{ 'data.level': 3 }, { 'data.level': { $gt: 3 } }] }],
  [{ $or: [{ 'data.level': 3 }, { 'data.level': { $gt: 3 } }] }, { 'data.level': { $gte: 3 } }],
  [{ 'data.level': { $gt: 2 } }, { 'data.level': { $gte: 3 } }],
  [{ 'data.level': { $gte: 3 } }, { 'data.level': { $gt: 2 } }],
  [{ 'data.level': { $gte: 3 } }, { 'data.level': { $in: [4, 5, 6] } }],
  [{ 'data.urgent': { $exists: true } }, { 'data.urgent': { $in: [true, false] } }],
  [{ 'data.state': { $exists: true } }, { 'data.state': { $in: ['draft', 'open', 'done', 'archived'] } }],
  [{ 'data.state': { $in: ['draft', 'open', 'done', 'archived'] } }, { 'data.state': { $exists: true } }],
  [{ 'data.due': { $lt: '2026-07-01' } }, { 'data.due': { $lt: '2026-06' } }],
  [{ 'data.owner': { $in: ['{{user.email}}', '{{user.id}}'] } }, { 'data.owner': '{{user.id}}' }],
  [{ created_by: '{{user.email}}' }, { created_by_id: '{{user.id}}' }],
  [{ 'data.title': null }, { 'data.title': { $exists: false } }],
];
