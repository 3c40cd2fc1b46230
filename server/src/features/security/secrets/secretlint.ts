// Finds secrets with secretlint's recommended rules, which cover more issuers than Plinth does. Their messages
// contain the secret, so they are not passed on.
import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretKindName, SecretMatch } from './kinds.ts';
import { isPlaceholder } from './placeholder.ts';

const rulePrefix = '@secretlint/secretlint-rule-';

/** Rules that Plinth implements itself, because it judges URLs by their host and keys by their context. */
const replaced = new Set(['basicauth', 'database-connection-string', 'privatekey', 'gcp']);

const kindByRule: Readonly<Record<string, SecretKindName>> = {
  aws: 'aws',
  npm: 'npm',
  slack: 'slack',
  sendgrid: 'sendgrid',
  shopify: 'shopify',
  stripe: 'stripe',
  github: 'github',
  gitlab: 'gitlab',
  openai: 'openai',
  anthropic: 'anthropic',
  huggingface: 'huggingface',
  groq: 'ai_key',
  cloudflare: 'cloud_token',
  vercel: 'cloud_token',
  databricks: 'cloud_token',
  docker: 'cloud_token',
  'hashicorp-vault': 'cloud_token',
  tailscale: 'cloud_token',
};

// The profiler records every rule for every file and compares them all, which takes a fifth of the time in a large app.
secretLintProfiler.setEnabled(false);

const config = { rules: [{ id: `${rulePrefix}preset-recommend`, rule: creator }] };

export async function findKnownSecrets(text: string, path: string): Promise<SecretMatch[]> {
  const content = withoutSwitches(text);
  const source = { content, filePath: path, contentType: 'text' as const };
  const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } });
  return messages.flatMap(({ type, ruleId, range: [start, end] }) => {
    const rule = ruleId.slice(rulePrefix.length);
    const secret = text.slice(start, end);
    if (type !== 'message' || replaced.has(rule) || isPlaceholder(secret)) return [];
    return [{ kind: kindByRule[rule] ?? 'provider_token', start, end, secret }];
  });
}

/** A comment in the file must not disable the scan. The replacement has the same length, so positions stay the same. */
const withoutSwitches = (text: string): string => text.replaceAll('secretlint-', 'secretlint_');
