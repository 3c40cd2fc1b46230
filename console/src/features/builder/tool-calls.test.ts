// Tests what is read from the assistant's tool calls: questions with their answers, saved revisions, and costs.
import { describe, expect, it } from 'vitest';
import { computeCost, findChoices, findRevision } from './tool-calls.ts';
import type { ToolCall } from './transcript.ts';

const call = (name: string, args: object, status = 'success') =>
  ({ id: 'c1', name, arguments_string: JSON.stringify(args), status }) as ToolCall;

describe('findChoices', () => {
  it('reads the answers after the colon of a question', () => {
    const question = 'Who may create an account in this app: nobody, only people you add, or everybody?';
    expect(findChoices(question)).toEqual(['Nobody', 'Only people you add', 'Everybody']);
  });

  it.each(['What is the name of your shop?', 'Which of these: one?', `Which: ${'a'.repeat(80)} or b?`])(
    'offers no buttons for %s',
    (question) => expect(findChoices(question)).toEqual([]),
  );
});

describe('findRevision', () => {
  it('counts the files and entities of the revision that was saved', () => {
    const args = { revision: 4, created: { count: 1 }, changed: ['a', 'b'], entities: ['Task'] };
    expect(findRevision([call('save_revision', args)])).toEqual({ revision: 4, files: 3, entities: 1 });
  });

  it('finds none if saving failed', () => {
    expect(findRevision([call('save_revision', { revision: 4 }, 'error')])).toBeUndefined();
  });
});

describe('computeCost', () => {
  const price = { credits: 1, at_least: 0.5 };
  it('is the price of the tokens, and at least the minimum', () => {
    expect(computeCost({ prompt_tokens: 19_000, completion_tokens: 1_000 }, price)).toBe(2);
    expect(computeCost({ prompt_tokens: 10, completion_tokens: 1 }, price)).toBe(0.5);
  });

  it('is not invented while the price or the usage is not known', () => {
    expect(computeCost(null, price)).toBeUndefined();
    expect(computeCost({ prompt_tokens: 1, completion_tokens: 1 }, undefined)).toBeUndefined();
  });
});
