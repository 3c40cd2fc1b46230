// What a revision is called for people.
import type { Data } from '../../data/client.ts';
import { plural } from '../../ui/times.ts';

type Revision = Data<'listRevisions'>['items'][number];

const causes = {
  create: 'Created with the app',
  baseline: 'The state from which revisions are kept',
  chat: 'Changed by the assistant',
  file: 'Changed in the files',
  sync: 'Uploaded',
  schema: 'The data was changed',
  headers: 'The security headers were changed',
  restore: 'Restored',
  fix: 'Mended by a security fix',
} as const;

export const describeCause = ({ cause, restored_revision }: Revision): string =>
  cause === 'restore' && restored_revision !== null ? `Restored from revision ${restored_revision}` : causes[cause];

/** Example: "By the assistant, asked by ada@acme.example". */
export function describeAuthor(revision: Revision): string {
  const { cause, actor } = revision;
  if (cause === 'chat') return actor === null ? 'By the assistant' : `By the assistant, asked by ${actor}`;
  return actor === null ? describeCause(revision) : `${describeCause(revision)} by ${actor}`;
}

/** Example: "3 files, 1 kind of data". */
export function describeEffect({ files, entities, headers }: Revision): string {
  const count = files.added + files.changed + files.removed;
  const parts = [
    count > 0 && plural(count, 'file', 'files'),
    entities.length > 0 && plural(entities.length, 'kind of data', 'kinds of data'),
    headers && 'security headers',
  ].filter((part) => part !== false);
  return parts.length > 0 ? parts.join(', ') : 'no files';
}

type RestoredChanges = Data<'restoreRevision'>['changes'];

/** Whether a restore changes nothing. */
export const isNothing = ({ files, entities, headers }: RestoredChanges): boolean =>
  !headers && [files, entities].every((parts) => Object.values(parts).every((names) => names.length === 0));

/** Each file that a restore changes. */
export function listRestoredFiles({ files }: RestoredChanges) {
  const lines = (names: readonly string[], word: string) => names.map((name) => ({ name, word }));
  return [
    ...lines(files.created, 'comes back'),
    ...lines(files.updated, 'as it was'),
    ...lines(files.deleted, 'is removed'),
  ];
}

/** Each kind of data that a restore changes, if what changes in it could not be read. */
export const listRestoredData = ({ entities }: RestoredChanges): readonly string[] => [
  ...entities.created.map((name) => `The data “${name}” comes back.`),
  ...entities.updated.map((name) => `“${name}” gets the fields and rules that it had.`),
  ...entities.deleted.map((name) => `The data “${name}” is removed.`),
];
