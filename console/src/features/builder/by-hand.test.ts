// Tests where the chat shows what people changed without the assistant, and in which words.
import { describe, expect, it } from 'vitest';
import { describeDeed, joinRevisions, type Revision } from './by-hand.ts';
import type { Message } from './transcript.ts';

const at = (minute: number) => `2026-11-19T08:0${minute}:00.000Z`;
const message = (id: string, minute: number) => ({ id, created_date: at(minute) }) as Message;
const revision = (number: number, minute: number, cause: Revision['cause'], restored: number | null = null) =>
  ({
    revision: number,
    created_date: at(minute),
    cause,
    actor: 'ann@acme.example',
    restored_revision: restored,
  }) as Revision;

const messages = [message('m1', 1), message('m2', 4)];
const read = (revisions: readonly Revision[], isFromStart = true) =>
  joinRevisions(messages, revisions, isFromStart).map((entry) =>
    entry.kind === 'message' ? entry.message.id : entry.revisions.map((each) => each.revision),
  );

describe('joinRevisions', () => {
  it('puts restores where they happened, and leaves out what the assistant and the first revision did', () => {
    const revisions = [
      revision(5, 5, 'restore', 3),
      revision(4, 3, 'restore', 2),
      revision(3, 2, 'chat'),
      revision(1, 0, 'create'),
    ];
    expect(read(revisions)).toEqual(['m1', [4], 'm2', [5]]);
  });

  it('joins files that the same person saved one after the other', () => {
    const revisions = [revision(4, 3, 'headers'), revision(3, 2, 'file'), revision(2, 2, 'file')];
    expect(read(revisions)).toEqual(['m1', [2, 3], [4], 'm2']);
  });

  it('leaves out what happened before the messages that were read', () => {
    const revisions = [revision(3, 2, 'file'), revision(2, 0, 'file')];
    expect(read(revisions, false)).toEqual(['m1', [3], 'm2']);
    expect(read(revisions, true)).toEqual([[2], 'm1', [3], 'm2']);
  });
});

describe('describeDeed', () => {
  it.each([
    [[revision(4, 3, 'restore', 2)], 'You restored revision 2: it is revision 4 now.'],
    [[revision(4, 3, 'file')], 'You changed files: revision 4.'],
    [[revision(4, 3, 'file'), revision(7, 3, 'file')], 'You changed files: revisions 4 to 7.'],
  ])('%# is said to whoever did it', (revisions, words) => {
    expect(describeDeed(revisions, 'ann@acme.example')).toBe(words);
  });

  it('names whoever else did it', () => {
    expect(describeDeed([revision(4, 3, 'sync')], 'ben@acme.example')).toBe(
      'ann@acme.example uploaded files: revision 4.',
    );
  });
});
