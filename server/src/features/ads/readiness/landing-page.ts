// Checks whether the landing page for an app's ads responds.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Outbound } from '../../../kit/outbound/outbound.ts';

const timeoutMs = 5_000;
const maxBodyBytes = 64 * 1024;

/** `unreadable` means that the page did not respond, or that this installation may not call its address. */
export async function readLandingPage(
  outbound: Outbound,
  { app }: AppAccess,
  url: string,
): Promise<'ready' | 'not_ready' | 'unreadable'> {
  if (app.live_deployment_id === null) return 'not_ready';
  const got = await outbound.send({
    owner: app.workspace_id,
    method: 'GET',
    url,
    plainHttp: true,
    ownApp: true,
    timeoutMs,
    maxBodyBytes,
  });
  if (got.outcome !== 'answered') return 'unreadable';
  return got.status >= 200 && got.status < 300 ? 'ready' : 'not_ready';
}
