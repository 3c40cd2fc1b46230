// The operations that the growth test runs end to end, because their work depends on the body's content. Each has
// the largest size that it accepts and its expected status.
import { newId } from '../../src/kit/ids.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

export interface MeasuredOperation {
  /** The size in the operation's own unit, such as fields, records or files. */
  readonly largest: number;
  readonly status: number;
  run(size: number): Promise<Answer>;
}

const make = <T>(count: number, item: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => item(n));
const fields = (count: number, value: (n: number) => unknown, prefix = 'f') =>
  Object.fromEntries(make(count, (n) => [prefix + n, value(n)]));

const choices = make(200, (n) => n.toString(36));
const plain = { type: 'string' };

/** A rule with about `size` conditions and tests. */
const rule = (size: number) => ({
  $or: make(Math.max(1, Math.floor(size / 10)), (n) => ({
    $and: make(9, (m) => ({ 'data.f0': { $ne: `${n} ${m}` } })),
  })),
});

const itemOfManyFields = { type: 'object', properties: fields(190, () => plain) };
const everyone = { read: true, write: true };

const schemas = [
  {
    name: 'Task',
    properties: {
      ...fields(150, () => ({ ...plain, maxLength: 5_000 })),
      code: plain,
      tags: { type: 'array', items: plain },
      parts: { type: 'array', items: { type: 'object', properties: { name: plain } } },
      chosen: { type: 'array', items: { enum: choices } },
      open: { type: 'object' },
    },
    unique: [['code']],
    rls: { read: rule(100), write: { $or: [{ user_condition: { role: 'admin' } }, rule(50)] } },
  },
  // Has few records, because upserts scan all records until the key is built.
  { name: 'Keyed', properties: { ...fields(4, () => plain), code: plain }, unique: [['code']], rls: everyone },
  { name: 'Wide', properties: { parts: { type: 'array', items: itemOfManyFields } }, rls: everyone },
  {
    name: 'Strict',
    properties: { parts: { type: 'array', items: { ...itemOfManyFields, required: make(190, (n) => `f${n}`) } } },
    rls: everyone,
  },
];

/** Creates the entities that the operations use. Returns the operations by description. */
export async function prepareOperations(call: Call, appPath: string): Promise<Record<string, MeasuredOperation>> {
  const records = `${appPath}/entities/Task`;
  let serial = 0;
  const nextCode = () => {
    serial += 1;
    return `c${serial}`;
  };
  for (const schema of schemas) await expectSaved(call('PUT', `${appPath}/entity-schemas/${schema.name}`, schema));
  const coded = make(500, () => ({ code: nextCode() }));
  const keyed = `${appPath}/entities/Keyed`;
  const stored: { id: string; code: string }[] = JSON.parse(
    (await expectSaved(call('POST', `${keyed}/bulk`, coded))).body,
  );
  const [task] = JSON.parse((await expectSaved(call('POST', `${records}/bulk`, [{ code: nextCode() }]))).body);

  const saveSchema = (document: object) =>
    call('PUT', `${appPath}/entity-schemas/New?dry_run=true`, { name: 'New', ...document });
  const create = (items: readonly object[], entity = 'Task') =>
    call('POST', `${appPath}/entities/${entity}/bulk`, items);
  const upsert = (items: readonly object[]) => call('POST', `${keyed}/upsert`, { key: ['code'], records: items });
  const list = (query: Record<string, string>) =>
    call('GET', `${records}?${new URLSearchParams({ limit: '1', ...query })}`);
  const filter = (query: object) => list({ q: JSON.stringify(query) });
  const syncFiles = (files: readonly object[]) => call('PUT', `${appPath}/files`, { files });
  const large = () => ({ code: nextCode(), ...fields(4, () => 'x'.repeat(4_900)) }); // 500 of them make up 10 MiB
  /** Creates twenty records with a total of `size` items, because one list may have at most 10,000. */
  const withItems = (field: string, size: number, item: (n: number) => unknown) =>
    make(20, () => ({ code: nextCode(), [field]: make(Math.ceil(size / 20), item) }));

  const saved = (largest: number, run: MeasuredOperation['run']): MeasuredOperation => ({ largest, status: 200, run });
  const refused = (largest: number, run: MeasuredOperation['run']): MeasuredOperation => ({
    largest,
    status: 422,
    run,
  });

  return {
    'putEntitySchema, fields with choices': saved(120, (n) =>
      saveSchema({ properties: fields(n, () => ({ enum: choices })) }),
    ),
    'putEntitySchema, fields with rules': saved(180, (n) =>
      saveSchema({ properties: fields(n, () => ({ rls: { read: rule(10) } })) }),
    ),
    'putEntitySchema, rules': saved(90, (n) =>
      saveSchema({ properties: { f0: plain }, rls: { read: rule(n), write: rule(n) } }),
    ),
    'putEntitySchema, a rule with long lists': saved(18, (n) =>
      saveSchema({
        properties: { f0: plain },
        rls: { read: { $or: make(n, () => ({ 'data.f0': { $in: choices } })) } },
      }),
    ),
    'putEntitySchema, patterns': saved(40, (n) =>
      saveSchema({ properties: fields(n, () => ({ pattern: '^[a-z]{1,40}$' })) }),
    ),
    'putEntitySchema, wrong fields': refused(10_000, (n) => saveSchema({ properties: fields(n, () => 0) })),
    'putEntitySchema, unknown keywords': refused(10_000, (n) => saveSchema(fields(n, () => 0))),
    'putEntitySchema, wrong rules': refused(6_000, (n) =>
      saveSchema({ rls: { read: { $or: make(n, () => ({ $where: 1 })) } } }),
    ),
    'putEntitySchema, unknown required fields': refused(8_000, (n) =>
      saveSchema({ required: make(n, (f) => `f${f}`) }),
    ),
    syncEntitySchemas: saved(70, (n) =>
      call('PUT', `${appPath}/entity-schemas`, {
        dry_run: true,
        schemas: make(n, (s) => ({ name: `S${s}`, properties: fields(10, () => ({ enum: choices })) })),
      }),
    ),

    createRecords: saved(500, (n) => create(make(n, large))),
    'createRecords, idempotent': saved(500, (n) =>
      call('POST', `${records}/bulk`, make(n, large), { 'idempotency-key': newId() }),
    ),
    'createRecords, unknown fields': saved(500, (n) =>
      create(make(n, () => ({ code: nextCode(), ...fields(250, () => 'x', 'g') }))),
    ),
    'createRecords, wrong fields': refused(500, (n) => create(make(n, () => fields(250, () => 0)))),
    'createRecords, open values': saved(140_000, (n) =>
      create(make(20, () => ({ code: nextCode(), open: { a: make(Math.ceil(n / 20), (m) => m % 10) } }))),
    ),
    'createRecords, choices': saved(140_000, (n) => create(withItems('chosen', n, () => choices.at(-1)))),
    'createRecords, wrong choices': refused(140_000, (n) => create(withItems('chosen', n, () => 'none'))),
    'createRecords, objects with few of many fields': saved(60_000, (n) =>
      create(
        withItems('parts', n, () => ({ f1: '' })),
        'Wide',
      ),
    ),
    'createRecords, objects without required fields': refused(70_000, (n) =>
      create(
        withItems('parts', n, () => ({})),
        'Strict',
      ),
    ),
    'createRecord, a long list': saved(10_000, (n) =>
      call('POST', records, { code: nextCode(), tags: make(n, (m) => `tag ${m}`) }),
    ),
    'createRecord, a list of objects': saved(10_000, (n) =>
      call('POST', records, { code: nextCode(), parts: make(n, (m) => ({ name: `${m}`, extra: m })) }),
    ),
    'createRecord, huge numbers': saved(36_000, (n) =>
      call('POST', records, { code: nextCode(), open: fields(4, () => make(Math.ceil(n / 4), () => 1e300)) }),
    ),
    'updateRecord, a long list': saved(10_000, (n) =>
      call('PUT', `${records}/${task.id}`, { tags: make(n, (m) => `${m} ${nextCode()}`) }),
    ),
    updateRecords: saved(500, (n) =>
      call(
        'PUT',
        `${keyed}/bulk`,
        make(n, (m) => ({ id: stored[m]?.id, f0: nextCode(), f1: 'y'.repeat(4_900) })),
      ),
    ),
    'updateRecords, repeated ids': refused(500, (n) =>
      call(
        'PUT',
        `${keyed}/bulk`,
        make(n, () => ({ id: stored[0]?.id })),
      ),
    ),
    'upsertRecords, new': saved(500, (n) => upsert(make(n, large))),
    'upsertRecords, existing': saved(500, (n) => upsert(make(n, (m) => ({ code: stored[m]?.code, f0: nextCode() })))),
    'upsertRecords, repeated keys': refused(500, (n) => upsert(make(n, () => ({ code: 'same' })))),
    'upsertRecords, wrong keys': refused(500, (n) => upsert(make(n, () => ({ code: 0 })))),

    'deleteRecords, terms': saved(96, (n) =>
      call('DELETE', records, { query: { code: 'none', ...fields(n, () => 'x') } }),
    ),
    'deleteRecords, wrong terms': refused(30_000, (n) =>
      call('DELETE', records, { query: { $or: make(n, () => ({ $where: 0 })) } }),
    ),
    'listRecords, terms': saved(96, (n) => filter(fields(n, () => 'x'))),
    'listRecords, a long list': saved(1_000, (n) => filter({ code: { $in: make(n, (m) => `c${m}`) } })),
    'listRecords, nested text': refused(10_000, (n) => list({ q: `{"f0":${'['.repeat(n)}${']'.repeat(n)}}` })),
    'listRecords, parameters': saved(150, (n) => list(fields(n, () => '') as Record<string, string>)),
    'listRecords, unknown parameters': refused(1_500, (n) => list(fields(n, () => 'x', 'g') as Record<string, string>)),
    'listRecords, sort': refused(5_000, (n) => list({ sort: make(n, () => 'f0').join() })),
    'listRecords, fields': saved(150, (n) => list({ fields: make(n, (m) => `f${m}`).join() })),
    'listApps, unknown parameters': saved(2_500, (n) =>
      call('GET', `/api/apps?${make(n, (m) => `g${m}=x`).join('&')}`),
    ),
    'listApps, a repeated parameter': refused(2_500, (n) =>
      call('GET', `/api/apps?${make(n, () => 'limit=1').join('&')}`),
    ),

    syncAppFiles: saved(5_000, (n) => syncFiles(make(n, (m) => ({ path: `f/${m}.txt`, content: `${m}` })))),
    'syncAppFiles, repeated paths': refused(5_000, (n) => syncFiles(make(n, () => ({ path: 'same', content: '' })))),
    putAppFile: saved(5 * 1024, (n) =>
      call('PUT', `${appPath}/files/content?path=f/0.txt`, { content: 'x'.repeat(n * 1024) }),
    ),
    setMemberRoles: {
      largest: 200,
      status: 400,
      run: (n) =>
        call('PUT', '/api/workspace/members/bulk/role', {
          items: make(n, (m) => ({ email: `m${m}@example.com`, role: 'viewer' })),
        }),
    },
    'listMembers, terms': saved(200, (n) =>
      call('POST', '/api/workspace/members/list', { search_terms: make(n, (m) => `term ${m}`) }),
    ),
  };
}

async function expectSaved(answered: Promise<Answer>): Promise<Answer> {
  const answer = await answered;
  if (answer.status !== 200) throw new Error(`the operations could not be prepared: ${answer.body.slice(0, 500)}`);
  return answer;
}
