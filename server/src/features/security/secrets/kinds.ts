// The kinds of secrets: their names, how severe a leak is, and who can revoke them.
import type { Severity } from '../finding.ts';

export interface SecretKind {
  /** The name with its article, such as "a Stripe secret key". */
  readonly name: string;
  /** Where the secret is revoked. */
  readonly issuer: string;
  readonly severity: Severity;
}

const kind = (name: string, issuer: string, severity: Severity = 'high'): SecretKind => ({ name, issuer, severity });

export const secretKinds = {
  ai_key: kind("an AI provider's API key", "the provider's dashboard"),
  airtable: kind('an Airtable token', 'the Airtable developer hub'),
  anthropic: kind('an Anthropic API key', 'the Anthropic console'),
  aws: kind('an AWS access key', 'the AWS IAM console'),
  azure: kind('an Azure account key', 'the Azure portal'),
  cloud_token: kind("a cloud provider's access token", "the provider's dashboard"),
  discord: kind('a Discord token', 'the Discord developer portal'),
  discord_webhook: kind('a Discord webhook URL', "the Discord channel's settings", 'medium'),
  facebook: kind('a Facebook access token', 'the Meta developer dashboard'),
  generic: kind('a password or key', 'the service it belongs to'),
  github: kind('a GitHub token', 'the GitHub developer settings'),
  gitlab: kind('a GitLab token', 'the GitLab settings'),
  google: kind('a Google API key', 'the Google Cloud console'),
  google_oauth: kind('a Google OAuth secret', 'the Google Cloud console'),
  huggingface: kind('a Hugging Face token', 'the Hugging Face settings'),
  jwt: kind('a signed token (JWT)', 'the service that issued it'),
  mailchimp: kind('a Mailchimp API key', 'the Mailchimp account settings'),
  mailgun: kind('a Mailgun API key', 'the Mailgun dashboard'),
  npm: kind('an npm access token', 'the npm account settings'),
  openai: kind('an OpenAI API key', 'the OpenAI dashboard'),
  plinth: kind('a credential for this installation', 'your account or workspace settings'),
  private_key: kind('a private key', 'every service that trusts the key', 'critical'),
  provider_token: kind('a service access token', "that service's settings"),
  sendgrid: kind('a SendGrid API key', 'the SendGrid dashboard'),
  shopify: kind('a Shopify token', 'the Shopify admin'),
  slack: kind('a Slack token', "the Slack app's settings"),
  slack_webhook: kind('a Slack webhook URL', "the Slack app's settings", 'medium'),
  stripe: kind('a Stripe secret key', 'the Stripe dashboard', 'critical'),
  stripe_test: kind('a Stripe test-mode secret key', 'the Stripe dashboard', 'medium'),
  stripe_webhook: kind('a Stripe webhook signing secret', 'the Stripe dashboard'),
  supabase: kind('a Supabase secret key', 'the Supabase dashboard', 'critical'),
  telegram: kind('a Telegram bot token', 'BotFather in Telegram'),
  twilio: kind('a Twilio API key', 'the Twilio console'),
  url_credentials: kind('a URL with a password', 'the server it points to'),
} as const satisfies Readonly<Record<string, SecretKind>>;

export type SecretKindName = keyof typeof secretKinds;

/** A secret in a file. `secret` is only the part that identifies it, without the surrounding text. */
export interface SecretMatch {
  readonly kind: SecretKindName;
  readonly start: number;
  readonly end: number;
  readonly secret: string;
}
