// Owns the texts of mails with links, and how the name of an app is written in them.
import type { Message } from '../../gateways/mail/index.ts';

export type WriteMail = (app: string, link: string) => Omit<Message, 'to'>;

const maxNameLength = 60;

/**
 * Mails also go to strangers, and whoever named the app may want to write to them. So the name is short, has no line breaks or
 * invisible characters, and nothing that a mail program makes a link of: `Win at https://evil.example` becomes
 * `Win at https evil example`.
 */
export function toNameInMail(name: string): string {
  const plain = name
    .replace(/[\s\p{C}]+/gu, ' ')
    .replace(/[.:/\\@。｡．․：／＠]+(?=\S)/gu, ' ')
    .replace(/ +/g, ' ')
    .trim();
  const characters = [...plain];
  if (characters.length > maxNameLength)
    return `${characters
      .slice(0, maxNameLength - 1)
      .join('')
      .trimEnd()}…`;
  return plain === '' ? 'an app' : plain;
}

export const signInMail: WriteMail = (app, link) => ({
  subject: `Sign in to ${app}`,
  text: `Someone asked for a link to sign in to ${app} with your e-mail address.\n\nTo sign in, open this link within one hour:\n${link}\n\nIf you did not ask for it, ignore this e-mail. Nobody was signed in.\n`,
});

export const passwordMail: WriteMail = (app, link) => ({
  subject: `Set a password for ${app}`,
  text: `Someone asked to set a password for your account at ${app}.\n\nTo set a password and sign in, open this link within one hour:\n${link}\n\nIf you did not ask for it, ignore this e-mail. Nothing has changed.\n`,
});

export const existingUserMail: WriteMail = (app, link) => ({
  subject: `Sign in to ${app}`,
  text: `Someone signed up at ${app} with your e-mail address, but you already have an account there. Nothing about your account has changed, and the password that they chose is not used.\n\nTo sign in to your account, open this link within one hour:\n${link}\n\nIf you did not sign up, ignore this e-mail.\n`,
});

export const awaitedUserMail: WriteMail = (app, link) => ({
  subject: `Confirm your e-mail address for ${app}`,
  text: `Someone signed up at ${app} with your e-mail address and chose a password. An account there was created for you.\n\nIf that was you, open this link within one hour to confirm it and sign in:\n${link}\n\nThe password becomes yours only if you open the link over the same internet connection over which it was chosen. Otherwise it is not used, and you can choose another one.\n\nIf it was not you, do not open the link. Nothing has changed.\n`,
});

export const signUpMail: WriteMail = (app, link) => ({
  subject: `Confirm your e-mail address for ${app}`,
  text: `Someone signed up at ${app} with your e-mail address and chose a password.\n\nIf that was you, open this link within one hour to confirm it and sign in:\n${link}\n\nIf it was not you, do not open the link: whoever signed up could then sign in with the password that they chose. Without it, no account is created.\n`,
});
