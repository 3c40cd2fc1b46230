// The tools for reading and changing who may create an account in the app.
import { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { SignUp } from '../draft.ts';
import { isSignUpHeld, isSignUpProposed } from '../held-rules.ts';
import { type BuilderTool, defineTool } from './tool.ts';

const modes = { nobody: 'closed', invited: 'invited', everybody: 'open' } as const satisfies Record<string, SignUp>;

const readSignUp = defineTool({
  name: 'read_sign_up',
  description: 'Says who may create an account in the app, and whether anyone has chosen that.',
  parameters: z.object({}),
  async run(_input, { db, access, draft, signUp }) {
    const { mode, isChosen, canMail } = await signUp.read(db, access);
    if (draft.signUp !== undefined) return `You chose in this turn: ${explain(draft.signUp.mode, access, canMail)}`;
    if (await isSignUpProposed(db, access)) return `${explain(mode, access, canMail)} ${proposed}`;
    return isChosen ? explain(mode, access, canMail) : `${nobody} Nobody has chosen this: ask the person.`;
  },
});

const setSignUp = defineTool({
  name: 'set_sign_up',
  description:
    'Sets who may create an account in the app, when the person has said so: nobody, people whom an editor has added as users, or everybody.',
  parameters: z.object({ who: z.enum(['nobody', 'invited', 'everybody']) }),
  async run({ who }, { db, access, draft, schemas, signUp }) {
    const { mode, canMail } = await signUp.read(db, access);
    const change = { mode: modes[who], seen: draft.signUp?.seen ?? mode };
    draft.setSignUp(change);
    if (await isSignUpHeld(db, { schemas, signUp }, access, change)) return held;
    return `This applies when the turn is saved: ${explain(modes[who], access, canMail)}`;
  },
});

const held =
  'Held, because the app has records, and people who create an account could use those that the rules open to signed-in users. When you finish, this is not applied but proposed to the person, who decides. Say so in your summary.';

const proposed = 'Letting everybody create an account is proposed, and the person has not decided yet.';

const nobody = 'Nobody can create an account.';

/** What a mode means for this app at present. */
function explain(mode: SignUp, { app }: AppAccess, canMail: boolean): string {
  if (mode === 'closed') return nobody;
  if (!canMail) return `${nobody} This installation can't send e-mail, which signing up requires. Tell the person.`;
  if (mode === 'invited') return invited;
  return app.public_settings.startsWith('public_')
    ? 'Everybody can create an account.'
    : `${invited} The app isn't public: everybody can once someone makes it public in its settings. Tell the person.`;
}

const invited = 'Only people whom an editor of the app has added as users can create an account.';

export const signUpTools: readonly BuilderTool[] = [readSignUp, setSignUp];
