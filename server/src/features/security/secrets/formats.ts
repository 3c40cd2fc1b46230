// Finds secrets that are recognisable by their text alone, through a prefix or format that the issuer documents.
// Every pattern is bounded and starts with fixed text if possible, so the time is linear in the length of the file.
import type { SecretKindName, SecretMatch } from './kinds.ts';
import { entropyOf, isPlaceholder } from './placeholder.ts';

interface Format {
  readonly kind: SecretKindName;
  /** The pattern is tried only if the text contains this string. */
  readonly hint: string;
  readonly pattern: RegExp;
}

const before = '(?<![A-Za-z0-9_])';
const format = (kind: SecretKindName, hint: string, pattern: string): Format => ({
  kind,
  hint,
  pattern: new RegExp(before + pattern, 'g'),
});

const formats: readonly Format[] = [
  format('stripe', '_live_', '[sr]k_live_[A-Za-z0-9]{16,255}'),
  format('stripe_test', '_test_', '[sr]k_test_[A-Za-z0-9]{16,255}'),
  format('stripe_webhook', 'whsec_', 'whsec_[A-Za-z0-9+/]{24,128}={0,2}'),
  format('google', 'AIza', 'AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])'),
  format('google_oauth', 'GOCSPX-', 'GOCSPX-[A-Za-z0-9_-]{24,40}'),
  format('google_oauth', 'ya29.', 'ya29\\.[A-Za-z0-9_-]{24,1024}'),
  format('google_oauth', '1//0', '1//0[A-Za-z0-9_-]{40,200}'),
  format('aws', 'A', '(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])'),
  format('azure', 'AccountKey=', 'AccountKey=[A-Za-z0-9+/]{60,100}={0,2}'),
  format('twilio', 'SK', 'SK[0-9a-f]{32}(?![A-Za-z0-9])'),
  // The public account id, followed by the token.
  format('twilio', 'AC', '(?<=AC[0-9a-f]{32}["\'`]\\s{0,8},\\s{0,8}["\'`])[0-9a-f]{32}(?![A-Za-z0-9])'),
  format('anthropic', 'sk-ant-', 'sk-ant-[a-z]{2,8}\\d{2}-[A-Za-z0-9_-]{20,200}'),
  format('openai', 'sk-', 'sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}'),
  format('openai', 'sk-', 'sk-[A-Za-z0-9]{32,64}(?![A-Za-z0-9-])'),
  format('ai_key', 'sk-or-', 'sk-or-v1-[0-9a-f]{48,64}'),
  format('ai_key', 'gsk_', 'gsk_[A-Za-z0-9]{40,64}'),
  format('ai_key', 'xai-', 'xai-[A-Za-z0-9]{48,100}'),
  format('ai_key', 'pplx-', 'pplx-[A-Za-z0-9]{40,64}'),
  format('ai_key', 'r8_', 'r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])'),
  format('ai_key', 'pcsk_', 'pcsk_[A-Za-z0-9_]{40,100}'),
  format('huggingface', 'hf_', 'hf_[A-Za-z0-9]{30,64}(?![A-Za-z0-9])'),
  format('discord', '.', '[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])'),
  format('discord_webhook', '/api/webhooks/', 'discord(?:app)?\\.com/api/webhooks/\\d{16,20}/[A-Za-z0-9_-]{50,100}'),
  format('telegram', ':', '(?:bot)?\\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])'),
  format('sendgrid', 'SG.', 'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{32,64}'),
  format('mailgun', 'key-', 'key-[0-9a-f]{32}(?![A-Za-z0-9])'),
  format('mailgun', '-', '[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])'),
  format('mailchimp', '-us', '[0-9a-f]{32}-us\\d{1,2}(?![A-Za-z0-9])'),
  format('github', 'gh', 'gh[pousr]_[A-Za-z0-9]{36,255}'),
  format('github', 'github_pat_', 'github_pat_[A-Za-z0-9_]{50,120}'),
  format('gitlab', 'gl', 'gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{20,64}'),
  format('npm', 'npm_', 'npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])'),
  format('slack', 'xox', 'xox[abeprs]-[A-Za-z0-9-]{20,255}'),
  format('slack', 'xapp-', 'xapp-\\d-[A-Za-z0-9-]{30,255}'),
  format(
    'slack_webhook',
    'hooks.slack.com',
    'hooks\\.slack\\.com/(?:services|workflows)/[A-Za-z0-9]{8,14}/[A-Za-z0-9]{8,20}/[A-Za-z0-9/]{20,64}',
  ),
  format('shopify', 'shp', 'shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}(?![A-Za-z0-9])'),
  format('supabase', 'sb', '(?:sb_secret_[A-Za-z0-9_-]{20,64}|sbp_[0-9a-f]{40})'),
  format('airtable', 'pat', 'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}'),
  format('facebook', 'EAA', '(?<![+/=])EAA[A-Za-z0-9]{80,400}(?![A-Za-z0-9+/=])'),
  format('cloud_token', 'dop_v1_', 'dop_v1_[0-9a-f]{64}'),
  format('cloud_token', 'nfp_', 'nfp_[A-Za-z0-9]{36,48}'),
  format('cloud_token', 'pscale_', 'pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.=-]{32,64}'),
  format('cloud_token', 'hvs.', 'hvs\\.[A-Za-z0-9_-]{24,150}'),
  format('cloud_token', 'dapi', 'dapi[0-9a-f]{32}(?![A-Za-z0-9])'),
  format('cloud_token', 'dp.', 'dp\\.(?:pt|st|ct|sa)\\.[A-Za-z0-9._-]{40,64}'),
  format('provider_token', 're_', 're_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}(?![A-Za-z0-9])'),
  format('provider_token', 'lin_', 'lin_(?:api|oauth)_[A-Za-z0-9]{32,64}'),
  format('provider_token', 'ntn_', 'ntn_[A-Za-z0-9]{40,50}'),
  format('provider_token', 'secret_', 'secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])'),
  format('provider_token', 'sk.', 'sk\\.eyJ[A-Za-z0-9_-]{20,200}\\.[A-Za-z0-9_-]{16,64}'),
  format('provider_token', 'sntry', 'sntry[su]_[A-Za-z0-9+/=_-]{40,300}'),
  format('provider_token', 'phx_', 'phx_[A-Za-z0-9]{32,64}'),
  format('provider_token', 'NRAK-', 'NRAK-[A-Z0-9]{27}(?![A-Z0-9])'),
  format('provider_token', 'sq0', 'sq0(?:atp|csp)-[A-Za-z0-9_-]{22,60}'),
  format('provider_token', 'figd_', 'figd_[A-Za-z0-9_-]{36,64}'),
  format('provider_token', 'PMAK-', 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}'),
  format('provider_token', 'pat-', 'pat-(?:na|eu)\\d-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'),
  format('provider_token', 'xkeysib-', 'xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}'),
  format('provider_token', 'rnd_', 'rnd_[A-Za-z0-9]{28,40}(?![A-Za-z0-9])'),
  format('provider_token', 'AGE-SECRET-KEY-1', 'AGE-SECRET-KEY-1[A-Z0-9]{58}'),
  // Plinth tokens (core/auth/tokens.ts). The checksum is not verified, because tokens from other releases are secrets
  // too.
  format('plinth', 'pl', 'pl[spkwuh]_[0-9A-Za-z]{40}(?![0-9A-Za-z])'),
];

/** Secrets from public documentation, which are not worth reporting. */
const documented = new Set([
  'sk_test_4eC39HqLyjWDarjtT1zdp7dc', // from Stripe's documentation
  'sk_test_BQokikJOvBiI2HlWgH4olfQ2',
]);

export function findFormats(text: string, path: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (const { kind, hint, pattern } of formats) {
    if (!text.includes(hint)) continue;
    for (const match of text.matchAll(pattern)) {
      const [secret] = match;
      if (isPlaceholder(secret) || documented.has(secret) || entropyOf(secret) < 2.8) continue;
      if (kind === 'google' && isPublicGoogleKey(text, path, match.index)) continue;
      found.push({ kind, start: match.index, end: match.index + secret.length, secret });
    }
  }
  return found;
}

/**
 * The keys in Firebase's web configuration and in the maps script identify the project to visitors' browsers, so they
 * belong in pages. Google protects them with rules and site restrictions rather than secrecy.
 */
function isPublicGoogleKey(text: string, path: string, at: number): boolean {
  const around = text.slice(Math.max(0, at - 400), at + 600);
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at);
  if (/authDomain|messagingSenderId|firebaseapp\.com|storageBucket/.test(around)) return true;
  if (/maps\/api\/js\?[^\s"'`]*$|maps\/embed\/[^\s"'`]*$|FIREBASE[A-Z_]*API_KEY\W+$/i.test(line)) return true;
  return /^(?:src|public)\//.test(path) && /maps_?(?:js_?)?(?:api_?)?key\W{1,8}$/i.test(line);
}
