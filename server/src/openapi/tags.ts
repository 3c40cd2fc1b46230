// The document's tags, which are the product's features, in order.
import type { Route } from '../core/auth/route.ts';

export const tags: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'apps', description: 'Apps, their files, secrets, sharing and users.' },
  { name: 'entities', description: "An app's data: schemas with row and field rules, and records." },
  { name: 'agents', description: 'Agents, conversations and memories.' },
  { name: 'analytics', description: 'Events that record what people do in an app, and counts of its users.' },
  {
    name: 'ads',
    description:
      'Advertising for apps: accounts at the ad platform, launch readiness, budgets, texts and images, and locations.',
  },
  { name: 'security', description: 'Security scans of apps, and their security settings.' },
  { name: 'tests', description: 'Tests of apps by an agent in a real browser, their runs and reports.' },
  {
    name: 'coding-sessions',
    description: 'Repositories of imported apps, and sessions in which an agent works on them and opens pull requests.',
  },
  { name: 'automations', description: 'Actions of an app when its records change or at certain times.' },
  { name: 'webhooks', description: 'Webhooks of agents and apps, and their signed deliveries.' },
  { name: 'workflows', description: 'Workflows of apps, their triggers and runs.' },
  { name: 'connectors', description: 'Connections of apps to outside services.' },
  { name: 'folders', description: 'Folders of apps and agents.' },
  { name: 'workspaces', description: 'Workspaces, their settings, exports and deletion.' },
  { name: 'members', description: 'Members, their roles, limits and invitations.' },
  { name: 'credits', description: 'Credits: balance, ledger and limits.' },
  { name: 'audit', description: 'The audit log and its verification.' },
  { name: 'accounts', description: 'Sign-in, sessions, tokens and keys.' },
  { name: 'operator', description: 'Operations for operators of the installation.' },
  { name: 'installation', description: 'Health, metrics and this document.' },
];

/** The first rule that matches a path determines its tag. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/\/webhooks/, 'webhooks'],
  [/\/external-auth|^\/connect\//, 'connectors'],
  [/\/ads-platform\//, 'ads'],
  [/\/security\//, 'security'],
  [/\/testing-agent\//, 'tests'],
  [/\/imported\//, 'coding-sessions'],
  [/\/automations/, 'automations'],
  [/^\/api\/apps\/\{app_id\}\/analytics/, 'analytics'],
  [/\/workflows|^\/api\/hooks/, 'workflows'],
  [/^\/api\/apps\/\{app_id\}\/(entities|entity-schemas)/, 'entities'],
  [/^\/api\/apps/, 'apps'],
  [/^\/api\/agents/, 'agents'],
  [/^\/api\/app-folders/, 'folders'],
  [/^\/api\/workspace\/(members|invitations)|^\/(api\/)?invitations/, 'members'],
  [/^\/api\/workspace\/credit/, 'credits'],
  [/^\/api\/workspace\/audit/, 'audit'],
  [/^\/api\/(auth|setup|me)|^\/api\/workspace\/(keys|tokens|api-keys)|^\/(setup|sign-in|reset)/, 'accounts'],
  [/^\/api\/operator/, 'operator'],
  [/^\/api\/(workspace|workspaces|plans)/, 'workspaces'],
];

export const tagOf = ({ path }: Route): string =>
  rules.find(([expression]) => expression.test(path))?.[1] ?? 'installation';
