// npm run sandbox: the outside world on loopback, for development. `npm run dev` starts it as a child process and receives
// the addresses as a message. With a folder as argument, the ad platform, the payment provider and the git host continue where they
// were.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAdPlatform } from './ad-platform/server.ts';
import { startAdvisories } from './advisories/server.ts';
import { startAuthorizationServer } from './authorization-server.ts';
import { demoFiles, demoRepositoryName } from './demo-repository/repository.ts';
import { startGitHost } from './git-host/server.ts';
import { startModelSandbox } from './model.ts';
import { startPayments } from './payments/server.ts';
import { startReceiver } from './receiver.ts';
import { startS3Sandbox } from './s3.ts';
import { startMailSandbox } from './smtp.ts';

const mail = await startMailSandbox({ smtp: 2525, inbox: 2580 }).catch(onlyIfTaken(() => startMailSandbox()));
const model = await startModelSandbox(2590, 40).catch(onlyIfTaken(() => startModelSandbox(0, 40)));
const print = (line: string) => console.log(`receiver  ${line}`);
const receiver = await startReceiver(2600, print).catch(onlyIfTaken(() => startReceiver(0, print)));
const s3 = await startS3Sandbox(2610).catch(onlyIfTaken(() => startS3Sandbox()));
const folder = mkdtempSync(join(tmpdir(), 'plinth-sandbox-'));
const journalFile = join(folder, 'journal.jsonl');
const services = await startAuthorizationServer({ port: 2620, journalFile }).catch(
  onlyIfTaken(() => startAuthorizationServer({ journalFile })),
);
// Two servers must not write to one journal, so that a second sandbox begins anew.
const kept = process.argv[2] ?? folder;
const adPlatform = await startAdPlatform({ port: 2630, folder: kept }).catch(
  onlyIfTaken(() => startAdPlatform({ folder })),
);
const payments = await startPayments({ port: 2640, folder: kept }).catch(onlyIfTaken(() => startPayments({ folder })));
const advisories = await startAdvisories({ port: 2650 }).catch(onlyIfTaken(() => startAdvisories()));
const gitHost = await startGitHost({ port: 2660, folder: join(kept, 'git-host') }).catch(
  onlyIfTaken(() => startGitHost({ folder: join(folder, 'git-host') })),
);
await gitHost.addRepository({ full_name: demoRepositoryName, files: demoFiles });

if (process.send !== undefined) {
  process.send({
    smtpUrl: mail.smtpUrl,
    inboxUrl: mail.inboxUrl,
    modelUrl: model.url,
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

/** Another sandbox may be running: a free port is as good. */
function onlyIfTaken<T>(startElsewhere: () => Promise<T>) {
  return (error: NodeJS.ErrnoException): Promise<T> => {
    if (error.code !== 'EADDRINUSE') throw error;
    return startElsewhere();
  };
}
