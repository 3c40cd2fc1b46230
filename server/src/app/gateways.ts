// Opens the gateways to providers, and the client for requests to addresses chosen by callers.
import type { Config } from '../config.ts';
import { openAdPlatform } from '../gateways/ad-platform/index.ts';
import { openAdvisories } from '../gateways/advisories/index.ts';
import { openBrowser } from '../gateways/browser/index.ts';
import { openBrowserSessions } from '../gateways/browser/session/index.ts';
import type { SessionSettings } from '../gateways/browser/session/types.ts';
import { openCommandSandbox } from '../gateways/command-sandbox/index.ts';
import { openGitHost } from '../gateways/git-host/index.ts';
import { openLanguageModel } from '../gateways/language-model/index.ts';
import { openMail } from '../gateways/mail/index.ts';
import { createApiKeyCheck } from '../gateways/oauth/api-key-check.ts';
import { createOAuthGateway } from '../gateways/oauth/index.ts';
import { openPayments } from '../gateways/payments/index.ts';
import { openStorage } from '../gateways/storage/index.ts';
import { describeError } from '../kit/log.ts';
import { hostOf } from '../kit/outbound/address.ts';
import { openOutbound } from '../kit/outbound/outbound.ts';
import { portOf } from '../kit/outbound/url.ts';
import type { AppDeps } from './deps.ts';
import type { Infrastructure } from './infrastructure.ts';
import { toAdPlatformSettings, toGitHostSettings, toSandboxSettings, toStorageSettings } from './settings.ts';

export type Gateways = ReturnType<typeof openGateways>;

export function openGateways(config: Config, deps: AppDeps, { clock, log, metrics }: Infrastructure) {
  const objectStorage = openStorage(toStorageSettings(config));
  const mail = openMail(config.SMTP_URL, config.MAIL_FROM, (error) =>
    log.error({ error: describeError(error) }, 'mail not sent'),
  );
  const model = openLanguageModel({
    url: config.MODEL_URL,
    apiKey: config.MODEL_API_KEY,
    name: config.MODEL_NAME,
    onReply: metrics.addOutcomes(
      'plinth_model_call',
      'Language model calls, by outcome',
      [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    ),
  });
  const browserSettings: SessionSettings = {
    executable: config.BROWSER_EXECUTABLE,
    noSandbox: config.BROWSER_NO_SANDBOX,
    onFailure: (outcome, why) =>
      log.warn({ why }, outcome === 'crashed' ? 'browser crashed' : 'browser not started: check BROWSER_EXECUTABLE'),
  };
  const browser = openBrowser({ ...browserSettings, totalMs: deps.pageMs });
  const browserSessions = openBrowserSessions(browserSettings);
  const commandSandbox = openCommandSandbox({
    ...toSandboxSettings(config),
    onProblem: (why) => log.warn({ why }, 'command sandbox unavailable or not cleaned up'),
  });
  const adPlatform = openAdPlatform({
    ...toAdPlatformSettings(config),
    clock,
    ...deps.adPlatform,
    onCall: metrics.addOutcomes(
      'plinth_ad_platform_call',
      'Ad platform calls, by outcome',
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ),
    onFailure: (failure) => log.warn(failure, 'ad platform call failed'),
  });
  const payments = openPayments({
    url: config.PAYMENTS_URL,
    secretKey: config.PAYMENTS_SECRET_KEY,
    onFailure: (failure) => log.warn(failure, 'payment provider call failed'),
  });
  const advisories = openAdvisories({
    url: config.ADVISORIES_URL,
    onFailure: (failure) => log.warn(failure, 'advisory database call failed'),
  });
  const gitHost = openGitHost({ ...toGitHostSettings(config), clock });
  const baseUrl = new URL(config.BASE_URL);
  const outbound = openOutbound({
    allow: config.OUTBOUND_ALLOW,
    own: { host: hostOf(baseUrl), port: portOf(baseUrl) },
    ...deps.outbound,
  });
  return {
    objectStorage,
    mail,
    model,
    browser,
    browserSessions,
    commandSandbox,
    adPlatform,
    payments,
    advisories,
    gitHost,
    outbound,
    oauth: createOAuthGateway({ outbound, clock }),
    checkApiKey: createApiKeyCheck(outbound),
    async close() {
      mail.close();
      objectStorage.close();
      await browser.close();
      await browserSessions.close();
      await commandSandbox.close();
      await adPlatform.close();
      await advisories.close();
      await gitHost.close();
      await outbound.close();
    },
  };
}
