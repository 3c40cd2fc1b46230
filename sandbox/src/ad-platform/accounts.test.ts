// Tests which time zones the sandbox's ad platform accepts for a new account.
import { afterAll, expect, it } from 'vitest';
import { startAdPlatform } from './server.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());

const { token_uri, ...credentials } = JSON.parse(platform.credentials) as Record<string, string>;
const form = new URLSearchParams({ ...credentials, grant_type: 'refresh_token' });
const { access_token } = (await (await fetch(String(token_uri), { method: 'POST', body: form })).json()) as {
  access_token: string;
};

const create = (timeZone: string) =>
  fetch(`${platform.url}/v21/customers/${platform.managerId}:createCustomerClient`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}` },
    body: JSON.stringify({ customerClient: { descriptiveName: 'Shop', currencyCode: 'EUR', timeZone } }),
  });

it.each([
  ['Asia/Kolkata', 'Asia/Calcutta'],
  ['Europe/Kyiv', 'Europe/Kiev'],
  ['Asia/Ho_Chi_Minh', 'Asia/Saigon'],
  ['America/Argentina/Buenos_Aires', 'America/Buenos_Aires'],
  ['America/Nuuk', 'America/Godthab'],
  ['Europe/Paris', 'Pacific/Auckland'],
  ['America/North_Dakota/Beulah', 'Australia/Lord_Howe'],
  ['UTC', 'Etc/UTC'],
])('accepts %s and %s', async (...names) => {
  for (const name of names) expect((await create(name)).status, name).toBe(200);
});

it.each(['US/Eastern', 'asia/kolkata', 'Mars/Olympus', 'EST5EDT', '+05:30', ''])('rejects "%s"', async (name) => {
  const response = await create(name);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('INVALID_TIME_ZONE');
});
