// Owns one request and its answer while it passes the pipeline.
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from './operation.ts';

/** Who acted, as far as the request log is concerned. */
export interface Actor {
  readonly id: string | null;
  readonly workspaceId: string | null;
  /** What of the workspace the credential reaches, where that is not all of it. */
  readonly scope: string;
  /** What the guard found of them, for the guard's own later use. */
  readonly lookup: unknown;
}

const acceptableId = /^[A-Za-z0-9_.:-]{1,128}$/;

export class Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly operation: Operation;
  readonly now: Date;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly rawQuery: Readonly<Record<string, string | string[] | undefined>>;
  /** True once the operation itself has begun: before that nothing can have changed. */
  handlerStarted = false;
  /** True once what it did is kept, whatever comes after. */
  committed = false;
  /** Set by the guard once it knows. */
  actor: Actor | undefined;
  /** The code this request was refused with, if it was. */
  refusal: string | undefined;
  /** Parts the guard could not do as promised (contract §0.9, X-Partial-Result). */
  readonly partial: string[] = [];

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

  /** The client's address: the socket's peer, or what a trusted proxy says of it. */
  get address(): string {
    return this.request.ip;
  }
}

/** No stored text has a NUL, and the database refuses to look for one: such a parameter matches nothing. */
function withoutNul(params: Record<string, string>): Record<string, string> {
  for (const name in params) {
    const value = params[name] as string;
    if (value.includes('\0')) params[name] = value.replaceAll('\0', '\uFFFD');
  }
  return params;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent until an operation was matched. */
    exchange: Exchange | undefined;
  }
}

/** The caller's own request id where it is well-formed, else a new one. */
export const chooseRequestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && acceptableId.test(sent) ? sent : randomUUID();
