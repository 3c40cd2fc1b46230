// The quiet workspace's client, in its own process. It makes calls at a steady rate, however long the responses take. A
// call is timed from when it should have started, so a stall counts for every call that it delays.
import { Agent, request } from 'node:http';
import { type CallKind, callKinds, type QuietCall } from './calls.ts';
import { nowMs } from './clock.ts';
import type { QuietWorkspace } from './seed.ts';

export interface QuietOptions {
  readonly port: number;
  readonly workspace: QuietWorkspace;
}

const perSecond: Record<CallKind, number> = { read: 15, put: 10, list: 10, members: 8 };
const timeoutMs = 30_000;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

function requestOf({ app_id, record_ids }: QuietWorkspace, kind: CallKind, n: number): Request {
  const records = `/api/apps/${app_id}/entities/Task`;
  if (kind === 'read') return { method: 'GET', path: `/api/apps/${app_id}` };
  if (kind === 'list') return { method: 'GET', path: `${records}?state=open&limit=20` };
  if (kind === 'members') return { method: 'POST', path: '/api/workspace/members/list', body: { page_size: 50 } };
  return { method: 'PUT', path: `${records}/${record_ids[n % record_ids.length]}`, body: { n } };
}

function send({ port, workspace }: QuietOptions, { method, path, body }: Request): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const payload = body && Buffer.from(JSON.stringify(body));
  const headers = {
    authorization: `Bearer ${workspace.token}`,
    ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
  };
  const outgoing = request({ agent, method, port, host: '127.0.0.1', path, headers, timeout: timeoutMs }, (answer) => {
    answer.resume();
    answer.on('end', () => resolve(answer.statusCode ?? 0));
    answer.on('error', () => resolve(0));
  });
  outgoing.on('timeout', () => outgoing.destroy());
  outgoing.on('error', () => resolve(0));
  outgoing.end(payload);
  return promise;
}

const done: QuietCall[] = [];
const waiting = new Set<Promise<void>>();
let stopped = false;

async function makeCall(options: QuietOptions, kind: CallKind, n: number, at: number): Promise<void> {
  const status = await send(options, requestOf(options.workspace, kind, n));
  done.push({ kind, at, ms: nowMs() - at, status, n });
}

function callSteadily(options: QuietOptions, kind: CallKind, firstAt: number, n = 0): void {
  if (stopped) return;
  const at = firstAt + (n * 1000) / perSecond[kind];
  setTimeout(
    () => {
      const calling = makeCall(options, kind, n, at).finally(() => waiting.delete(calling));
      waiting.add(calling);
      callSteadily(options, kind, firstAt, n + 1);
    },
    Math.max(0, at - nowMs()),
  );
}

const report = () => process.send?.(done.splice(0));

process.on('message', async (order: QuietOptions | 'stop') => {
  if (order !== 'stop') {
    for (const [place, kind] of callKinds.entries()) callSteadily(order, kind, nowMs() + 10 + place * 7);
    setInterval(report, 250);
    return;
  }
  stopped = true;
  await Promise.all(waiting);
  report();
  process.disconnect();
});
process.on('disconnect', () => process.exit(0));
