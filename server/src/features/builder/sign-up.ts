// Saves who may sign up, as a turn set it. Letting everybody sign up in an app that has records is held, because the rules
// of these records then let strangers in (docs/api/builder-chat.md#held-rules).
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import type { HeldOpening, SignUpChange } from './draft.ts';
import { TurnFailed } from './end.ts';
import { type HeldRuleDeps, isSignUpHeld, saveHeldRules } from './held-rules.ts';

/**
 * Returns what was held. Refuses if someone else has changed the setting since the assistant read it. `schemas.lock` must
 * have been called.
 */
export async function saveSignUp(
  db: Db,
  deps: HeldRuleDeps,
  access: AppAccess,
  { mode, seen }: SignUpChange,
  now: Date,
): Promise<readonly HeldOpening[]> {
  if ((await deps.signUp.read(db, access)).mode !== seen)
    throw new TurnFailed({
      source: 'builder',
      message:
        'Someone else changed who may sign up while this turn was running, so nothing was saved. Send your message again.',
      refunds: false,
    });
  const held = (await isSignUpHeld(db, deps, access, { mode, seen }))
    ? [
        {
          entity: null,
          operation: 'sign_up',
          principal: 'anonymous',
          before: seen,
          after: mode,
          example: null,
        } as const,
      ]
    : [];
  await saveHeldRules(db, access, { replaced: 'sign_up', held, revisions: new Map() }, now);
  if (held.length === 0) await deps.signUp.save(db, access, mode, now);
  return held;
}
