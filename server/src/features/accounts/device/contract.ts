// The schemas of the login of a program with a code (docs/api/accounts.md#log-in-a-program).
import { z } from 'zod';
import {
  answer,
  clearable,
  described,
  integer,
  list,
  name,
  optional,
  strictBody,
  text,
  timestamp,
} from '../../../kit/http/shapes.ts';
import { TokenPermission } from '../contract.ts';

export const lifetimeSeconds = 600;
export const intervalSeconds = 5;

const exampleApp = '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e';
const clientName = ['The name of the program, as the person will see it.', 'plinthctl on ada-laptop'] as const;

export const NewDeviceLogin = strictBody({
  client_name: described(name(1, 100), ...clientName),
  permission: described(optional(TokenPermission), 'What the program asks to do; `read_only` by default.'),
  app_ids: described(
    clearable(list(text(1, 36), 1, 100)),
    'The only apps and agents that the program asks for; null or not sent means all.',
    [exampleApp],
  ),
});
export type NewDeviceLogin = z.output<typeof NewDeviceLogin>;

export const StartedDeviceLogin = answer('DeviceLoginStarted', {
  device_code: described(z.string(), 'The secret with which the program fetches the token.', 'EXAMPLE-device-code'),
  user_code: described(z.string(), 'The code that the person types.', 'WDJB-MJHT'),
  verification_url: described(
    z.string(),
    'The page on which the person types the code.',
    'https://plinth.example/device',
  ),
  expires_in_seconds: described(z.int(), 'The number of seconds for which the codes are valid.', lifetimeSeconds),
  interval_seconds: described(
    z.int(),
    'The number of seconds to wait before each request for the token.',
    intervalSeconds,
  ),
});

export const DeviceLogin = answer('DeviceLogin', {
  client_name: described(z.string(), ...clientName),
  address: described(z.string(), 'The address from which the program asked.', '203.0.113.7'),
  requested_at: described(timestamp, 'When the program asked.', '2026-11-18T09:30:00.000Z'),
  permission: described(TokenPermission, 'What the program asks to do.'),
  app_ids: described(z.array(z.string()).nullable(), 'The apps and agents it asks for; null means all.', [exampleApp]),
});

export const DeviceLoginAnswer = strictBody({
  approve: described(z.boolean(), 'Whether the program gets a token.', true),
  permission: described(
    optional(TokenPermission),
    'What the token may do, at most what the program asked for, which is the default.',
  ),
  app_ids: described(
    clearable(list(z.string(), 1, 100)),
    'Limits the token to these apps and agents, which the program must have asked for; by default all that it asked for.',
    [exampleApp],
  ),
  expires_in_days: described(
    optional(integer(1, 365)),
    'The number of days after which the token expires; 90 by default.',
    90,
  ),
});
export type DeviceLoginAnswer = z.output<typeof DeviceLoginAnswer>;

export const DeviceLoginPoll = strictBody({
  device_code: described(text(1, 100), 'The `device_code` of the login.', 'EXAMPLE-device-code'),
});
