// Tests the document about a failed run that is sent to the language model.
import { describe, expect, it } from 'vitest';
import type { EvidenceStep } from '../store/analyses.ts';
import { createHider } from './hide.ts';
import { type Evidence, writeMaterial } from './material.ts';
import { buildPrompt, hashPrompt, promptVersion } from './prompt.ts';

const hider = createHider(['correct horse battery']);

const step = (number: number, more: Partial<EvidenceStep> = {}): EvidenceStep => ({
  number,
  task_path: `/do/${number}/task`,
  name: 'task',
  task_type: 'call',
  status: 'completed',
  attempt: 1,
  input: { number },
  output: null,
  error: null,
  ...more,
});

const evidence: Evidence = {
  workflowName: 'Welcome',
  triggerType: 'manual',
  failureClass: 'authentication',
  errorMessage: "Task 'task' failed: 401",
  failedStep: 12,
  definition: { do: [{ first: { set: { a: 1 } } }] },
  steps: Array.from({ length: 12 }, (_, index) => step(index + 1)),
};

const read = (of: Partial<Evidence>) => JSON.parse(writeMaterial({ ...evidence, ...of }, hider));

describe('the material', () => {
  it('has the definition, the error and the last ten steps', () => {
    const got = read({});
    expect(got).toMatchObject({
      workflow: 'Welcome',
      trigger: 'manual',
      failure: { kind: 'authentication', step: 12, message: "Task 'task' failed: 401" },
      definition: evidence.definition,
    });
    expect(got.steps.map((each: { step: number }) => each.step)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(got.steps[0]).toMatchObject({ name: 'task', path: '/do/3/task', input: { number: 3 }, output: null });
  });

  it.each(['x', '"', 'ä', '\u0001', '😀'])('is at most 32 KiB, however long the values are, of %j', (letter) => {
    const long = letter.repeat(16_000);
    const of = {
      workflowName: long,
      errorMessage: long,
      definition: { do: Array.from({ length: 50 }, () => ({ [long.slice(0, 100)]: { set: long.slice(0, 2_000) } })) },
      steps: evidence.steps.map((each) => ({
        ...each,
        name: long,
        task_path: `/${long}`,
        input: { long },
        output: [long],
        error: { detail: long },
      })),
    };
    const document = writeMaterial({ ...evidence, ...of }, hider);
    expect(Buffer.byteLength(buildPrompt(document).content)).toBeLessThanOrEqual(32 * 1024);
    expect(JSON.parse(document).steps).toHaveLength(10);
  });

  it('has the task that failed if the definition is long', () => {
    const tasks = Array.from({ length: 200 }, (_, index) => ({ [`t/${index}`]: { set: { text: 'x'.repeat(500) } } }));
    const failing = step(12, { task_path: '/do/150/t~1150' });
    const got = read({ definition: { do: tasks }, steps: [...evidence.steps.slice(0, -1), failing] });
    expect(got.definition).toEqual({ shortened: true, failed_task: { set: { text: 'x'.repeat(500) } } });
  });

  it('has no credential, also where a value is cut', () => {
    const text = `${'x'.repeat(5_990)} correct horse battery ${'Bearer a1b2c3d4e5'.repeat(500)}`;
    const of = {
      errorMessage: text,
      definition: { note: text },
      steps: [step(12, { input: { text }, output: text, error: { detail: text }, name: text })],
    };
    expect(JSON.stringify(read(of))).not.toMatch(/correct|horse|a1b2c3/);
  });

  it('stands between two lines with a random word that it does not contain', () => {
    const one = buildPrompt('{"a":1}');
    const other = buildPrompt('{"a":1}');
    const [, opened, document, closed] = one.content.split('\n');
    expect([opened, document, closed]).toEqual([one.boundary, '{"a":1}', one.boundary]);
    expect(one.boundary).not.toBe(other.boundary);
    expect(hashPrompt('{"a":1}')).toBe(hashPrompt('{"a":1}'));
    expect(hashPrompt('{"a":1}')).not.toBe(hashPrompt('{"a":2}'));
  });

  it('has another version if one of our texts was changed', () => {
    // If this fails, increment `promptVersion` and write the new hash here.
    expect([promptVersion, hashPrompt('{}')]).toEqual([
      1,
      'a97c137f7b47180067dc1bdba06834676d388263b5005490abf824ba94977393',
    ]);
  });
});
