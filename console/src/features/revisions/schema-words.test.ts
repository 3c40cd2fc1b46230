// Tests the words for what a revision changed in the data of an app.
import { describe, expect, it } from 'vitest';
import { describeEntityChange } from './schema-words.ts';

const own = { created_by_id: '{{user.id}}' };
const signedIn = { user_condition: { id: '{{user.id}}' } };
const title = { type: 'string' };
const task = (properties: object, rls: object = {}) => ({ name: 'Task', properties, rls });
const describeChange = (before: ReturnType<typeof task> | null, after: ReturnType<typeof task> | null) =>
  describeEntityChange({ name: 'Task', before, after });

describe('a kind of data', () => {
  it('is described with its fields and rules when it is new', () => {
    const rls = { read: own, create: own, update: own, delete: own };
    expect(describeChange(null, task({ title, done: { type: 'boolean' } }, rls))).toEqual([
      'A new kind of data, “Task”, with title (text) and done (yes or no).',
      'Who may read, change and delete records of “Task”: only the person who added them.',
      'Who may add records of “Task”: everybody who is signed in.',
    ]);
  });

  it('is named when it was removed', () => {
    expect(describeChange(task({ title }), null)).toEqual(['The data “Task” was removed.']);
  });
});

describe('fields', () => {
  it.each([
    [{ title }, { title, due: { type: 'string', format: 'date' } }, '“Task” has a new field: due (date).'],
    [{ title, a: {}, b: {} }, { title }, '“Task” no longer has a and b.'],
    [{ title }, { title: { ...title, enum: ['a'] } }, '“Task” has changed fields: title (a choice).'],
  ])('%# are described by how they differ', (before, after, words) => {
    expect(describeChange(task(before), task(after))).toEqual([words]);
  });
});

describe('rules', () => {
  it.each([
    [{ read: true }, 'Who may read records of “Task”: everybody, even without signing in.'],
    [{ read: signedIn }, 'Who may read records of “Task”: everybody who is signed in.'],
    [
      { write: { user_condition: { role: 'admin' } } },
      'Who may add, change and delete records of “Task”: admins of the app.',
    ],
    [
      { read: { $or: [own, { user_condition: { role: 'admin' } }] } },
      'Who may read records of “Task”: only the person who added them, or admins of the app.',
    ],
    [
      { read: { $or: [own, { 'data.team': 'a' }] } },
      'Who may read records of “Task”: people who meet a condition, which the code shows.',
    ],
    [{ read: { $or: [] } }, 'Who may read records of “Task”: nobody.'],
    [{ update_check: own }, 'How records of “Task” may be changed is checked differently.'],
  ])('%# are described by whom they let do what', (rls, words) => {
    expect(describeChange(task({ title }), task({ title }, rls))).toEqual([words]);
  });

  it('that are taken away close the data', () => {
    expect(describeChange(task({ title }, { read: true }), task({ title }))).toEqual([
      'Who may read records of “Task”: only the people who build the app.',
    ]);
  });

  it('that are not there yet, in whatever form, change nothing', () => {
    const empty = { read: null, write: '', create: {}, update_check: {} };
    expect(describeChange(task({ title }), task({ title }, empty))).toEqual(['The description of “Task” was changed.']);
  });

  it('that check changes are named when they are taken away', () => {
    expect(describeChange(task({ title }, { update_check: own }), task({ title }))).toEqual([
      'How records of “Task” may be changed is no longer checked.',
    ]);
  });

  it('that are taken away from “User” open it to everybody who is signed in', () => {
    const user = (rls: object) => ({ name: 'User', properties: { title }, rls });
    const after = user({ write: false });
    expect(describeEntityChange({ name: 'User', before: user({ read: own, write: false }), after })).toEqual([
      'Who may read records of “User”: everybody who is signed in.',
    ]);
    expect(describeEntityChange({ name: 'User', before: null, after })).toEqual([
      'A new kind of data, “User”, with title (text).',
      'Who may read records of “User”: everybody who is signed in.',
      'Who may add, change and delete records of “User”: nobody.',
    ]);
  });
});

describe('the rules of a field', () => {
  const admins = { user_condition: { role: 'admin' } };
  const cost = (rls?: object) => ({ type: 'number', ...(rls && { rls }) });
  const seen = 'Who may see “cost”, in records of “Task” that are open to them: admins of the app.';

  it.each([
    ['added', cost(), cost({ read: admins }), [seen]],
    [
      'changed for all that is done with it',
      cost({ read: true }),
      cost({ read: admins, write: admins }),
      ['Who may see, fill in and change “cost”, in records of “Task” that are open to them: admins of the app.'],
    ],
    [
      'removed',
      cost({ read: admins, write: admins }),
      cost({ write: admins }),
      ['No rule of its own limits any more who may see “cost” of “Task”. Only the rules around it do.'],
    ],
    [
      'changed with the field',
      cost(),
      { ...cost({ read: admins }), type: 'string' },
      ['“Task” has changed fields: cost (text).', seen],
    ],
  ])('are put into words when they are %s', (_, before, after, words) => {
    expect(describeChange(task({ cost: before }), task({ cost: after }))).toEqual(words);
  });

  it('are named with a new field and with new data', () => {
    const rls = { read: false, write: false };
    const after = task({ cost: cost({ read: admins }) }, rls);
    expect(describeChange(task({}, rls), after)).toEqual(['“Task” has a new field: cost (number).', seen]);
    expect(describeChange(null, after)).toEqual([
      'A new kind of data, “Task”, with cost (number).',
      'Who may read, add, change and delete records of “Task”: nobody.',
      seen,
    ]);
  });

  it('are found inside of fields and lists', () => {
    const address = (rls?: object) => ({ type: 'object', properties: { zip: { ...title, ...(rls && { rls }) } } });
    const lines = (rls?: object) => ({ type: 'array', items: { ...address(rls), ...(rls && { rls }) } });
    const before = task({ address: address(), lines: lines() });
    const after = task({ address: address({ read: false }), lines: lines({ read: false }) });
    const words = ['zip in address', 'each entry of lines', 'zip in each entry of lines'].map(
      (field) => `Who may see “${field}”, in records of “Task” that are open to them: nobody.`,
    );
    expect(describeChange(before, after)).toEqual(words);
  });
});
