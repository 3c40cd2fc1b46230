// Tests an app's security settings.
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';

const world = await startWorld();
beforeEach(() => world.resetRateLimits());

const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);

const path = `/api/apps/${app.id}/security/settings`;
const read = () => world.call('GET', path, { as: token });
const change = (body: object) => world.call('PATCH', path, { as: token, body });
const getRevision = async () => (await world.call('GET', `/api/apps/${app.id}`, { as: token })).body.revision;

const noHeaders = {
  csp: null,
  hsts: null,
  frame_options: null,
  content_type_options: null,
  referrer_policy: null,
  permissions_policy: null,
};

describe('getSecuritySettings', () => {
  it('has no headers unless they are set', async () => {
    expect(await read()).toMatchObject({ status: 200, body: { static_code_enabled: false, headers: noHeaders } });
  });
});

describe('setSecuritySettings', () => {
  it('changes what is sent, keeps the rest, and counts a revision', async () => {
    const revision = await getRevision();
    await change({ headers: { csp: "default-src 'self'", frame_options: 'DENY' } });
    const got = await change({ static_code_enabled: false, headers: { frame_options: null, hsts: 'max-age=60' } });
    const headers = { ...noHeaders, csp: "default-src 'self'", hsts: 'max-age=60' };
    expect(got).toMatchObject({ status: 200, body: { static_code_enabled: false, headers } });
    expect((await read()).body).toEqual(got.body);
    expect(await getRevision()).toBe(revision + 2);
  });

  it('changes nothing if all is as it was', async () => {
    await change({ headers: { referrer_policy: 'no-referrer' } });
    const revision = await getRevision();
    for (const body of [{}, { headers: {} }, { headers: { referrer_policy: 'no-referrer' } }])
      expect(await change(body)).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect(await getRevision()).toBe(revision);
  });

  it.each([
    ['csp', "default-src 'self'\r\nSet-Cookie: a=b"],
    ['csp', 'x\n'],
    ['csp', ''],
    ['csp', ' x'],
    ['csp', 'ü'],
    ['csp', 'x'.repeat(8193)],
    ['hsts', 'x'.repeat(257)],
    ['frame_options', 'ALLOWALL'],
    ['content_type_options', 'sniff'],
    ['permissions_policy', 'a\u0000b'],
  ])('refuses %s: %j', async (name, value) => {
    const got = await change({ headers: { [name]: value } });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'headers', name] }] } });
  });

  it('says which fields have no effect', async () => {
    const got = await change({ headers: { expect_ct: 'x' }, other: 1 });
    expect(got).toMatchObject({ status: 200, headers: { 'x-ignored-fields': 'headers.expect_ct,other' } });
  });
});
