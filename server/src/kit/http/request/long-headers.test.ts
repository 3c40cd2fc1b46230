// Tests that reading the headers of a request takes no time worth mentioning, however they are written. Anybody can send
// them, and while they are read, this process answers nobody.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';

const world = await startWorld({ environment: { APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example' } });

/** The processor time that this process, in which the API runs, uses for a request. */
async function measure(headers: Record<string, string>): Promise<number> {
  const before = process.cpuUsage();
  await world.call('GET', '/api/auth/me', { headers });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const length = 28_000;
const repeat = (text: string) => text.repeat(Math.floor(length / text.length));

describe('a long header', () => {
  it.each([
    ['cookie', `a${repeat(' ')}b=1`],
    ['cookie', `a${repeat(' \t')}; b${repeat(' ')}`],
    ['cookie', repeat('; ')],
    ['host', `${repeat('.')}a`],
    ['host', `a${repeat('.')}`],
    ['host', `${repeat('.')}:1`],
  ])('%s is read in less than 300 ms', async (name, value) => {
    await measure({});
    expect(await measure({ [name]: value })).toBeLessThan(300);
  });
});
