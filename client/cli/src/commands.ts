// The commands. Each is loaded only when it is used.
import type { Define } from './cli.ts';

interface Entry {
  readonly summary: string;
  load(): Promise<{ readonly define: Define }>;
}

export const commands: Readonly<Record<string, Entry>> = {
  login: {
    summary: 'Log in: a person approves this program in their browser',
    load: () => import('./commands/login.ts'),
  },
  logout: { summary: 'Forget the token of a profile, and revoke it', load: () => import('./commands/logout.ts') },
  whoami: { summary: 'Show who you are, and what your token may do', load: () => import('./commands/whoami.ts') },
  profile: { summary: 'List, choose and remove profiles', load: () => import('./commands/profile.ts') },
  status: {
    summary: 'Show whether all is well: readiness, credits, failing webhooks',
    load: () => import('./commands/status.ts'),
  },
  app: { summary: 'List, create, push, publish and look at apps', load: () => import('./commands/app.ts') },
  records: { summary: 'Import and export records', load: () => import('./commands/records.ts') },
  runs: { summary: 'Say why a run of a workflow failed', load: () => import('./commands/runs.ts') },
  tail: { summary: 'Follow the audit log, deliveries or runs', load: () => import('./commands/tail.ts') },
  webhooks: {
    summary: 'List missing deliveries of a webhook, and send them again',
    load: () => import('./commands/webhooks.ts'),
  },
  session: {
    summary: 'Let an agent change a repository: launch, watch, answer',
    load: () => import('./commands/session.ts'),
  },
  members: { summary: 'Invite people to the workspace', load: () => import('./commands/members.ts') },
  audit: { summary: 'Check the chain of the audit log', load: () => import('./commands/audit.ts') },
  workspace: { summary: 'Export the whole workspace', load: () => import('./commands/workspace.ts') },
  secret: { summary: 'Store a secret of an app', load: () => import('./commands/secret.ts') },
  open: { summary: 'Open a page of the installation in a browser', load: () => import('./commands/open.ts') },
  explain: { summary: 'Explain the last refusal, or an error code', load: () => import('./commands/explain.ts') },
  call: { summary: 'Call an operation by its name', load: () => import('./commands/call.ts') },
  completion: {
    summary: 'Print a script with which your shell completes commands and names',
    load: () => import('./commands/completion.ts'),
  },
  api: { summary: 'Send a request to a path of the API', load: () => import('./commands/api.ts') },
  listen: {
    summary: 'Forward the events of an app or agent to a local address',
    load: () => import('./commands/listen.ts'),
  },
};
