// Owns the run of an operation after it was let through and validated: its precheck, its handler, the follow-up after
// the commit, and the replay under an Idempotency-Key (docs/api/conventions.md#idempotency).
import type { AnyDb } from '../db/database.ts';
import { hold } from '../process-time.ts';
import { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import {
  hasStoredAnswer,
  type IdempotentRequest,
  idempotencyInProgress,
  parseIdempotencyKey,
  replaceStoredAnswer,
  runOnce,
  type StoredAnswer,
} from './idempotency.ts';
import type { Input } from './validate.ts';

export function runOperation(exchange: Exchange, access: unknown, input: Input, db: AnyDb): Promise<Answer<unknown>> {
  const request = toIdempotentRequest(exchange, input);
  return request === undefined
    ? runPlain(exchange, access, input, db)
    : runIdempotent(exchange, access, input, request, db);
}

/** An anonymous caller's key is ignored: all anonymous callers would share it. */
const honoursKey = ({ operation, actor }: Exchange): boolean => Boolean(actor?.id && operation.idempotency);

export const hasHonouredKey = (exchange: Exchange): boolean =>
  honoursKey(exchange) && exchange.header('idempotency-key') !== undefined;

/** Undefined without a key, or if it is ignored. */
function toIdempotentRequest(exchange: Exchange, input: Input): IdempotentRequest | undefined {
  const { operation, actor, now } = exchange;
  if (!actor?.id || !honoursKey(exchange)) return undefined;
  const key = parseIdempotencyKey(exchange.header('idempotency-key'), operation.idempotency === 'required');
  if (key === undefined || operation.keepsKeys) return undefined;
  const path = exchange.request.url.split('?')[0] ?? '';
  const scope = [actor.id, actor.workspaceId ?? '', actor.appIds, operation.method, path];
  return { scope, key, request: [input.rawBody ?? null, exchange.rawQuery], now };
}

async function runPlain(exchange: Exchange, access: unknown, input: Input, db: AnyDb): Promise<Answer<unknown>> {
  const checked = await exchange.operation.precheck?.(toCall(exchange, access, input, db));
  return finish(exchange, await handle(exchange, access, input, db, checked), db);
}

async function runIdempotent(
  exchange: Exchange,
  access: unknown,
  input: Input,
  request: IdempotentRequest,
  db: AnyDb,
): Promise<Answer<unknown>> {
  const { operation } = exchange;
  // A repeated request gets its stored answer even if the check would fail by now.
  const isReplay = operation.precheck !== undefined && (await hasStoredAnswer(db, request));
  const checked = isReplay ? undefined : await operation.precheck?.(toCall(exchange, access, input, db));
  const toStored = ({ status, body }: Answer<unknown>): StoredAnswer => ({
    status,
    body: withoutSecrets(body, operation.secretFields),
  });
  const outcome = await runOnce(db, request, async (tx) => {
    if (isReplay) throw idempotencyInProgress(); // the stored answer has just expired
    const answer = await handle(exchange, access, input, tx, checked);
    return { result: answer, store: toStored(answer) };
  });
  if ('replayed' in outcome) return replay(exchange, access, input, outcome.replayed, db);
  const answer = await finish(exchange, outcome.result, db);
  if (answer !== outcome.result && !operation.resume) await replaceStoredAnswer(db, request, toStored(answer));
  return answer;
}

async function replay(
  exchange: Exchange,
  access: unknown,
  input: Input,
  { status, body }: StoredAnswer,
  db: AnyDb,
): Promise<Answer<unknown>> {
  const { operation, reply } = exchange;
  const headers = { 'idempotent-replayed': 'true' };
  if (operation.resume !== undefined) {
    reply.headers(headers);
    return finish(exchange, await operation.resume(toCall(exchange, access, input, db), body), db);
  }
  const warnings = hasWithheldSecret(body, operation.secretFields) ? ['secret_withheld'] : [];
  return new Answer(body, { headers, warnings }, status);
}

function toCall(exchange: Exchange, access: unknown, { query, body }: Input, db: AnyDb) {
  exchange.handlerStarted = true;
  const { params, request, now, countBytes = withoutBudget } = exchange;
  return { db, access, params, query, body, headers: request.headers, now, countBytes };
}

const withoutBudget = () => Promise.resolve(undefined);

async function handle(
  exchange: Exchange,
  access: unknown,
  input: Input,
  db: AnyDb,
  checked: unknown,
): Promise<Answer<unknown>> {
  const result = await hold(() => exchange.operation.handle(toCall(exchange, access, input, db), checked));
  return result instanceof Answer ? result : new Answer(result);
}

/** Runs the answer's follow-up, if it has one. The change is committed by now, whatever the follow-up does. */
async function finish(exchange: Exchange, answer: Answer<unknown>, db: AnyDb): Promise<Answer<unknown>> {
  if (answer.finish === undefined) return answer;
  exchange.committed = true;
  exchange.releaseShare(); // a follow-up waits for the network, and may take minutes
  return answer.finish(db);
}

/** The body with null in place of fields that are shown once, at any depth. */
const withoutSecrets = (body: unknown, fields: readonly string[] = []): unknown =>
  fields.length === 0 ? body : JSON.parse(JSON.stringify(body, (key, value) => (fields.includes(key) ? null : value)));

const hasWithheldSecret = (body: unknown, fields: readonly string[] = []): boolean =>
  fields.some((field) => JSON.stringify(body).includes(`"${field}":null`));
