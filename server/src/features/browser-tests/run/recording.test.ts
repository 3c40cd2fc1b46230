// Tests recordings: reading them back, the placeholders for credentials, and actions that replace recorded actions.
import { describe, expect, it } from 'vitest';
import { fillCredentials, hideCredentials } from './credentials.ts';
import { hasNewValue, listPending, readRecording } from './recording.ts';
import { findInTree, toTarget } from './snapshot.ts';
import type { RecordedAction, RecordedStep, Recording } from './types.ts';

const place = { target: toTarget({ role: 'button', name: 'Add' }) };
const click = (name: string): RecordedAction => ({
  action: { action: 'click', place: { target: toTarget({ role: 'button', name }) } },
});

const recording: Recording = {
  version: 1,
  steps: [
    { action: { action: 'open', path: '/orders' } },
    click('Add'),
    { action: { action: 'type', place, text: '{{email}}', submit: true } },
    { action: { action: 'select', place, option: 'Rye' } },
    { action: { action: 'resize', width: 390, height: 844 } },
    { action: { action: 'wait', check: { kind: 'visible', place } } },
    { check: { kind: 'hidden', place }, expectation: 'a' },
    { check: { kind: 'text', text: 'x', place: null }, expectation: 'b' },
    { check: { kind: 'no_text', text: 'x', place }, expectation: 'c' },
    { check: { kind: 'value', place, value: '' }, expectation: 'd' },
    { check: { kind: 'count', role: 'row', name: null, count: 2 }, expectation: 'e' },
    { check: { kind: 'url', contains: '/orders' }, expectation: 'f' },
    { check: { kind: 'fits' }, expectation: 'g' },
  ],
};

describe('a stored recording', () => {
  it('is read as it was written', () => {
    expect(readRecording(JSON.parse(JSON.stringify(recording)))).toEqual(recording);
  });

  it.each([
    ['nothing', null],
    ['another version', { ...recording, version: 2 }],
    [
      'a ref, which is good for one snapshot',
      { version: 1, steps: [{ action: { action: 'click', place: { ref: 'e1' } } }] },
    ],
    ['an unknown action', { version: 1, steps: [{ action: { action: 'evaluate', text: '1' } }] }],
    ['too many steps', { version: 1, steps: Array.from({ length: 81 }, () => click('Add')) }],
  ])('is not replayed if it is %s', (_name, stored) => {
    expect(readRecording(stored)).toBeNull();
  });
});

describe('a value that only one run has', () => {
  const id = '0198c216-0b31-7f5a-9c20-17e8d3b5a6f4';
  const check = (text: string): RecordedStep => ({ check: { kind: 'text', text, place: null }, expectation: '' });
  const named = (name: string): RecordedStep => ({
    check: { kind: 'visible', place: { target: toTarget({ role: 'row', name }) } },
    expectation: '',
  });

  it.each<[string, RecordedStep, boolean]>([
    ['an opened id', { action: { action: 'open', path: `/#/orders/${id}` } }, true],
    ['an opened page', { action: { action: 'open', path: '/#/orders' } }, false],
    ['an id in the address', { check: { kind: 'url', contains: id.toUpperCase() }, expectation: '' }, true],
    ['an awaited number', { action: { action: 'wait', check: { kind: 'url', contains: '/7654321' } } }, true],
    ['a short id', check('Order 65f1a0b2c3d4e5f60718293a'), true],
    ['today', check('Ordered on 2026-11-16'), true],
    ['today in words of another country', check('Bestellt am 16.11.2026'), true],
    ['an element that is called by it', named('Order 7654321'), true],
    ['a sum', check('€1,234.50'), false],
    ['a number of the goal', check('Order 555123'), false],
    ['a number that was typed', check('Call 0301234567'), false],
  ])('%s', (_name, step, isNew) => {
    expect(hasNewValue(step, ['Look at order 555123', '/', '0301234567'])).toBe(isNew);
  });
});

describe('credentials', () => {
  const testUser = { email: 'test+1@visitor.example', password: 'Aa1-$&x/y z' };

  it('are hidden in every text, also as URLs and other cases have them', () => {
    const forms = [
      'Hi TEST+1@visitor.example!',
      '?e=test%2B1%40visitor.example',
      'Aa1-$&x/y z',
      'p=Aa1-%24%26x%2Fy+z',
      'Aa1-%24%26x%2Fy%20z',
    ];
    expect(hideCredentials({ list: forms, at: new Date(0), none: null, number: 1 }, testUser)).toEqual({
      list: ['Hi {{email}}!', '?e={{email}}', '{{password}}', 'p={{password}}', '{{password}}'],
      at: new Date(0),
      none: null,
      number: 1,
    });
  });

  it('are filled in for the page, as they are', () => {
    const filled = fillCredentials({ text: '{{email}} {{password}}', place: null }, testUser);
    expect(filled).toEqual({ text: 'test+1@visitor.example Aa1-$&x/y z', place: null });
  });
});

describe('what the agent does in place of recorded actions', () => {
  const words = (name: string) => `Click button "${name}"`;
  const replaceIn = (actions: readonly RecordedAction[]) => {
    const pending = listPending(actions);
    const replace = (name: string) => pending.replace(click(name).action, words(name));
    return { ...pending, replace, replaceWith: pending.replace };
  };

  it('names each replaced action, and those that were left out', () => {
    const pending = replaceIn([click('Add'), click('Save'), click('Close'), click('Print'), click('Leave')]);
    expect(pending.replace('Create')).toEqual({ before: words('Add'), after: words('Create') });
    expect(pending.replace('Confirm')).toEqual({ before: 'Not recorded', after: words('Confirm') });
    const both = `${words('Save')}; ${words('Close')}`;
    expect(pending.replace('Close')).toEqual({ before: both, after: words('Close') });
    expect(pending.replace('Print')).toBeNull();
    expect(pending.leaveOut()).toEqual({ before: words('Leave'), after: 'Left out' });
  });

  it.each<[string, string[], number]>([
    ['repeats all', ['Add', 'Save', 'Close'], 0],
    ['replaces one', ['Create', 'Save', 'Close'], 0],
    ['replaces all', ['Create', 'Store', 'Leave'], 0],
    ['leaves the first out', ['Save', 'Close'], 1],
    ['leaves one out between others', ['Create', 'Close'], 1],
    ['leaves the last two out', ['Create'], 2],
    ['does nothing', [], 3],
  ])('counts what was left out by an agent that %s', (_name, done, count) => {
    const pending = replaceIn([click('Add'), click('Save'), click('Close')]);
    for (const name of done) pending.replace(name);
    expect(pending.countLeftOut()).toBe(count);
  });

  it('counts a text as left out that was typed nowhere, and no wait', () => {
    const type = (text: string): RecordedAction => ({ action: { action: 'type', place, text, submit: false } });
    const wait: RecordedAction = { action: { action: 'wait', check: { kind: 'fits' } } };
    const pending = replaceIn([wait, type('Milk'), type('Bread')]);
    pending.replace('Create');
    expect(pending.countLeftOut()).toBe(2);
    pending.replaceWith(type('Bread').action, 'Type "Bread" into textbox "Other"');
    expect(pending.countLeftOut()).toBe(1);
  });

  it('replaces nothing without a recording', () => {
    const pending = replaceIn([]);
    expect([pending.replace('Add'), pending.leaveOut(), pending.countLeftOut()]).toEqual([null, null, 0]);
  });
});

it('a ref is found in the tree with its role and name, and not in what the page writes', () => {
  const tree = [
    '- main [ref=e1]:',
    '  - button "Say \\"hi\\" [ref=e5]" [disabled] [ref=e12] [clickable]',
    '  - text: - button "Pay" [ref=e6]',
    '  - textbox "Title" [ref=f1e3] [placeholder="[ref=e7]"]: Milk',
  ].join('\n');
  expect(['e1', 'e12', 'f1e3'].map((ref) => findInTree(tree, ref))).toEqual([
    { role: 'main', name: '' },
    { role: 'button', name: 'Say "hi" [ref=e5]' },
    { role: 'textbox', name: 'Title' },
  ]);
  expect(['e5', 'e6', 'e7', 'e9'].map((ref) => findInTree(tree, ref))).toEqual(Array(4).fill(undefined));
});
