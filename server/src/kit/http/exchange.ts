// A request's state during processing.
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Release } from '../db/shares.ts';
import type { Problem } from '../problem.ts';
import type { HeldRequest, Operation } from './operation.ts';

/** The caller, in the form that the request log and the Idempotency-Key need. */
export interface Actor {
  readonly id: string | null;
  readonly workspaceId: string | null;
  /** The app named in the path, if any. */
  readonly appId: string | null;
  /** Whether the caller is an app user or anonymous. These callers must not delay the workspace's own people. */
  readonly isOutsider: boolean;
  /** The ids of the apps that the credential is restricted to, separated by commas. Empty if it is unrestricted. */
  readonly appIds: string;
  /** The result of the guard's lookup, for CORS and for the audit entry if the request is refused. */
  readonly lookup: unknown;
}

const requestIdForm = /^[A-Za-z0-9_.:-]{1,128}$/;

export class Exchange implements HeldRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly operation: Operation;
  /** The time when the request arrived. Once the handler runs, the time when the body was complete. */
  now: Date;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly rawQuery: Readonly<Record<string, string | string[] | undefined>>;
  /** True once the precheck or handler has been called. Nothing can have changed before that. */
  handlerStarted = false;
  /** True once the change is committed and only a follow-up, such as sending an email, remains. */
  committed = false;
  /** Set by the guard. */
  actor: Actor | undefined;
  /**
   * Charges bytes of work to the operation's byte budget, and returns a refusal if the budget is used up. Set by the
   * guard if the operation has a byte budget.
   */
  countBytes: ((bytes: number) => Promise<Problem | undefined>) | undefined;
  /** Set by the guard if the operation has a caller. */
  recheck: HeldRequest['recheck'] = async () => {};
  /** The guard's proof, for the handler. */
  access: unknown;
  /** Returns the handler's share of the database. Set before the handler is called. */
  releaseShare: Release = () => {};
  /** Lets the next large body in. Set if this request has a large body. */
  leaveLargeBodies: () => void = () => {};
  /** Whether the credential was recently valid. Only decides in which queue the caller's lookup waits. */
  isKnownCaller = false;
  /** Whether to delay the refusal. Set by the guard if the caller fails repeatedly. */
  pausesRefusal = false;
  /** The response's error code, if the request was refused. */
  refusal: string | undefined;
  /** Parts that could not be fully read or counted. Sent as X-Partial-Result. */
  readonly partial: string[] = [];
  /** Codes that are sent as X-Warning with any response. */
  readonly warnings: string[] = [];

  constructor(request: FastifyRequest, reply: FastifyReply, operation: Operation, now: Date) {
    this.request = request;
    this.reply = reply;
    this.operation = operation;
    this.now = now;
    this.requestId = request.id;
    this.params = withoutNul(request.params as Record<string, string>);
    this.rawQuery = request.query as Record<string, string | string[] | undefined>;
    request.exchange = this;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  onClose(listener: () => void): void {
    const { raw } = this.reply;
    if (raw.destroyed || raw.closed) listener();
    else raw.once('close', listener);
  }

  /** The raw body. It is parsed after the guard has run. */
  get rawBody(): Buffer | undefined {
    return this.request.body as Buffer | undefined; // the server's only content type parser returns a buffer
  }

  /** The client's address: the socket's peer, or the address that a trusted proxy reports. */
  get address(): string {
    return this.request.ip;
  }
}

/** PostgreSQL rejects NUL in parameters, so it is replaced. A parameter with NUL never matches anything stored. */
function withoutNul(params: Record<string, string>): Record<string, string> {
  for (const name in params) {
    const value = params[name] as string;
    if (value.includes('\0')) params[name] = value.replaceAll('\0', '\uFFFD');
  }
  return params;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined until an operation has been matched. */
    exchange: Exchange | undefined;
  }
  interface FastifyContextConfig {
    /** The matched operation's name. */
    operation?: string;
  }
}

/** Returns the caller's request id if it is well-formed, or else a new id. */
export const chooseRequestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && requestIdForm.test(sent) ? sent : randomUUID();
