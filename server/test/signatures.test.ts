// Tests that values signed before an upgrade stay valid after it: cursors, connection states and evidence URLs.
import { expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { createEvidenceAddress } from '../src/features/browser-tests/evidence.ts';
import { createStates } from '../src/features/connectors/state.ts';
import { decodeCursor, encodeCursor, hashBinding } from '../src/features/members/cursor.ts';
import { createCursors } from '../src/kit/http/cursor.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const { SIGNING_KEY } = readConfig({ SIGNING_KEY: key, TOKEN_PEPPERS: `1:${key}`, MASTER_KEYS: `1:${key}` });
const issuedAt = new Date('2026-01-01T00:00:00Z');

it('cursors of lists stay valid', () => {
  const issued = 'W1siYSIsMV0sIlFVa0NXeUVBOTdfLWJSQVV1VWZORGsiLDE3NjcyMjU2MDAwMDBd.MvLKbVXJkrNP6BFdGcOihg';
  const cursors = createCursors(SIGNING_KEY);
  const binding = ['caller', 'list'];
  expect(cursors.open(issued, binding, issuedAt)).toEqual(['a', 1]);
  const page = cursors.page([1, 2], 1, binding, issuedAt, String, () => ['a', 1]);
  expect(page.next_cursor).toBe(issued);
});

it('cursors of the members list stay valid', () => {
  const issued = '5B2l-xRmHOw7mitiWBKqMVs0LDIsImJvYkB4LmNvbSIsIkFZa0FBQUFBY0FDQUFBQUFBQUFBQVEiLDBd';
  const position = { key: 4, place: 2, email: 'bob@x.com', id: '01890000-0000-7000-8000-000000000001' };
  const binding = hashBinding('w', {});
  expect(decodeCursor(SIGNING_KEY, binding, issued)).toEqual({ ...position, isTruncated: false });
  expect(encodeCursor(SIGNING_KEY, binding, position)).toBe(issued);
});

it('states of connections stay valid', () => {
  const { hashOf } = createStates(SIGNING_KEY);
  expect(hashOf('AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.KTnejbfYL-A1u8KXKguBEQ')).toBeInstanceOf(Buffer);
  expect(hashOf('AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB.KTnejbfYL-A1u8KXKguBEQ')).toBeUndefined();
});

it('addresses of evidence stay valid', () => {
  const run = { workspace_id: 'workspace', app_id: 'app', id: 'run' };
  const address = createEvidenceAddress(SIGNING_KEY, 'http://here')(run, '1-1.jpg', issuedAt);
  expect(address).toContain('?expires=1767229200&signature=sy4uiJddo4_eCpBWkTPDOREteIlvq01egn4C9jVwvms');
});
