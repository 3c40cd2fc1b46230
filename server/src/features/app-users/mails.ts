// The texts of e-mails with links.
import type { Message } from '../../gateways/mail/index.ts';

export type WriteMail = (app: string, link: string) => Omit<Message, 'to'>;

export const signInMail: WriteMail = (app, link) => ({
  subject: `Sign in to ${app}`,
  text: `Someone requested a link to sign in to ${app} with your e-mail address.\n\nTo sign in, open this link within one hour:\n${link}\n\nIf you didn't request this, ignore this e-mail. No one has been signed in.\n`,
});

export const passwordMail: WriteMail = (app, link) => ({
  subject: `Set a password for ${app}`,
  text: `Someone requested a link to set a password for your account with ${app}.\n\nTo set a password and sign in, open this link within one hour:\n${link}\n\nIf you didn't request this, ignore this e-mail. Your account hasn't changed.\n`,
});

export const existingUserMail: WriteMail = (app, link) => ({
  subject: `Sign in to ${app}`,
  text: `Someone tried to sign up for ${app} with your e-mail address, but you already have an account. Your account hasn't changed, and the password they chose won't be used.\n\nTo sign in to your account, open this link within one hour:\n${link}\n\nIf this wasn't you, ignore this e-mail.\n`,
});

export const awaitedUserMail: WriteMail = (app, link) => ({
  subject: `Confirm your e-mail address for ${app}`,
  text: `Someone signed up for ${app} with your e-mail address and chose a password. An account had already been created for you.\n\nIf this was you, open this link within one hour to confirm your e-mail address and sign in:\n${link}\n\nThe password takes effect only if you open the link over the same internet connection that you used to sign up. Otherwise, it won't be used, and you can choose a new one.\n\nIf this wasn't you, don't open the link. Your account hasn't changed.\n`,
});

export const signUpMail: WriteMail = (app, link) => ({
  subject: `Confirm your e-mail address for ${app}`,
  text: `Someone signed up for ${app} with your e-mail address and chose a password.\n\nIf this was you, open this link within one hour to confirm your e-mail address and sign in:\n${link}\n\nIf this wasn't you, don't open the link: the person who signed up could then sign in with the password they chose. If you don't open the link, no account is created.\n`,
});
