// The settings for the advisory database and the git host.
import { parsePrivateKey } from '../gateways/git-host/private-key.ts';
import { isUuid } from '../kit/ids.ts';
import { type Environment, optional, setting, text, url, wholeNumber } from './setting.ts';

export const codeSettings = {
  ADVISORIES_URL: optional(
    'URL of a database of known vulnerabilities with the protocol of OSV: `https://api.osv.dev`. Security scans send it the names and versions of the packages of apps. If unset, scans leave packages out: docs/operate/configure.md#advisories.',
    url('http:', 'https:'),
  ),
  GIT_HOST_URL: optional(
    "URL of the REST API of the git host for coding sessions, with GitHub's protocol: `https://api.github.com`, or `https://git.example.com/api/v3` for GitHub Enterprise Server. If unset, no repository can be connected: docs/operate/configure.md#git-host.",
    url('http:', 'https:'),
  ),
  GIT_HOST_CLONE_URL: optional(
    'URL under which the git host serves repositories to git: `https://github.com`. `GIT_HOST_URL` needs it.',
    url('http:', 'https:'),
  ),
  GIT_HOST_APP_ID: optional(
    'Id of a GitHub App of yours. It reaches every repository on which it is installed, so a workspace can connect only those that `GIT_HOST_APP_OWNERS` gives it without a token.',
    text,
  ),
  GIT_HOST_APP_PRIVATE_KEY: optional(
    "The App's private key: its PEM file with `\\n` instead of line ends, or that in base64.",
    parsePrivateKey,
  ),
  GIT_HOST_APP_OWNERS: optional(
    'Which repositories each workspace may connect through the App, without a token: `owner=workspace_id` or `owner/repository=workspace_id`, separated by commas. Every editor of the workspace can then read and change them. If unset, a token is always needed.',
    parseAppOwners,
  ),
  GIT_HOST_MAX_REPOSITORY_MB: setting(
    'How much a worker fetches of a repository, in megabytes. Sessions on a larger one fail with `checkout_failed`.',
    '500',
    wholeNumber(1, 10_000),
  ),
};

/** Parses `acme=WORKSPACE_ID,acme/shop=WORKSPACE_ID`. Git hosts ignore case in names. */
function parseAppOwners(value: string): readonly { name: string; workspace_id: string }[] {
  return value.split(',').map((entry) => {
    const [, name = '', workspace_id = ''] = /^([\w.-]+(?:\/[\w.-]+)?)=(\S+)$/.exec(entry.trim()) ?? [];
    if (!isUuid(workspace_id)) throw new Error('must be a comma-separated list such as acme=WORKSPACE_ID');
    return { name: name.toLowerCase(), workspace_id: workspace_id.toLowerCase() };
  });
}

/** The git host's two addresses must be set together or not at all, and so must its App's id and key. */
export function listGitHostFaults(environment: Environment): string[] {
  const pairs = [
    ['GIT_HOST_URL', 'GIT_HOST_CLONE_URL'],
    ['GIT_HOST_APP_ID', 'GIT_HOST_APP_PRIVATE_KEY'],
  ] as const;
  const isSet = (name: string) => Boolean(environment[name]);
  const halves = pairs.filter(([one, other]) => isSet(one) !== isSet(other));
  const hasNoApp = isSet('GIT_HOST_APP_OWNERS') && !isSet('GIT_HOST_APP_ID');
  const hasNoHost = isSet('GIT_HOST_APP_ID') && !isSet('GIT_HOST_URL');
  return [
    ...halves.map(([one, other]) => `${one} and ${other} must both be set, or neither`),
    ...(hasNoApp
      ? ['GIT_HOST_APP_OWNERS has no effect without GIT_HOST_APP_ID. Set the App, or remove the list.']
      : []),
    ...(hasNoHost ? ['GIT_HOST_APP_ID has no effect without GIT_HOST_URL. Set the URL, or remove the App.'] : []),
  ];
}
