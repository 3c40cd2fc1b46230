// The demo's coding session: an imported app connected to a repository on the sandbox's git host, and a session
// that fixes a bug in it and opens a pull request.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoRequest } from './request.ts';

/** The sandbox's git host. */
export interface DemoGitHost {
  readonly repository: string;
  readonly token: string;
}

/**
 * Requires a running worker and the sandbox's model, which plays back this session. The agent takes a few seconds,
 * during which other demo data can be created. Returns a function that waits for the session to end.
 */
export async function launchDemoSession(
  request: DemoRequest,
  { repository, token }: DemoGitHost,
): Promise<() => Promise<void>> {
  const { id } = await request<{ id: string }>('POST', '/api/apps', {
    name: 'Price calculator',
    app_type: 'imported_app',
  });
  const imported = `/api/apps/${id}/imported`;
  await request('PUT', `${imported}/repository`, { repository_full_name: repository, credentials: { token } });
  const session = await request<Session>('POST', `${imported}/sessions`, task, undefined, {
    'idempotency-key': 'demo',
  });
  return () => waitForEnd(request, `${imported}/sessions/${session.id}`);
}

interface Session {
  readonly id: string;
  readonly state: string;
  readonly error_code: string | null;
}

const task = {
  title: 'Make the failing tests pass',
  prompt: 'Two tests of the price calculator fail. Find out why, and mend the code, not the tests.',
  client_reference: 'demo',
};

async function waitForEnd(request: DemoRequest, url: string): Promise<void> {
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(1_100)) {
    const { state, error_code } = await request<Session>('GET', url);
    if (state === 'completed') return;
    if (state === 'failed') throw new Error(`demo data: the coding session failed: ${error_code}`);
  }
  throw new Error('demo data: the coding session did not end within two minutes');
}
