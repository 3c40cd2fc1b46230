// Owns the kinds of secrets: what people call them, how bad it is to lose one, and who can revoke it.
import type { Severity } from '../finding.ts';

export interface SecretKind {
  /** With its article: "a Stripe secret key". */
  readonly name: string;
  /** Where the secret is revoked. */
  readonly issuer: string;
  readonly severity: Severity;
}

const kind = (name: string, issuer: string, severity: Severity = 'high'): SecretKind => ({ name, issuer, severity });

export const secretKinds = {
  ai_key: kind('a key of a provider of AI models', 'the dashboard of the provider'),
  airtable: kind('an Airtable token', 'the developer hub of Airtable'),
  anthropic: kind('an Anthropic API key', 'the Anthropic console'),
  aws: kind('an AWS access key', 'the IAM console of AWS'),
  azure: kind('a key of an Azure account', 'the Azure portal'),
  cloud_token: kind('an access token of a cloud provider', 'the dashboard of the provider'),
  discord: kind('a Discord token', 'the developer portal of Discord'),
  discord_webhook: kind('the address of a Discord webhook', 'the settings of the Discord channel', 'medium'),
  facebook: kind('a Facebook access token', 'the dashboard for developers of Meta'),
  generic: kind('a password or key', 'the service that it belongs to'),
  github: kind('a GitHub token', 'the developer settings of GitHub'),
  gitlab: kind('a GitLab token', 'the settings of GitLab'),
  google: kind('a Google API key', 'the Google Cloud console'),
  google_oauth: kind('a Google OAuth secret', 'the Google Cloud console'),
  huggingface: kind('a Hugging Face token', 'the settings of Hugging Face'),
  jwt: kind('a signed token (JWT)', 'the service that issued it'),
  mailchimp: kind('a Mailchimp API key', 'the account settings of Mailchimp'),
  mailgun: kind('a Mailgun API key', 'the Mailgun dashboard'),
  npm: kind('an npm access token', 'the settings of npm'),
  openai: kind('an OpenAI API key', 'the OpenAI dashboard'),
  plinth: kind('a credential of this installation', 'the settings of your account or workspace'),
  private_key: kind('a private key', 'every service that trusts the key', 'critical'),
  provider_token: kind('an access token of a service', 'the settings of that service'),
  sendgrid: kind('a SendGrid API key', 'the SendGrid dashboard'),
  shopify: kind('a Shopify token', 'the Shopify admin'),
  slack: kind('a Slack token', 'the settings of the Slack app'),
  slack_webhook: kind('the address of a Slack webhook', 'the settings of the Slack app', 'medium'),
  stripe: kind('a Stripe secret key', 'the Stripe dashboard', 'critical'),
  stripe_test: kind('a Stripe secret key of the test mode', 'the Stripe dashboard', 'medium'),
  stripe_webhook: kind('the signing secret of a Stripe webhook', 'the Stripe dashboard'),
  supabase: kind('a Supabase secret key', 'the Supabase dashboard', 'critical'),
  telegram: kind('the token of a Telegram bot', 'BotFather in Telegram'),
  twilio: kind('a Twilio API key', 'the Twilio console'),
  url_credentials: kind('an address with a password', 'the server that it leads to'),
} as const satisfies Readonly<Record<string, SecretKind>>;

export type SecretKindName = keyof typeof secretKinds;

/** A secret in a text. `secret` is what identifies it: without what is only around it. */
export interface SecretMatch {
  readonly kind: SecretKindName;
  readonly start: number;
  readonly end: number;
  readonly secret: string;
}
