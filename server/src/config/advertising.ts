// The settings for the ad platform and the payment provider.
import { parseCredentials } from '../gateways/ad-platform/index.ts';
import { type Environment, listOf, matching, oneOf, optional, setting, text, url } from './setting.ts';

const campaignTypes = ['SMART', 'PERFORMANCE_MAX'] as const;
/** The live platform's host. This platform no longer creates Smart campaigns. */
const liveAdPlatformHost = 'googleads.googleapis.com';

export const isLiveAdPlatform = (url: string | undefined): boolean =>
  url !== undefined && URL.parse(url)?.hostname === liveAdPlatformHost;

/** The currencies in which campaigns can have a budget (features/ads/budgets/table.ts). */
const adCurrencies = [
  'USD',
  'EUR',
  'GBP',
  'CHF',
  'CAD',
  'AUD',
  'NZD',
  'SEK',
  'NOK',
  'DKK',
  'PLN',
  'CZK',
  'JPY',
  'INR',
  'BRL',
  'MXN',
  'ZAR',
  'ILS',
  'SGD',
  'HKD',
  'AED',
  'KRW',
] as const;

export const advertisingSettings = {
  ADS_PLATFORM_URL: optional(
    'URL of the ad platform, a server with the REST protocol of the Google Ads API: `https://googleads.googleapis.com`. Needs the two settings below: docs/operate/ads.md. If unset, operations that need it answer 503 `ad_platform_unavailable`.',
    url('http:', 'https:'),
  ),
  ADS_PLATFORM_VERSION: setting(
    'Version of the protocol that is spoken.',
    'v25',
    matching(/^v\d{1,3}$/, 'a version such as v25'),
  ),
  ADS_PLATFORM_MANAGER_ID: optional(
    'Id of your manager account at the ad platform, ten digits. Accounts of apps are created below it.',
    matching(/^\d{1,20}$/, 'digits only, without hyphens'),
  ),
  ADS_PLATFORM_CREDENTIALS: optional(
    'Credential file of a service account or an authorized user with access to the manager account: its JSON, or that in base64.',
    parseCredentials,
  ),
  ADS_DEFAULT_CURRENCY: setting(
    'Currency of new advertising accounts of workspaces in a country whose currency campaigns cannot have.',
    'USD',
    oneOf(adCurrencies),
  ),
  ADS_CAN_CREATE: setting(
    'Comma-separated list of the types of campaigns that can be created. If unset, and `ADS_PLATFORM_URL` is the live platform, which creates no Smart campaigns any more: `PERFORMANCE_MAX`.',
    campaignTypes.join(','),
    listOf(campaignTypes),
  ),
  PAYMENTS_SECRET_KEY: optional(
    'Secret key of your account at the payment provider, Stripe. If unset, you arrange billing with the ad platform yourself, and workspaces need no card: docs/operate/ads.md#payments.',
    text,
  ),
  PAYMENTS_URL: setting('URL of the payment provider.', 'https://api.stripe.com', url('http:', 'https:')),
};

/** The ad platform's address, manager account and credentials must be set together or not at all. */
export function listAdPlatformFaults(environment: Environment): string[] {
  const names = ['ADS_PLATFORM_URL', 'ADS_PLATFORM_MANAGER_ID', 'ADS_PLATFORM_CREDENTIALS'] as const;
  const missing = names.filter((name) => !environment[name]);
  return missing.length === 0 || missing.length === names.length
    ? []
    : missing.map((name) => `${name} is missing: the ad platform needs ${names.join(', ')}.`);
}
