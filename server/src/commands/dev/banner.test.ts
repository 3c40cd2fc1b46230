// Tests the banner of `plinth dev` with services other than the sandbox's. first-hour.test.ts tests it with the
// sandbox.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readConfig } from '../../config.ts';
import { newKeys } from '../keys.ts';
import { bannerText, type Demo } from './banner.ts';

const sandbox = {
  startPageUrl: 'http://127.0.0.1:2570',
  smtpUrl: 'smtp://127.0.0.1:2525',
  inboxUrl: 'http://127.0.0.1:2580/inbox',
  modelUrl: 'http://127.0.0.1:2590/v1',
  receiverUrl: 'http://127.0.0.1:2600',
  connectorUrl: 'http://127.0.0.1:2620',
  adPlatformUrl: 'http://127.0.0.1:2630',
  adPlatformManagerId: '1000000001',
  adPlatformCredentials: '{}',
  paymentsUrl: 'http://127.0.0.1:2640',
  paymentsSecretKey: 'sk_test_sandbox',
  advisoriesUrl: 'http://127.0.0.1:2650',
  modelRequests: [],
  gitHostUrl: 'http://127.0.0.1:2660/api/v3',
  gitHostCloneUrl: 'http://127.0.0.1:2660',
  gitHostToken: 'ghp_sandbox',
  gitHostRepository: 'bakery/price-calculator',
};
const demo: Demo = {
  email: 'ann@example.com',
  token: 'plp_1',
  passwordUrl: undefined,
  app: undefined,
  hasConsole: true,
};
const banner = (settings: Record<string, string>, started?: typeof sandbox, more: Partial<Demo> = {}) =>
  bannerText(readConfig({ ...newKeys(), ...settings }), { ...demo, ...more }, started);

it('names the servers that .env sets, without their passwords', () => {
  const text = banner(
    {
      SMTP_URL: 'smtp://ann:hunter2@mail.example:587',
      MODEL_URL: 'https://model.example/v1',
      GIT_HOST_URL: 'https://api.git.example',
      GIT_HOST_CLONE_URL: 'https://git.example',
    },
    sandbox,
  );
  expect(text).toContain('mail        at mail.example:587\n');
  expect(text).toContain('model       at model.example\n');
  expect(text).toContain('git host    at api.git.example\n');
  expect(text).not.toMatch(/hunter2|GIT_TOKEN/);
  expect(text).toContain('export RECEIVER=http://127.0.0.1:2600\n');
});

it('says what is off without the sandbox', () => {
  const text = banner({});
  expect(text).toContain('mail        off: set SMTP_URL\n');
  expect(text).toContain('model       off: set MODEL_URL\n');
  expect(text).toContain('git host    off: set GIT_HOST_URL\n');
  expect(text).not.toMatch(/receiver|RECEIVER|INBOX|an app/);
});

it('prints a link for setting a password, unless the person has one', () => {
  const passwordUrl = 'http://127.0.0.1:8080/reset-password#abc';
  expect(banner({}, sandbox, { passwordUrl })).toContain(
    `as ann@example.com. Set a password within an hour: ${passwordUrl}\n`,
  );
  expect(banner({}, sandbox)).toContain('npm run plinth -- user reset --user ann@example.com\n');
});

it('prints the variables that the guides use, and APP only if there is an app', () => {
  const app = { id: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e', url: 'http://tasks.apps.localhost:8080/' };
  const names = (text: string) => [...text.matchAll(/^ {2}export (\w+)=/gm)].map(([, name]) => name);
  expect(names(banner({}, undefined, { app }))).toEqual(['PLINTH', 'TOKEN', 'APP', 'AUTH', 'JSON']);
  expect(names(banner({}))).toEqual(['PLINTH', 'TOKEN', 'AUTH', 'JSON']);
});

it('prints an alias with which plinthctl runs in any folder', async () => {
  const [, alias = ''] = /^ {2}(alias plinthctl=.*)$/m.exec(banner({})) ?? [];
  const script = `shopt -s expand_aliases\n${alias}\nplinthctl --version`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: '/' });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(banner({})).toMatch(/^ {2}plinthctl login --url http:\/\/127\.0\.0\.1:8080 --write$/m);
});

it('says which browser it uses, or how to get one', () => {
  expect(banner({ BROWSER_EXECUTABLE: '/usr/bin/chromium' })).toMatch(/^ {2}browser .*: \/usr\/bin\/chromium$/m);
  expect(banner({})).toContain('browser     off: install Chromium, or set BROWSER_EXECUTABLE\n');
});

it('leads to the console, or says why it is not served', () => {
  expect(banner({ BASE_URL: 'http://127.0.0.1:8080' })).toContain(
    'console     build apps in the browser: http://127.0.0.1:8080/\n',
  );
  expect(banner({}, undefined, { hasConsole: false })).toContain('console     off: npm run build\n');
  expect(banner({ CONSOLE: 'off' }, undefined, { hasConsole: false })).toContain('console     off: set CONSOLE=on\n');
});
