// The tools for reading and changing who may create an account in the app.
import { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { SignUp } from '../draft.ts';
import { type BuilderTool, defineTool } from './tool.ts';

const modes = { nobody: 'closed', invited: 'invited', everybody: 'open' } as const satisfies Record<string, SignUp>;

const readSignUp = defineTool({
  name: 'read_sign_up',
  description: 'Says who may create an account in the app, and whether anyone has chosen that.',
  parameters: z.object({}),
  async run(_input, { db, access, draft, signUp }) {
    const { mode, isChosen, canMail } = await signUp.read(db, access);
    if (draft.signUp !== undefined) return `You chose in this turn: ${explain(draft.signUp.mode, access, canMail)}`;
    return isChosen ? explain(mode, access, canMail) : `${nobody} Nobody has chosen this: ask the person.`;
  },
});

const setSignUp = defineTool({
  name: 'set_sign_up',
  description:
    'Sets who may create an account in the app, when the person has said so: nobody, people whom an editor has added as users, or everybody.',
  parameters: z.object({ who: z.enum(['nobody', 'invited', 'everybody']) }),
  async run({ who }, { db, access, draft, signUp }) {
    const { mode, canMail } = await signUp.read(db, access);
    draft.setSignUp({ mode: modes[who], seen: draft.signUp?.seen ?? mode });
    return `This applies when the turn is saved: ${explain(modes[who], access, canMail)}`;
  },
});

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
