// Tests that the plays fit the demo repository: the recorded calls run on a copy of it, including its tests. The tests
// in server/src/features/coding-sessions play them with the real session tools.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatRequest, ModelReply } from './chat.ts';
import { isForCoding, playCoding } from './coding-conversation.ts';

const tools = ['list_files', 'read_file', 'search', 'write_file', 'edit_file', 'delete_file', 'run_command']
  .concat('ask_question', 'ask_approval')
  .map((name) => ({ function: { name } }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coding-play-'));
  cpSync(new URL('demo-repository/files', import.meta.url), folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const inFolder = (path: string): string => join(folder, path);
const readIn = (path: string): string => readFileSync(inFolder(path), 'utf8');

type Arguments = Record<string, string>;

/** Executes a tool call. Questions and approvals get the test's answer. */
const carryOut: Readonly<Record<string, (args: Arguments, answer: string) => string>> = {
  list_files: () => execFileSync('find', ['.', '-type', 'f'], { cwd: folder, encoding: 'utf8' }),
  read_file: ({ path = '' }) => readIn(path),
  search: ({ text = '' }) => execFileSync('grep', ['-rnF', text, '.'], { cwd: folder, encoding: 'utf8' }),
  write_file({ path = '', content = '' }) {
    mkdirSync(dirname(inFolder(path)), { recursive: true });
    writeFileSync(inFolder(path), content);
    return 'Written.';
  },
  edit_file({ path = '', old_text = '', new_text = '' }) {
    if (!readIn(path).includes(old_text)) return 'old_text is not in the file.';
    writeFileSync(
      inFolder(path),
      readIn(path).replace(old_text, () => new_text),
    );
    return 'Changed.';
  },
  delete_file({ path = '' }) {
    rmSync(inFolder(path));
    return 'Deleted.';
  },
  run_command: ({ command = '' }) =>
    execFileSync('/bin/sh', ['-c', `${command} 2>&1 || true`], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    }),
  ask_question: (_args, answer) => answer,
  ask_approval: (_args, answer) => answer,
};

type Message = ChatRequest['messages'][number] & { tool_calls?: unknown };

/** Plays to the end. `said` contains the messages of earlier turns. */
function play(prompt: string, answer = '', said: Message[] = []) {
  const messages: Message[] = [...said, { role: 'user', content: prompt }];
  const calls: string[] = [];
  for (let step = 0; step < 20; step += 1) {
    const reply: ModelReply = playCoding({ model: 'm', messages, tools });
    messages.push({ role: 'assistant', content: reply.text ?? '', tool_calls: reply.tool_calls });
    if (reply.tool_calls === undefined) return { messages, calls, summary: reply.text };
    for (const { name, arguments: args } of reply.tool_calls) {
      calls.push(name);
      messages.push({ role: 'tool', content: carryOut[name]?.(args as Arguments, answer) ?? 'no such tool' });
    }
  }
  throw new Error('the play did not end');
}

describe('a play of the demo repository', () => {
  it('sees the tests fail, mends the bug, and sees them pass', () => {
    const { messages, calls, summary } = play('Make the failing tests pass.');
    const runs = messages.filter(({ content }) => /\bfail \d/.test(content ?? ''));
    expect(runs.map(({ content }) => /\bfail (\d+)/.exec(content ?? '')?.[1])).toEqual(['2', '0']);
    expect(calls.filter((name) => name === 'edit_file')).toHaveLength(1);
    expect(summary).toContain('All 4 tests pass.');
    expect(readIn('src/discount.js')).toContain('quantity >= pieces');
  });

  it('changes nothing if the tests pass already, in a later turn', () => {
    const first = play('Make the failing tests pass.');
    const second = play('Do the tests fail? Make them pass.', '', first.messages);
    expect(second.calls).not.toContain('edit_file');
    expect(second.summary).toBe('All 4 tests pass. There is nothing to change.');
  });

  it('asks a question, and does what the answer says', () => {
    const { summary } = play('Print prices with a currency.', 'The person chose: Pound sterling');
    expect(summary).toContain('£3.90');
    expect(summary).toContain('The test passes.');
    expect(readIn('src/format.js')).toContain('£');
  });

  it('deletes a file after approval only', () => {
    expect(play('Delete the prices that nothing uses.', 'The person refused.').calls).not.toContain('delete_file');
    const { calls, summary } = play('Delete the prices that nothing uses.', 'The person approved.');
    expect(calls).toContain('delete_file');
    expect(summary).toContain('is deleted');
  });

  it('answers a question without a change, and says what it has no calls for', () => {
    const { calls, summary } = play('How is the discount computed?');
    expect(new Set(calls)).toEqual(new Set(['read_file']));
    expect(summary).toContain('I changed nothing.');
    expect(play('Write a compiler.').summary).toContain('set MODEL_URL to a real model');
  });

  it('says which messages it did nothing about, and that it cannot continue with other files', () => {
    const added = playCoding({
      model: 'm',
      tools,
      messages: [
        { role: 'user', content: 'Print prices with a currency.' },
        ...Array.from({ length: 4 }, (): Message => ({ role: 'assistant', content: '', tool_calls: [{}] })),
        { role: 'user', content: 'And make them green.' },
      ] as ChatRequest['messages'],
    });
    expect(added.text).toContain('Not done, because my calls are recorded: “And make them green.”');
    writeFileSync(inFolder('src/discount.js'), 'export const discountPercent = () => 0;\n');
    expect(play('Make the failing tests pass.').summary).toContain("I can't continue");
  });

  it('is played only if the tools of sessions are offered', () => {
    const offered = [tools, tools.slice(1)].map((some) => isForCoding({ model: 'm', messages: [], tools: some }));
    expect(offered).toEqual([true, false]);
  });
});
