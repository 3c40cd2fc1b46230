// Tests that no other page can set the session of a browser: the cookie's name over https, one cookie only, and sign-in
// from this installation's own pages only.
import { describe, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import { hashPassword, savePassword } from '../../core/identity/passwords.ts';

const world = await startWorld();
const https = await startSecondApp(world, { environment: { BASE_URL: 'https://plinth.example' } });
const password = 'a long enough password';

async function addPerson(email: string) {
  const person = await world.person(email);
  await savePassword(world.db, person.id, await hashPassword(password, { ip: '127.0.0.1' }), new Date());
  await world.workspace(person);
  return person;
}

const signIn = (at: typeof world, email: string, headers: Record<string, string> = {}) =>
  at.call('POST', '/api/auth/sign-in', { body: { email, password }, headers });
const cookiesOf = (got: { headers: Record<string, unknown> }) => [got.headers['set-cookie'] ?? []].flat().map(String);
const tokenIn = (cookie: string | undefined) => /=(pls_\w+);/.exec(cookie ?? '')?.[1] ?? '';
const me = async (at: typeof world, cookie: string) => {
  const { status, body } = await at.call('GET', '/api/auth/me', { headers: { cookie } });
  return status === 200 ? body.user.email : [status, body.code];
};
const refused = [401, 'credentials_invalid'];

describe('the session cookie', () => {
  it('has over https a name that browsers accept from this host alone, and signing in removes the plain one', async () => {
    await addPerson('ann@example.com');
    const [cookie, plain, ...more] = cookiesOf(await signIn(https, 'ann@example.com'));
    expect(cookie).toMatch(
      /^__Host-plinth_session=pls_\w{40}; HttpOnly; SameSite=Lax; Path=\/; Max-Age=2592000; Secure$/,
    );
    expect([plain, more]).toEqual(['plinth_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0', []]);
    const token = tokenIn(cookie);
    expect(await me(https, `__Host-plinth_session=${token}`)).toBe('ann@example.com');
    const signOut = await https.call('POST', '/api/auth/sign-out', {
      headers: { cookie: `__Host-plinth_session=${token}` },
    });
    expect(cookiesOf(signOut).map((each) => each.split(';')[0])).toEqual(['__Host-plinth_session=', 'plinth_session=']);
    expect(await me(https, `__Host-plinth_session=${token}`)).toEqual(refused);
  });

  it('is not accepted under the plain name over https, except for sessions that began before', async () => {
    const eve = await addPerson('eve@example.com');
    const token = tokenIn(cookiesOf(await signIn(https, 'eve@example.com'))[0]);
    expect(await me(https, `plinth_session=${token}`)).toEqual(refused);
    const { cookie } = await world.session(eve); // with the plain name
    expect(await me(https, cookie)).toBe('eve@example.com');
    expect(await me(world, cookie)).toBe('eve@example.com');
  });

  it('is refused if there are two, whichever comes first', async () => {
    const [bob, mallory] = [await addPerson('bob@example.com'), await addPerson('mallory@example.com')];
    const { cookie } = await world.session(bob);
    const { cookie: other } = await world.session(mallory);
    for (const two of [`${cookie}; ${other}`, `${other}; ${cookie}`, `${cookie}; ${cookie}`])
      expect(await me(world, two)).toEqual(refused);
    const own = cookie.replace('plinth', '__Host-plinth');
    for (const two of [`${own}; ${other}`, `${other}; ${own}`]) expect(await me(https, two)).toEqual(refused);
    const join = { body: { invitation_token: 'unknown' }, headers: { cookie: `${cookie}; ${other}` } };
    for (const path of ['/api/invitations/accept', '/api/invitations/unknown/accept'])
      expect(await world.call('POST', path, join)).toMatchObject({
        status: 401,
        body: { detail: expect.stringContaining("Delete this site's cookies") },
      });
  });

  it('is not one behind white space that only browsers count as part of its name', async () => {
    const mallory = await addPerson('second@example.com');
    const { cookie } = await world.session(mallory);
    expect(await me(https, `\u00a0__Host-${cookie}`)).toEqual([401, 'credentials_missing']);
  });
});

describe('starting a session', () => {
  it.each([
    ['signIn', '/api/auth/sign-in'],
    ['setUp', '/api/setup'],
    ['joinWorkspace', '/api/invitations/accept'],
    ['acceptInvitation', '/api/invitations/unknown/accept'],
  ])('by %s is refused to pages of other origins, and to bodies without a type', async (_name, path) => {
    const refusals: Record<string, string>[] = [
      { origin: 'https://apps.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of refusals) {
      const got = await world.call('POST', path, { body: {}, headers });
      expect(got, JSON.stringify(headers)).toMatchObject({ status: 403, body: { code: 'origin_not_allowed' } });
      expect(got.headers['set-cookie']).toBeUndefined();
    }
    const own = await world.call('POST', path, { body: {}, headers: { 'sec-fetch-site': 'same-origin' } });
    expect(own.status).not.toBe(403);
    const response = await fetch(world.url + path, { method: 'POST', body: new Blob(['{}']) });
    expect(response.status).toBe(415);
  });
});
