// Tests how settings depend on each other, and which variables are taken for misspelled settings.
import { describe, expect, it } from 'vitest';
import { newKeys } from './commands/keys.ts';
import { listMisspelledSettings, readConfig } from './config.ts';

describe('BASE_URL', () => {
  it('follows PORT in development, where it is not set', () => {
    expect(readConfig({ ...newKeys(), PORT: '9123' }).BASE_URL).toBe('http://127.0.0.1:9123');
    expect(readConfig(newKeys()).BASE_URL).toBe('http://127.0.0.1:8080');
  });

  it('is what it was set to, whatever PORT is', () => {
    const settings = { ...newKeys(), PORT: '9123', BASE_URL: 'https://plinth.example/' };
    expect(readConfig(settings).BASE_URL).toBe('https://plinth.example');
  });
});

describe('a variable that is nearly a setting', () => {
  it.each([
    ['DATABSE_POOL_SIZE', 'DATABASE_POOL_SIZE'], // a letter is missing
    ['DATABASE_POOLSIZE', 'DATABASE_POOL_SIZE'],
    ['REDIS_ULR', 'REDIS_URL'], // swapped
    ['WORKER_SLOT', 'WORKER_SLOTS'],
    ['PORTS', 'PORT'],
    ['database_url', 'DATABASE_URL'],
  ])('is found: %s', (name, known) => {
    expect(listMisspelledSettings({ [name]: 'x' })).toEqual([{ name, known }]);
  });

  it('is none of those that a machine usually has, nor a setting itself', () => {
    const usual = ['HOME', 'HOSTNAME', 'PATH', 'PWD', 'USER', 'SHELL', 'TERM', 'PGHOST', 'PGPORT', 'TEST_DATABASE_URL'];
    const environment = Object.fromEntries([...usual, 'PORT', 'DATABASE_URL'].map((name) => [name, 'x']));
    expect(listMisspelledSettings(environment)).toEqual([]);
  });
});
