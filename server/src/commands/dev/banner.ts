// Owns what `plinth dev` prints when everything is running: what is where, and the first command.
import type { Config } from '../../config.ts';
import type { Sandbox } from './children.ts';

/** What `plinth dev` adds to `OUTBOUND_ALLOW`. `api` and `worker` never do: a webhook must not reach what only a server can. */
export const loopback = 'http://127.0.0.0/8,http://::1/128';

export function bannerText(
  { BASE_URL, APPS_DOMAIN, SMTP_URL, MODEL_URL, GIT_HOST_URL }: Config,
  { email, token, publishedUrl }: { email: string; token: string; publishedUrl: string | undefined },
  sandbox: Sandbox | undefined,
): string {
  const mail = SMTP_URL === sandbox?.smtpUrl ? sandbox && `every mail is here: ${sandbox.inboxUrl}` : hostOf(SMTP_URL);
  const model =
    MODEL_URL === sandbox?.modelUrl ? sandbox && 'a stand-in that can build one app: a task list' : hostOf(MODEL_URL);
  const isSandboxGit = sandbox !== undefined && GIT_HOST_URL === sandbox.gitHostUrl;
  const git = isSandboxGit
    ? `shows the pull requests of coding sessions: ${sandbox.gitHostCloneUrl}`
    : hostOf(GIT_HOST_URL);
  const rows = {
    'sign in': `as ${email}, with a link to set a password: npm run plinth -- user reset --user ${email}`,
    reference: `${BASE_URL}/docs`,
    apps: `are published under ${APPS_DOMAIN}, each on a host of its own, on the same port`,
    ...(publishedUrl !== undefined && { 'an app': `${publishedUrl}, which was built by chat` }),
    mail: mail ?? 'off: set SMTP_URL',
    model: model ?? 'off: set MODEL_URL',
    'git host': git ?? 'off: set GIT_HOST_URL',
    webhooks: `may be sent to this machine: OUTBOUND_ALLOW=${loopback}`,
    ...(sandbox !== undefined && {
      receiver: `shows and verifies what is sent to it: ${sandbox.receiverUrl}/received`,
    }),
  };
  const variables = {
    PLINTH: BASE_URL,
    TOKEN: token,
    ...(sandbox !== undefined && { RECEIVER: sandbox.receiverUrl, INBOX: sandbox.inboxUrl }),
    ...(isSandboxGit && { GIT_TOKEN: sandbox.gitHostToken }),
  };
  return `
Plinth is running at ${BASE_URL}

${lines(rows, (name, text) => name.padEnd(12) + text)}

Paste into another terminal:

${lines(variables, (name, value) => `export ${name}=${value}`)}
  curl -H "Authorization: Bearer $TOKEN" $PLINTH/api/apps

Next: docs/guides/first-hour.md      Stop: Ctrl+C. The token is valid until the next start.
`;
}

/** The rest of a URL may be a password. */
const hostOf = (url: string | undefined) => (url === undefined ? undefined : `at ${new URL(url).host}`);

const lines = (items: Readonly<Record<string, string>>, format: (name: string, value: string) => string): string =>
  Object.entries(items)
    .map(([name, value]) => `  ${format(name, value)}`)
    .join('\n');
