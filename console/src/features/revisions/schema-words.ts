// What a revision changed in the data of an app, in words: kinds of data, their fields, and who may do what with records.
import type { Data } from '../../data/client.ts';

type EntityChange = NonNullable<Data<'getRevision'>['entity_changes']>[number];
type Document = Readonly<Record<string, unknown>>;

const asDocument = (value: unknown): Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Document) : {};

/** Example: "“Task” has a new field: due (date)." */
export function describeEntityChange({ name, before, after }: EntityChange): readonly string[] {
  if (after === null) return [`The data “${name}” was removed.`];
  if (before === null) {
    const fields = Object.entries(asDocument(after.properties));
    const list = fields.length === 0 ? 'without fields' : `with ${listFields(fields)}`;
    const rules = describeRules(name, undefined, asDocument(after.rls));
    return [`A new kind of data, “${name}”, ${list}.`, ...rules, ...describeFieldRules(name, {}, after)];
  }
  const lines = [
    ...describeFields(name, asDocument(before.properties), asDocument(after.properties)),
    ...describeRules(name, asDocument(before.rls), asDocument(after.rls)),
    ...describeFieldRules(name, before, after),
  ];
  return lines.length > 0 ? lines : [`The description of “${name}” was changed.`];
}

function describeFields(name: string, before: Document, after: Document): readonly string[] {
  const added = Object.entries(after).filter(([field]) => !(field in before));
  const removed = Object.entries(before).filter(([field]) => !(field in after));
  const changed = Object.entries(after).filter(
    ([field, schema]) => field in before && !isSame(withoutRules(before[field]), withoutRules(schema)),
  );
  return [
    ...(added.length > 0
      ? [`“${name}” has ${added.length === 1 ? 'a new field' : 'new fields'}: ${listFields(added)}.`]
      : []),
    ...(removed.length > 0 ? [`“${name}” no longer has ${join(removed.map(([field]) => field))}.`] : []),
    ...(changed.length > 0 ? [`“${name}” has changed fields: ${listFields(changed)}.`] : []),
  ];
}

const listFields = (fields: readonly (readonly [string, unknown])[]): string =>
  join(fields.map(([field, schema]) => `${field} (${describeType(asDocument(schema))})`));

const types: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'yes or no',
  array: 'list',
  object: 'group of values',
};
const formats: Readonly<Record<string, string>> = {
  date: 'date',
  'date-time': 'date and time',
  email: 'e-mail address',
};

const describeType = ({ type, format, enum: choices }: Document): string =>
  Array.isArray(choices) ? 'a choice' : (formats[String(format)] ?? types[String(type)] ?? 'value');

const operations = [
  ['read', 'read'],
  ['create', 'add'],
  ['update', 'change'],
  ['delete', 'delete'],
] as const;
type Operation = (typeof operations)[number][0];

/** Undefined if the rule is missing in any of its forms. */
const findRule = (rule: unknown): unknown => (rule === null || rule === '' || isSame(rule, {}) ? undefined : rule);

const ruleOf = (rules: Document, operation: Operation): unknown =>
  findRule(rules[operation]) ?? (operation === 'read' ? undefined : findRule(rules.write));

/** One line for all operations that the same people may perform, of those that changed. All did if the data is new. */
function describeRules(name: string, before: Document | undefined, after: Document): readonly string[] {
  const changed = operations.filter(
    ([operation]) => before === undefined || !isSame(ruleOf(before, operation), ruleOf(after, operation)),
  );
  const missing = name === 'User' ? signedIn : 'only the people who build the app';
  const byPeople = Map.groupBy(changed, ([operation]) => {
    const rule = ruleOf(after, operation);
    return rule === undefined ? missing : describePeople(rule, operation);
  });
  const lines = [...byPeople].map(
    ([people, group]) => `Who may ${join(group.map(([, verb]) => verb))} records of “${name}”: ${people}.`,
  );
  const check = findRule(after.update_check);
  if (isSame(findRule(before?.update_check), check)) return lines;
  const how = check === undefined ? 'no longer checked' : 'checked differently';
  return [...lines, `How records of “${name}” may be changed is ${how}.`];
}

const fieldOperations = [
  ['read', 'see'],
  ['create', 'fill in'],
  ['update', 'change'],
] as const;

/** Example: "Who may see “cost”, in records of “Task” that are open to them: admins of the app." */
function describeFieldRules(name: string, before: Document, after: Document): readonly string[] {
  const earlier = new Map(listFieldRules(before));
  return listFieldRules(after).flatMap(([field, rules]) => {
    const changed = fieldOperations.filter(
      ([operation]) => !isSame(ruleOf(earlier.get(field) ?? {}, operation), ruleOf(rules, operation)),
    );
    const byPeople = Map.groupBy(changed, ([operation]) => {
      const rule = ruleOf(rules, operation);
      return rule === undefined ? undefined : describePeople(rule, operation);
    });
    return [...byPeople].map(([people, group]) => {
      const verbs = join(group.map(([, verb]) => verb));
      return people === undefined
        ? `No rule of its own limits any more who may ${verbs} “${field}” of “${name}”. Only the rules around it do.`
        : `Who may ${verbs} “${field}”, in records of “${name}” that are open to them: ${people}.`;
    });
  });
}

/** The own rules of all fields inside of a schema. A field has a name like "zip in address" or "each entry of tags". */
function listFieldRules({ properties, items }: Document, within?: string): readonly (readonly [string, Document])[] {
  const inside = Object.entries(asDocument(properties)).map(
    ([field, schema]) => [within === undefined ? field : `${field} in ${within}`, asDocument(schema)] as const,
  );
  const fields = items === undefined ? inside : [...inside, [`each entry of ${within}`, asDocument(items)] as const];
  return fields.flatMap(([field, schema]) => [[field, asDocument(schema.rls)], ...listFieldRules(schema, field)]);
}

/** A field's schema without its own rules and those inside of it, which have lines of their own. */
function withoutRules(field: unknown): Document {
  const { rls: _, properties, items, ...schema } = asDocument(field);
  const inside = Object.entries(asDocument(properties)).map(([name, inner]) => [name, withoutRules(inner)]);
  return { ...schema, properties: Object.fromEntries(inside), items: items === undefined ? null : withoutRules(items) };
}

const ownId = '{{user.id}}';
const signedIn = 'everybody who is signed in';
const nobody = 'nobody';

/** A condition that is none of the usual ones is not put into words, because half of it would say something else. */
function describePeople(rule: unknown, operation: Operation): string {
  if (rule === true) return 'everybody, even without signing in';
  if (rule === false) return nobody;
  const entries = Object.entries(asDocument(rule));
  const [first] = entries;
  if (first !== undefined && entries.length === 1) {
    const [key, value] = first;
    if (key === 'created_by_id' && value === ownId)
      return operation === 'create' ? signedIn : 'only the person who added them';
    if (key === 'user_condition' && isSame(value, { id: ownId })) return signedIn;
    if (key === 'user_condition' && isSame(value, { role: 'admin' })) return 'admins of the app';
    if (key === '$or' && Array.isArray(value)) {
      const people = new Set(value.map((each) => describePeople(each, operation)));
      people.delete(nobody);
      if (!people.has(conditional)) return [...people].join(', or ') || nobody;
    }
  }
  return conditional;
}

const conditional = 'people who meet a condition, which the code shows';

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** Example: "a, b and c". */
const join = (parts: readonly string[]): string =>
  [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ');
