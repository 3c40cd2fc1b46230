// Checks the providers that features talk to, if they are configured: the language model, the git host, the ad platform,
// the payment provider, the advisory database and the services of connectors. All requests only read.
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { listConnectorEndpoints } from '../../app/connectors.ts';
import { toAdPlatformSettings, toGitHostSettings } from '../../app/settings.ts';
import { clientSettingsOf, connectorsWithClient } from '../../config/connectors.ts';
import type { Config } from '../../config.ts';
import { openAdPlatform } from '../../gateways/ad-platform/index.ts';
import { openAdvisories } from '../../gateways/advisories/index.ts';
import { openGitHost } from '../../gateways/git-host/index.ts';
import { isServing, requestModels } from '../../gateways/language-model/index.ts';
import { openPayments } from '../../gateways/payments/index.ts';
import { systemClock } from '../../kit/clock.ts';
import { hostOf } from '../../kit/outbound/address.ts';
import { portOf } from '../../kit/outbound/url.ts';
import { broken, type Check, type CheckContext, describeReason, notConfigured, readSetting, works } from './check.ts';

const requestMs = 5_000;

/** Without a user name and password. */
const placeOf = (url: string): string => new URL(url).host;

const model: Check = {
  part: 'model',
  async run(context, signal) {
    const url = readSetting(context, 'MODEL_URL');
    if (url === undefined)
      return notConfigured(
        'Agents and texts of ads answer 503, turns of the builder chat fail and failed runs are not explained until MODEL_URL is set.',
      );
    const place = placeOf(url);
    try {
      const stop = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
      const answer = await requestModels(url, readSetting(context, 'MODEL_API_KEY'), stop);
      const isRefused = answer.status === 401 || answer.status === 403;
      if (isRefused) return broken(`${place} answers ${answer.status}: correct MODEL_API_KEY.`);
      if (!isServing(answer.status))
        return broken(`${place} answers ${answer.status}. Find the reason at the provider, or correct MODEL_URL.`);
      const names = await readModelNames(answer);
      const name = readSetting(context, 'MODEL_NAME');
      const isListed = names.length === 0 || names.includes(name);
      const doubt = isListed ? '' : ` Its list of models does not have "${name}" (MODEL_NAME).`;
      const next = context.isModelTried ? '' : ' Whether it can build apps: npm run plinth -- doctor --model';
      return works(`${place} answers.${doubt}${next}`);
    } catch (error) {
      return broken(`${place} can't be reached: ${describeReason(error, context)}. Start it, or correct MODEL_URL.`);
    }
  },
};

/** Empty if the server lists no models, because not every server does. */
async function readModelNames(answer: Response): Promise<string[]> {
  try {
    const { data } = (await answer.json()) as { data?: { id?: unknown }[] };
    return (data ?? []).map(({ id }) => String(id));
  } catch {
    return [];
  }
}

const run = promisify(execFile);
const neededGit = [2, 38] as const;

const gitHost: Check = {
  part: 'git host',
  async run(context, signal) {
    const url = readSetting(context, 'GIT_HOST_URL');
    if (url === undefined)
      return notConfigured(
        'No repository can be connected, so there are no coding sessions, until GIT_HOST_URL is set.',
      );
    const gitFault = await findGitFault();
    if (gitFault !== undefined) return broken(gitFault);
    const settings = toGitHostSettings(context.config as Config);
    const opened = openGitHost({ ...settings, clock: systemClock, timeoutMs: requestMs });
    try {
      const checked = await opened.check(signal);
      const place = placeOf(url);
      const reason = 'reason' in checked ? describeReason(checked.reason, context) : '';
      if (checked.outcome === 'unavailable')
        return broken(`${place} can't be used: ${reason}. Correct GIT_HOST_URL, or wait until the host works again.`);
      if (checked.outcome === 'refused')
        return broken(
          `${place} refuses the App: ${reason}. Correct GIT_HOST_APP_ID and GIT_HOST_APP_PRIVATE_KEY, and compare the clock.`,
        );
      return works(`${place} answers${opened.hasApp ? ' and accepts the App' : ''}.`);
    } finally {
      await opened.close();
    }
  },
};

async function findGitFault(): Promise<string | undefined> {
  const needed = neededGit.join('.');
  try {
    const { stdout } = await run('git', ['--version'], { timeout: requestMs });
    const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
    const isEnough = Number(major) > neededGit[0] || (Number(major) === neededGit[0] && Number(minor) >= neededGit[1]);
    return isEnough ? undefined : `git ${major}.${minor} is too old: workers need git ${needed} or newer.`;
  } catch {
    return `git can't be run on this machine. Workers need git ${needed} or newer: install it.`;
  }
}

const adPlatform: Check = {
  part: 'ad platform',
  limitMs: 15_000, // it may exchange a credential for a token first
  async run(context) {
    const url = readSetting(context, 'ADS_PLATFORM_URL');
    if (url === undefined)
      return notConfigured(
        "Apps can't advertise: operations that need the ad platform answer 503 until ADS_PLATFORM_URL is set.",
      );
    const opened = openAdPlatform({ ...toAdPlatformSettings(context.config as Config), clock: systemClock });
    try {
      const access = await opened.checkAccess();
      if (access.outcome === 'read') return works(`${placeOf(url)} shows the manager account.`);
      return broken(
        `${placeOf(url)} does not show the manager account: ${describeReason(access.reason, context)}. Compare the ADS_PLATFORM_ settings with docs/operate/ads.md.`,
      );
    } finally {
      await opened.close();
    }
  },
};

const payments: Check = {
  part: 'payments',
  limitMs: 15_000, // the library repeats a request whose connection was closed
  async run(context) {
    const secretKey = readSetting(context, 'PAYMENTS_SECRET_KEY');
    if (secretKey === undefined)
      return notConfigured(
        'Workspaces need no card, and you arrange billing with the ad platform yourself, until PAYMENTS_SECRET_KEY is set.',
      );
    const url = readSetting(context, 'PAYMENTS_URL');
    let why = 'no answer';
    const opened = openPayments({
      url,
      secretKey,
      timeoutMs: requestMs,
      onFailure: ({ reason }) => {
        why = reason;
      },
    });
    const now = systemClock.now();
    // The cheapest read that an ordinary key may do. No workspace has this name.
    const found = await opened.findCustomers('doctor', now, now);
    return found.outcome === 'read'
      ? works(`${placeOf(url)} accepts the key.`)
      : broken(
          `${placeOf(url)} can't be used: ${describeReason(why, context)}. Correct PAYMENTS_SECRET_KEY or PAYMENTS_URL.`,
        );
  },
};

const advisories: Check = {
  part: 'advisories',
  limitMs: 12_000, // a request without an answer is repeated once
  async run(context, signal) {
    const url = readSetting(context, 'ADVISORIES_URL');
    if (url === undefined) return notConfigured('Security scans leave packages out until ADVISORIES_URL is set.');
    const opened = openAdvisories({ url, timeoutMs: requestMs });
    try {
      const found = await opened.find([{ name: 'lodash', version: '4.17.15' }], signal);
      return found.outcome === 'read'
        ? works(`${placeOf(url)} answers.`)
        : broken(`${placeOf(url)} can't be used: ${describeReason(found.reason, context)}. Correct ADVISORIES_URL.`);
    } finally {
      await opened.close();
    }
  },
};

const connectors: Check = {
  part: 'connectors',
  async run(context, signal) {
    const types = connectorsWithClient.filter((type) => context.isSet(clientSettingsOf(type).id));
    if (types.length === 0)
      return notConfigured(
        'Apps can be connected only to services that use API keys until you register clients: docs/operate/connectors.md.',
      );
    const places = [...new Set(listConnectorEndpoints(context.config as Config))];
    const failures = await Promise.all(places.map((place) => findConnectFault(new URL(place), context, signal)));
    const faults = [...new Set(failures.filter((fault) => fault !== undefined))];
    if (faults.length > 0) return broken(`${faults.join(' ')} Check the network of this machine.`);
    return works(
      `${types.length} clients, and their services can be reached. Whether a service accepts its client shows when somebody connects.`,
    );
  },
};

/** Only connects, because a service would log a request with a wrong code as an attack. */
function findConnectFault(url: URL, context: CheckContext, signal: AbortSignal): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const socket = connect({ host: hostOf(url), port: portOf(url), timeout: requestMs, signal });
  socket.once('connect', () => resolve(undefined));
  socket.once('timeout', () => resolve(`${url.host} does not answer.`));
  socket.once('error', (error) => resolve(`${url.host} can't be reached: ${describeReason(error, context)}.`));
  return promise.finally(() => socket.destroy());
}

export const providerChecks: readonly Check[] = [gitHost, adPlatform, payments, advisories, connectors, model];
