// Tests password resets on an installation without a mail server. accounts.test.ts covers installations with one.
import { expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';

const world = await startWorld();

it('forgotPassword says that no mail is sent, the same for known and unknown addresses', async () => {
  const person = await world.person('known@example.com');
  for (const email of [person.email, 'unknown@example.com']) {
    const got = await world.call('POST', '/api/auth/password/forgot', { body: { email } });
    expect(got).toMatchObject({
      status: 200,
      body: { success: true },
      headers: { 'x-warning': expect.stringMatching(/\breset_mail_off$/) },
    });
  }
  expect(await world.db.selectFrom('reset_mails').selectAll().execute()).toEqual([]);
});
