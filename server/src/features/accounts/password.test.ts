// Tests requests for password resets: with and without a mail server, for addresses with and without an account.
// accounts.test.ts tests the links in the mails.
import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startWorld } from '../../../test/support/world.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
const withoutMail = await startWorld();
const statements: string[] = [];
const world = await startWorld({
  environment: { SMTP_URL: mail.smtpUrl, TRUSTED_PROXIES: '127.0.0.1' },
  onStatement: (text) => statements.push(text),
});
const known = await world.person('known@example.com');

let address = 0;
const ask = (email: string) =>
  world.call('POST', '/api/auth/password/forgot', {
    body: { email },
    headers: { 'x-forwarded-for': `198.51.100.${++address}` },
  });
const listMails = () => world.db.selectFrom('reset_mails').select(['email', 'due_at', 'failures']).execute();

it('forgotPassword says that no mail is sent, the same for known and unknown addresses', async () => {
  const person = await withoutMail.person('known@example.com');
  for (const email of [person.email, 'unknown@example.com']) {
    const got = await withoutMail.call('POST', '/api/auth/password/forgot', { body: { email } });
    expect(got).toMatchObject({
      status: 200,
      body: { success: true },
      headers: { 'x-warning': expect.stringMatching(/\breset_mail_off$/) },
    });
  }
  expect(await withoutMail.db.selectFrom('reset_mails').selectAll().execute()).toEqual([]);
});

it('forgotPassword executes the same statements for every address, up to three times an hour', async () => {
  const executed: string[][] = [];
  for (const email of [known.email, known.email, 'unknown@example.com']) {
    statements.length = 0;
    expect(await ask(email)).toMatchObject({ status: 200, body: { success: true } });
    executed.push([...statements]);
  }
  expect(executed[2]).toEqual(executed[1]); // the first one also prepared what a process prepares once
  for (const _ of [2, 3, 4]) expect((await ask('unknown@example.com')).body).toEqual({ success: true });
  const queued = (await listMails()).map(({ email }) => email).sort();
  expect(queued).toEqual([known.email, known.email, ...Array<string>(3).fill('unknown@example.com')]);
});

it('forgotPassword queues nothing more while 10,000 mails wait', async () => {
  await sql`insert into reset_mails (id, email, address_id, created_date, due_at)
    select gen_random_uuid(), 'waiting@example.com', md5('waiting')::uuid, now(), now() + interval '1 hour'
    from generate_series(1, 9995)`.execute(world.db);
  for (const email of ['another@example.com', known.email])
    expect(await ask(email)).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
  await sql`delete from reset_mails where email = 'waiting@example.com'`.execute(world.db);
  expect((await ask('another@example.com')).status).toBe(200);
});

it('a mail that an earlier release queued for a user is addressed to that user', async () => {
  await sql`insert into reset_mails (id, user_id, created_date, due_at)
    values (gen_random_uuid(), ${known.id}, now(), now())`.execute(world.db);
  expect((await listMails()).filter(({ email }) => email === known.email)).toHaveLength(3);
});

it('the worker sends mails to known addresses, and keeps nothing of the others', async () => {
  await world.startWorker();
  await expect.poll(async () => (await listMails()).filter(({ due_at }) => due_at !== null)).toEqual([]);
  expect(await listMails()).toEqual(Array(3).fill({ email: known.email, due_at: null, failures: 0 }));
  expect(mail.inbox.map(({ to }) => to)).toEqual(Array(3).fill([known.email]));
});
