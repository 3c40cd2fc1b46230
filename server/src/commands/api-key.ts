// `plinth api-key issue`, which prints a new personal API key for integrations that can't use access tokens yet.
import { insertCredential } from '../core/identity/users.ts';
import { requireActive, runForUser } from './run-for-user.ts';

export const apiKey = (args: string[]) =>
  runForUser(args, {
    issue: {
      usage: 'api-key issue --user EMAIL [--read-only]',
      auditType: 'api_key.issued',
      async run(db, config, user, now, { readOnly }) {
        requireActive(user);
        const { token } = await insertCredential(
          db,
          { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE },
          {
            kind: 'personal_key',
            name: 'issued by the operator',
            user_id: user.id,
            workspace_id: null,
            permission: readOnly ? 'read_only' : 'full_access',
          },
          now,
        );
        return token;
      },
    },
  });
