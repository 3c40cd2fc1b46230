// Valid requests for every operation that changes something, sent to an installation's own processes, with the
// sandboxes of every provider that the operations call.
import { startAdPlatform } from '../sandbox/src/ad-platform/server.ts';
import { startAuthorizationServer } from '../sandbox/src/authorization-server.ts';
import { startGitHost } from '../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../sandbox/src/model.ts';
import { type MailSandbox, startMailSandbox } from '../sandbox/src/smtp.ts';
import type { App } from '../server/src/app.ts';
import { readConfig } from '../server/src/config.ts';
import { createRepeatCases, type RepeatCase } from '../server/test/derived/repeat-cases.ts';
import { hostSettings } from '../server/test/support/coding.ts';
import { sandboxSettings } from '../server/test/support/connections.ts';
import { World } from '../server/test/support/world.ts';
import type { Installation } from './installation.ts';
import type { Kind, Processes } from './processes.ts';

export interface RequestCases {
  readonly world: World;
  readonly mail: MailSandbox;
  readonly processes: Processes;
  /** Creates the cases, about a new workspace. */
  create(): Promise<Record<string, RepeatCase>>;
}

export async function startRequestCases(
  installation: Installation,
  counts: Record<Kind, number>,
): Promise<RequestCases> {
  const { ends, db } = installation;
  const [mail, model, host, services, ads] = [
    await startMailSandbox(),
    await startModelSandbox(),
    await startGitHost(),
    await startAuthorizationServer(),
    await startAdPlatform(),
  ];
  for (const each of [mail, model, host, services, ads]) ends.defer(() => each.close());
  await host.addRepository({ full_name: 'acme/flower-shop', files: { 'README.md': '# Shop\n' }, protected: [] });
  const settings = {
    SMTP_URL: mail.smtpUrl,
    MODEL_URL: model.url,
    ADS_PLATFORM_URL: ads.url,
    ADS_PLATFORM_MANAGER_ID: ads.managerId,
    ADS_PLATFORM_CREDENTIALS: ads.credentials,
    ...hostSettings(host),
    ...sandboxSettings(services.url),
  };
  const processes = await installation.startProcesses(counts, settings);
  const clock = { aheadMs: 0, now: () => new Date() };
  const config = readConfig({ ...installation.settings, ...settings });
  // The cases use the database and the address only, not the app.
  const world = new World(undefined as unknown as App, db, config, processes.apis[0] ?? '', [], clock);
  ends.defer(() => world.end());
  return {
    world,
    mail,
    processes,
    create: () => createRepeatCases(world, { host, mail, model, receiver: `${model.url}/received` }),
  };
}
