// The installation of the bench: an API that serves the console, two workers, a stand-in for the model, a mail server, and
// people who each have a workspace and a password.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation } from '../../harness/installation.ts';
import { type Processes, startProcesses } from '../../harness/processes.ts';
import { type Call, retryingClient } from '../../harness/retrying-client.ts';
import { startModelSandbox } from '../../sandbox/src/model.ts';
import { type MailSandbox, startMailSandbox } from '../../sandbox/src/smtp.ts';
import { readConfig } from '../../server/src/config.ts';
import { createResetLink } from '../../server/src/core/identity/accounts.ts';
import { insertCredential, insertUser, insertWorkspace } from '../../server/src/core/identity/users.ts';
import { call as request } from '../../server/test/support/client.ts';

export const password = 'a long enough password';

export interface Person {
  readonly email: string;
  readonly workspace_id: string;
  readonly token: string;
}

export interface Environment {
  readonly processes: Processes;
  /** The address of the console. */
  readonly url: string;
  readonly mail: MailSandbox;
  readonly people: readonly Person[];
  /** Calls the API as one of the people, and retries until it gets a final response. */
  call(person: Person): Call;
}

export async function startEnvironment(installation: Installation, count: number): Promise<Environment> {
  const [model, mail] = await Promise.all([startModelSandbox(0, 20), startMailSandbox()]);
  installation.ends.defer(model.close);
  installation.ends.defer(mail.close);
  const settings = (url: string) => ({
    ...installation.settings,
    BASE_URL: url,
    APPS_DOMAIN: 'apps.localhost',
    MODEL_URL: model.url,
    SMTP_URL: mail.smtpUrl,
  });
  const processes = await startProcesses({ api: 1, worker: 2 }, settings);
  installation.ends.defer(processes.stop);
  await processes.allReady();
  const [url = ''] = processes.apis;
  const people: Person[] = [];
  for (let number = 1; number <= count; number += 1) people.push(await createPerson(installation, url, number));
  return { processes, url, mail, people, call: ({ token }) => retryingClient([url], token) };
}

async function createPerson({ db, settings }: Installation, url: string, number: number): Promise<Person> {
  const { TOKEN_PEPPERS: peppers, CELL_CODE: cellCode } = readConfig(settings);
  const now = new Date();
  const email = `founder-${number}@example.com`;
  const user_id = await insertUser(db, { email, full_name: `Founder ${number}`, email_verified: true }, now);
  const workspace_id = await insertWorkspace(
    db,
    { name: `Shop ${number}`, plan: 'enterprise', owner_id: user_id },
    now,
  );
  // Requests are counted as in production, but the limit is never reached.
  await db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace_id).execute();
  const mine = { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' } as const;
  const { token } = await insertCredential(db, { peppers, cellCode }, mine, now);
  const reset_token = (await createResetLink(db, peppers[0], user_id, url, now)).split('#')[1];
  const body = { reset_token, new_password: password };
  const { status, text } = await request(url, 'POST', '/api/auth/password/reset', { body });
  if (status !== 200) throw new Error(`no password was set: ${text}`);
  return { email, workspace_id, token };
}

/** Returns the link in the mail to this address. */
export async function linkTo({ inbox }: MailSandbox, email: string): Promise<string> {
  for (let tries = 0; tries < 600; tries += 1) {
    const text = inbox.findLast(({ to }) => to.includes(email))?.text ?? '';
    const link = /http\S+#plinth_link=\S+/.exec(text)?.[0];
    if (link !== undefined) return link;
    await sleep(100);
  }
  throw new Error(`no mail to ${email}`);
}
