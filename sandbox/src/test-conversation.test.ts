// Tests that recorded browser test calls follow the page: refs come from the last snapshot, and a check detects missing
// elements. The tests in server/src/features/browser-tests/run play them in a real browser.
import { describe, expect, it } from 'vitest';
import type { ChatRequest, ModelReply } from './chat.ts';
import { isForTest, playTest, proposeFlows, type TestPlay, testPlays } from './test-conversation.ts';

const tools = ['open', 'click', 'type', 'select', 'resize', 'wait', 'assert', 'finish'].map((name) => ({
  function: { name },
}));
const page = (...lines: string[]) =>
  ['The page now:', 'PAGE-ab', 'Address: x', 'Title: y', ...lines, 'PAGE-ab'].join('\n');

const plays: TestPlay[] = [
  {
    goalPattern: /add a task/i,
    calls: [
      { name: 'type', element: { role: 'textbox', name: 'Title' }, arguments: { text: 'Milk' } },
      {
        name: 'click',
        element: { role: 'button', name: 'Add', or: [{ role: 'button', name: 'Create' }] },
        arguments: {},
      },
      { name: 'assert', arguments: { kind: 'text', text: '1 task' } },
      { name: 'click', element: { role: 'button', name: 'Delete', near: 'Milk' }, arguments: {} },
      { name: 'assert', element: { role: 'listitem', name: 'Milk' }, arguments: { kind: 'hidden' } },
    ],
  },
];

/**
 * Plays against these pages in order. A page may be preceded by the tool result to report, which defaults to `Done.`
 */
function play(task: string, ...pages: (string | readonly [result: string, page: string])[]) {
  const messages: ChatRequest['messages'][number][] = [];
  const replies: ModelReply[] = [];
  for (const [index, each] of pages.entries()) {
    const [result, shown] = typeof each === 'string' ? ['Done.', each] : each;
    messages.push(
      index === 0
        ? { role: 'user', content: `${task}\n\n${shown}` }
        : { role: 'tool', content: `${result}\n\n${shown}` },
    );
    const reply = playTest({ model: 'm', messages, tools }, plays);
    replies.push(reply);
    messages.push({ role: 'assistant', content: reply.text ?? '' });
  }
  return replies.map(({ tool_calls }) => tool_calls?.map((call) => [call.name, call.arguments]));
}

const goal = 'The goal:\nAdd a task.';
const form = page('- textbox "Title" [ref=e1]', '- button "Add" [ref=e2]');
const list = page(
  '- list [ref=e3]:',
  '  - listitem [ref=e4]:',
  '    - text: Bread',
  '    - button "Delete" [ref=e5]',
  '  - listitem [ref=e6]:',
  '    - text: Milk',
  '    - button "Delete" [ref=e7]',
);
const finish = [['finish', { summary: expect.any(String) }]];

describe('a play', () => {
  it('fills in fields together with the click that follows, and finds refs in the last snapshot', () => {
    expect(
      play(goal, form, list, ['It holds.', list], page('- textbox "Title" [ref=e1]'), ['It holds.', list]),
    ).toEqual([
      [
        ['type', { ref: 'e1', text: 'Milk' }],
        ['click', { ref: 'e2' }],
      ],
      [['assert', { kind: 'text', text: '1 task' }]],
      [['click', { ref: 'e7' }]],
      [['assert', { role: 'listitem', name: 'Milk', kind: 'hidden' }]],
      finish,
    ]);
  });

  it('waits once for an element that is missing, continues to the next check, and finishes', () => {
    const empty = page('- heading "Oops" [ref=e1]');
    expect(play(goal, empty, empty, ['It does not hold: nothing', empty])).toEqual([
      [['wait', { kind: 'visible', role: 'textbox', name: 'Title' }]],
      [['assert', { kind: 'text', text: '1 task' }]],
      finish,
    ]);
    expect(play(goal, empty, form)[1]?.[0]).toEqual(['type', { ref: 'e1', text: 'Milk' }]);
  });

  it('finishes after a check that does not hold', () => {
    expect(play(goal, form, list, ['It does not hold: 0 tasks', list])[2]).toEqual(finish);
  });

  it('uses another name of an element if the page has that one', () => {
    const renamed = page('- textbox "Title" [ref=e1]', '- \'button "Create" [ref=e9]\'');
    expect(play(goal, renamed)[0]?.[1]).toEqual(['click', { ref: 'e9' }]);
  });

  it('continues where a replay ended, and evaluates each recorded expectation by its number', () => {
    const left = ['Not done: Click button "Add"', '1. the page shows "1 task"', '2. listitem "Milk" is hidden'];
    const task = [goal, 'Recorded before.', ['PAGE-ab', ...left, 'PAGE-ab'].join('\n')].join('\n\n');
    const renamed = page('- button "Create" [ref=e9]');
    expect(
      play(task, renamed, list, ['It does not hold. What was seen:\nPAGE-ab\nx\nPAGE-ab', list], ['It holds.', list]),
    ).toEqual([[['click', { ref: 'e9' }]], [['assert', { expectation: 1 }]], [['assert', { expectation: 2 }]], finish]);
  });

  it('says that it has no calls for another goal, and is played only if the tools are offered', () => {
    expect(play('The goal:\nBuy a house', form)).toEqual([
      [['finish', { summary: expect.stringContaining('none for this goal') }]],
    ]);
    expect([isForTest({ model: 'm', messages: [], tools }), isForTest({ model: 'm', messages: [] })]).toEqual([
      true,
      false,
    ]);
  });
});

describe('proposals', () => {
  const ask = (document: object) =>
    proposeFlows({
      model: 'm',
      messages: [{ role: 'user', content: JSON.stringify(document) }],
      tools: [{ function: { name: 'propose_flows' } }],
    })?.tool_calls?.[0]?.arguments;

  it('are flows with a play, for an app with the entity that does not have them yet', () => {
    const entities = [{ name: 'Task' }];
    const { flows } = ask({ entities, existing: [] }) as { flows: { name: string; goal: string }[] };
    expect(flows.map(({ name }) => name)).toEqual(['A task is added, done and deleted']);
    for (const { goal } of flows) expect(testPlays.filter(({ goalPattern }) => goalPattern.test(goal))).toHaveLength(1);
    expect(ask({ entities, existing: flows.map(({ name }) => name) })).toEqual({ flows: [] });
    expect(ask({ entities: [{ name: 'Order' }], existing: [] })).toEqual({ flows: [] });
  });

  it('are not made without the tool', () => {
    expect(proposeFlows({ model: 'm', messages: [], tools })).toBeUndefined();
  });
});
