// Performs a change, and says how it ended: done, nothing changed, refused, or unknown. One Idempotency-Key per intent
// is kept over repeats. Afterwards, what the change may have touched is read again.
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import {
  type AnswerOf,
  type Args,
  type Data,
  isPlinthError,
  type Name,
  newKey,
  type PlinthError,
  send,
  useCaller,
} from './client.ts';

export type Ending<N extends Name> =
  | { readonly kind: 'done' | 'nothing changed'; readonly data: Data<N>; readonly notes: AnswerOf<N>['notes'] }
  | { readonly kind: 'refused' | 'unknown'; readonly error: PlinthError };

export interface Change<N extends Name> {
  readonly isSending: boolean;
  readonly ending: Ending<N> | undefined;
  /** Why it was refused, or why its outcome is unknown. */
  readonly error: PlinthError | undefined;
  /** Sends the change. Called again after a refusal or an unknown outcome with the same arguments, it is a repeat. */
  perform(args: Args<N>): Promise<Ending<N>>;
  /** Forgets how it ended: what follows is a new intent. */
  reset(): void;
}

export function useChange<N extends Name>(name: N): Change<N> {
  const caller = useCaller();
  const cache = useQueryClient();
  const [isSending, setSending] = useState(false);
  const [ending, setEnding] = useState<Ending<N>>();
  const intent = useRef({ key: newKey(), args: '' });
  const reset = () => {
    intent.current = { key: newKey(), args: '' };
    setEnding(undefined);
  };
  const perform = async (args: Args<N>): Promise<Ending<N>> => {
    const text = JSON.stringify(args);
    if (intent.current.args !== '' && intent.current.args !== text) intent.current = { key: newKey(), args: text };
    intent.current.args = text;
    setSending(true);
    setEnding(undefined);
    const ended = await settle(() => send(caller, name, args, { idempotencyKey: intent.current.key }).answer());
    if (ended.kind === 'done' || ended.kind === 'nothing changed') intent.current = { key: newKey(), args: '' };
    if (ended.kind !== 'refused')
      await cache.invalidateQueries({ predicate: ({ queryKey }) => mayDiffer(queryKey, args) });
    setSending(false);
    setEnding(ended);
    return ended;
  };
  return { isSending, ending, error: ending && 'error' in ending ? ending.error : undefined, perform, reset };
}

async function settle<N extends Name>(perform: () => Promise<AnswerOf<N>>): Promise<Ending<N>> {
  try {
    const { data, notes } = await perform();
    return { kind: notes.changed ? 'done' : 'nothing changed', data, notes };
  } catch (error) {
    if (!isPlinthError(error)) throw error;
    return { kind: error.outcomeUnknown ? 'unknown' : 'refused', error };
  }
}

/**
 * Whether a read may have another answer after a change with these arguments: reads of the same app, and reads of no
 * app, such as lists and credits. Reads of other apps stay.
 */
export function mayDiffer(queryKey: readonly unknown[], args: object): boolean {
  const changed = (args as { app_id?: string }).app_id;
  const read = (queryKey[2] as { app_id?: string } | undefined)?.app_id;
  return read === undefined || changed === undefined || read === changed;
}
