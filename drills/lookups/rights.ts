// Changes of rights. Each is committed between two requests from a caller, and the second request must see it.

import { send } from './callers.ts';
import type { Caller, Environment } from './environment.ts';

interface Change {
  readonly name: string;
  readonly statement: string;
  readonly of: 'credentialId' | 'userId';
  readonly method: 'GET' | 'PUT';
  readonly status: number;
}

const setCredential = (value: string) => `update credentials set revoked_at = ${value} where id = $1`;
const setMember = (change: string) => `update memberships set ${change} where user_id = $1`;

const changes: readonly Change[] = [
  { name: 'revoked', statement: setCredential('now()'), of: 'credentialId', method: 'GET', status: 401 },
  { name: 'valid again', statement: setCredential('null'), of: 'credentialId', method: 'GET', status: 200 },
  { name: 'blocked', statement: setMember("access_state = 'blocked'"), of: 'userId', method: 'GET', status: 403 },
  { name: 'active again', statement: setMember("access_state = 'active'"), of: 'userId', method: 'GET', status: 200 },
  { name: 'viewer', statement: setMember("role = 'viewer'"), of: 'userId', method: 'PUT', status: 403 },
  { name: 'admin again', statement: setMember("role = 'admin'"), of: 'userId', method: 'PUT', status: 200 },
];

export async function checkRights({ port, client, changed }: Environment, rounds: number) {
  const missed: string[] = [];
  let made = 0;
  for (let round = 0; round < rounds; round += 1) {
    const caller = changed[round % changed.length] as Caller;
    for (const { name, statement, of, method, status } of changes) {
      await client.query(statement, [caller[of]]);
      made += 1;
      // Uses a new address each time, because addresses that repeatedly send revoked tokens are blocked.
      const address = { 'x-forwarded-for': `10.${made >> 16}.${(made >> 8) & 255}.${made & 255}` };
      const answer = await send(port, undefined, caller, method, address).answer;
      if (answer.status !== status) missed.push(`${name}: ${answer.status} ${answer.body.code ?? ''}`);
    }
  }
  return { changes: made, missed };
}
