// Tests reading token endpoint responses, including those that deviate from RFC 6749.
import { describe, expect, it } from 'vitest';
import { readRefusal, readTokens } from './token-answer.ts';

const now = new Date('2026-05-01T12:00:00Z');
const read = (answer: object | string) => readTokens(typeof answer === 'string' ? answer : JSON.stringify(answer), now);

describe('tokens', () => {
  it('are read as the standard says', () => {
    expect(
      read({ access_token: 'a', token_type: 'Bearer', expires_in: 3600, refresh_token: 'r', scope: 'x y' }),
    ).toEqual({
      accessToken: 'a',
      refreshToken: 'r',
      expiresAt: new Date('2026-05-01T13:00:00Z'),
      scopes: ['x', 'y'],
    });
  });

  it.each([
    ['without a type', { access_token: 'a' }, { accessToken: 'a' }],
    [
      'with seconds as a text',
      { access_token: 'a', expires_in: '60' },
      { expiresAt: new Date('2026-05-01T12:01:00Z') },
    ],
    ['with scopes separated by commas', { access_token: 'a', scope: 'x,y' }, { scopes: ['x', 'y'] }],
    ['with scopes as a list', { access_token: 'a', scope: ['x', 'y'] }, { scopes: ['x', 'y'] }],
    ['as a form', 'access_token=a&scope=repo%2Cgist&token_type=bearer', { accessToken: 'a', scopes: ['repo', 'gist'] }],
    [
      'of the person, nested',
      { ok: true, authed_user: { access_token: 'xoxp', token_type: 'user', scope: 'chat:write' } },
      { accessToken: 'xoxp', scopes: ['chat:write'] },
    ],
    ['that never expire', { access_token: 'a', expires_in: 0 }, { accessToken: 'a' }],
  ])('are read %s', (_how, answer, expected) => {
    expect(read(answer)).toMatchObject(expected);
  });

  it.each([
    ['a page', '<html>Sign in</html>'],
    ['a list', '[]'],
    ['nothing', ''],
    ['no token', { token_type: 'bearer' }],
    ['a token that no header may contain', { access_token: 'a\r\nX-Injected: b' }],
    ['a token that is too long', { access_token: 'a'.repeat(20_000) }],
    ['a token of another type', { access_token: 'a', token_type: 'mac' }],
    ['a token that is a number', { access_token: 12 }],
  ])('are not read from %s', (_what, answer) => {
    expect(read(answer)).toBeUndefined();
  });
});

describe('a refusal', () => {
  it.each([
    ['of the standard', '{"error":"invalid_grant","error_description":"x"}', 'invalid_grant'],
    ['of Slack, with the status 200', '{"ok":false,"error":"invalid_refresh_token"}', 'invalid_grant'],
    ['of GitHub, with the status 200', 'error=bad_refresh_token&error_description=x', 'invalid_grant'],
    ['of HubSpot', '{"status":"BAD_REFRESH_TOKEN","message":"x"}', 'invalid_grant'],
    ['of the client', '{"error":"invalid_client"}', 'invalid_client'],
  ])('is recognised: %s', (_of, text, code) => {
    expect(readRefusal(text)).toBe(code);
  });

  it.each(['<html>', '{}', '{"error":{"message":"down"}}', '{"access_token":"a","error":"x"}', '{"error":"a b\\n"}'])(
    'is not made of anything else: %s',
    (text) => {
      expect(readRefusal(text)).toBeUndefined();
    },
  );
});
