// What `plinth dev` prints if something else than the sandbox is configured. With the sandbox, first-hour.test.ts compares it.
import { expect, it } from 'vitest';
import { readConfig } from '../../config.ts';
import { newKeys } from '../keys.ts';
import { bannerText } from './banner.ts';

const sandbox = {
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
  gitHostUrl: 'http://127.0.0.1:2660/api/v3',
  gitHostCloneUrl: 'http://127.0.0.1:2660',
  gitHostToken: 'ghp_sandbox',
  gitHostRepository: 'bakery/price-calculator',
};
const banner = (settings: Record<string, string>, started?: typeof sandbox) =>
  bannerText(
    readConfig({ ...newKeys(), ...settings }),
    { email: 'ann@example.com', token: 'plp_1', publishedUrl: undefined },
    started,
  );

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
  expect(text).not.toMatch(/receiver|RECEIVER|INBOX|built by chat/);
});
