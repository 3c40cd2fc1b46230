// Tests that credentials are hidden from a language model, and that other strings are not.
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../../test/support/cpu.ts';
import { mintToken } from '../../../core/auth/tokens.ts';
import { createHider } from './hide.ts';

const secret = 'Zx9-quartz/Lantern&42 ä';
const hider = createHider([secret, 'abc']);
const hide = (text: string) => String(hider.hide(text));

describe('a secret of the app', () => {
  const html = secret.replace('&', '&amp;');
  const forms: Record<string, string> = {
    'as it is': secret,
    'in a URL': encodeURIComponent(secret),
    'in JSON': JSON.stringify({ text: secret }),
    'in base 64': Buffer.from(secret).toString('base64'),
    'in base 64 after a name': Buffer.from(`user:${secret}`).toString('base64'),
    'in hexadecimal': Buffer.from(secret).toString('hex'),
    'in capitals': secret.toUpperCase(),
    'in small letters': secret.toLowerCase(),
    backwards: [...secret].reverse().join(''),
    'in HTML': html,
    'with invisible characters': [...secret].join('\u200b'),
    'in wide letters': secret.replaceAll('quartz', 'ｑｕａｒｔｚ'),
  };

  it.each(Object.entries(forms))('is hidden %s', (_name, form) => {
    const got = hide(`before ${form} after`);
    expect(got).toMatch(/^before .*\*\*\*.* after$/s);
    expect(got.toLowerCase()).not.toMatch(/quartz|lantern|ztrauq|nretnal|7175617274/);
    // Only the ends of the base64 text may remain, because they depend on the neighbouring bytes.
    for (const word of got.split(/[^\w+/=-]/)) expect(word.length).toBeLessThan(12);
  });

  it('is hidden in names and values of nested objects', () => {
    expect(JSON.stringify(hider.hide({ [secret]: [{ a: [secret] }], n: 1 }))).toBe('{"***":[{"a":["***"]}],"n":1}');
  });

  it('is not hidden if it is so short that it is part of ordinary words', () => {
    expect(hide('the abc of it')).toBe('the abc of it');
  });
});

describe('what looks like a credential', () => {
  const token = mintToken('personal_token', '00');
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
  const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----';
  const credentials = [
    `Authorization: Bearer ${token}`,
    `the key ${token} was used`,
    `x ${jwt} y`,
    `key ${pem} end`,
    `key ${pem.slice(0, 40)}`,
    'https://ann:MIIEpAIBAAKCAQEA7@example.com/x',
    'postgres://root:MIIEpAIBAAKCAQEA7@10.0.0.1:5432/db',
    'Basic TUlJRXBBSUJBQUtDQVFFQTc=',
    'GET /orders?api_key=MIIEpAIBAAKCAQEA7&page=2',
    '{"password": "MIIEpAIBAAKCAQEA7"}',
    '{\\"client_secret\\":\\"MIIEpAIBAAKCAQEA7\\"}',
    'Cookie: sid=MIIEpAIBAAKCAQEA7; theme=dark',
    'POST https://plinth.test/api/hooks/MIIEpAIBAAKCAQEA7',
    'sk-proj-MIIEpAIBAAKCAQEA7xxxx',
    'ghp_MIIEpAIBAAKCAQEA7xxxx',
    'AKIAIOSFODNN7MIIEpAI',
    'whsec_MIIEpAIBAAKCAQEA7',
  ];

  it.each(credentials)('is hidden: %s', (text) => {
    for (const got of [hide(text), hider.hideInText(text)]) {
      expect(got).toContain('***');
      expect(got).not.toMatch(/MIIEpAIBA|TUlJRXBB|MIIEpAI|eyJ/);
      expect(got).not.toContain(token.slice(8));
    }
  });

  it('is hidden by the name of its field, whatever it looks like', () => {
    const sent = { headers: { Authorization: 'hello', 'X-Api-Key': 'hello' }, accessToken: 7, password: ['hello'] };
    const got = { headers: { Authorization: '***', 'X-Api-Key': '***' }, accessToken: '***', password: ['hello'] };
    expect(hider.hide(sent)).toEqual(got);
  });

  it('leaves of an expression which secret it reads', () => {
    const expression = '${ "Bearer hunter" + $secrets.API_KEY }';
    expect(hider.hide({ authorization: expression })).toEqual({ authorization: '${ "***" + $secrets.API_KEY }' });
  });

  it.each([
    'Basic authentication failed: the Bearer token is missing.',
    'The token: expired. The secret: unknown.',
    'The call in step 3 to api.example.com/orders answered 401 Unauthorized.',
    'Task tokens and passwords are fine; monkey=banana',
  ])('is not: %s', (text) => expect(hider.hideInText(text)).toBe(text));
});

it('takes time in proportion to the text, whatever the text is', () => {
  const many = createHider(Array.from({ length: 100 }, (_, index) => `secret-number-${index}-${'x'.repeat(40)}`));
  const hostile = [
    'eyJ-',
    'eyJaaaaaaaa.',
    'whsec_/',
    '-----BEGIN PRIVATE KEY-----',
    'a://',
    'token=',
    'cookie:',
    'sk-',
    ' ',
  ];
  for (const part of hostile) {
    const text = part.repeat(Math.ceil(131_072 / part.length));
    expect(
      measureLeastCpuMs(() => many.hide(text)),
      part,
    ).toBeLessThan(1_500);
  }
});
