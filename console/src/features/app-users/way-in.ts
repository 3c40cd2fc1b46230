// How a person gets into an app, in the words of the forms with which each app begins.
import type { Data } from '../../data/client.ts';

export interface Person {
  readonly email: string;
  /** Whether the person has just been added. Whether others have a password is not known. */
  readonly isNew: boolean;
}

/** Either what to tell the person, or why they can't get in yet. */
export type WayIn = { readonly text: string } | { readonly obstacle: string };

type Settings = Pick<Data<'getAppAuthSettings'>, 'sign_up_in_effect' | 'methods' | 'link_origin'>;

export function findWayIn(
  { published }: { readonly published: { readonly url: string } | null },
  { email, isNew }: Person,
  { sign_up_in_effect, methods, link_origin }: Settings,
  hasMail: boolean,
): WayIn {
  const mayHavePassword = !isNew && methods.password;
  if (published === null)
    return { obstacle: 'The app has no address yet. Publish it, and then choose “How they sign in” from their menu.' };
  if (!hasMail || link_origin === null)
    return {
      obstacle: `${mayHavePassword ? 'Unless they have a password already, they' : 'They'} can’t get in yet, because this installation sends no mail for the app. Whoever operates it connects a mail server.`,
    };
  if (!methods.password && !methods.link)
    return { obstacle: 'They can’t get in yet, because all ways to sign in to this app are off.' };
  const link = `“${methods.link ? 'Sign in with an e-mail link' : 'Set a new password by e-mail'}”`;
  const steps = mayHavePassword
    ? [
        `If you have a password, enter the address ${email} and the password, and press “Sign in”.`,
        `If not, press ${link}, enter the address ${email}, and open the link in the mail that you get.`,
      ]
    : [
        isNew && sign_up_in_effect === 'invited' && methods.password
          ? `Press “Create an account”, and enter the address ${email} and a password of your choice.`
          : `Press ${link}, and enter the address ${email}.`,
        'Open the link in the mail that you get.',
      ];
  return { text: [`Open ${published.url}`, ...steps].join('\n') };
}
