// The text that `plinth dev` prints once everything is running: the addresses, and a first command to try.
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config.ts';
import type { Sandbox } from './children.ts';

/**
 * The networks that `plinth dev` adds to `OUTBOUND_ALLOW`. `plinth api` and `plinth worker` do not add them, because
 * webhooks must not reach addresses that are only reachable from the server.
 */
export const loopback = 'http://127.0.0.0/8,http://::1/128';

export interface Demo {
  readonly email: string;
  readonly token: string;
  /** A link for setting a password, or `undefined` if the person has one. */
  readonly passwordUrl: string | undefined;
  /** A published app, if there is one. */
  readonly app: { readonly id: string; readonly url: string } | undefined;
  /** Whether the API serves the console. */
  readonly hasConsole: boolean;
}

export function bannerText(
  { BASE_URL, CONSOLE, APPS_DOMAIN, SMTP_URL, MODEL_URL, GIT_HOST_URL, BROWSER_EXECUTABLE }: Config,
  { email, token, passwordUrl, app, hasConsole }: Demo,
  sandbox: Sandbox | undefined,
): string {
  const mail = SMTP_URL === sandbox?.smtpUrl ? sandbox && `every e-mail is at ${sandbox.inboxUrl}` : hostOf(SMTP_URL);
  const model =
    MODEL_URL === sandbox?.modelUrl ? sandbox && 'a stand-in that can build one app: a task list' : hostOf(MODEL_URL);
  const isSandboxGit = sandbox !== undefined && GIT_HOST_URL === sandbox.gitHostUrl;
  const git = isSandboxGit
    ? `shows the pull requests of coding sessions: ${sandbox.gitHostCloneUrl}`
    : hostOf(GIT_HOST_URL);
  const rows = {
    console: hasConsole ? `build apps in the browser: ${BASE_URL}/` : describeMissingConsole(CONSOLE),
    'sign in':
      passwordUrl === undefined
        ? `as ${email}, or get a new password: npm run plinth -- user reset --user ${email}`
        : `as ${email}. Set a password within an hour: ${passwordUrl}`,
    ...(app !== undefined && { 'an app': app.url }),
    apps: `are published under ${APPS_DOMAIN}, each on its own host, on the same port`,
    reference: `${BASE_URL}/docs`,
    ...(sandbox !== undefined && {
      sandbox: `stands in for the services that Plinth talks to: ${sandbox.startPageUrl}`,
    }),
    mail: mail ?? 'off: set SMTP_URL',
    model: model ?? 'off: set MODEL_URL',
    browser:
      BROWSER_EXECUTABLE === undefined
        ? 'off: install Chromium, or set BROWSER_EXECUTABLE'
        : `loads the pages that the assistant builds, and runs browser tests: ${BROWSER_EXECUTABLE}`,
    'git host': git ?? 'off: set GIT_HOST_URL',
    webhooks: `may be sent to this machine: OUTBOUND_ALLOW=${loopback}`,
    ...(sandbox !== undefined && {
      receiver: `shows and verifies what is sent to it: ${sandbox.receiverUrl}/received`,
    }),
  };
  const variables = {
    PLINTH: BASE_URL,
    TOKEN: token,
    ...(app !== undefined && { APP: app.id }),
    AUTH: '"Authorization: Bearer $TOKEN"',
    JSON: '"Content-Type: application/json"',
    ...(sandbox !== undefined && { RECEIVER: sandbox.receiverUrl, INBOX: sandbox.inboxUrl }),
    ...(isSandboxGit && { GIT_TOKEN: sandbox.gitHostToken }),
  };
  return `
Plinth is running at ${BASE_URL}

${lines(rows, (name, text) => name.padEnd(12) + text)}

Paste into another terminal:

${lines(variables, (name, value) => `export ${name}=${value}`)}
  curl -s $PLINTH/api/auth/me -H "$AUTH"

${commandLineText(BASE_URL)}

Next: docs/guides/README.md      Stop: Ctrl+C. The token is valid until the next start.
`;
}

const describeMissingConsole = (setting: Config['CONSOLE']): string =>
  setting === 'off' ? 'off: set CONSOLE=on' : 'off: npm run build';

/** How to use plinthctl in any folder, without installing it. */
function commandLineText(baseUrl: string): string {
  const program = fileURLToPath(new URL('../../../../client/cli/src/main.ts', import.meta.url));
  return `Or use the command line, in any folder (docs/guides/plinthctl.md):

  alias plinthctl="'${process.execPath}' '${program}'"
  plinthctl login --url ${baseUrl} --write`;
}

/** Shows only the host, because the rest of a URL may contain a password. */
const hostOf = (url: string | undefined) => (url === undefined ? undefined : `at ${new URL(url).host}`);

const lines = (items: Readonly<Record<string, string>>, format: (name: string, value: string) => string): string =>
  Object.entries(items)
    .map(([name, value]) => `  ${format(name, value)}`)
    .join('\n');
