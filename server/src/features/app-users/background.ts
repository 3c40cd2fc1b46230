// Owns the queue of mails with links. Who gets one is decided here and not in the request, whose duration would reveal whether
// the address has a user.
import type { Counters } from '../../core/auth/counters.ts';
import { hashOneTimeToken, newOneTimeToken } from '../../core/identity/accounts.ts';
import type { Message } from '../../gateways/mail/index.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import type { Db } from '../../tables.ts';
import { findLinkOrigin, isAwaited, signUpInEffect } from './auth-settings.ts';
import type { LinkDeps } from './links.ts';
import { findMailingApp, type LinkRow, openLink } from './store/links.ts';
import { getSettings } from './store/settings.ts';
import { findUserByEmail } from './store/sign-ins.ts';

const linkMs = 60 * 60 * 1000;

export const linkMailQueue = (deps: LinkDeps): Queue<LinkRow & QueueRow> => ({
  name: 'app_user_links',
  owner: 'app_id',
  concurrency: 8,
  perOwner: 2,
  timeoutMs: 30_000,
  // Stops after about 15 minutes: whoever still waits has asked for another mail.
  retryMs: retries(1_000, 10_000, 60_000, 5 * 60_000, 10 * 60_000),
  async run(row, { db, now }) {
    const app = await findMailingApp(db, row.app_id);
    const origin = app && findLinkOrigin(app, deps);
    if (!app || !origin) return {};
    const writeMail = await chooseMail(db, app, row, deps.counters);
    if (writeMail === undefined) return {};
    const token = newOneTimeToken();
    const hash = hashOneTimeToken(token, deps.tokenKeys.peppers[0]);
    await openLink(db, row, { hash, expires_at: new Date(now.getTime() + linkMs) });
    const name = app.name.replace(/\s+/g, ' ');
    // In the fragment, which browsers send to no server.
    const result = await deps.mail.send({ to: row.email, ...writeMail(name, `${origin}/#plinth_link=${token}`) });
    if (result !== 'sent') throw new Error(`link mail not sent (${result})`);
    return {};
  },
});

type WriteMail = (app: string, link: string) => Omit<Message, 'to'>;
type MailingApp = NonNullable<Awaited<ReturnType<typeof findMailingApp>>>;

/** Undefined: this address gets no mail. */
async function chooseMail(
  db: Db,
  app: MailingApp,
  { email, purpose }: LinkRow,
  counters: Counters,
): Promise<WriteMail | undefined> {
  const settings = await getSettings(db, app.id);
  if (!settings.password_enabled && !settings.link_enabled) return undefined;
  const user = await findUserByEmail(db, app.id, email);
  if (purpose === 'sign_in') return user && (settings.link_enabled ? signInMail : passwordMail);
  const mode = signUpInEffect(app, settings);
  if (mode === 'closed' || (mode === 'invited' && user === undefined)) return undefined;
  if (user !== undefined) {
    if (await isAwaited(db, app, user, settings)) return awaitedUserMail;
    return settings.link_enabled ? existingUserMail : passwordMail;
  }
  return (await countSignUpMail(app.id, counters)) ? signUpMail : undefined;
}

const maxSignUpMailsPerHour = 1_000;

/** Sign-ups make Plinth write to people who have nothing to do with the app yet. */
const countSignUpMail = async (app_id: string, counters: Counters): Promise<boolean> =>
  (await counters.add(`app-sign-up-mails:${app_id}`, 60 * 60)).count <= maxSignUpMailsPerHour;

const signInMail: WriteMail = (app, link) => ({
  subject: `Sign in to ${app}`,
  text: `Someone asked for a link to sign in to ${app} with your e-mail address.\n\nTo sign in, open this link within one hour:\n${link}\n\nIf you did not ask for it, ignore this e-mail. Nobody was signed in.\n`,
});

const passwordMail: WriteMail = (app, link) => ({
  subject: `Set a password for ${app}`,
  text: `Someone asked to set a password for your account at ${app}.\n\nTo set a password and sign in, open this link within one hour:\n${link}\n\nIf you did not ask for it, ignore this e-mail. Nothing has changed.\n`,
});

const existingUserMail: WriteMail = (app, link) => ({
  subject: `Sign in to ${app}`,
  text: `Someone signed up at ${app} with your e-mail address, but you already have an account there. Nothing about your account has changed, and the password that they chose is not used.\n\nTo sign in to your account, open this link within one hour:\n${link}\n\nIf you did not sign up, ignore this e-mail.\n`,
});

const awaitedUserMail: WriteMail = (app, link) => ({
  subject: `Confirm your e-mail address for ${app}`,
  text: `Someone signed up at ${app} with your e-mail address and chose a password. An account there was created for you.\n\nIf that was you, open this link within one hour to confirm it and sign in:\n${link}\n\nThe password becomes yours only if you open the link over the same internet connection over which it was chosen. Otherwise it is not used, and you can choose another one.\n\nIf it was not you, do not open the link. Nothing has changed.\n`,
});

const signUpMail: WriteMail = (app, link) => ({
  subject: `Confirm your e-mail address for ${app}`,
  text: `Someone signed up at ${app} with your e-mail address and chose a password.\n\nIf that was you, open this link within one hour to confirm it and sign in:\n${link}\n\nIf it was not you, do not open the link: whoever signed up could then sign in with the password that they chose. Without it, no account is created.\n`,
});
