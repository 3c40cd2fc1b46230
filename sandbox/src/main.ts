// npm run sandbox: simulates external services on loopback for development. `npm run dev` starts it as a child process
// and receives the addresses as a message. If given a folder, the ad platform, the payment provider and the git host
// continue where they stopped.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAdPlatform } from './ad-platform/server.ts';
import { startAdvisories } from './advisories/server.ts';
import { startAuthorizationServer } from './authorization-server.ts';
import { playableRequests } from './builder-conversation.ts';
import { demoFiles, demoRepositoryName } from './demo-repository/repository.ts';
import { startGitHost } from './git-host/server.ts';
import { startModelSandbox } from './model.ts';
import { startStartPage } from './pages/start-page.ts';
import { startPayments } from './payments/server.ts';
import { startReceiver } from './receiver.ts';
import { startS3Sandbox } from './s3.ts';
import { startMailSandbox } from './smtp.ts';

const pages = await startStartPage(2570).catch(onlyIfTaken(() => startStartPage()));
const startPage = pages.url;
const mail = await startMailSandbox({ smtp: 2525, inbox: 2580 }, startPage).catch(
  onlyIfTaken(() => startMailSandbox({ smtp: 0, inbox: 0 }, startPage)),
);
const model = await startModelSandbox(2590, 40).catch(onlyIfTaken(() => startModelSandbox(0, 40)));
const print = (line: string) => console.log(`receiver  ${line}`);
const receiver = await startReceiver(2600, print, startPage).catch(
  onlyIfTaken(() => startReceiver(0, print, startPage)),
);
const s3 = await startS3Sandbox(2610).catch(onlyIfTaken(() => startS3Sandbox()));
const folder = mkdtempSync(join(tmpdir(), 'plinth-sandbox-'));
const journalFile = join(folder, 'journal.jsonl');
const services = await startAuthorizationServer({ port: 2620, journalFile, startPage }).catch(
  onlyIfTaken(() => startAuthorizationServer({ journalFile, startPage })),
);
// Two servers must not write to the same journal, so a second sandbox starts empty.
const kept = process.argv[2] ?? folder;
const adPlatform = await startAdPlatform({ port: 2630, folder: kept }).catch(
  onlyIfTaken(() => startAdPlatform({ folder })),
);
const payments = await startPayments({ port: 2640, folder: kept, startPage }).catch(
  onlyIfTaken(() => startPayments({ folder, startPage })),
);
const advisories = await startAdvisories({ port: 2650 }).catch(onlyIfTaken(() => startAdvisories()));
const gitHost = await startGitHost({ port: 2660, folder: join(kept, 'git-host'), startPage }).catch(
  onlyIfTaken(() => startGitHost({ folder: join(folder, 'git-host'), startPage })),
);
await gitHost.addRepository({ full_name: demoRepositoryName, files: demoFiles });

pages.list([
  {
    name: 'Mail',
    description: 'Stands in for your mail provider: it accepts every e-mail and delivers none.',
    address: mail.smtpUrl,
    page: { text: 'Inbox', url: mail.inboxUrl },
  },
  {
    name: 'Receiver of webhooks',
    description:
      'Stands in for the system that you send webhooks to: it accepts every request and verifies its signature.',
    address: receiver.url,
    page: { text: 'Received webhooks', url: `${receiver.url}/received` },
  },
  {
    name: 'Git host',
    description: 'Stands in for GitHub: repositories, and the pull requests of coding sessions.',
    address: gitHost.url,
    page: { text: 'Pull requests', url: gitHost.cloneUrl },
    json: { text: 'Journal', url: `${gitHost.cloneUrl}/sandbox/journal` },
  },
  {
    name: 'Services of connectors',
    description: 'Stands in for every service that an app can connect to, such as Slack, and asks for consent.',
    address: services.url,
    json: { text: 'Journal', url: `${services.url}/journal` },
  },
  {
    name: 'Language model',
    description: 'Stands in for a model provider: it plays recorded conversations, and repeats what it does not know.',
    address: model.url,
  },
  {
    name: 'Ad platform',
    description: 'Stands in for Google Ads: it reviews and serves campaigns, and nobody sees the ads.',
    address: adPlatform.url,
    json: { text: 'Journal', url: `${adPlatform.url}/sandbox/journal` },
  },
  {
    name: 'Payment provider',
    description: 'Stands in for Stripe: it accepts any card and charges nothing.',
    address: payments.url,
    json: { text: 'Journal', url: `${payments.url}/sandbox/journal` },
  },
  {
    name: 'Advisories',
    description: 'Stands in for OSV, the database of known vulnerabilities in packages.',
    address: advisories.url,
    json: { text: 'Advisories', url: `${advisories.url}/sandbox/advisories` },
  },
  {
    name: 'Object storage',
    description: 'Stands in for Amazon S3, and keeps its objects in memory.',
    address: s3.endpoint,
  },
]);

if (process.send !== undefined) {
  process.send({
    startPageUrl: startPage,
    smtpUrl: mail.smtpUrl,
    inboxUrl: mail.inboxUrl,
    modelUrl: model.url,
    modelRequests: playableRequests,
    receiverUrl: receiver.url,
    s3Url: s3.endpoint,
    connectorUrl: services.url,
    adPlatformUrl: adPlatform.url,
    adPlatformManagerId: adPlatform.managerId,
    adPlatformCredentials: adPlatform.credentials,
    paymentsUrl: payments.url,
    paymentsSecretKey: payments.secretKey,
    advisoriesUrl: advisories.url,
    gitHostUrl: gitHost.url,
    gitHostCloneUrl: gitHost.cloneUrl,
    gitHostToken: gitHost.token,
    gitHostRepository: demoRepositoryName,
  });
  process.once('disconnect', () => process.exit()); // the parent has exited
} else {
  console.log(`start page: ${startPage}`);
  console.log(`mail: SMTP_URL=${mail.smtpUrl}   inbox: ${mail.inboxUrl}`);
  console.log(`model: MODEL_URL=${model.url}`);
  console.log(`receiver: ${receiver.url}   received: ${receiver.url}/received`);
  console.log(`s3: STORAGE_S3_ENDPOINT=${s3.endpoint}   STORAGE_S3_BUCKET=${s3.bucket}`);
  console.log(`connectors: CONNECTOR_SANDBOX_URL=${services.url}   journal: ${services.url}/journal`);
  console.log(`ad platform: ADS_PLATFORM_URL=${adPlatform.url}   journal: ${adPlatform.url}/sandbox/journal`);
  console.log(
    `  ADS_PLATFORM_MANAGER_ID=${adPlatform.managerId}   ADS_PLATFORM_CREDENTIALS='${adPlatform.credentials}'`,
  );
  console.log(`payments: PAYMENTS_URL=${payments.url}   PAYMENTS_SECRET_KEY=${payments.secretKey}`);
  console.log(`advisories: ADVISORIES_URL=${advisories.url}   known: ${advisories.url}/sandbox/advisories`);
  console.log(`git host: GIT_HOST_URL=${gitHost.url}   GIT_HOST_CLONE_URL=${gitHost.cloneUrl}`);
  console.log(`  token: ${gitHost.token}   pull requests: ${gitHost.cloneUrl}`);
}

/** Starts on any free port if another sandbox is using the default port. */
function onlyIfTaken<T>(startElsewhere: () => Promise<T>) {
  return (error: NodeJS.ErrnoException): Promise<T> => {
    if (error.code !== 'EADDRINUSE') throw error;
    return startElsewhere();
  };
}
