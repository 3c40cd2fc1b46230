// A client's requests about one session. They are sent to any API process, repeated blindly with the same key
// until they get a response, and recorded in a journal with their responses.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import { type CallResult, call } from '../../server/test/support/client.ts';
import { promptOf } from './plays.ts';
import type { Script } from './scripts.ts';

export interface DrillApp {
  readonly id: string;
  readonly token: string;
  readonly repository: string;
}

export type Action = 'launch' | 'read' | 'answer' | 'stale_answer' | 'second_answer' | 'message' | 'cancel' | 'settled';

/** A line in the clients' journal. */
export interface ClientLine {
  readonly at: string;
  readonly session: number;
  readonly action: Action;
  /** Undefined if the connection was lost. */
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly session_id?: string | undefined;
  readonly state?: string | undefined;
  readonly ms?: number;
}

export interface SessionAnswer {
  readonly id: string;
  readonly state: string;
  readonly branch_name: string | null;
  readonly pull_request: { readonly number: number; readonly head_branch: string } | null;
  readonly error_code: string | null;
  readonly outcome: string | null;
  readonly summary: string | null;
  readonly input_request_id: string | null;
}

export interface SessionRequests {
  /** Sends `count` concurrent launches with the same key. Calls `onId` for each successful response. */
  launch(count: number, onId: (id: string) => void): Promise<CallResult[]>;
  /** This and the following methods are about the launched session. */
  read(): Promise<SessionAnswer>;
  waitFor(isReached: (session: SessionAnswer) => boolean): Promise<SessionAnswer>;
  waitForEnd(): Promise<SessionAnswer>;
  send(action: Action, message: object, key?: string): Promise<CallResult>;
  readMessage(inputId: string): Promise<{ readonly state: string }>;
  cancel(): Promise<CallResult>;
  record(line: Pick<ClientLine, 'action' | 'state' | 'ms'>): void;
}

export interface RequestDeps {
  readonly apis: readonly string[];
  readonly random: Random;
  readonly endsWithinMs: number;
  record(line: ClientLine): void;
}

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);
const hasEnded = ({ state }: Pick<SessionAnswer, 'state'>): boolean => ended.has(state);
const pollMs = 250;

interface Sent {
  readonly action: Action;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
}

export function createRequests(deps: RequestDeps, script: Script, app: DrillApp): SessionRequests {
  const { apis, random } = deps;
  const sessions = `/api/apps/${app.id}/imported/sessions`;
  let session = '';

  async function sendOnce({ action, method, path, body, key }: Sent): Promise<CallResult | undefined> {
    const startedAt = performance.now();
    const api = apis[Math.floor(random() * apis.length)] as string;
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const got = await call(api, method, path, { as: app.token, body, headers }).catch(() => undefined);
    const { status, body: answer } = got ?? {};
    const ms = Math.round(performance.now() - startedAt);
    const about = { code: answer?.code, session_id: answer?.session_id ?? answer?.id, state: answer?.state };
    deps.record({ at: new Date().toISOString(), session: script.number, action, status, ...about, ms });
    return got;
  }

  /** Repeats the request until it gets a response that is not an outage. */
  async function insist(sent: Sent): Promise<CallResult> {
    for (;;) {
      const got = await sendOnce(sent);
      if (got !== undefined && !isOutage(got)) return got;
      await sleep(150 + random() * 300);
    }
  }

  const requests: SessionRequests = {
    async launch(count, onId) {
      const body = { prompt: promptOf(script, 1), title: script.title, client_reference: `ref-${script.number}` };
      const sent: Sent = { action: 'launch', method: 'POST', path: sessions, body, key: script.key };
      const launchOnce = async () => {
        const answer = await insist(sent);
        if (answer.status === 200) onId(answer.body.id);
        return answer;
      };
      const answers = await Promise.all(Array.from({ length: count }, launchOnce));
      session = `${sessions}/${answers[0]?.body?.id}`;
      return answers;
    },
    read: async () => (await insist({ action: 'read', method: 'GET', path: session })).body,
    async waitFor(isReached) {
      const end = Date.now() + deps.endsWithinMs;
      for (;;) {
        const answer = await requests.read();
        if (isReached(answer) || Date.now() > end) return answer;
        await sleep(pollMs * (0.5 + random()));
      }
    },
    waitForEnd: () => requests.waitFor(hasEnded),
    send: (action, body, key = randomUUID()) =>
      insist({ action, method: 'POST', path: `${session}/messages`, body, key }),
    readMessage: async (inputId) =>
      (await insist({ action: 'read', method: 'GET', path: `${session}/messages/${inputId}` })).body,
    cancel: () => insist({ action: 'cancel', method: 'POST', path: `${session}/cancel` }),
    record: (line) => deps.record({ at: new Date().toISOString(), session: script.number, ...line }),
  };
  return requests;
}

const isOutage = ({ status, body }: CallResult): boolean =>
  status >= 500 || status === 429 || body?.code === 'idempotency_in_progress';
