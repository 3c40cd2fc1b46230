// Tests the error message for a credential of the wrong kind, which names the kind that was sent and the kinds that the
// operation accepts.
import { expect, it } from 'vitest';
import { findKindRefusal, readCredentials, sessionOnly, writeCredentials } from './credentials.ts';

const full = { permission: 'full_access', scopes: null } as const;
const readOnly = { permission: 'read_only', scopes: null } as const;

it.each([
  [
    sessionOnly,
    { kind: 'personal_token', ...full },
    "This operation doesn't accept a personal access token. Use a browser session.",
  ],
  [
    { ...readCredentials, workspaceKey: 'apps:read' },
    { kind: 'app_user_token', ...full },
    "This operation doesn't accept an app user's token. Use a browser session, a personal access token, a personal API key or a workspace key with the apps:read scope.",
  ],
  [
    { session: true, token: 'full_access' },
    { kind: 'personal_key', ...full },
    "This operation doesn't accept a personal API key. Use a browser session or a personal access token with full access.",
  ],
  [
    writeCredentials,
    { kind: 'personal_token', ...readOnly },
    "A read-only credential can't call this operation. Use a browser session, a personal access token with full access or a personal API key with full access.",
  ],
  [
    sessionOnly,
    { kind: 'personal_token', ...readOnly },
    "A read-only credential can't call this operation. Use a browser session.",
  ],
  [
    sessionOnly,
    { kind: 'workspace_key', ...full },
    "A workspace key can't call this operation, because it doesn't act on behalf of a person. Use a browser session.",
  ],
] as const)('the refusal names what was sent and what is accepted (%#)', (accepted, sent, detail) => {
  expect(findKindRefusal(accepted, sent)?.message).toBe(detail);
});
