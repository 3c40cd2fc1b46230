// Limits how many streams or downloads a credential and a workspace may have open in this process at the same time.
import type { HeldRequest } from '../../kit/http/operation.ts';
import { Problem } from '../../kit/problem.ts';
import type { WorkspaceAccess } from '../auth/proofs.ts';

export interface PlaceLimits {
  readonly ofCredential: number;
  readonly ofWorkspace: number;
}

/** Takes a place until the request's connection closes. Throws 429 if there is none. */
export type TakePlace = (access: Pick<WorkspaceAccess, 'caller' | 'workspace_id'>, held: HeldRequest) => void;

type Held = 'streams' | 'downloads';

export function createPlaces({ ofCredential, ofWorkspace }: PlaceLimits, held: Held = 'streams'): TakePlace {
  const open = new Map<string, number>();
  const change = (name: string, by: number) => {
    const count = (open.get(name) ?? 0) + by;
    if (count > 0) open.set(name, count);
    else open.delete(name);
  };
  return ({ caller, workspace_id }, request) => {
    if ((open.get(caller.credential_id) ?? 0) >= ofCredential) throw tooMany(held, 'credential', ofCredential);
    if ((open.get(workspace_id) ?? 0) >= ofWorkspace) throw tooMany(held, 'workspace', ofWorkspace);
    const names = [caller.credential_id, workspace_id];
    for (const name of names) change(name, 1);
    request.onClose(() => {
      for (const name of names) change(name, -1);
    });
  };
}

const retrySeconds = 10;

const advice: Readonly<Record<Held, string>> = {
  streams: 'Close one, or read without a stream.',
  downloads: 'Wait until one has ended, or close one.',
};

const tooMany = (held: Held, of: 'credential' | 'workspace', limit: number) =>
  new Problem('rate_limited', 'too_many_streams', `This ${of} has too many ${held} open. ${advice[held]}`, {
    members: { limit, of, retry_after: retrySeconds },
    headers: { 'retry-after': String(retrySeconds) },
  });
