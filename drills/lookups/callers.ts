// The callers' requests. Each caller reads their own app and compares the response with their own data. Some
// callers disconnect.
import { Agent, type ClientRequest, request } from 'node:http';
import type { Caller, Environment } from './environment.ts';

export interface Called {
  readonly answered: number;
  /** Responses that belonged to a different caller. */
  readonly wrong: number;
  /** Error responses. */
  readonly failed: number;
  /** Requests whose caller disconnected before the response arrived. */
  readonly gone: number;
  readonly by_status: Readonly<Record<number, number>>;
}

export type Outcome = Called & { readonly statements_failed: number; readonly connections_closed: number };

const connections = 64;
const shareGone = 0.01;
const progressEvery = 20_000;

export interface Answer {
  readonly status: number;
  readonly body: {
    readonly id?: string;
    readonly name?: string;
    readonly workspace_id?: string;
    readonly code?: string;
  };
}

export async function callAll(
  { port, callers }: Environment,
  requests: number,
  progress: (line: string) => void,
): Promise<Called> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const counts = { answered: 0, wrong: 0, failed: 0, gone: 0 };
  const by_status: Record<number, number> = {};
  let sent = 0;
  const callRepeatedly = async () => {
    while (sent < requests) {
      sent += 1;
      if (sent % progressEvery === 0) progress(`${sent} of ${requests} requests`);
      const caller = callers[Math.floor(Math.random() * callers.length)] as Caller;
      const answer = await call(port, agent, caller, Math.random() < shareGone);
      if (answer === 'gone') {
        counts.gone += 1;
        continue;
      }
      counts.answered += 1;
      by_status[answer.status] = (by_status[answer.status] ?? 0) + 1;
      if (answer.status !== 200) counts.failed += 1;
      else if (!isOf(caller, answer)) counts.wrong += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, callRepeatedly));
  agent.destroy();
  return { ...counts, by_status };
}

const isOf = ({ appId, appName, workspaceId }: Caller, { body }: Answer): boolean =>
  body.id === appId && body.name === appName && body.workspace_id === workspaceId;

async function call(port: number, agent: Agent, caller: Caller, hangsUp: boolean): Promise<Answer | 'gone'> {
  const { sent, answer } = send(port, agent, caller, 'GET');
  if (hangsUp) setTimeout(() => sent.destroy(), Math.random() * 4);
  try {
    return await answer;
  } catch (error) {
    if (hangsUp) return 'gone';
    throw error;
  }
}

/** Sends a GET or PUT request for the caller's app. */
export function send(
  port: number,
  agent: Agent | undefined,
  { token, appId, appName }: Caller,
  method: 'GET' | 'PUT',
  headers: Readonly<Record<string, string>> = {},
): { readonly sent: ClientRequest; readonly answer: Promise<Answer> } {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const body = method === 'PUT' ? JSON.stringify({ name: appName }) : undefined;
  const sent = request(
    {
      port,
      host: '127.0.0.1',
      ...(agent && { agent }),
      method,
      path: `/api/apps/${appId}`,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': body.length }),
        ...headers,
      },
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) }),
      );
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return { sent, answer: promise };
}
