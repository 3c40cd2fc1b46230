// The revisions that people made without the assistant, and their places between the messages of the chat.
import type { Data } from '../../data/client.ts';
import type { Message } from './transcript.ts';

export type Revision = Data<'listRevisions'>['items'][number];

/** What happened in the app, oldest first. */
export type Entry =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'revisions'; readonly revisions: readonly Revision[] };

const deeds = {
  file: 'changed files',
  sync: 'uploaded files',
  schema: 'changed the data or its rules',
  headers: 'changed the security headers',
  restore: 'restored an earlier revision',
  fix: 'applied a security fix',
} as const;

const isDeed = (cause: Revision['cause']): cause is keyof typeof deeds => cause in deeds;

/**
 * Puts the revisions, newest first, between the messages, oldest first. Revisions from before the first message are left
 * out unless the messages begin with the conversation.
 */
export function joinRevisions(
  messages: readonly Message[],
  revisions: readonly Revision[],
  isFromStart: boolean,
): readonly Entry[] {
  const begin = isFromStart ? '' : (messages[0]?.created_date ?? '');
  const left = revisions.filter(({ cause, created_date }) => isDeed(cause) && created_date >= begin).reverse();
  const entries: Entry[] = [];
  for (const message of messages) {
    const before = left.findIndex(({ created_date }) => created_date >= message.created_date);
    addRevisions(entries, left.splice(0, before === -1 ? left.length : before));
    entries.push({ kind: 'message', message });
  }
  addRevisions(entries, left);
  return entries;
}

/** Several of the same kind by the same person are one entry, because every saved file makes a revision. */
function addRevisions(entries: Entry[], revisions: readonly Revision[]): void {
  for (const revision of revisions) {
    const last = entries.at(-1);
    const [first] = last?.kind === 'revisions' ? last.revisions : [];
    const isSame = first?.cause === revision.cause && first.actor === revision.actor && revision.cause !== 'restore';
    if (last?.kind === 'revisions' && isSame)
      entries[entries.length - 1] = { kind: 'revisions', revisions: [...last.revisions, revision] };
    else entries.push({ kind: 'revisions', revisions: [revision] });
  }
}

/** Example: "You restored revision 2: it is revision 4 now." */
export function describeDeed(revisions: readonly Revision[], ownEmail: string | undefined): string {
  const [first, last] = [revisions[0], revisions.at(-1)];
  if (first === undefined || last === undefined || !isDeed(first.cause)) return '';
  const who = first.actor !== null && first.actor === ownEmail ? 'You' : (first.actor ?? 'Somebody');
  if (first.restored_revision !== null)
    return `${who} restored revision ${first.restored_revision}: it is revision ${first.revision} now.`;
  const which = first === last ? `revision ${first.revision}` : `revisions ${first.revision} to ${last.revision}`;
  return `${who} ${deeds[first.cause]}: ${which}.`;
}
