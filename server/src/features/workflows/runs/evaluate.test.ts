// Tests evaluating expressions while jq is busy.
import { describe, expect, it } from 'vitest';
import { evaluate, type Scope } from './evaluate.ts';
import type { Execution } from './execution.ts';
import { startState } from './state.ts';

const scope: Scope = {
  input: {},
  taskInput: {},
  task: { name: 'post' },
  startedAt: 0,
  state: startState({}, new Date(0)),
};

function createExecution(busyTimes: number, signal = new AbortController().signal) {
  let calls = 0;
  const jq = {
    evaluate: async () => {
      calls += 1;
      return calls <= busyTimes ? { kind: 'busy', error: 'busy' } : { values: [7] };
    },
  };
  const run = { workspace_id: 'w', workflow_id: 'f', id: 'r', started_at: new Date(0) };
  const execution = { deps: { jq }, run, signal, secrets: {}, definition: { tasksByPath: new Map(), secretNames: [] } };
  return { execution: execution as unknown as Execution, countCalls: () => calls };
}

describe('evaluate', () => {
  it('waits until jq is free, because an error would repeat what the task has called', async () => {
    const { execution, countCalls } = createExecution(2);
    expect(await evaluate(execution, { 'output.as': '${ .n }' }, scope)).toEqual({ 'output.as': 7 });
    expect(countCalls()).toBe(3);
  });

  it('gives up when the claim ends', async () => {
    const { execution } = createExecution(Number.POSITIVE_INFINITY, AbortSignal.timeout(300));
    await expect(evaluate(execution, { set: '${ .n }' }, scope)).rejects.toThrow();
  });
});
