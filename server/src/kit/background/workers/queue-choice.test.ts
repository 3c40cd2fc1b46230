// Tests which queues a worker runs by the setting WORKER_QUEUES.
import { describe, expect, it } from 'vitest';
import type { Queue } from '../queues/queue.ts';
import { chooseQueues, parseQueueChoice } from './queue-choice.ts';

const queues = ['mails', 'scans', 'sessions'].map((name) => ({ name })) as Queue[];
const choose = (value: string) => {
  const { chosen, unknown } = chooseQueues(queues, parseQueueChoice(value));
  return [chosen.map(({ name }) => name), unknown];
};

describe('WORKER_QUEUES', () => {
  it.each([
    ['all', ['mails', 'scans', 'sessions'], []],
    ['scans', ['scans'], []],
    ['sessions, scans', ['scans', 'sessions'], []],
    ['-scans', ['mails', 'sessions'], []],
    ['-scans,-sessions', ['mails'], []],
    ['scans,letters', ['scans'], ['letters']],
    ['-letters', ['mails', 'scans', 'sessions'], ['letters']],
  ])('%s', (value, chosen, unknown) => {
    expect(choose(value)).toEqual([chosen, unknown]);
  });

  it.each(['', 'scans,-mails', 'scans;mails', '-', 'ALL'])('%j is refused', (value) => {
    expect(() => parseQueueChoice(value)).toThrow('must be `all`, names of queues');
  });
});
