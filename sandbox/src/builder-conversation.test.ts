// Tests that the recorded conversation fits the starter and the entity grammar. The tests in server/test/e2e use it to
// build the app.
import { describe, expect, it } from 'vitest';
import { readStarter } from '../../server/src/features/builder/starter.ts';
import { isForBuilder, playBuilder } from './builder-conversation.ts';
import type { ChatRequest } from './chat.ts';

const names = [
  'list_files',
  'read_file',
  'search_files',
  'edit_file',
  'write_file',
  'delete_file',
  'list_entities',
  'read_entity',
  'save_entity',
  'read_sign_up',
  'set_sign_up',
  'check_page',
  'ask',
];
const tools = names.map((name) => ({ function: { name } }));
const say = (content: string) => ({ role: 'user', content });

/** Applies a turn to the files as the tools would. Returns its last text, its calls, and what it asks the person. */
function build(wish: string, files: Map<string, string>, signUp = 'Everybody can create an account.') {
  const messages: { role: string; content: string }[] = [{ role: 'system', content: 'You build apps.' }, say(wish)];
  const calls: { name: string; arguments: Record<string, string> }[] = [];
  for (let step = 0; step < 20; step += 1) {
    const reply = playBuilder({ model: 'm', messages, tools });
    if (!reply.tool_calls?.length) return { text: reply.text ?? '', calls };
    messages.push({ role: 'assistant', content: reply.text ?? '' });
    const [first] = reply.tool_calls;
    if (first?.name === 'ask')
      return { text: reply.text ?? '', calls, question: (first.arguments as { question: string }).question };
    for (const call of reply.tool_calls) {
      const sent = call.arguments as Record<string, string>;
      calls.push({ name: call.name, arguments: sent });
      messages.push({
        role: 'tool',
        content: call.name === 'read_sign_up' ? signUp : carryOut(call.name, sent, files),
      });
    }
  }
  throw new Error('the conversation did not end');
}

function carryOut(
  name: string,
  { path = '', old_text = '', new_text = '', content = '' }: Record<string, string>,
  files: Map<string, string>,
) {
  const text = files.get(path) ?? '';
  if (name === 'write_file') files.set(path, content);
  if (name !== 'edit_file') return 'Done.';
  const matches = text.split(old_text).length - 1;
  if (matches !== 1) return `old_text occurs ${matches} times in the file.`;
  files.set(
    path,
    text.replace(old_text, () => new_text),
  );
  return 'Replaced at line 1.';
}

describe('the recorded conversation', () => {
  const files = new Map(readStarter());

  it('builds a task list from the starter, and says what people can do with it', () => {
    const { text, calls } = build('Make a task list with owners', files);
    expect(text).toMatch(/^Your task list is ready\./);
    expect(calls.map(({ name }) => name)).toEqual([
      'list_files',
      'list_entities',
      'read_sign_up',
      'read_file',
      'read_file',
      'read_file',
      'save_entity',
      'edit_file',
      'edit_file',
      'edit_file',
      'edit_file',
      'write_file',
      'check_page',
    ]);
    expect(files.get('public/index.html')).toContain('<title>Tasks</title>');
    expect(files.get('public/index.html')).not.toContain('There is nothing here yet');
  });

  it('asks who may sign up, but only if nobody has chosen that', () => {
    const starter = () => new Map(readStarter());
    const chosen = build('A task list', starter());
    const open = build(
      'A task list',
      starter(),
      'Nobody can create an account. Nobody has chosen this: ask the person.',
    );
    expect([chosen.question, open.question]).toEqual([undefined, expect.stringMatching(/^Who may create an account/)]);
    expect(open.text).toBe(chosen.text);
  });

  it.each([
    ['Nobody', 'nobody'],
    ['No one.', 'nobody'],
    ['Only people you add', 'invited'],
    ['Only people I invite', 'invited'],
    ['Everybody', 'everybody'],
    ['anyone', 'everybody'],
  ])('sets who may sign up by the answer: %s', (answer, who) => {
    const { text, calls } = build(answer, new Map());
    expect(calls).toEqual([{ name: 'set_sign_up', arguments: { who } }]);
    expect(text).toMatch(/^It is set\./);
  });

  it('then adds a due date with small edits', () => {
    const { text, calls } = build('Please add a due date', files);
    expect(text).toMatch(/^Tasks have a due date now/);
    expect(calls.filter(({ name }) => name === 'write_file')).toEqual([]);
    expect(files.get('public/app.js')).toContain('due: due.value');
  });

  it('says that it can play nothing else, and stops if a tool refuses', () => {
    expect(build('A shop for shoes', new Map(files)).text).toContain('“A task list with owners”');
    expect(build('A task list', new Map()).text).toContain('A tool answered: old_text occurs 0 times');
  });

  it('does not try to correct what the checks find', () => {
    const note = say('Your changes were checked, and errors were found. Correct them.');
    const reply = playBuilder({
      model: 'm',
      messages: [say('a task list'), { role: 'assistant', content: '' }, note],
      tools,
    });
    expect(reply).toEqual({ text: expect.stringContaining('The checks found errors.') });
  });

  it('is played only if the tools of the builder are offered', () => {
    const request: ChatRequest = {
      model: 'm',
      messages: [say('a task list')],
      tools: [{ function: { name: 'remember' } }],
    };
    expect([isForBuilder(request), isForBuilder({ ...request, tools })]).toEqual([false, true]);
  });
});
