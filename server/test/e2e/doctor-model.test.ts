// Tests `plinth doctor --model`: the sentence about a model that can build apps, and about models that can't. The models
// speak the real protocol.
import { afterAll, beforeEach, expect, it } from 'vitest';
import type { ChatRequest, ModelReply } from '../../../sandbox/src/chat.ts';
import { playDoctor } from '../../../sandbox/src/doctor-conversation.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { commandLine } from './command.ts';

const sandbox = await startModelSandbox();
afterAll(() => sandbox.close());
beforeEach(() => {
  sandbox.behave('well');
  sandbox.script(playDoctor);
});

// Nothing but the model is of interest here, so the database need not exist.
const settings = { ...newKeys(), DATABASE_URL: 'postgres://127.0.0.1:1/none', COMMAND_SANDBOX_BWRAP: 'off' };

interface Trial {
  readonly can_build_apps: boolean;
  readonly verdict: string;
  readonly longest_prompt_tokens: number | null;
  readonly failed_prompt_tokens: number | null;
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly tokens_are_estimated: boolean;
}

async function tryModel(more: Record<string, string> = { MODEL_URL: sandbox.url }) {
  const { plinth } = commandLine({ ...settings, ...more });
  const { stdout } = await plinth('doctor', '--json', '--model').catch((failed: { stdout: string }) => failed);
  const { model, checks }: { model: Trial; checks: { part: string; outcome: string }[] } = JSON.parse(stdout);
  return { model, outcomeOf: (part: string) => checks.find((check) => check.part === part)?.outcome };
}

const isLong = ({ messages }: ChatRequest) => JSON.stringify(messages).length > 20_000;

it('a model that can build apps is said to', async () => {
  const before = sandbox.requests.length;
  const { model, outcomeOf } = await tryModel();
  expect(model).toMatchObject({ can_build_apps: true, failed_prompt_tokens: null, tokens_are_estimated: false });
  expect(model.verdict).toMatch(
    /^This model can build apps: it calls tools in a stream and edits a file exactly, and it reads 11\d,\d{3} tokens at once.$/,
  );
  const parts = ['model', 'model tool calls', 'model edits', 'model context'];
  expect(parts.map(outcomeOf)).toEqual(parts.map(() => 'works'));
  // Three steps of the edit, and five prompts of growing length.
  expect([model.requests, sandbox.requests.length - before]).toEqual([8, 8]);
  expect(model.prompt_tokens).toBeGreaterThan(230_000);
  expect(model.prompt_tokens).toBeLessThan(250_000);
  const [first] = sandbox.requests.slice(before);
  expect(first).toMatchObject({
    stream: true,
    tools: [{ function: { name: 'read_file' } }, { function: { name: 'edit_file' } }],
  });
});

it('the text says the same in one sentence, and what it cost', async () => {
  const { plinth } = commandLine({ ...settings, MODEL_URL: sandbox.url });
  const { stdout } = await plinth('doctor', '--model').catch((failed: { stdout: string }) => failed);
  expect(stdout).toMatch(
    /^This model can build apps: .*\.\nThe trial took 8 requests, \d+ tokens of prompts and \d+ of replies \(as the server reported\)\.$/m,
  );
});

it.each<[string, (request: ChatRequest) => ModelReply, RegExp, string]>([
  [
    'calls no tools',
    () => ({ text: 'I would read the file and change the price.' }),
    /^This model can't build apps: it answered with text instead of calling the tool\.$/,
    'model tool calls',
  ],
  [
    'calls tools with invalid arguments',
    () => ({ tool_calls: [{ name: 'read_file', arguments: '{"file": "x"' }] }),
    /^This model can't build apps: the arguments of its tool call were not valid\.$/,
    'model tool calls',
  ],
  [
    'changes another line',
    ({ messages, ...request }) => {
      const misread = (content: string) => content.replace('the price of article-137', 'the price of article-136');
      return playDoctor({
        ...request,
        messages: messages.map((each) => ({ ...each, content: misread(each.content ?? '') })),
      });
    },
    /^This model can't build apps: its edit of a file was not what was asked for\.$/,
    'model edits',
  ],
  [
    'changes more than it was asked to',
    (request) => {
      const reply = playDoctor(request);
      const [call] = reply.tool_calls ?? [];
      if (call?.name !== 'edit_file') return reply;
      const { path, old_text, new_text } = call.arguments as Record<string, string>;
      return { tool_calls: [{ name: 'edit_file', arguments: { path, old_text, new_text: `${new_text} // changed` } }] };
    },
    /^This model can't build apps: its edit of a file was not what was asked for\.$/,
    'model edits',
  ],
  [
    'says that it is done without an edit',
    (request) => (request.messages.some(({ role }) => role === 'tool') ? { text: 'done' } : playDoctor(request)),
    /^This model can't build apps: it did not change a file as it was asked to, within 6 steps\.$/,
    'model edits',
  ],
])('a model that %s is said not to, and is sent no long prompts', async (_what, script, verdict, part) => {
  sandbox.script(script);
  const before = sandbox.requests.length;
  const { model, outcomeOf } = await tryModel();
  expect(model.verdict).toMatch(verdict);
  expect([model.can_build_apps, outcomeOf(part), outcomeOf('model context')]).toEqual([false, 'broken', undefined]);
  expect(sandbox.requests.slice(before).filter(isLong)).toEqual([]);
});

/** Refuses prompts of more than this many characters, as servers do whose context is full. */
const refuseAbove = (characters: number) => (request: ChatRequest) =>
  JSON.stringify(request.messages).length > characters ? { status: 400 as const } : playDoctor(request);

it('a model whose context is too short is said not to', async () => {
  sandbox.script(refuseAbove(70_000));
  const { model, outcomeOf } = await tryModel();
  expect(model).toMatchObject({ can_build_apps: false, failed_prompt_tokens: 32_000, tokens_are_estimated: true });
  expect(model.longest_prompt_tokens).toBeGreaterThan(15_000);
  expect(model.verdict).toMatch(
    /^This model can't build apps: .* a prompt of about 32,000 tokens was refused, and Plinth needs 32,000\.$/,
  );
  expect(outcomeOf('model context')).toBe('broken');
});

it('a model with a shorter context than prompts can have is said to build small apps', async () => {
  sandbox.script(refuseAbove(200_000));
  const { model, outcomeOf } = await tryModel();
  expect(model.verdict).toMatch(
    /^This model can build small apps: .* a prompt of about 64,000 tokens was refused, so long chats/,
  );
  expect([model.can_build_apps, outcomeOf('model context')]).toEqual([true, 'works']);
});

it('a server that silently drops the beginning of a prompt is noticed', async () => {
  sandbox.script((request) =>
    JSON.stringify(request.messages).length > 200_000 ? { text: 'bread' } : playDoctor(request),
  );
  const { model } = await tryModel();
  expect(model.verdict).toContain('a prompt of about 64,000 tokens was answered, but its beginning was forgotten');
});

it.each([
  ['that fails', 500, 'its server refused the request'],
  ['that does not stream valid replies', 'malformed', 'do not follow the chat completions protocol with streaming'],
  ['that ends replies early', 'cut', 'ended a reply before it was complete'],
] as const)('a server %s is said to be the reason', async (_what, behaviour, reason) => {
  sandbox.behave(behaviour);
  const { model } = await tryModel();
  expect(model.verdict).toContain("This model can't build apps: ");
  expect(model.verdict).toContain(reason);
  expect([model.can_build_apps, model.requests]).toEqual([false, 1]);
});

it('without a model there is nothing to try', async () => {
  const { model, outcomeOf } = await tryModel({});
  expect(model.verdict).toBe('No model is configured, so no app can be built by chat: set MODEL_URL.');
  expect([outcomeOf('model trial'), model.requests]).toEqual(['missing', 0]);
});
