// Attacks that save schemas: the largest possible, and schemas whose unique keys are built over many records.
import { pick, type Way } from '../way.ts';
import { bigSchema } from './schemas.ts';

const member = { by: 'member', manner: 'requests', connections: 8 } as const;

/** Alternates between two documents, because saving the same document again changes nothing. */
const giant = (n: number): string =>
  JSON.stringify({
    name: 'Giant',
    description: 'x'.repeat(60_000 + (n % 2)),
    properties: Object.fromEntries(
      Array.from({ length: 199 }, (_, p) => [
        `p${p}`,
        { type: 'string', enum: Array.from({ length: 20 }, (_, e) => `v${e}`), description: `property ${p}` },
      ]),
    ),
    unique: Array.from({ length: 5 }, (_, u) => [`p${u * 3}`, `p${u * 3 + 1}`, `p${u * 3 + 2}`]),
    rls: { read: true, write: true },
  });

export const schemaWays: readonly Way[] = [
  {
    ...member,
    name: 'giant schemas',
    reaches: ['200'],
    request: ({ apps }, n) => ({
      method: 'PUT',
      path: `/api/apps/${pick(apps, n)}/entity-schemas/Giant`,
      body: giant(n >> 4),
    }),
  },
  {
    ...member,
    name: 'many schemas at once',
    reaches: ['200'],
    request: ({ apps }, n) => ({
      method: 'PUT',
      path: `/api/apps/${pick(apps.slice(2), n)}/entity-schemas`,
      body: JSON.stringify({
        schemas: Array.from({ length: 80 }, (_, s) => ({
          name: `Many${s}`,
          description: `version ${n}`,
          properties: Object.fromEntries(Array.from({ length: 100 }, (_, p) => [`p${p}`, { type: 'string' }])),
          rls: { read: true, write: true },
        })),
      }),
    }),
  },
  {
    ...member,
    name: 'unique keys over all records',
    connections: 2,
    reaches: ['200'],
    request: ({ apps }, n) => ({
      method: 'PUT',
      path: `/api/apps/${apps[0]}/entity-schemas/Big`,
      body: JSON.stringify({ ...bigSchema, unique: [['n', 'title'], ...(n % 2 ? [['title', 'n', 'price']] : [])] }),
    }),
  },
];
