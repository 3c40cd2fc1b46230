// Browser test plays for the task list that the sandbox model builds.
import type { RecordedCall, TestPlay } from '../test-play.ts';

const type = (name: string, text: string): RecordedCall => ({
  name: 'type',
  element: { role: 'textbox', name },
  arguments: { text },
});
const click = (role: string, name: string): RecordedCall => ({ name: 'click', element: { role, name }, arguments: {} });
const expectThat = (check: RecordedCall['arguments']): RecordedCall => ({ name: 'assert', arguments: check });

const signIn = [type('E-mail address', '{{email}}'), type('Password', '{{password}}'), click('button', 'Sign in')];

export const taskListPlays: readonly TestPlay[] = [
  {
    goalPattern: /\b(?:add|write down|create)\b.*\btasks?\b/is,
    proposal: {
      entity: 'Task',
      name: 'A task is added, done and deleted',
      goal: 'Sign in and add the task "Buy milk". The list must say "1 of 1 to do". Tick the task off: it must say "0 of 1 to do", also after the page is opened again. Delete the task. The page must say that there are no tasks yet.',
      role: 'user',
    },
    calls: [
      ...signIn,
      type('New task', 'Buy milk'),
      click('button', 'Add'),
      expectThat({ kind: 'text', text: '1 of 1 to do' }),
      click('checkbox', 'Buy milk'),
      expectThat({ kind: 'text', text: '0 of 1 to do' }),
      { name: 'open', arguments: { path: '/' } },
      expectThat({ kind: 'visible', role: 'checkbox', name: 'Buy milk' }),
      expectThat({ kind: 'text', text: '0 of 1 to do' }),
      click('button', 'Delete: Buy milk'),
      expectThat({ kind: 'text', text: 'No tasks yet.' }),
      expectThat({ kind: 'no_text', text: 'Buy milk' }),
    ],
  },
];
