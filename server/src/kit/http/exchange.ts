// Owns the state of one request while it is processed.
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Release } from '../db/shares.ts';
import type { Problem } from '../problem.ts';
import type { Operation } from './operation.ts';

/** The caller, as the request log and the Idempotency-Key need them. */
export interface Actor {
  readonly id: string | null;
  readonly workspaceId: string | null;
  /** The app that the path names, if any. */
  readonly appId: string | null;
  /** A user of the app or an anonymous caller: what they do must not delay the workspace's own people. */
  readonly isOutsider: boolean;
  /** The ids of the apps that the credential is limited to, joined by commas; empty if it is not limited. */
  readonly appIds: string;
  /** The result of the guard's lookup, for CORS and for the audit entry of a refusal. */
  readonly lookup: unknown;
}

const requestIdForm = /^[A-Za-z0-9_.:-]{1,128}$/;

export class Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly operation: Operation;
  /** When the request arrived; from the handler on, when its body had been received. */
  now: Date;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly rawQuery: Readonly<Record<string, string | string[] | undefined>>;
  /** True once the handler was called. Before that, nothing can have changed. */
  handlerStarted = false;
  /** True once the change is committed and only a follow-up, such as a mail, is left. */
  committed = false;
  /** Set by the guard. */
  actor: Actor | undefined;
  /**
   * Counts bytes of work towards the operation's budget, and returns the refusal if the budget is used up. Set by the
   * guard if the operation has a budget.
   */
  countBytes: ((bytes: number) => Promise<Problem | undefined>) | undefined;
  /** The guard's proof, for the handler. */
  access: unknown;
  /** Gives back the share of the database that the handler works in. Set before the handler is called. */
  releaseShare: Release = () => {};
  /** Lets the next large body in. Set if this request has one. */
  leaveLargeBodies: () => void = () => {};
  /** Set by the guard: the caller fails again and again, so the refusal is sent after a pause. */
  pausesRefusal = false;
  /** The error code of the answer, if the request was refused. */
  refusal: string | undefined;
  /** Parts that could not be read or counted in full; sent as X-Partial-Result. */
  readonly partial: string[] = [];
  /** Codes that are sent as X-Warning, whatever the answer. */
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

  /** The body's bytes. They are parsed after the guard. */
  get rawBody(): Buffer | undefined {
    return this.request.body as Buffer | undefined; // the server's only content type parser returns a buffer
  }

  /** The client's address: the socket's peer, or what a trusted proxy says it is. */
  get address(): string {
    return this.request.ip;
  }
}

/** PostgreSQL refuses a NUL in a parameter. No stored text has one, so a replacement matches nothing either. */
function withoutNul(params: Record<string, string>): Record<string, string> {
  for (const name in params) {
    const value = params[name] as string;
    if (value.includes('\0')) params[name] = value.replaceAll('\0', '\uFFFD');
  }
  return params;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined until an operation was matched. */
    exchange: Exchange | undefined;
  }
  interface FastifyContextConfig {
    /** The name of the matched operation. */
    operation?: string;
  }
}

/** The caller's own request id if it is well-formed, or a new one. */
export const chooseRequestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && requestIdForm.test(sent) ? sent : randomUUID();
